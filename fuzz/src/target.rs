//! The check of addresses of servers, and of what a server names as an address of its own.

use polyport_http::client::Target;
use polyport_http::fuzzing::{origin, same_origin};

/// Reads the first line of `data` as the address of a server, the next one as an address that this server names, and the others as headers
/// for it.
///
/// - An address has a host, no user and no fragment, and means the same when it is read again; its query is not shown.
/// - What a server names is an address of the same origin, without a fragment, or it is refused with a reason.
/// - A header stands there with its value as it was given, and is none that the protocol sets.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.split('\n');
    let url = lines.next().unwrap_or_default();
    let named = lines.next().unwrap_or_default();
    let target = match Target::new(url) {
        Ok(target) => target,
        Err(bad) => return assert!(!bad.to_string().is_empty()),
    };
    let uri = target.uri();
    let authority = uri.authority().expect("a server has a host").as_str();
    assert!(!authority.contains('@'), "{url:?} is {uri}");
    assert!(matches!(uri.scheme_str(), Some("http" | "https")), "{uri}");
    assert!(!uri.to_string().contains('#'), "{uri}");
    let again = Target::new(&uri.to_string()).expect("an address is one");
    assert_eq!(again.uri(), uri, "of {url:?}");
    let is_socket = target.place().starts_with("ws+");
    assert_eq!(is_socket, url.to_ascii_lowercase().starts_with("ws"));
    assert_eq!(target.place().trim_start_matches("ws+"), again.place());
    if let Some(query) = uri.query().filter(|query| query.len() > 8) {
        let open = format!("{}{}", uri.path(), origin(uri));
        for told in [format!("{target:?}"), target.place()] {
            assert!(!told.contains(query) || open.contains(query), "{told}");
        }
    }
    match same_origin(uri, named) {
        Ok(there) => {
            assert_eq!(origin(&there), origin(uri), "{named:?}");
            assert!(!there.to_string().contains('#'), "{there}");
        }
        Err(why) => assert!(!why.is_empty()),
    }
    check_headers(target, lines);
}

fn check_headers<'a>(mut target: Target, lines: impl Iterator<Item = &'a str>) {
    for line in lines.take(MOST) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        target = match target.clone().header(name, value) {
            Ok(target) => target,
            Err(bad) => {
                assert!(!bad.to_string().is_empty());
                continue;
            }
        };
        assert!(!value.contains(['\r', '\n', '\0']), "{value:?}");
        let lower = name.to_ascii_lowercase();
        assert!(!OURS.contains(&&*lower), "{name}");
        let told = format!("{target:?}");
        assert!(told.contains(&lower), "{told}");
    }
}

const OURS: &[&str] = &[
    "host",
    "accept",
    "content-length",
    "content-type",
    "mcp-session-id",
    "mcp-protocol-version",
    "transfer-encoding",
    "last-event-id",
];

/// Headers that are given at once.
const MOST: usize = 16;
