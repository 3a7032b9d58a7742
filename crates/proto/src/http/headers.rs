//! The headers of MCP over HTTP: their names, what may be accepted, and what a body is (basic/transports/streamable-http). Not those that
//! repeat the body: see `mirror`.

use http::{HeaderMap, HeaderName, header};

/// `Mcp-Session-Id`.
pub const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// `MCP-Protocol-Version`.
pub const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// `Mcp-Method`.
pub const METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// `Mcp-Name`.
pub const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// What a client takes as an answer (D-17).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Accepts {
    /// `application/json`.
    pub json: bool,
    /// `text/event-stream`.
    pub sse: bool,
}

impl Accepts {
    /// Reads `Accept`: missing means both, wildcards count, `q=0` excludes.
    pub fn read(headers: &HeaderMap) -> Self {
        let (mut json, mut sse) = (Weighed::default(), Weighed::default());
        let mut any = false;
        for value in headers.get_all(header::ACCEPT) {
            any = true;
            let value = value.as_bytes();
            // What the official clients send, word for word.
            if value == b"application/json, text/event-stream" {
                return Self {
                    json: true,
                    sse: true,
                };
            }
            for range in String::from_utf8_lossy(value).split(',') {
                json.add(range, ["*/*", "application/*", "application/json"]);
                sse.add(range, ["*/*", "text/*", "text/event-stream"]);
            }
        }
        Self {
            json: !any || json.taken,
            sse: !any || sse.taken,
        }
    }
}

/// What has been said of one type so far: the closest range counts (RFC 9110 §12.5.1).
#[derive(Default)]
struct Weighed {
    /// How close that range came; none: 0.
    closeness: usize,
    taken: bool,
}

impl Weighed {
    /// `names`: the ranges that mean the type, the widest first.
    fn add(&mut self, range: &str, names: [&str; 3]) {
        let mut parts = range.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let Some(at) = names.iter().position(|n| name.eq_ignore_ascii_case(n)) else {
            return;
        };
        let taken = !parts.any(|p| {
            let (key, value) = p.split_once('=').unwrap_or((p, ""));
            key.trim().eq_ignore_ascii_case("q")
                && value.trim().parse::<f32>().is_ok_and(|q| q <= 0.0)
        });
        if at + 1 > self.closeness {
            *self = Self {
                closeness: at + 1,
                taken,
            };
        } else if at + 1 == self.closeness {
            self.taken |= taken;
        }
    }
}

/// Is the body declared as JSON, and as nothing else? Read strictly: a page may send other types without asking (V-105).
pub fn is_json(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return false;
    };
    if value.as_bytes() == b"application/json" {
        return true;
    }
    let Ok(value) = value.to_str() else {
        return false;
    };
    let mut parts = value.split(';').map(str::trim);
    parts
        .next()
        .is_some_and(|essence| essence.eq_ignore_ascii_case("application/json"))
        && parts.all(|p| {
            p.split_once('=').is_some_and(|(key, value)| {
                let value = unquoted(value);
                is_token(key)
                    && value.is_some_and(|value| {
                        !key.eq_ignore_ascii_case("charset") || value.eq_ignore_ascii_case("utf-8")
                    })
            })
        })
}

/// Is the body sent as it is? What swells when it is read has no place here, so no coding is taken.
pub fn is_plain(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(header::CONTENT_ENCODING).iter();
    codings.all(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// The value of a parameter: a token, or what is between quotes, without escapes (RFC 9110 §5.6).
fn unquoted(value: &str) -> Option<&str> {
    match value.strip_prefix('"') {
        Some(rest) => rest.strip_suffix('"').filter(|v| !v.contains(['"', '\\'])),
        None => Some(value).filter(|v| is_token(v)),
    }
}

fn is_token(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.bytes().all(allowed)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn accept(value: Option<&str>) -> (bool, bool) {
        let mut headers = HeaderMap::new();
        if let Some(value) = value {
            headers.insert(header::ACCEPT, HeaderValue::from_str(value).unwrap());
        }
        let accepts = Accepts::read(&headers);
        (accepts.json, accepts.sse)
    }

    // req: BR-070
    #[test]
    fn br_070_accept() {
        for (value, want) in [
            (None, (true, true)),
            (Some("*/*"), (true, true)),
            (Some("application/*, text/*"), (true, true)),
            (
                Some("application/json;q=0.9,text/event-stream;q=0.8"),
                (true, true),
            ),
            (Some("TEXT/Event-Stream , Application/JSON"), (true, true)),
            (Some("application/json"), (true, false)),
            (Some("text/event-stream"), (false, true)),
            (Some("text/html"), (false, false)),
            (Some("application/json-seq"), (false, false)),
            (Some("xapplication/json"), (false, false)),
            (
                Some("application/json;q=0, text/event-stream"),
                (false, true),
            ),
            (Some("*/*;q=0"), (false, false)),
            (Some("*/*;q=0.0, text/event-stream;q=0.1"), (false, true)),
            // What is named in full counts more than a wildcard, whichever comes first.
            (Some("*/*, text/event-stream;q=0"), (true, false)),
            (Some("text/event-stream;q=0, */*"), (true, false)),
            (Some("text/*;q=0, */*;q=0.5"), (true, false)),
            (Some("application/*;q=0, application/json"), (true, false)),
            (Some("application/json, */*;q=0"), (true, false)),
            (Some(""), (false, false)),
        ] {
            assert_eq!(accept(value), want, "{value:?}");
        }
    }

    // req: V-105
    #[test]
    fn v_105_content_type() {
        for (value, want) in [
            ("application/json", true),
            ("Application/JSON; charset=UTF-8", true),
            ("application/json;charset=\"utf-8\"", true),
            ("application/json;", false),
            ("application/json, text/plain", false),
            ("application/json; a=b, text/plain", false),
            ("application/json; a=\"b, text/plain\"", true),
            ("application/json; charset =latin1", false),
            ("application/json; charset=\"utf-8", false),
            ("application/json; charset=latin1", false),
            ("xapplication/json", false),
            ("text/plain", false),
            ("application/x-www-form-urlencoded", false),
            ("multipart/form-data; boundary=x", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_str(value).unwrap());
            assert_eq!(is_json(&headers), want, "{value}");
            headers.append(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
            assert!(!is_json(&headers), "doubled");
        }
        assert!(!is_json(&HeaderMap::new()));
    }
}
