//! What a word on a command line may mean as a server: the one place where that syntax is read. Looks at no file.
//!
//! In this order, and the first that fits wins:
//!
//! 1. `demo`
//! 2. `:7400` or `:7400/path`: an address on this machine
//! 3. `http://…`, `https://…`, `ws://…`, `wss://…`: an address; any other `…://` is no server that is known
//! 4. `FILE:NAME`, where FILE ends in `.json`, `.jsonc` or `.toml`: a server of that file
//! 5. `HOST:NAME`, where HOST is a host such as `claude-desktop`: a server of that host
//! 6. what has a `/` or `\`, or begins with `.` or `~`: a folder. So `C:\x`, `./a:b` and `a.json:b/` are folders
//! 7. `word:…`: a kind of back-end that is not known, unless there is such a folder
//! 8. anything else: a folder of that name, or the name of a server

use std::ffi::OsStr;
use std::path::PathBuf;

use crate::hosts::{HOSTS, Host};

/// What a word means.
#[derive(Clone, Debug, PartialEq)]
pub enum Word {
    /// The built-in server.
    Demo,
    /// An address.
    Url(String),
    /// A server of a file.
    File {
        /// The file.
        file: PathBuf,
        /// Its name there.
        name: String,
    },
    /// A server of a host.
    Host {
        /// The host.
        host: &'static Host,
        /// Its name there.
        name: String,
    },
    /// A folder, and nothing else.
    Folder(PathBuf),
    /// A kind of back-end, unless there is a folder of that name.
    Kind {
        /// What stands before the colon.
        kind: String,
        /// The whole word.
        word: String,
    },
    /// A folder or the name of a server.
    Name(String),
}

/// What is wrong with a word.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Misfit {
    /// What is wrong.
    pub why: String,
    /// What to write instead.
    pub hint: String,
}

impl Word {
    /// Reads a word.
    ///
    /// # Errors
    /// It begins like an address and is none.
    pub fn read(word: &OsStr) -> Result<Self, Misfit> {
        let Some(text) = word.to_str() else {
            return Ok(Self::Folder(word.into()));
        };
        if text == "demo" {
            return Ok(Self::Demo);
        }
        if let Some(rest) = text.strip_prefix(':') {
            return port(rest).map(Self::Url);
        }
        if let Some((scheme, rest)) = text.split_once("://")
            && is_scheme(scheme)
        {
            return url(scheme, rest, text);
        }
        if let Some((file, name)) = file_and_name(text) {
            return Ok(Self::File {
                file: file.into(),
                name: name.to_owned(),
            });
        }
        if let Some((host, name)) = text.split_once(':')
            && let Some(host) = HOSTS.iter().find(|known| known.id == host)
            && !name.is_empty()
        {
            let name = name.to_owned();
            return Ok(Self::Host { host, name });
        }
        if text.is_empty() || text.contains(['/', '\\']) || text.starts_with(['.', '~']) {
            return Ok(Self::Folder(text.into()));
        }
        match text.split_once(':') {
            Some((kind, _)) if is_scheme(kind) => Ok(Self::Kind {
                kind: kind.to_owned(),
                word: text.to_owned(),
            }),
            Some(_) => Ok(Self::Folder(text.into())),
            None => Ok(Self::Name(text.to_owned())),
        }
    }
}

/// `7400`, `7400/path`: the address.
fn port(rest: &str) -> Result<String, Misfit> {
    let (digits, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, "/mcp"),
    };
    let port = digits
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| digits.parse::<u16>().ok())
        .flatten()
        .filter(|port| *port > 0);
    match port {
        Some(port) if is_plain(path) => Ok(format!("http://127.0.0.1:{port}{path}")),
        _ => Err(Misfit {
            why: format!(":{rest} is no port"),
            hint: "a port is a number from 1 to 65535: :7400, or :7400/path".to_owned(),
        }),
    }
}

fn url(scheme: &str, rest: &str, text: &str) -> Result<Word, Misfit> {
    let scheme = scheme.to_ascii_lowercase();
    if !matches!(&*scheme, "http" | "https" | "ws" | "wss") {
        return Ok(Word::Kind {
            kind: scheme,
            word: text.to_owned(),
        });
    }
    let wrong = |why: &str, hint: &str| {
        Err(Misfit {
            why: why.to_owned(),
            hint: hint.to_owned(),
        })
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = &rest[..end];
    if authority.contains('@') {
        return wrong(
            "the address holds a user or a password",
            "leave them out and say --header 'Authorization: …'",
        );
    }
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => {
            if port.parse::<u16>().is_err() {
                return wrong("the address has no such port", "ports go from 1 to 65535");
            }
            host
        }
        _ => authority,
    };
    if host.is_empty() || !is_plain(rest) || host.contains('\\') {
        return wrong(
            "the address is none",
            "write it as in https://mcp.example.com/mcp",
        );
    }
    Ok(Word::Url(format!("{scheme}://{rest}")))
}

/// Nothing that no address may hold.
fn is_plain(text: &str) -> bool {
    !text.contains(|c: char| c.is_whitespace() || c.is_control())
}

/// Letters, digits, `+`, `-` and `.`, and more than one: a single letter is a drive.
fn is_scheme(text: &str) -> bool {
    text.len() > 1
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-._".contains(&byte))
}

/// The first colon after a name that ends as configurations do. A path goes on after it: no name of a server.
fn file_and_name(text: &str) -> Option<(&str, &str)> {
    let colons = text.match_indices(':').map(|(at, _)| at);
    for at in colons {
        let (file, name) = (&text[..at], &text[at + 1..]);
        let lower = file.to_ascii_lowercase();
        if [".json", ".jsonc", ".toml"]
            .iter()
            .any(|end| lower.ends_with(end))
        {
            return (!name.is_empty() && !name.ends_with(['/', '\\'])).then_some((file, name));
        }
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn said(word: &str) -> String {
        match Word::read(OsStr::new(word)) {
            Ok(Word::Demo) => "demo".to_owned(),
            Ok(Word::Url(url)) => format!("url {url}"),
            Ok(Word::File { file, name }) => format!("file {} {name}", file.display()),
            Ok(Word::Host { host, name }) => format!("host {} {name}", host.id),
            Ok(Word::Folder(path)) => format!("folder {}", path.display()),
            Ok(Word::Kind { kind, .. }) => format!("kind {kind}"),
            Ok(Word::Name(name)) => format!("name {name}"),
            Err(misfit) => format!("error {}", misfit.why),
        }
    }

    #[test]
    fn each_word_has_one_meaning() {
        for (word, want) in [
            ("demo", "demo"),
            ("./demo", "folder ./demo"),
            ("Demo", "name Demo"),
            ("notes", "name notes"),
            ("my notes", "name my notes"),
            ("github.com", "name github.com"),
            ("", "folder "),
            (".", "folder ."),
            ("..", "folder .."),
            ("~/notes", "folder ~/notes"),
            ("/a/b", "folder /a/b"),
            ("a/b", "folder a/b"),
            (r"C:\x", r"folder C:\x"),
            ("C:/x", "folder C:/x"),
            ("C:", "folder C:"),
            ("./a:b", "folder ./a:b"),
            (":7400", "url http://127.0.0.1:7400/mcp"),
            (":7400/x/y?z", "url http://127.0.0.1:7400/x/y?z"),
            (":7400/", "url http://127.0.0.1:7400/"),
            (":", "error : is no port"),
            (":0", "error :0 is no port"),
            (":65536", "error :65536 is no port"),
            (":+80", "error :+80 is no port"),
            (":80 80", "error :80 80 is no port"),
            (":name", "error :name is no port"),
            ("https://a.example/mcp", "url https://a.example/mcp"),
            ("HTTP://a.example", "url http://a.example"),
            ("ws://[::1]:80/ws", "url ws://[::1]:80/ws"),
            ("wss://a", "url wss://a"),
            ("http://", "error the address is none"),
            ("http:///x", "error the address is none"),
            ("http://a b/", "error the address is none"),
            ("http://a\n/", "error the address is none"),
            ("http://a:b/", "error the address has no such port"),
            (
                "http://u:p@a/",
                "error the address holds a user or a password",
            ),
            ("http://a/@b", "url http://a/@b"),
            ("sqlite:shop.db", "kind sqlite"),
            ("postgres://x", "kind postgres"),
            ("cmd:git", "kind cmd"),
            (".mcp.json:github", "file .mcp.json github"),
            ("a/b.TOML:x", "file a/b.TOML x"),
            ("opencode.jsonc:x y", "file opencode.jsonc x y"),
            (r"C:\x\.mcp.json:y", r"file C:\x\.mcp.json y"),
            ("a.json:b:c", "file a.json b:c"),
            ("a.json:b.json:c", "file a.json b.json:c"),
            ("a.json:b/", "folder a.json:b/"),
            ("a.json:@x/y", "file a.json @x/y"),
            ("a.json:", "kind a.json"),
            ("a.json", "name a.json"),
            ("claude-desktop:notes", "host claude-desktop notes"),
            ("cursor:", "kind cursor"),
            ("vscode:a:b", "host vscode a:b"),
            ("zed:a/b", "host zed a/b"),
        ] {
            assert_eq!(said(word), want, "{word}");
        }
    }
}
