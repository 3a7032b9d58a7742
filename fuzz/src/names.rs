//! The check of names and addresses under which a gateway shows what its servers offer.

use std::collections::{HashMap, HashSet};

use polyport_gateway::Prefix;
use polyport_gateway::names::{LONGEST, prefixed_uri, shown, unprefixed};

/// Reads the first byte of `data` as when names are prefixed, and each line behind it as a server and what it offers, with a blank between.
///
/// - What a server offers is shown under a name that nobody else has, and always under the same one.
/// - It is left out only when it is there a second time, or when nothing is prefixed and somebody else has its name.
/// - A name that is not its own fits hosts.
/// - An address comes back from the one that is shown, and is that of the same server.
pub fn check(data: &[u8]) {
    let Some((choice, text)) = data.split_first() else {
        return;
    };
    let prefix = match choice % 3 {
        0 => Prefix::WhenNeeded,
        1 => Prefix::Always,
        _ => Prefix::Never,
    };
    let text = String::from_utf8_lossy(text);
    let mut servers: Vec<&str> = Vec::new();
    let mut things = Vec::new();
    for line in text.lines().take(MOST) {
        let (server, name) = line.split_once(' ').unwrap_or(("", line));
        let known = servers.iter().position(|known| *known == server);
        let server = known.unwrap_or_else(|| {
            servers.push(server);
            servers.len() - 1
        });
        things.push((server, name));
    }
    let names = shown(prefix, &servers, &things);
    assert_eq!(names, shown(prefix, &servers, &things), "they are stable");
    check_names(prefix, &things, &names);
    for (server, uri) in things {
        check_uri(&servers, server, uri);
    }
}

fn check_names(prefix: Prefix, things: &[(usize, &str)], names: &[Option<String>]) {
    assert_eq!(names.len(), things.len());
    let mut taken = HashMap::new();
    let mut seen = HashSet::new();
    for (thing, shown) in things.iter().zip(names) {
        let is_new = seen.insert(thing);
        let Some(shown) = shown else {
            let by_another = prefix == Prefix::Never && taken.contains_key(thing.1);
            assert!(!is_new || by_another, "{thing:?} is left out");
            continue;
        };
        assert!(is_new, "{thing:?} is there twice");
        assert!(
            shown == thing.1 || shown.len() <= LONGEST,
            "{thing:?} is shown as {shown:?}"
        );
        let other = taken.insert(&**shown, thing);
        assert_eq!(other, None, "both are {shown:?}: {thing:?}");
    }
}

fn check_uri(servers: &[&str], server: usize, uri: &str) {
    let made = prefixed_uri(servers[server], uri);
    if let Some((found, inner)) = unprefixed(servers, &made) {
        assert_eq!(inner, uri);
        // Servers whose names look alike are told apart before they come here.
        assert_eq!(prefixed_uri(servers[found], uri), made);
    } else {
        assert!(!uri.contains(':'), "{made:?} is forgotten");
    }
    if let Some((found, inner)) = unprefixed(servers, uri) {
        assert_eq!(prefixed_uri(servers[found], &inner), uri);
    }
}

/// Things that are named at once.
const MOST: usize = 64;
