//! The check of words that name a server.

use std::ffi::OsStr;

use polyport_config::{HOSTS, Word, mask};

/// Reads `data` as a word of a command line.
///
/// - It means one thing, and what that is made of is the word itself: nothing is lost or added.
/// - An address begins as addresses do, names a host, and means the same when it is read again.
/// - What is no word says why, and what to write.
/// - What is shown of an address has no user or password.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let read = Word::read(OsStr::new(text));
    match &read {
        Ok(Word::Demo) => assert_eq!(text, "demo"),
        Ok(Word::Url(url)) => {
            let (scheme, rest) = url.split_once("://").expect("an address");
            assert!(matches!(scheme, "http" | "https" | "ws" | "wss"), "{url}");
            let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
            assert!(!authority.is_empty() && !authority.contains('@'), "{url}");
            assert!(!url.contains(char::is_whitespace) && !url.contains(char::is_control));
            assert_eq!(Word::read(OsStr::new(url)), read, "of {text:?}");
        }
        Ok(Word::File { file, name }) => {
            let file = file.to_str().expect("it was a text");
            assert_eq!(format!("{file}:{name}"), text);
            assert!(!name.is_empty());
            let lower = file.to_ascii_lowercase();
            let ends = [".json", ".jsonc", ".toml"];
            assert!(ends.iter().any(|end| lower.ends_with(end)), "{text:?}");
        }
        Ok(Word::Host { host, name }) => {
            assert!(HOSTS.contains(host) && !name.is_empty());
            assert_eq!(format!("{}:{name}", host.id), text);
        }
        Ok(Word::Folder(path)) => assert_eq!(path.to_str(), Some(text)),
        Ok(Word::Kind { kind, word }) => {
            assert_eq!(word, text);
            assert!(kind.len() > 1, "a drive is no kind: {text:?}");
        }
        Ok(Word::Name(name)) => {
            assert_eq!(name, text);
            assert!(!name.contains(['/', '\\', ':']) && !name.is_empty());
        }
        Err(misfit) => assert!(!misfit.why.is_empty() && !misfit.hint.is_empty()),
    }
    // Nothing that stands before the host is shown.
    let shown = mask::text(text);
    if let Some((_, rest)) = shown.split_once("://") {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        assert!(
            !authority.contains('@') || authority.starts_with("****@"),
            "{shown}"
        );
    }
}
