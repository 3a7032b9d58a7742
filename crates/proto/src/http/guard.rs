//! Who may reach an HTTP endpoint at all: `Host` and `Origin` (basic/transports, Security Warning). Not who may call what.

use http::{HeaderMap, Uri, header};

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

    /// Answers to one more host name (without port).
    #[must_use]
    pub fn allow_host(mut self, host: &str) -> Self {
        self.hosts.push(host.to_ascii_lowercase().into());
        self
    }

    /// Lets pages of one more origin call.
    #[must_use]
    pub fn allow_origin(mut self, origin: &str) -> Self {
        self.origins
            .push(origin.trim_end_matches('/').to_ascii_lowercase().into());
        self
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
        let listed = self.origins.iter().any(|o| **o == *origin);
        if origins.next().is_none() && (own("http://") || own("https://") || listed) {
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
        let none = Guard {
            hosts: Vec::new(),
            origins: Vec::new(),
        };
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_static("localhost"));
        assert_eq!(
            none.check(&Uri::from_static("/"), &headers),
            Err(Blame::HostForbidden)
        );
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
