//! Names with a meaning of their own: our trash and unfinished files, which nobody is shown, git's own, which nobody changes
//! through us, and which new names are fit. Nothing here looks at the disk.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
    process,
    sync::atomic::{AtomicU64, Ordering},
};

use super::show;

/// Where deleted files go, at the top of each working folder.
pub(crate) const TRASH: &str = ".polyport-trash";

/// What the names of files begin with that are not written to their end.
const UNFINISHED: &str = ".polyport-new-";

/// Bytes that a name may have; hardly any disk takes more.
const LONGEST: usize = 255;

/// Whether the name is one of ours. It is in no list, and no path with it leads anywhere.
pub(crate) fn is_ours(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let begins = name.get(..UNFINISHED.len());
    // Some disks take capitals and small letters for the same.
    name.eq_ignore_ascii_case(TRASH.as_bytes())
        || begins.is_some_and(|begin| begin.eq_ignore_ascii_case(UNFINISHED.as_bytes()))
}

/// Whether a component of the path is one of ours.
pub(crate) fn has_ours(path: &Path) -> bool {
    path.iter().any(is_ours)
}

/// Whether the path is or lies in a `.git`: what is written there runs at the next git command, and no diff shows it.
pub(crate) fn is_git(path: &Path) -> bool {
    path.iter()
        .any(|name| name.as_encoded_bytes().eq_ignore_ascii_case(b".git"))
}

/// A name for a file that is not written to its end, another one at each call.
pub(crate) fn unfinished() -> OsString {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{UNFINISHED}{}-{number}", process::id()).into()
}

/// Why a new file should not have this name; nothing if it may. What is there already may have any name.
pub(crate) fn unfit(name: &OsStr) -> Option<&'static str> {
    let Some(text) = name.to_str() else {
        return Some("a new name has to be text in UTF-8.");
    };
    if text.len() > LONGEST {
        return Some("a new name is longer than 255 bytes.");
    }
    if !text.chars().all(show::is_visible) {
        return Some("a new name has no control characters and no characters that cannot be seen.");
    }
    // Somebody meant another system's path, or another folder.
    if text.contains('\\')
        || text == "~"
        || matches!(text.as_bytes(), [letter, b':'] if letter.is_ascii_alphabetic())
    {
        return Some(
            "a new name has no backslash, and is no drive and no `~`. Paths are relative to the folder, with `/`.",
        );
    }
    // Windows drops them, and people do not see them.
    if text.trim() != text || text.ends_with('.') {
        return Some(
            "a new name neither begins nor ends with a blank, and does not end with a dot.",
        );
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_are_told_by_their_names() {
        for (name, want) in [
            (".polyport-trash", true),
            (".Polyport-Trash", true),
            (".polyport-new-1-2", true),
            (".polyport-trash2", false),
            ("polyport-trash", false),
            (".polyport-notes", false),
            (".polyport", false),
            ("é", false),
            ("", false),
        ] {
            assert_eq!(is_ours(name.as_ref()), want, "{name}");
        }
        assert!(is_ours(&unfinished()));
        assert_ne!(unfinished(), unfinished());
        assert!(has_ours("a/.polyport-trash/b".as_ref()));
        assert!(!has_ours("a/polyport/b".as_ref()));
    }

    #[test]
    fn git_is_told_by_a_component() {
        for (path, want) in [
            (".git", true),
            (".GIT/hooks/pre-commit", true),
            ("sub/.git/config", true),
            (".gitignore", false),
            (".github/workflows/a.yml", false),
            ("a.git/config", false),
            ("git", false),
        ] {
            assert_eq!(is_git(path.as_ref()), want, "{path}");
        }
    }

    #[test]
    fn v_901_new_names_hide_nothing() {
        for (name, want) in [
            ("a.txt", true),
            ("a b.txt", true),
            (".hidden", true),
            ("..a", true),
            ("12:30 é.md", true),
            ("~a", true),
            ("1:", true),
            ("a\\b", false),
            ("..\\b", false),
            ("C:", false),
            ("~", false),
            ("a ", false),
            (" a", false),
            ("a.", false),
            ("a\u{a0}", false),
            ("a\nb", false),
            ("a\u{7}b", false),
            ("exe.\u{202e}txt", false),
            ("\u{feff}a", false),
        ] {
            assert_eq!(unfit(name.as_ref()).is_none(), want, "{name:?}");
        }
    }
}
