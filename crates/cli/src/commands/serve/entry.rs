//! What is pasted into the configuration of an AI host so that it finds us. Not where a host keeps its configuration.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// A server as hosts are told of it.
#[derive(Debug)]
pub(super) struct Entry {
    name: String,
    arguments: Vec<String>,
}

impl Entry {
    /// Of a server with this name, started with these arguments.
    pub(super) fn new(name: &str, arguments: Vec<String>) -> Self {
        Self {
            name: plain(name),
            arguments,
        }
    }

    /// For hosts that start it themselves.
    pub(super) fn command(&self) -> Value {
        let program = program().display().to_string();
        self.named(&json!({"command": program, "args": self.arguments}))
    }

    /// For hosts that connect to it while it runs.
    pub(super) fn url(&self, url: &str) -> Value {
        self.named(&json!({"type": "http", "url": url}))
    }

    fn named(&self, server: &Value) -> Value {
        json!({"mcpServers": {self.name.as_str(): server}})
    }
}

/// Hosts take letters, digits, `-` and `_`.
fn plain(name: &str) -> String {
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
fn program() -> PathBuf {
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
