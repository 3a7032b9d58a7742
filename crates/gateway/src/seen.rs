//! What of one kind of a server clients see, and how it is called and described. What is not seen is as if it were not there, in lists
//! and in calls.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use globset::{Glob, GlobSet, GlobSetBuilder};
use polyport::Raw;
use polyport::percent::decode_broken_text;
use polyport_wire::{splice, write};

use crate::addresses;

/// Which tools, prompts or resources of a server clients see, by the names or addresses that the server gives them.
///
/// In patterns `*` is any text, `?` any character, `[ab]` one of these and `{x,y}` either. Upper and lower case differ.
///
/// ```
/// # use polyport_gateway::Seen;
/// let tools = Seen::all()
///     .allow(["read_*", "list_*"])?
///     .deny(["*_secret"])?
///     .rename("read_file", "cat")
///     .describe("list_files", "What is in a folder.");
/// # let _ = tools;
/// # Ok::<(), polyport_gateway::PatternError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Seen {
    allow: Option<Patterns>,
    deny: Option<Patterns>,
    rename: HashMap<String, String>,
    describe: HashMap<String, String>,
    /// It has been held against what its server offers.
    is_held: Arc<AtomicBool>,
}

/// Patterns, and as they were written.
#[derive(Clone, Debug)]
struct Patterns {
    set: GlobSet,
    written: Vec<String>,
}

impl Patterns {
    fn is_match(&self, name: &str) -> bool {
        self.set.is_match(name)
    }
}

/// A text is no pattern.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PatternError(String);

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PatternError {}

impl Seen {
    /// All, as it is.
    pub fn all() -> Self {
        Self::default()
    }

    /// Only what fits one of these patterns; of none, nothing. Default: all.
    ///
    /// # Errors
    /// One is no pattern.
    pub fn allow<S: AsRef<str>>(
        mut self,
        patterns: impl IntoIterator<Item = S>,
    ) -> Result<Self, PatternError> {
        self.allow = Some(set(patterns)?);
        Ok(self)
    }

    /// Nothing that fits one of these patterns, whatever is allowed. Default: none.
    ///
    /// # Errors
    /// One is no pattern.
    pub fn deny<S: AsRef<str>>(
        mut self,
        patterns: impl IntoIterator<Item = S>,
    ) -> Result<Self, PatternError> {
        let set = set(patterns)?;
        self.deny = (!set.written.is_empty()).then_some(set);
        Ok(self)
    }

    /// Shows a tool or prompt under another name. That of its server may still be put before it. Resources keep their addresses.
    #[must_use]
    pub fn rename(mut self, own: impl Into<String>, new: impl Into<String>) -> Self {
        self.rename.insert(own.into(), new.into());
        self
    }

    /// Shows a tool or prompt with another description.
    #[must_use]
    pub fn describe(mut self, own: impl Into<String>, text: impl Into<String>) -> Self {
        self.describe.insert(own.into(), text.into());
        self
    }

    /// Is everything seen as it is?
    pub(crate) fn is_all(&self) -> bool {
        self.shows_all() && self.rename.is_empty() && self.describe.is_empty()
    }

    /// Is everything seen?
    pub(crate) fn shows_all(&self) -> bool {
        self.allow.is_none() && self.deny.is_none()
    }

    /// Is something of this name seen?
    pub(crate) fn shows(&self, name: &str) -> bool {
        self.allow.as_ref().is_none_or(|set| set.is_match(name))
            && self.deny.as_ref().is_none_or(|set| !set.is_match(name))
    }

    /// Is the resource at this address seen? A server may read an address in another way than it is written: each way must be.
    pub(crate) fn shows_address(&self, uri: &str) -> bool {
        if self.shows_all() {
            return true;
        }
        let is_in = |set: &Patterns, uri: &String| set.is_match(uri);
        let ways = ways(uri);
        let denied = self.deny.as_ref().is_some_and(|set| {
            let bare = |uri: &String| uri.split(['?', '#']).next().unwrap_or_default().to_owned();
            ways.iter()
                .any(|uri| is_in(set, uri) || is_in(set, &bare(uri)))
        });
        let allowed = self.allow.as_ref();
        !denied && allowed.is_none_or(|set| ways.iter().all(|uri| is_in(set, uri)))
    }

    /// Own names that are exchanged for others, in their order.
    pub(crate) fn renamed(&self) -> Vec<&str> {
        sorted(&self.rename)
    }

    /// Own names whose descriptions are exchanged, likewise.
    pub(crate) fn redescribed(&self) -> Vec<&str> {
        sorted(&self.describe)
    }

    /// Patterns of what alone is seen, as they were written.
    pub(crate) fn allowed(&self) -> &[String] {
        self.allow.as_ref().map_or(&[], |allow| &allow.written)
    }

    /// Patterns of what is not seen, likewise.
    pub(crate) fn denied(&self) -> &[String] {
        self.deny.as_ref().map_or(&[], |deny| &deny.written)
    }

    /// Is it to be held against what its server offers? Once, whoever asks.
    pub(crate) fn is_new(&self) -> bool {
        !self.is_all() && !self.is_held.swap(true, Ordering::Relaxed)
    }

    /// The name under which something is offered.
    pub(crate) fn offered<'a>(&'a self, own: &'a str) -> &'a str {
        self.rename.get(own).map_or(own, String::as_str)
    }

    /// An entry of a list with another description, if it has one.
    pub(crate) fn described(&self, own: &str, entry: &Raw) -> Option<Raw> {
        let mut text = Vec::new();
        write::string(&mut text, self.describe.get(own)?);
        if let Some(out) = addresses::exchanged(entry.as_str(), "description", &text) {
            return Some(Raw::trusted(out));
        }
        let open = entry.as_str().strip_prefix('{')?;
        let mut is_empty = true;
        splice::members(entry.as_str(), |_, _| is_empty = false);
        let mut out = b"{\"description\":".to_vec();
        out.extend_from_slice(&text);
        if !is_empty {
            out.push(b',');
        }
        out.extend_from_slice(open.as_bytes());
        Some(Raw::trusted(out))
    }
}

fn sorted(exchanged: &HashMap<String, String>) -> Vec<&str> {
    let mut names: Vec<&str> = exchanged.keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

fn set<S: AsRef<str>>(patterns: impl IntoIterator<Item = S>) -> Result<Patterns, PatternError> {
    let mut set = GlobSetBuilder::new();
    let mut written = Vec::new();
    for pattern in patterns {
        let pattern = pattern.as_ref();
        written.push(pattern.to_owned());
        let glob = Glob::new(pattern);
        set.add(glob.map_err(|error| PatternError(error.to_string()))?);
        // For addresses, which are compared without escapes, too.
        let unescaped = decode_broken_text(pattern);
        if unescaped != pattern
            && let Ok(glob) = Glob::new(&unescaped)
        {
            set.add(glob);
        }
    }
    let set = set.build();
    let set = set.map_err(|error| PatternError(error.to_string()))?;
    Ok(Patterns { set, written })
}

/// An address as it is written, and as it may be read: as the web does, without escapes, without steps back, its scheme and host in small
/// letters.
fn ways(uri: &str) -> Vec<String> {
    let mut ways: Vec<String> = Vec::new();
    // Escapes are taken off once, as servers do.
    let bare = |uri: &str| decode_broken_text(uri).into_owned();
    let web = on_the_web(uri);
    let (bare_web, web_bare) = (bare(&web), on_the_web(&bare(uri)));
    for text in [uri.to_owned(), bare(uri), web, bare_web, web_bare] {
        let lower = in_small_letters(&text);
        for way in [text, without_steps(&lower), lower] {
            if !ways.contains(&way) {
                ways.push(way);
            }
        }
    }
    ways
}

/// As servers read it that take it for an address of the web (WHATWG URL, 4.4): blanks around it and line breaks in it are nothing, a
/// stroke back is one forward, a file is of this host, and the usual port goes without saying.
fn on_the_web(uri: &str) -> String {
    let text = uri.trim_matches(|c: char| c <= ' ');
    let text = text.replace(['\t', '\n', '\r'], "").replace('\\', "/");
    let Some((scheme, rest)) = text.split_once(':') else {
        return text;
    };
    let scheme = scheme.to_ascii_lowercase();
    let port = match &*scheme {
        "file" => "",
        "http" | "ws" => ":80",
        "https" | "wss" => ":443",
        "ftp" => ":21",
        _ => return text,
    };
    let path = rest.trim_start_matches('/');
    let is_of_this_host = scheme == "file" && rest.len() - path.len() != 2;
    let (host, path) = match path.find(['/', '?', '#']) {
        _ if is_of_this_host => ("", path),
        Some(end) => (
            &path[..end],
            path[end..]
                .strip_prefix('/')
                .unwrap_or_else(|| &path[end..]),
        ),
        None => (path, ""),
    };
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let host = host.strip_suffix(port).unwrap_or(host);
    let is_this = scheme == "file" && host.eq_ignore_ascii_case("localhost");
    format!("{scheme}://{}/{path}", if is_this { "" } else { host })
}

/// Scheme and host; what follows them keeps its letters.
fn in_small_letters(uri: &str) -> String {
    let end = match uri.split_once("://") {
        Some((scheme, rest)) => scheme.len() + 3 + rest.find(['/', '?', '#']).unwrap_or(rest.len()),
        None => uri.find(':').unwrap_or(0),
    };
    uri[..end].to_ascii_lowercase() + &uri[end..]
}

/// `a//./b/../c` is `a/c`.
fn without_steps(uri: &str) -> String {
    let start = match uri.split_once("://") {
        Some((scheme, rest)) => scheme.len() + 3 + rest.find('/').unwrap_or(rest.len()),
        None => uri.find(':').map_or(0, |at| at + 1),
    };
    let (before, path) = uri.split_at(start);
    let (path, query) = path.split_at(path.find(['?', '#']).unwrap_or(path.len()));
    let path = path.replace('\\', "/");
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    let end = if path.len() > 1 && path.ends_with('/') {
        "/"
    } else {
        ""
    };
    format!("{before}{root}{}{end}{query}", parts.join("/"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    // req: S-GATE-RULES
    #[test]
    fn an_address_is_denied_in_every_way_it_may_be_read() {
        let seen = Seen::all().deny(["file:///secret/*", "file:///x/key"]);
        let seen = seen.unwrap();
        for uri in [
            "file:///secret/a",
            "file:///%73ecret/a",
            "file:///secret%2Fa",
            "file:///a/../secret/a",
            "file:///a/%2e%2e/secret/a",
            "file:///./secret/a",
            "file:////secret/a",
            "file:///secret//a",
            "FILE:///secret/a",
            "file:///x/key?y",
            "file:///x/key#y",
            "file:///a\\..\\secret\\a",
            "file:/secret/a",
            "file:secret/a",
            "file://localhost/secret/a",
            "file://LocalHost/secret/a",
            "file://%6cocalhost/secret/a",
            " file:///secret/a",
            "file:///secret/a\u{0}",
            "file:///se\tcret/a",
            "fi\nle:///secret/a",
            "file:///%7\r3ecret/a",
            "file:\\\\\\secret\\a",
            "file:///b/.\t./secret/a",
        ] {
            assert!(!seen.shows_address(uri), "{uri}");
        }
        for uri in [
            "file:///public/secret",
            "file:///secretly",
            "x:key",
            "%",
            "%zz",
            "é:%é",
        ] {
            assert!(seen.shows_address(uri), "{uri}");
        }
        // What is allowed is so in every way.
        let seen = Seen::all().allow(["file:///public/*"]).unwrap();
        assert!(seen.shows_address("file:///public/a"));
        assert!(seen.shows_address("file:///public/%61/b"));
        let exact = Seen::all().allow(["file:///a%20b?x"]).unwrap();
        assert!(exact.shows_address("file:///a%20b?x"));
        assert!(!seen.shows_address("file:///public/../secret"));
        assert!(!seen.shows_address("file:///public/%2e%2e/secret"));
        assert!(!seen.shows_address("file:///public/.\t./secret"));
        let seen = Seen::all().deny(["http://host/a/*"]).unwrap();
        for uri in [
            "http://host:80/a/b",
            "http:/host/a/b",
            "http:host/a/b",
            "http://x:y@host/a/b",
            "HTTP:\\\\HOST\\a/b",
        ] {
            assert!(!seen.shows_address(uri), "{uri}");
        }
        assert!(seen.shows_address("http://host:81/a/b"));
    }

    // req: S-GATE-RULES, S-GATE-BYTES
    #[test]
    fn a_description_is_exchanged_or_added_and_nothing_else() {
        let seen = Seen::all().describe("a", "new \"one\"");
        for (entry, want) in [
            (
                r#"{"x": 1.0, "description" : "old", "name":"a"}"#,
                r#"{"x": 1.0, "description" : "new \"one\"", "name":"a"}"#,
            ),
            (
                r#"{"name":"a"}"#,
                r#"{"description":"new \"one\"","name":"a"}"#,
            ),
            ("{}", r#"{"description":"new \"one\""}"#),
        ] {
            let described = seen.described("a", &Raw::from_static(entry)).unwrap();
            assert_eq!(described.as_str(), want);
        }
        assert!(seen.described("b", &Raw::from_static("{}")).is_none());
    }
}
