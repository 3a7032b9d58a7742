//! Where a server is, and what every request to it carries.

use std::fmt;

use fluent_uri::{Uri as Parsed, UriRef};
use http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use polyport_proto::http::headers;

/// The address of a server over HTTP, and the headers that every request to it carries.
#[derive(Clone)]
pub struct Target {
    uri: Uri,
    headers: HeaderMap,
    is_socket: bool,
    is_sse: bool,
}

/// Why a text is no address of a server, or a pair of texts no header.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BadTarget(String);

impl Target {
    /// The server at a URL, such as `https://example.com/mcp`, or `wss://example.com/mcp` for a WebSocket.
    ///
    /// # Errors
    /// It is no absolute URL of `http`, `https`, `ws` or `wss`, or it has a user or a password in it: those belong in a header.
    pub fn new(url: &str) -> Result<Self, BadTarget> {
        let bad = |why: &str| Err(BadTarget(why.to_owned()));
        let Ok(parsed) = Parsed::parse(url) else {
            return bad("it is no URL: write spaces and other such characters as %20 and so on");
        };
        match parsed.authority() {
            None => return bad("it is no URL of a server: write https://host/path"),
            Some(authority) if authority.has_userinfo() => {
                return bad("it has a user in it: name who asks in an Authorization header");
            }
            Some(_) => {}
        }
        let (scheme, is_socket) = match &*parsed.scheme().as_str().to_ascii_lowercase() {
            "http" => ("http", false),
            "https" => ("https", false),
            "ws" => ("http", true),
            "wss" => ("https", true),
            _ => return bad("it is none of http, https, ws and wss"),
        };
        if is_socket && cfg!(not(feature = "ws")) {
            return bad("this program has been built without WebSocket (feature ws)");
        }
        let rest = parsed.strip_fragment();
        let rest = &rest.as_str()[parsed.scheme().as_str().len()..];
        match format!("{scheme}{rest}").parse::<Uri>() {
            Ok(uri) => Ok(Self {
                uri,
                headers: HeaderMap::new(),
                is_socket,
                is_sse: false,
            }),
            Err(_) => bad("it is no URL of a server: write https://host/path"),
        }
    }

    /// Adds a header to every request. The headers of the protocol itself stay what they are.
    ///
    /// # Errors
    /// It is no header, one without a value, or one that the protocol sets.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, BadTarget> {
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| BadTarget(format!("{name:?} is no name of a header")))?;
        if is_ours(&name) {
            let why = format!("{name} is a header that the protocol sets");
            return Err(BadTarget(why));
        }
        if value.trim().is_empty() {
            let why = format!("the header {name} has no value; is a variable empty?");
            return Err(BadTarget(why));
        }
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| BadTarget(format!("the value of {name} holds what no header may hold")))?;
        value.set_sensitive(true);
        self.headers.insert(name, value);
        Ok(self)
    }

    /// Tries the older HTTP with SSE before Streamable HTTP, as fits a server that is known to speak it. Default: the other way round.
    #[must_use]
    pub fn sse_first(mut self) -> Self {
        self.is_sse = true;
        self
    }

    /// The address.
    pub fn uri(&self) -> &Uri {
        &self.uri
    }

    /// Which server it is: how it is spoken to, scheme, host and port in one spelling, and the path. Not the query, which may hold a
    /// key.
    pub fn place(&self) -> String {
        let kind = if self.is_socket { "ws+" } else { "" };
        format!("{kind}{}{}", origin(&self.uri), self.uri.path())
    }

    /// Is it spoken to over a WebSocket?
    pub(super) fn is_socket(&self) -> bool {
        self.is_socket
    }

    /// Is the older HTTP with SSE tried first?
    pub(super) fn is_sse(&self) -> bool {
        self.is_sse
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        &self.headers
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A query may hold a key.
        f.debug_struct("Target")
            .field("origin", &origin(&self.uri))
            .field("path", &self.uri.path())
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .finish()
    }
}

impl fmt::Display for BadTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadTarget {}

/// What a server names is taken for an address of its own, or not at all.
pub(crate) fn same_origin(base: &Uri, named: &str) -> Result<Uri, String> {
    let unreadable = || format!("it names an address that is none: {:?}", shortened(named));
    let base_uri = base.to_string();
    let base_uri = Parsed::parse(base_uri.as_str()).map_err(|_| unreadable())?;
    let named = UriRef::parse(named).map_err(|_| unreadable())?;
    let full = named.resolve_against(&base_uri).map_err(|_| unreadable())?;
    let full = full.strip_fragment();
    let uri: Uri = full.as_str().parse().map_err(|_| unreadable())?;
    if origin(&uri) == origin(base) {
        Ok(uri)
    } else {
        let there = origin(&uri);
        Err(format!(
            "it sends to another server, {there}, which is not followed: name that one if you trust it"
        ))
    }
}

/// Scheme, host and port, in one spelling.
pub(crate) fn origin(uri: &Uri) -> String {
    let scheme = uri.scheme_str().unwrap_or_default().to_ascii_lowercase();
    let host = uri.host().unwrap_or_default().to_ascii_lowercase();
    let standard = if scheme == "https" { 443 } else { 80 };
    format!("{scheme}://{host}:{}", uri.port_u16().unwrap_or(standard))
}

fn shortened(text: &str) -> String {
    text.chars().take(200).collect()
}

fn is_ours(name: &HeaderName) -> bool {
    let name = name.as_str();
    [
        header::ACCEPT,
        header::CONNECTION,
        header::CONTENT_LENGTH,
        header::CONTENT_TYPE,
        header::HOST,
        header::TRANSFER_ENCODING,
        header::UPGRADE,
        headers::METHOD,
        headers::NAME,
        headers::PROTOCOL_VERSION,
        headers::SESSION_ID,
    ]
    .iter()
    .any(|ours| ours == name)
        || name == "last-event-id"
        || name.starts_with("mcp-param-")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    // req: S-TARGET
    #[test]
    fn what_is_an_address() {
        for (url, good) in [
            ("http://127.0.0.1:7400/mcp", true),
            ("https://example.com", true),
            ("https://example.com/a%20b?key=1#part", true),
            ("HTTP://EXAMPLE.com/mcp", true),
            ("http://[::1]:80/", true),
            ("ws://127.0.0.1:7400/ws", cfg!(feature = "ws")),
            ("wss://example.com/mcp", cfg!(feature = "ws")),
            ("ftp://example.com/", false),
            ("example.com/mcp", false),
            ("http:///mcp", false),
            ("http://a b/", false),
            ("https://user:secret@example.com/", false),
            ("", false),
            ("mailto:someone@example.com", false),
        ] {
            assert_eq!(Target::new(url).is_ok(), good, "{url}");
        }
        let told = format!("{:?}", Target::new("https://u:hush@example.com/"));
        assert!(!told.contains("hush"), "{told}");
    }

    // req: BR-091
    #[test]
    fn br_091_headers_of_a_user_stand_once_and_beside_those_of_the_protocol() {
        let target = Target::new("http://localhost/").unwrap();
        let target = target.header("X-Team", "a").unwrap();
        let target = target.header("x-team", "b").unwrap();
        let target = target.header("Authorization", "Bearer hush").unwrap();
        assert_eq!(target.headers.get_all("x-team").iter().count(), 1);
        assert_eq!(target.headers["x-team"], "b");
        assert!(!format!("{target:?}").contains("hush"));
        for (name, value) in [
            ("Content-Type", "text/plain"),
            ("ACCEPT", "*/*"),
            ("Mcp-Session-Id", "1"),
            ("mcp-param-a", "1"),
            ("a b", "1"),
            ("x-a", "1\r\nx-b: 2"),
            ("x-a", ""),
            ("Authorization", " "),
        ] {
            assert!(target.clone().header(name, value).is_err(), "{name}");
        }
    }

    // req: S-REDIRECT
    #[test]
    fn another_origin_is_not_followed() {
        let base: Uri = "http://localhost:8080/a/mcp?x=1".parse().unwrap();
        for (named, want) in [
            (
                "/messages?id=1",
                Some("http://localhost:8080/messages?id=1"),
            ),
            ("messages", Some("http://localhost:8080/a/messages")),
            ("?id=2", Some("http://localhost:8080/a/mcp?id=2")),
            ("http://LOCALHOST:8080/b", Some("http://LOCALHOST:8080/b")),
            ("http://localhost/b", None),
            ("https://localhost:8080/b", None),
            ("//evil.test/b", None),
            ("http://localhost:8080@evil.test/", None),
            ("a b", None),
        ] {
            let got = same_origin(&base, named).ok();
            assert_eq!(got.map(|uri| uri.to_string()).as_deref(), want, "{named}");
        }
        let base: Uri = "https://example.com/mcp".parse().unwrap();
        assert!(same_origin(&base, "https://example.com:443/x").is_ok());
    }
}
