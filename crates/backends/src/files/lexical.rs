//! Path text to components, by the letters alone: `.` and `..` are resolved here, and nothing looks at the disk.
//!
//! Works on bytes, since a percent-decoded URI may name a file that is not UTF-8. What a component then means is
//! decided by the confined folder; this is the first of two fences, not the only one.

use std::ffi::OsString;

/// Whose rules for separators and names apply.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Rules {
    Unix,
    // Compiled everywhere so that the tests run everywhere.
    #[cfg_attr(not(windows), allow(dead_code, reason = "only tests use it here"))]
    Windows,
}

impl Rules {
    /// Those of the system this runs on.
    pub(crate) const HERE: Self = if cfg!(windows) {
        Self::Windows
    } else {
        Self::Unix
    };

    fn separates(self, byte: u8) -> bool {
        byte == b'/' || self == Self::Windows && byte == b'\\'
    }

    /// Whether two components name the same folder.
    pub(crate) fn same(self, a: &[u8], b: &[u8]) -> bool {
        match self {
            Self::Unix => a == b,
            Self::Windows => a.eq_ignore_ascii_case(b),
        }
    }
}

/// A path without `.`, `..`, empty components and trailing separators.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Lexical {
    /// From the root of the system; on Windows the drive is the first component.
    Absolute(Vec<Vec<u8>>),
    /// From a working folder.
    Relative(Vec<Vec<u8>>),
}

/// Why a text names nothing.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Refused {
    /// It leads above where it starts, or has a form that never lies in a folder.
    Outside,
    /// It has a NUL byte, which no file name has.
    Nul,
}

/// Reads `text` by `rules`. A `..` above the system's root stays there, as everywhere; above a relative path's start it
/// leads outside.
pub(crate) fn parse(text: &[u8], rules: Rules) -> Result<Lexical, Refused> {
    if text.contains(&0) {
        return Err(Refused::Nul);
    }
    let (drive, rest) = match rules {
        Rules::Unix => (None, text),
        Rules::Windows => split_drive(text)?,
    };
    let rooted = rest.first().is_some_and(|byte| rules.separates(*byte));
    if drive.is_some() && !rooted {
        // `C:name` depends on a current directory per drive.
        return Err(Refused::Outside);
    }
    let absolute = rooted;
    let mut parts: Vec<Vec<u8>> = Vec::new();
    for part in rest.split(|byte| rules.separates(*byte)) {
        match part {
            b"" | b"." => {}
            b".." if parts.pop().is_none() && !absolute => return Err(Refused::Outside),
            b".." => {}
            name if rules == Rules::Windows && is_odd_on_windows(name) => {
                return Err(Refused::Outside);
            }
            name => parts.push(name.to_vec()),
        }
    }
    match drive {
        Some(letter) => {
            parts.insert(0, vec![letter, b':']);
            Ok(Lexical::Absolute(parts))
        }
        None if absolute => Ok(Lexical::Absolute(parts)),
        None => Ok(Lexical::Relative(parts)),
    }
}

/// The component as the system wants it; nothing where the system has no such names.
pub(crate) fn os_name(part: Vec<u8>) -> Option<OsString> {
    #[cfg(unix)]
    {
        Some(std::os::unix::ffi::OsStringExt::from_vec(part))
    }
    #[cfg(not(unix))]
    {
        String::from_utf8(part).ok().map(OsString::from)
    }
}

/// The drive letter in capitals, without the `\\?\` that canonical paths carry. A network path lies in no folder.
fn split_drive(text: &[u8]) -> Result<(Option<u8>, &[u8]), Refused> {
    let is_separator = |byte: &u8| Rules::Windows.separates(*byte);
    let text = text.strip_prefix(br"\\?\").unwrap_or(text);
    // `file:///C:/x` decodes to `/C:/x`.
    let slashless = match text {
        [first, rest @ ..] if is_separator(first) => rest,
        _ => text,
    };
    match slashless {
        [letter, b':', rest @ ..] if letter.is_ascii_alphabetic() => {
            Ok((Some(letter.to_ascii_uppercase()), rest))
        }
        [second, ..] if slashless.len() < text.len() && is_separator(second) => {
            Err(Refused::Outside)
        }
        _ => Ok((None, text)),
    }
}

/// Names that Windows reads as something else: a stream of a file (`a:b`), or without their last dot or space.
fn is_odd_on_windows(name: &[u8]) -> bool {
    name.contains(&b':') || matches!(name.last(), Some(b'.' | b' '))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn show(text: &str, rules: Rules) -> String {
        let join = |parts: Vec<Vec<u8>>| String::from_utf8(parts.join(&b"|"[..])).unwrap();
        match parse(text.as_bytes(), rules) {
            Ok(Lexical::Absolute(parts)) => format!("abs {}", join(parts)),
            Ok(Lexical::Relative(parts)) => format!("rel {}", join(parts)),
            Err(refused) => format!("{refused:?}"),
        }
    }

    #[test]
    fn v_901_components_decide_not_prefixes() {
        for (text, want) in [
            ("", "rel "),
            (".", "rel "),
            ("./a//b/", "rel a|b"),
            ("a/./b/../c", "rel a|c"),
            ("a/..", "rel "),
            ("..", "Outside"),
            ("a/../../b", "Outside"),
            ("../notes/a", "Outside"),
            ("...", "rel ..."),
            ("..a/b..", "rel ..a|b.."),
            ("/", "abs "),
            ("/data/../etc", "abs etc"),
            ("/../../etc", "abs etc"),
            ("//data//x", "abs data|x"),
            ("a\\..\\b", "rel a\\..\\b"),
            ("a\0b", "Nul"),
            ("a/..\0", "Nul"),
            ("C:/x", "rel C:|x"),
            ("a. ", "rel a. "),
        ] {
            assert_eq!(show(text, Rules::Unix), want, "{text:?}");
        }
    }

    #[test]
    fn v_901_windows_forms() {
        for (text, want) in [
            (r"a\..\b", "rel b"),
            (r"..\x", "Outside"),
            (r"a/..\..\x", "Outside"),
            (r"C:\notes\..\x", "abs C:|x"),
            ("c:/notes", "abs C:|notes"),
            (r"\\?\C:\notes", "abs C:|notes"),
            ("/C:/notes", "abs C:|notes"),
            (r"\\server\share\x", "Outside"),
            ("//server/share", "Outside"),
            (r"\\?\UNC\server\share", "rel UNC|server|share"),
            ("C:x", "Outside"),
            ("a.txt:stream", "Outside"),
            ("a./b", "Outside"),
            ("a /b", "Outside"),
            (r"\x", "abs x"),
        ] {
            assert_eq!(show(text, Rules::Windows), want, "{text:?}");
        }
        assert!(Rules::Windows.same(b"Notes", b"nOTES"));
        assert!(!Rules::Unix.same(b"Notes", b"notes"));
    }
}
