//! This program and the names of its servers, as AI hosts are told of them.

use std::path::{Path, PathBuf};

/// Hosts take letters, digits, `-` and `_`.
pub(crate) fn plain(name: &str) -> String {
    let words: Vec<&str> = name
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'))
        .filter(|word| !word.is_empty())
        .collect();
    if words.is_empty() {
        "polyport".to_owned()
    } else {
        words.join("-")
    }
}

/// This program as it was called, by an absolute path: hosts have another search path than shells, and a link that a
/// package manager keeps outlives the file it points to.
pub(crate) fn program() -> PathBuf {
    let called = std::env::args_os().next().map(PathBuf::from);
    let real = std::env::current_exe().unwrap_or_else(|_| "polyport".into());
    let found = called.and_then(|called| {
        if called.components().count() > 1 {
            return std::path::absolute(called).ok();
        }
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(&called))
            .find(|file| file.is_file())
    });
    let is_this = |file: &Path| {
        std::fs::canonicalize(file)
            .is_ok_and(|file| std::fs::canonicalize(&real).is_ok_and(|real| real == file))
    };
    found.filter(|file| is_this(file)).unwrap_or(real)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        for (name, want) in [
            ("notes", "notes"),
            ("My Notes (old)", "My-Notes-old"),
            ("a.b_c-d", "a-b_c-d"),
            ("été", "t"),
            ("日本", "polyport"),
            ("", "polyport"),
        ] {
            assert_eq!(plain(name), want);
        }
    }
}
