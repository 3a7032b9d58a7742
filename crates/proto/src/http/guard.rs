//! Who may reach an HTTP endpoint at all: `Host` and `Origin` (basic/transports, Security Warning). Not who may call what.

use std::net::Ipv6Addr;

use http::{HeaderMap, HeaderValue, Uri, header};

use crate::blame::Blame;

/// The names under which an endpoint answers, and the pages that may call it.
#[derive(Clone, Debug)]
pub struct Guard {
    /// Host names, lower case, without port. Empty: none.
    hosts: Vec<Box<str>>,
    /// Origins such as `https://app.example`, lower case. The endpoint's own is always allowed.
    origins: Vec<Box<str>>,
}

impl Default for Guard {
    fn default() -> Self {
        Self::loopback()
    }
}

impl Guard {
    /// Answers to `localhost`, `127.0.0.1` and `[::1]` on any port, and to no other page than its own.
    pub fn loopback() -> Self {
        Self {
            hosts: ["localhost", "127.0.0.1", "[::1]"].map(Box::from).to_vec(),
            origins: Vec::new(),
        }
    }

    /// Answers to one more host name (without port). What is no host name, such as `*` or nothing at all, allows none.
    #[must_use]
    pub fn allow_host(mut self, host: &str) -> Self {
        if is_host(host) {
            self.hosts.push(host.to_ascii_lowercase().into());
        }
        self
    }

    /// Lets pages of one more origin call. What is no origin (a scheme and a host, perhaps a port), such as `*`, `null` or
    /// nothing at all, allows none.
    #[must_use]
    pub fn allow_origin(mut self, origin: &str) -> Self {
        self.origins.extend(read_origin(origin).map(Box::from));
        self
    }

    /// May pages of other origins call at all?
    pub fn has_origins(&self) -> bool {
        !self.origins.is_empty()
    }

    /// The origin of a request, as it was sent, if it is one of those that were allowed by name; not the endpoint's own.
    pub fn listed_origin<'h>(&self, headers: &'h HeaderMap) -> Option<&'h HeaderValue> {
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let (Some(origin), None) = (origins.next(), origins.next()) else {
            return None;
        };
        let text = origin.to_str().ok()?;
        self.lists(&text.to_ascii_lowercase()).then_some(origin)
    }

    fn lists(&self, origin: &str) -> bool {
        self.origins.iter().any(|listed| **listed == *origin)
    }

    /// Judges the head of a request.
    ///
    /// # Errors
    /// [`Blame::HostForbidden`] or [`Blame::OriginForbidden`].
    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Blame> {
        let authority = self.authority(uri, headers).ok_or(Blame::HostForbidden)?;
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let Some(origin) = origins.next() else {
            return Ok(());
        };
        let origin = origin.to_str().unwrap_or_default().to_ascii_lowercase();
        let own = |scheme: &str| origin.strip_prefix(scheme) == Some(&authority);
        if origins.next().is_none() && (own("http://") || own("https://") || self.lists(&origin)) {
            Ok(())
        } else {
            Err(Blame::OriginForbidden)
        }
    }

    /// The one authority that the request names, if it is ours. HTTP/2 has it in the target (V-102).
    fn authority(&self, uri: &Uri, headers: &HeaderMap) -> Option<String> {
        let mut named = headers.get_all(header::HOST).iter();
        let header = named
            .next()
            .map(|h| h.to_str().unwrap_or("?").to_ascii_lowercase());
        if named.next().is_some() {
            return None;
        }
        let target = uri.authority().map(|a| a.as_str().to_ascii_lowercase());
        for name in [&header, &target].into_iter().flatten() {
            let host = host_name(name)?;
            if !self.hosts.iter().any(|h| **h == *host) {
                return None;
            }
        }
        target.or(header)
    }
}

/// A name or an address as it stands in `Host`: `box.example`, `192.168.1.5`, `[fe80::1]`.
fn is_host(text: &str) -> bool {
    let in_brackets = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    match in_brackets {
        Some(inner) => inner.parse::<Ipv6Addr>().is_ok(),
        None => {
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
            !text.is_empty() && text.chars().all(plain)
        }
    }
}

/// An origin as browsers write it: lower case, without the port that the scheme has anyway (Fetch standard, 3.2).
fn read_origin(text: &str) -> Option<String> {
    let text = text.trim_end_matches('/').to_ascii_lowercase();
    let (scheme, host) = text.split_once("://")?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let port = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => "",
    };
    let is_one = !scheme.is_empty() && scheme.chars().all(plain) && is_host(host_name(host)?);
    is_one.then(|| format!("{scheme}://{}", host.strip_suffix(port).unwrap_or(host)))
}

/// The host of `host[:port]`; none where it is anything else, such as `user@host`.
fn host_name(authority: &str) -> Option<&str> {
    let after = authority.find(']').map_or(0, |end| end + 1);
    let (host, port) = match authority[after..].find(':') {
        Some(colon) => (&authority[..after + colon], &authority[after + colon + 1..]),
        None => (authority, "0"),
    };
    (port.parse::<u16>().is_ok() && !port.starts_with('+')).then_some(host)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn check(hosts: &[&str], origin: Option<&str>) -> Option<Blame> {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(header::HOST, HeaderValue::from_str(host).unwrap());
        }
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        Guard::loopback()
            .allow_origin("https://app.example/")
            .check(&Uri::from_static("/mcp"), &headers)
            .err()
    }

    // req: V-107
    #[test]
    fn v_107_hosts() {
        for good in [
            "localhost",
            "localhost:80",
            "127.0.0.1:7400",
            "[::1]:7400",
            "[::1]",
            "LOCALHOST:1",
        ] {
            assert_eq!(check(&[good], None), None, "{good}");
        }
        let bad = [
            "evil.test",
            "localhost.evil.test",
            "localhost:80@evil",
            "127.0.0.1.nip.io",
            "0.0.0.0",
            "localhost.",
            "localhost.:80",
            "user@localhost",
            "[::2]",
            "127.0.0.2",
            "",
            "localhost:",
            "localhost:99999",
            "localhost:+80",
            "löcalhost",
            "[::1",
            "::1",
        ];
        for bad in bad {
            assert_eq!(check(&[bad], None), Some(Blame::HostForbidden), "{bad}");
        }
        assert_eq!(check(&[], None), Some(Blame::HostForbidden));
        assert_eq!(
            check(&["localhost", "localhost"], None),
            Some(Blame::HostForbidden)
        );
    }

    // req: V-108
    #[test]
    fn v_108_origins() {
        for good in [
            "http://localhost:7400",
            "https://localhost:7400",
            "https://app.example",
            "HTTPS://APP.example",
        ] {
            assert_eq!(check(&["localhost:7400"], Some(good)), None, "{good}");
        }
        for bad in [
            "null",
            "garbage",
            "",
            "http://localhost:7401",
            "http://evil.test",
            "http://localhost:7400.evil.test",
            "file://",
        ] {
            assert_eq!(
                check(&["localhost:7400"], Some(bad)),
                Some(Blame::OriginForbidden),
                "{bad}"
            );
        }
    }

    fn headers(host: &str, origin: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
        headers.insert(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
        headers
    }

    // req: V-108
    #[test]
    fn v_108_what_is_no_name_allows_none() {
        let root = Uri::from_static("/");
        let none = Guard {
            hosts: Vec::new(),
            origins: Vec::new(),
        };
        let local = headers("localhost", "http://localhost");
        assert_eq!(none.check(&root, &local), Err(Blame::HostForbidden));
        for bad in [
            "",
            " ",
            ",",
            "*",
            "null",
            "/",
            "//",
            "://",
            "https://",
            "://x",
            "*://x",
            "https://*",
            "https://*.example",
            "https://a/b",
            "https://u@a",
            "https://a,https://b",
            "https://a:",
            "https://a:x",
            "https://a b",
            "app.example",
            "file://",
            "https://\u{e4}.example",
            "a:80",
        ] {
            let guard = Guard::loopback().allow_origin(bad);
            assert!(!guard.has_origins(), "{bad}");
            let sent = HeaderValue::from_bytes(bad.as_bytes()).unwrap();
            let mut asked = headers("localhost", "x");
            asked.insert(header::ORIGIN, sent.clone());
            assert_eq!(guard.listed_origin(&asked), None, "{bad}");
            assert_eq!(
                guard.check(&root, &asked),
                Err(Blame::OriginForbidden),
                "{bad}"
            );
        }
        for bad in [
            "",
            " ",
            ",",
            "*",
            "/",
            "a:80",
            "a b",
            "a,b",
            "u@a",
            "https://a",
            "[a]",
            "::1",
        ] {
            let guard = Guard::loopback().allow_host(bad);
            let mut asked = HeaderMap::new();
            asked.insert(header::HOST, HeaderValue::from_str(bad).unwrap());
            assert_eq!(
                guard.check(&root, &asked),
                Err(Blame::HostForbidden),
                "{bad}"
            );
        }
    }

    #[test]
    fn origins_are_compared_as_browsers_send_them() {
        for (named, sent) in [
            ("https://app.example", "https://app.example"),
            ("HTTPS://App.example/", "https://app.example"),
            ("https://app.example:443", "https://app.example"),
            ("http://app.example:80", "http://app.example"),
            ("http://[::1]:3000", "http://[::1]:3000"),
            ("chrome-extension://abc", "chrome-extension://abc"),
        ] {
            let guard = Guard::loopback().allow_origin(named);
            let asked = headers("localhost", sent);
            let listed = guard.listed_origin(&asked);
            assert_eq!(
                listed.map(HeaderValue::as_bytes),
                Some(sent.as_bytes()),
                "{named}"
            );
        }
        let guard = Guard::loopback().allow_origin("https://app.example");
        for other in [
            "http://app.example",
            "https://app.example:444",
            "https://app.example.evil.test",
            "https://x.app.example",
            "https://localhost",
        ] {
            assert_eq!(
                guard.listed_origin(&headers("localhost", other)),
                None,
                "{other}"
            );
        }
        let mut twice = headers("localhost", "https://app.example");
        twice.append(
            header::ORIGIN,
            HeaderValue::from_static("https://app.example"),
        );
        assert_eq!(guard.listed_origin(&twice), None);
    }

    // req: V-102
    #[test]
    fn v_102_the_target_names_the_host() {
        let headers = HeaderMap::new();
        assert_eq!(
            Guard::loopback().check(&Uri::from_static("http://localhost:7400/mcp"), &headers),
            Ok(())
        );
        assert_eq!(
            Guard::loopback().check(&Uri::from_static("http://evil.test/mcp"), &headers),
            Err(Blame::HostForbidden)
        );
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_static("localhost"));
        assert_eq!(
            Guard::loopback().check(&Uri::from_static("http://evil.test/mcp"), &headers),
            Err(Blame::HostForbidden)
        );
    }
}
