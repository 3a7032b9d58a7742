//! `file://` URIs: an absolute path to a URI and back. One decoding, never two; nothing here looks at the disk.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use polyport::percent::{Octet, octets};

use super::lexical::{self, Lexical, Rules};

/// The URI of an absolute path. Every byte outside the characters a path may have in a URI is percent-encoded, so that
/// names with spaces, `%`, `?`, `#`, other scripts, or bytes that are no text come back exactly by [`to_path`].
///
/// ```
/// # use polyport_backends::files::uri;
/// # #[cfg(unix)]
/// assert_eq!(uri::from_path("/notes/5 % of café?.md".as_ref()), "file:///notes/5%20%25%20of%20caf%C3%A9%3F.md");
/// ```
pub fn from_path(path: &Path) -> String {
    let mut uri = String::from("file://");
    for part in parts_of(path) {
        uri.push('/');
        encode(&part, is_path_byte, &mut uri);
    }
    if uri.len() == "file://".len() {
        uri.push('/');
    }
    uri
}

/// The path that a `file:` URI names, with `.` and `..` resolved; nothing if it is not such a URI, or names nothing that
/// a path could name (another host, a broken percent-encoding, an encoded `/` or NUL).
///
/// A raw `?`, `#`, space or letter of another script is taken as part of the name: a `{+path}` in a template is expanded
/// with these in it, and a file has neither query nor fragment.
pub fn to_path(uri: &str) -> Option<PathBuf> {
    let Ok(Lexical::Absolute(parts)) = lexical::parse(&to_bytes(uri).ok()?, Rules::HERE) else {
        return None;
    };
    let root = if cfg!(windows) {
        PathBuf::new()
    } else {
        PathBuf::from("/")
    };
    parts.into_iter().try_fold(root, |mut path, part| {
        let name = lexical::os_name(part)?;
        if cfg!(windows) && path.as_os_str().is_empty() {
            // A drive alone is relative; with a separator it is its root.
            path.push(format!("{}\\", name.to_string_lossy()));
        } else {
            path.push(name);
        }
        Some(path)
    })
}

/// Whether the text has the scheme of these URIs.
pub(crate) fn is_file_uri(text: &str) -> bool {
    text.get(..5)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"))
}

/// Why a URI gives no path.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Fault {
    /// `%` without two hexadecimal digits.
    Encoding,
    /// Not a `file:` URI, or one of another host, or one with an encoded separator: it names nothing here.
    Elsewhere,
}

/// The path of a `file:` URI as bytes, decoded once.
pub(crate) fn to_bytes(uri: &str) -> Result<Vec<u8>, Fault> {
    if !is_file_uri(uri) {
        return Err(Fault::Elsewhere);
    }
    let rest = &uri[5..];
    let path = match rest.strip_prefix("//") {
        Some(rest) => {
            let slash = rest.find('/').ok_or(Fault::Elsewhere)?;
            let host = &rest[..slash];
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                return Err(Fault::Elsewhere);
            }
            &rest[slash..]
        }
        None if rest.starts_with('/') => rest,
        None => return Err(Fault::Elsewhere),
    };
    let octet = |octet| match octet {
        Octet::Escaped(b'/') => Err(Fault::Elsewhere),
        Octet::Escaped(b'\\') if cfg!(windows) => Err(Fault::Elsewhere),
        Octet::Plain(byte) | Octet::Escaped(byte) => Ok(byte),
        Octet::Broken => Err(Fault::Encoding),
    };
    octets(path).map(octet).collect()
}

/// Appends `bytes`, percent-encoding those that `keep` does not want as they are.
pub(crate) fn encode(bytes: &[u8], keep: fn(u8) -> bool, out: &mut String) {
    for &byte in bytes {
        if keep(byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a `String` cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

/// RFC 3986 section 3.3: what stands unencoded in a path segment.
pub(crate) fn is_path_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte)
}

fn parts_of(path: &Path) -> Vec<Vec<u8>> {
    match lexical::parse(path.as_os_str().as_encoded_bytes(), Rules::HERE) {
        Ok(Lexical::Absolute(parts) | Lexical::Relative(parts)) => parts,
        Err(_) => Vec::new(),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn every_name_comes_back() {
        for path in [
            "/",
            "/a b",
            "/100%/%41",
            "/é",
            "/e\u{301}",
            "/a?b#c",
            "/(x)[y]{z}",
            "/a:b@c",
            "/..a/b\\c",
            "/\u{10ffff}",
        ] {
            assert_eq!(
                to_path(&from_path(path.as_ref())).as_deref(),
                Some(path.as_ref()),
                "{path}"
            );
        }
        let odd = Path::new(std::ffi::OsStr::from_bytes(b"/caf\xe9/\xff\x01"));
        assert_eq!(from_path(odd), "file:///caf%E9/%FF%01");
        assert_eq!(to_path("file:///caf%E9/%FF%01").as_deref(), Some(odd));
    }

    #[test]
    fn br_133_raw_and_encoded_name_the_same() {
        for uri in [
            "file:///caf%C3%A9/a%20b",
            "file:///café/a b",
            "FILE:/caf%c3%a9/a b",
            "file://LocalHost/café/a%20b",
        ] {
            assert_eq!(to_path(uri).as_deref(), Some("/café/a b".as_ref()), "{uri}");
        }
        assert_eq!(to_path("file:///a?b#c").as_deref(), Some("/a?b#c".as_ref()));
    }

    #[test]
    fn v_510_decoded_once_and_no_hidden_separator() {
        assert_eq!(
            to_path("file:///data/%252e%252e/x").as_deref(),
            Some("/data/%2e%2e/x".as_ref())
        );
        assert_eq!(
            to_path("file:///data/%2e%2e/etc").as_deref(),
            Some("/etc".as_ref())
        );
        for uri in [
            "file:///data/..%2Fetc",
            "file:///data%2fetc",
            "file:///a%00b",
            "file:///a%",
            "file:///a%4",
            "file:///a%zz",
            "file:///a%+1",
            "file://host/path",
            "file://host",
            "file:data/x",
            "file:",
            "http:///x",
            "é",
            "",
        ] {
            assert_eq!(to_path(uri), None, "{uri}");
        }
    }
}
