//! The check of the headers of MCP over HTTP: each is read once more here, slower and by the letter of RFC 9110.

use std::borrow::Cow;

use http::{HeaderMap, HeaderValue, header};
use polyport_proto::http::guard::Guard;
use polyport_proto::http::headers::{self, Accepts, METHOD, NAME, PROTOCOL_VERSION};
use polyport_proto::http::mirror::{self, Mirror};
use polyport_wire::{Limits, Message};

use crate::head::Request;

/// Reads `data` as the head of an HTTP request, and a body that its headers may mirror.
///
/// - What `Accept` allows stands there; lines of it mean what one line of them all means.
/// - A body that is declared as JSON is declared as nothing else.
/// - What is encoded for a header is decoded to the same, and what is decoded was encoded in the one way there is.
/// - Whoever is let in has named one of our hosts, once, and comes from no other page than allowed.
/// - A header that mirrors the body is there once and says the same.
pub fn check(data: &[u8]) {
    let request = Request::read(data);
    check_accept(&request.headers);
    if headers::is_json(&request.headers) {
        check_json(&request.headers);
    }
    for value in request.headers.values() {
        check_decoded(value);
        check_encoded(&String::from_utf8_lossy(value.as_bytes()));
    }
    check_encoded(&String::from_utf8_lossy(&request.body));
    check_guard(&request);
    if let Ok(message) = Message::parse(request.body.clone(), &Limits::default()) {
        check_mirror(&request.headers, &message);
    }
}

fn check_accept(headers: &HeaderMap) {
    let found = Accepts::read(headers);
    let lines = || headers.get_all(header::ACCEPT).iter();
    let joined: Vec<&[u8]> = lines().map(HeaderValue::as_bytes).collect();
    let text = String::from_utf8_lossy(&joined.join(&b", "[..])).to_ascii_lowercase();
    let names = |ranges: [&str; 3]| ranges.iter().any(|range| text.contains(range));
    if joined.is_empty() {
        assert!(found.json && found.sse, "without the header all is allowed");
        return;
    }
    assert!(
        !found.json || names(["application/json", "application/*", "*/*"]),
        "JSON is allowed: {text}"
    );
    assert!(
        !found.sse || names(["text/event-stream", "text/*", "*/*"]),
        "events are allowed: {text}"
    );
    if let Ok(one) = HeaderValue::from_bytes(&joined.join(&b", "[..])) {
        let one = HeaderMap::from_iter([(header::ACCEPT, one)]);
        assert_eq!(Accepts::read(&one), found, "lines are a list: {text}");
    }
}

/// RFC 9110 §8.3.1: `type "/" subtype`, then parameters.
fn check_json(headers: &HeaderMap) {
    let mut values = headers.get_all(header::CONTENT_TYPE).iter();
    let value = values.next().expect("a type is declared");
    assert_eq!(values.next(), None, "one type is declared");
    let text = value.to_str().expect("a type is visible ASCII");
    let text = text.to_ascii_lowercase();
    let mut rest = text
        .trim_start_matches([' ', '\t'])
        .strip_prefix("application/json")
        .expect("it is JSON");
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        if rest.is_empty() {
            return;
        }
        rest = rest.strip_prefix(';').expect("parameters follow the type");
        rest = rest.trim_start_matches([' ', '\t']);
        let (name, after) = token(rest).expect("a parameter has a name");
        let after = after
            .strip_prefix('=')
            .expect("`=` follows the name at once");
        let (value, after) = token(after)
            .or_else(|| quoted(after))
            .expect("a parameter has a value");
        assert!(name != "charset" || value == "utf-8", "JSON is UTF-8");
        rest = after;
    }
}

fn token(text: &str) -> Option<(&str, &str)> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let end = text.bytes().position(|byte| !is_token(byte));
    let (token, rest) = text.split_at(end.unwrap_or(text.len()));
    (!token.is_empty()).then_some((token, rest))
}

/// A quoted string as it was written, without its quotes.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix('"')?;
    let mut escaped = false;
    let end = inside.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })?;
    Some((&inside[..end], &inside[end + 1..]))
}

fn check_decoded(value: &HeaderValue) {
    let Ok(text) = mirror::decode(value) else {
        return;
    };
    let value = value.as_bytes().trim_ascii();
    match &text {
        Cow::Borrowed(plain) => assert_eq!(plain.as_bytes(), value, "plain text stays"),
        Cow::Owned(text) => assert_eq!(wrapped(text).as_bytes(), value, "there is one encoding"),
    }
    check_encoded(&text);
}

fn check_encoded(text: &str) {
    let is_plain = text.bytes().all(|byte| (0x20..=0x7e).contains(&byte))
        && text.trim() == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    let encoded = if is_plain {
        text.to_owned()
    } else {
        wrapped(text)
    };
    let value = HeaderValue::from_str(&encoded).expect("what is encoded fits a header");
    assert_eq!(mirror::decode(&value).as_deref(), Ok(text), "{encoded}");
}

/// `=?base64?…?=` around the text, by RFC 4648 §4.
fn wrapped(text: &str) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::from("=?base64?");
    for group in text.as_bytes().chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let digit = usize::try_from(bits >> (18 - 6 * at) & 0x3f).expect("six bits");
            let is_padding = at > group.len();
            out.push(if is_padding {
                '='
            } else {
                char::from(ALPHABET[digit])
            });
        }
    }
    out + "?="
}

fn check_guard(request: &Request) {
    const PAGE: &str = "https://app.example";
    let guard = Guard::loopback().allow_origin(PAGE);
    let Request { uri, headers, .. } = request;
    if guard.check(uri, headers).is_err() {
        return;
    }
    let text = |value: &HeaderValue| {
        let text = value.to_str().expect("who is let in is visible ASCII");
        text.to_ascii_lowercase()
    };
    let hosts: Vec<String> = headers.get_all(header::HOST).iter().map(text).collect();
    assert!(hosts.len() <= 1, "one host is named: {hosts:?}");
    let target = uri.authority().map(|it| it.as_str().to_ascii_lowercase());
    let named: Vec<String> = hosts.into_iter().chain(target).collect();
    assert!(!named.is_empty(), "a host is named");
    for name in &named {
        assert!(is_ours(name), "{name} is ours");
    }
    let mut origins = headers.get_all(header::ORIGIN).iter().map(text);
    if let Some(origin) = origins.next() {
        let own = ["http://", "https://"]
            .into_iter()
            .filter_map(|scheme| origin.strip_prefix(scheme))
            .any(|rest| named.iter().any(|name| name == rest));
        assert!(own || origin == PAGE, "{origin} is no page of ours");
        assert_eq!(origins.next(), None, "one page is named");
    }
    for (name, value) in [(header::HOST, "localhost"), (header::ORIGIN, "null")] {
        let mut more = headers.clone();
        let had = more.append(&name, HeaderValue::from_static(value));
        let is_first_host = name == header::HOST && !had;
        assert!(
            is_first_host || guard.check(uri, &more).is_err(),
            "a second host, or another page, is refused"
        );
    }
}

/// `localhost`, `127.0.0.1` or `[::1]`, and perhaps a port.
fn is_ours(name: &str) -> bool {
    ["localhost", "127.0.0.1", "[::1]"]
        .into_iter()
        .filter_map(|host| name.strip_prefix(host))
        .any(|rest| match rest.strip_prefix(':') {
            None => rest.is_empty(),
            Some(port) => {
                port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok()
            }
        })
}

fn check_mirror(headers: &HeaderMap, message: &Message) {
    let mirror = Mirror::new(headers);
    let only = |name| {
        let mut values = headers.get_all(&name).iter();
        let value = values.next().expect("the header is there");
        assert_eq!(values.next(), None, "{name} is there once");
        value
    };
    let method = message.method();
    if mirror.check_version(&method).is_ok() {
        let value = only(PROTOCOL_VERSION).as_bytes().trim_ascii();
        assert_eq!(value, method.as_bytes(), "the version is the same");
    }
    let params = message.params();
    if mirror.check_body(&method, params).is_err() {
        return;
    }
    assert_eq!(only(METHOD).as_bytes().trim_ascii(), method.as_bytes());
    let name = match &*method {
        "tools/call" | "prompts/get" => params.name(),
        "resources/read" => params.uri(),
        _ => return,
    };
    match name {
        Some(name) => assert_eq!(mirror::decode(only(NAME)), Ok(name), "the name is the same"),
        None => assert!(!headers.contains_key(NAME), "there is no name to mirror"),
    }
}
