//! Under which names clients see what several servers offer, and the way back. Not whose they are: see `catalogue`.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// The longest name of a tool that hosts take.
pub const LONGEST: usize = 64;
/// Between the name of a server and that of what it offers.
const BETWEEN: &str = "__";
/// The scheme of pages that hosts show for tools.
const PAGE: &str = "ui://";
/// Of the name of a server, so much stands before a name that must be shortened.
const SERVER: usize = 20;

/// When the name of a server is put before what it offers.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Prefix {
    /// Never: of several things of one name the first server's is seen.
    Never,
    /// Where two servers use the same name, or where it cannot be used as it is.
    #[default]
    WhenNeeded,
    /// Always.
    Always,
}

/// The names under which things are seen, in their order; none: the thing cannot be seen, since its name is taken.
///
/// `things` are servers, by their place in `servers`, and names. The same things always get the same names.
pub fn shown(prefix: Prefix, servers: &[&str], things: &[(usize, &str)]) -> Vec<Option<String>> {
    let mut used: HashMap<&str, HashSet<usize>> = HashMap::new();
    for (server, name) in things {
        used.entry(name).or_default().insert(*server);
    }
    let is_bare = |name: &str| match prefix {
        Prefix::Never => true,
        Prefix::WhenNeeded => {
            name.len() <= LONGEST && used.get(name).is_none_or(|servers| servers.len() == 1)
        }
        Prefix::Always => false,
    };
    let bare: HashSet<&str> = things
        .iter()
        .map(|(_, name)| *name)
        .filter(|name| is_bare(name))
        .collect();
    let mut taken = HashSet::new();
    let mut seen = HashSet::new();
    things
        .iter()
        .map(|(server, name)| {
            if !seen.insert((*server, *name)) {
                return None;
            }
            let shown = if is_bare(name) {
                (*name).to_owned()
            } else {
                let first = prefixed(servers.get(*server).copied().unwrap_or_default(), name);
                // A bare name of somebody else may look the same.
                if bare.contains(&*first) {
                    hashed(&first, *server, name)
                } else {
                    first
                }
            };
            let shown = if taken.contains(&shown) && prefix != Prefix::Never {
                hashed(&shown, *server, name)
            } else {
                shown
            };
            taken.insert(shown.clone()).then_some(shown)
        })
        .collect()
}

/// A name with that of its server before it, within [`LONGEST`].
fn prefixed(server: &str, name: &str) -> String {
    let server = plain(server);
    let whole = format!("{server}{BETWEEN}{name}");
    if whole.len() <= LONGEST {
        return whole;
    }
    let server = cut(&server, SERVER);
    let tail = hash(&whole);
    let room = LONGEST - server.len() - BETWEEN.len() - tail.len() - 1;
    format!("{server}{BETWEEN}{}_{tail}", cut(name, room))
}

/// The same with a hash of whose it is.
fn hashed(shown: &str, server: usize, name: &str) -> String {
    let tail = hash(&format!("{server}\0{name}"));
    format!("{}_{tail}", cut(shown, LONGEST - tail.len() - 1))
}

/// A server's name of letters that the names of tools may have.
fn plain(server: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    server
        .chars()
        .map(|c| if fits(c) { c } else { '-' })
        .collect()
}

fn cut(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Six digits that are the same for the same text, in every process (FNV-1a).
fn hash(text: &str) -> String {
    let mut sum: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in text.bytes() {
        sum = (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    format!("{:06x}", (sum ^ (sum >> 32)) & 0xff_ffff)
}

/// A resource's address with the name of its server before it: what [`unprefixed`] takes off again.
/// A page of a tool keeps its scheme, by which hosts know it: `ui://SERVER+HOST/…`.
pub fn prefixed_uri(server: &str, uri: &str) -> String {
    put_before(&scheme(server), uri)
}

/// The same where that address is another's own: with a hash of whose it is. The lists alone lead back.
pub(crate) fn hashed_uri(server: &str, uri: &str) -> String {
    let tail = hash(&format!("{server}\0{uri}"));
    put_before(&format!("{}-{tail}", scheme(server)), uri)
}

fn put_before(scheme: &str, uri: &str) -> String {
    match uri.strip_prefix(PAGE) {
        Some(rest) => format!("{PAGE}{scheme}+{rest}"),
        None => format!("{scheme}+{uri}"),
    }
}

/// A server's name as a scheme may begin (RFC 3986, 3.1).
fn scheme(server: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    let rest = server.chars().map(|c| if fits(c) { c } else { '-' });
    let rest: String = rest.collect::<String>().to_ascii_lowercase();
    match rest.chars().next() {
        Some(first) if first.is_ascii_alphabetic() => rest,
        _ => format!("s{rest}"),
    }
}

/// The names of servers, each made its own: so that no two are the same as part of a name or of an address.
pub(crate) fn distinct(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::new();
    for name in names {
        let (mut own, mut n) = (name.clone(), 1);
        let meets =
            |own: &str, other: &String| plain(other) == plain(own) || scheme(other) == scheme(own);
        while distinct.iter().any(|other| meets(&own, other)) {
            n += 1;
            own = format!("{name}-{n}");
        }
        distinct.push(own);
    }
    distinct
}

/// The server and the address that it knows, of an address that [`prefixed_uri`] made.
pub fn unprefixed<'a>(servers: &[&str], uri: &'a str) -> Option<(usize, Cow<'a, str>)> {
    let page = uri.strip_prefix(PAGE);
    let (before, after) = page.unwrap_or(uri).split_once('+')?;
    let server = servers.iter().position(|server| scheme(server) == before)?;
    if page.is_some() {
        return Some((server, format!("{PAGE}{after}").into()));
    }
    after.contains(':').then_some((server, after.into()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const SERVERS: [&str; 3] = ["github", "files", "my server"];

    fn names(prefix: Prefix, things: &[(usize, &str)]) -> Vec<String> {
        let shown = shown(prefix, &SERVERS, things);
        shown.into_iter().map(Option::unwrap_or_default).collect()
    }

    // req: S-GATE-NAMES
    #[test]
    fn names_are_bare_while_they_are_the_only_ones() {
        let things = [
            (0, "search"),
            (1, "search"),
            (1, "read"),
            (2, "search"),
            (2, "say"),
        ];
        assert_eq!(
            names(Prefix::WhenNeeded, &things),
            [
                "github__search",
                "files__search",
                "read",
                "my-server__search",
                "say"
            ]
        );
        assert_eq!(
            names(Prefix::Always, &things)[2..4],
            ["files__read", "my-server__search"]
        );
        assert_eq!(
            names(Prefix::Never, &things),
            ["search", "", "read", "", "say"]
        );
        // One alone that hosts would not take is shortened.
        let long = "x".repeat(100);
        let shown = names(Prefix::WhenNeeded, &[(0, &long)]);
        assert_eq!(shown[0].len(), LONGEST);
        // Twice from one server is once.
        assert_eq!(names(Prefix::WhenNeeded, &[(0, "a"), (0, "a")]), ["a", ""]);
    }

    // req: S-GATE-NAMES
    #[test]
    fn names_fit_hosts_and_never_meet() {
        let long = "x".repeat(63);
        let other = format!("{}y", "x".repeat(62));
        let things = [(0, &*long), (1, &*long), (0, &*other), (1, &*other)];
        let shown = names(Prefix::WhenNeeded, &things);
        let different: HashSet<_> = shown.iter().collect();
        assert_eq!(different.len(), 4, "{shown:?}");
        assert!(shown.iter().all(|name| name.len() <= LONGEST), "{shown:?}");
        assert!(shown[0].starts_with("github__xxx"), "{shown:?}");
        assert_eq!(shown, names(Prefix::WhenNeeded, &things), "stable");
        // A bare name that looks like a prefixed one.
        let things = [(0, "a"), (1, "a"), (2, "github__a")];
        let shown = names(Prefix::WhenNeeded, &things);
        assert_eq!(shown[2], "github__a");
        assert_ne!(shown[0], "github__a");
        let different: HashSet<_> = shown.iter().collect();
        assert_eq!(different.len(), 3);
    }

    // req: S-GATE-NAMES
    #[test]
    fn addresses_go_there_and_back() {
        for (server, name) in SERVERS.iter().enumerate() {
            for uri in ["file:///a+b", "x:y", "git+ssh://h/r", "ui://a/b+c"] {
                let shown = prefixed_uri(name, uri);
                assert_eq!(unprefixed(&SERVERS, &shown), Some((server, uri.into())));
                assert_eq!(uri.starts_with("ui://"), shown.starts_with("ui://"));
            }
        }
        let shown = SERVERS.map(|name| prefixed_uri(name, "x:y"));
        assert_eq!(shown, ["github+x:y", "files+x:y", "my-server+x:y"]);
        assert_eq!(prefixed_uri("7_of", "x:y"), "s7-of+x:y");
        let names = ["a_b", "a-b", "A-B", "a b", "b"].map(str::to_owned);
        assert_eq!(distinct(names), ["a_b", "a-b-2", "A-B-3", "a b-4", "b"]);
        assert_eq!(unprefixed(&SERVERS, "git+ssh://h/r"), None);
        assert_eq!(unprefixed(&SERVERS, "file:///github+x"), None);
    }
}
