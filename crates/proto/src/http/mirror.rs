//! The headers of a modern request that repeat its body: how a client writes them, and that they agree
//! (basic/transports/streamable-http, server/tools).

use std::borrow::Cow;

use data_encoding::BASE64;
use http::{HeaderMap, HeaderName, HeaderValue};
use polyport_wire::{Params, splice};

use super::headers::{METHOD, NAME, PROTOCOL_VERSION};
use crate::blame::Blame;
use crate::outcome::task::task_id;
use crate::text::string;

/// The parameter that `Mcp-Name` mirrors; none: the method has no name.
fn key(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    }
}

/// What `Mcp-Name` mirrors; none: the method has no name, or the request lacks it.
pub fn name<'a>(method: &str, params: &'a Params) -> Option<Cow<'a, str>> {
    match key(method)? {
        "name" => params.name(),
        "uri" => params.uri(),
        _ => task_id(params).map(Cow::Owned),
    }
}

/// The same for parameters that are text still.
pub fn name_in<'a>(method: &str, params: &'a str) -> Option<Cow<'a, str>> {
    string(splice::member(params, key(method)?)?)
}

/// A header value that holds characters or an encoding that it must not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Undecodable;

/// Undoes the encoding of `Mcp-Name` and `Mcp-Param-*`: plain text, or `=?base64?…?=` around UTF-8.
///
/// # Errors
/// Characters that the header must not hold, or an encoding that does not decode.
pub fn decode(value: &HeaderValue) -> Result<Cow<'_, str>, Undecodable> {
    let value = value.as_bytes();
    let text = std::str::from_utf8(value)
        .map_err(|_| Undecodable)?
        .trim_matches([' ', '\t']);
    if !text.bytes().all(|b| (0x20..=0x7e).contains(&b)) {
        return Err(Undecodable);
    }
    let Some(inner) = text
        .strip_prefix("=?base64?")
        .and_then(|t| t.strip_suffix("?="))
    else {
        return Ok(Cow::Borrowed(text));
    };
    // The decoder takes several padded texts in a row; padding ends ours (RFC 4648 §3.2).
    if inner.trim_end_matches('=').contains('=') {
        return Err(Undecodable);
    }
    let bytes = BASE64.decode(inner.as_bytes()).map_err(|_| Undecodable)?;
    String::from_utf8(bytes)
        .map(Cow::Owned)
        .map_err(|_| Undecodable)
}

/// The value of `Mcp-Name` or `Mcp-Param-*` for a text: as it is, or `=?base64?…?=` where a header could not hold it or a reader
/// would take it for something else.
pub fn encode(text: &str) -> HeaderValue {
    let is_plain = text.bytes().all(|b| (0x20..=0x7e).contains(&b))
        && text.trim_matches(' ').len() == text.len()
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    let encoded;
    let shown = if is_plain {
        text
    } else {
        encoded = format!("=?base64?{}?=", BASE64.encode(text.as_bytes()));
        &encoded
    };
    HeaderValue::from_str(shown).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// The headers that mirror the arguments of a call; what is absent or null has none.
pub fn mirrored<'a>(
    params: &'a [HeaderParam],
    arguments: Option<&'a str>,
) -> impl Iterator<Item = (HeaderName, HeaderValue)> + 'a {
    params.iter().filter_map(move |param| {
        let json = argument(arguments?, &param.path).filter(|value| value != "null")?;
        let value = match param.kind {
            ParamKind::String => encode(&string(&json)?),
            ParamKind::Integer => match integer(&json) {
                Some(number) => encode(&number.to_string()),
                None => encode(&json),
            },
            ParamKind::Boolean => encode(&json),
        };
        Some((param.header.clone(), value))
    })
}

/// A tool's argument that is mirrored in a header (`x-mcp-header`, server/tools).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HeaderParam {
    /// `mcp-param-NAME`, lower case.
    pub header: HeaderName,
    /// Where it stands in the arguments: the keys from the root.
    pub path: Vec<String>,
    /// Its type.
    pub kind: ParamKind,
}

/// The type of a mirrored argument.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ParamKind {
    /// Compared after decoding.
    String,
    /// Compared as numbers.
    Integer,
    /// `true` or `false`.
    Boolean,
}

/// The headers of a modern request that mirror its body.
#[derive(Clone, Copy, Debug)]
pub struct Mirror<'a> {
    headers: &'a HeaderMap,
}

impl<'a> Mirror<'a> {
    /// Those among the headers of a request.
    pub fn new(headers: &'a HeaderMap) -> Self {
        Self { headers }
    }

    fn one(&self, name: &HeaderName, shown: &'static str) -> Result<&'a HeaderValue, Blame> {
        let mut values = self.headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (Some(value), None) => Ok(value),
            (None, _) => Err(Blame::HeaderMissing(shown)),
            _ => Err(Blame::HeaderMalformed(shown.to_owned())),
        }
    }

    /// `MCP-Protocol-Version` must be there and equal to `_meta`.
    ///
    /// # Errors
    /// It is not.
    pub fn check_version(&self, stated: &str) -> Result<(), Blame> {
        let value = self.one(&PROTOCOL_VERSION, "MCP-Protocol-Version")?;
        same(trim(value), stated, "MCP-Protocol-Version")
    }

    /// `Mcp-Method` must be there and equal to the method; so must `Mcp-Name` where the method has a name.
    ///
    /// # Errors
    /// They are not.
    pub fn check_body(&self, method: &str, params: &Params) -> Result<(), Blame> {
        same(trim(self.one(&METHOD, "Mcp-Method")?), method, "Mcp-Method")?;
        if key(method).is_none() {
            return Ok(());
        }
        match (name(method, params), self.headers.contains_key(NAME)) {
            // A request that lacks the name itself is wrong in its parameters, not in its headers.
            (None, false) => Ok(()),
            (None, true) => Err(Blame::HeaderMismatch(
                "Mcp-Name is there but the body names nothing".to_owned(),
            )),
            (Some(name), _) => {
                let value = decode(self.one(&NAME, "Mcp-Name")?)
                    .map_err(|Undecodable| Blame::HeaderMalformed("Mcp-Name".to_owned()))?;
                same(value.as_bytes(), &name, "Mcp-Name")
            }
        }
    }

    /// Every annotated argument must stand in its header as it stands in the body.
    ///
    /// # Errors
    /// One does not.
    pub fn check_params(
        &self,
        params: &[HeaderParam],
        arguments: Option<&str>,
    ) -> Result<(), Blame> {
        for param in params {
            let in_body = arguments
                .and_then(|a| argument(a, &param.path))
                .filter(|value| value != "null");
            let shown = || format!("Mcp-Param-{}", &param.header.as_str()["mcp-param-".len()..]);
            let mut values = self.headers.get_all(&param.header).iter();
            match (in_body, values.next(), values.next()) {
                (None, None, _) => {}
                (Some(_), None, _) => {
                    return Err(Blame::HeaderMismatch(format!("{} is missing", shown())));
                }
                (_, _, Some(_)) => return Err(Blame::HeaderMalformed(shown())),
                (body, Some(value), None) => {
                    let value =
                        decode(value).map_err(|Undecodable| Blame::HeaderMalformed(shown()))?;
                    if !body.is_some_and(|body| agrees(param.kind, &value, &body)) {
                        return Err(Blame::HeaderMismatch(format!(
                            "{} differs from the body",
                            shown()
                        )));
                    }
                }
            }
        }
        Ok(())
    }
}

fn trim(value: &HeaderValue) -> &[u8] {
    value.as_bytes().trim_ascii()
}

fn same(header: &[u8], body: &str, name: &str) -> Result<(), Blame> {
    if header == body.as_bytes() {
        Ok(())
    } else {
        Err(Blame::HeaderMismatch(format!(
            "{name} differs from the body"
        )))
    }
}

/// The JSON text of an argument, by its keys from the root.
fn argument(arguments: &str, path: &[String]) -> Option<String> {
    let (first, rest) = path.split_first()?;
    let mut found = None;
    if arguments.starts_with('{') {
        splice::members(arguments, |key, value| {
            if key == first {
                found = Some(value.to_owned());
            }
        });
    }
    if rest.is_empty() {
        found
    } else {
        argument(&found?, rest)
    }
}

/// An integer as JSON may write it, `42` or `42.0`, within what every peer holds exactly.
#[allow(clippy::cast_possible_truncation)]
fn integer(text: &str) -> Option<i64> {
    const SAFE: i64 = (1 << 53) - 1;
    let number = text.parse::<i64>().ok().or_else(|| {
        let float: f64 = text.parse().ok()?;
        (float.fract() == 0.0 && float.abs() <= SAFE as f64).then_some(float as i64)
    })?;
    (-SAFE..=SAFE).contains(&number).then_some(number)
}

fn agrees(kind: ParamKind, header: &str, body: &str) -> bool {
    match kind {
        ParamKind::String => string(body).is_some_and(|b| b == header),
        ParamKind::Boolean => header == body,
        ParamKind::Integer => integer(header).is_some_and(|h| integer(body) == Some(h)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_request_about_a_task_is_named_by_the_task() {
        for (method, named, want) in [
            ("tasks/get", Some("t1"), true),
            ("tasks/update", Some("t1"), true),
            ("tasks/cancel", Some("t2"), false),
            ("tasks/get", None, false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(METHOD, HeaderValue::from_static(method));
            if let Some(named) = named {
                headers.insert(NAME, HeaderValue::from_static(named));
            }
            let limits = polyport_wire::Limits::default();
            let params = Params::parse(r#"{"taskId":"t1"}"#.into(), &limits).unwrap();
            let checked = Mirror::new(&headers).check_body(method, &params);
            assert_eq!(checked.is_ok(), want, "{method} {named:?}: {checked:?}");
        }
    }

    #[test]
    fn a_name_is_the_same_before_and_after_its_text_is_read() {
        for (text, want) in [
            (
                r#"{"name":"a\u0062","uri":"x://y","taskId":"t"}"#,
                [Some("ab"), Some("x://y"), Some("t"), None],
            ),
            (
                r#"{"arguments":{"name":"no"},"taskId" : "t" , "uri":"" ,"name":"z"}"#,
                [Some("z"), Some(""), Some("t"), None],
            ),
            (r#"{"name":1,"uri":null}"#, [None; 4]),
            (r#"{}"#, [None; 4]),
        ] {
            let params = Params::parse(text.into(), &polyport_wire::Limits::default()).unwrap();
            let methods = ["tools/call", "resources/read", "tasks/get", "tools/list"];
            for (method, want) in methods.into_iter().zip(want) {
                assert_eq!(name(method, &params).as_deref(), want, "{method} {text}");
                assert_eq!(name_in(method, text).as_deref(), want, "{method} {text}");
            }
        }
    }

    #[test]
    fn decoding_is_strict() {
        for (value, want) in [
            ("plain", Some("plain")),
            ("  padded\t", Some("padded")),
            ("=?base64?5p2x5Lqs?=", Some("東京")),
            ("=?base64?5p2x5Lqs", Some("=?base64?5p2x5Lqs")),
            ("=?BASE64?5p2x5Lqs?=", Some("=?BASE64?5p2x5Lqs?=")),
            ("=?base64?eA?=", None),
            ("=?base64?eA=?=", None),
            ("=?base64?eA==eWI=?=", None),
            ("=?base64?e-_A?=", None),
            ("=?base64?/w==?=", None),
            ("=?base64??=", Some("")),
            ("a\tb", None),
        ] {
            let value = HeaderValue::from_str(value).unwrap();
            assert_eq!(decode(&value).ok().as_deref(), want, "{value:?}");
        }
        assert!(decode(&HeaderValue::from_bytes("é".as_bytes()).unwrap()).is_err());
    }

    // req: S-MIRROR
    #[test]
    fn what_is_encoded_decodes_to_itself() {
        for (text, plain) in [
            ("plain", true),
            ("a b=c; \"d\"", true),
            ("", true),
            (" padded", false),
            ("padded ", false),
            ("a\tb", false),
            ("a\r\nInjected: yes", false),
            ("東京", false),
            ("=?base64?eA==?=", false),
            ("=?base64?", true),
            ("=?BASE64?eA==?=", true),
            ("\u{7f}", false),
        ] {
            let value = encode(text);
            assert_eq!(value.as_bytes() == text.as_bytes(), plain, "{text:?}");
            assert_eq!(decode(&value).ok().as_deref(), Some(text), "{text:?}");
        }
    }

    // req: S-MIRROR
    #[test]
    fn what_is_mirrored_is_what_a_server_wants() {
        let param = |name: &'static str, path: &[&str], kind| HeaderParam {
            header: HeaderName::from_static(name),
            path: path.iter().map(|&key| key.to_owned()).collect(),
            kind,
        };
        let params = [
            param("mcp-param-region", &["region"], ParamKind::String),
            param("mcp-param-row", &["at", "row"], ParamKind::Integer),
            param("mcp-param-exact", &["exact"], ParamKind::Boolean),
        ];
        for (arguments, count) in [
            (
                Some(r#"{"region":"\u6771京","at":{"row":42.0},"exact":false}"#),
                3,
            ),
            (Some(r#"{"region":" eu ","at":{"row":-7}}"#), 2),
            (Some(r#"{"region":null,"at":{},"exact":true}"#), 1),
            (Some("{}"), 0),
            (None, 0),
        ] {
            let headers: HeaderMap = mirrored(&params, arguments).collect();
            assert_eq!(headers.len(), count, "{headers:?}");
            let judged = Mirror::new(&headers).check_params(&params, arguments);
            assert!(judged.is_ok(), "{arguments:?}: {judged:?}");
        }
    }

    #[test]
    fn mirrored_arguments() {
        let params = |kind| {
            [HeaderParam {
                header: HeaderName::from_static("mcp-param-region"),
                path: vec!["region".into()],
                kind,
            }]
        };
        let check = |kind, header: Option<&str>, arguments: Option<&str>| {
            let mut headers = HeaderMap::new();
            if let Some(header) = header {
                headers.insert("mcp-param-region", HeaderValue::from_str(header).unwrap());
            }
            Mirror::new(&headers)
                .check_params(&params(kind), arguments)
                .is_ok()
        };
        use ParamKind::{Boolean, Integer, String};
        for (kind, header, arguments, want) in [
            (String, Some("eu"), Some(r#"{"region":"eu"}"#), true),
            (
                String,
                Some("=?base64?5p2x5Lqs?="),
                Some(r#"{"region":"\u6771京"}"#),
                true,
            ),
            (String, Some("eu"), Some(r#"{"region":"us"}"#), false),
            (
                String,
                Some("=?base64?e?="),
                Some(r#"{"region":"e"}"#),
                false,
            ),
            (String, None, Some(r#"{"region":"eu"}"#), false),
            (String, None, Some(r#"{"region":null}"#), true),
            (String, None, None, true),
            (String, Some("eu"), Some("{}"), false),
            (Integer, Some("42"), Some(r#"{"region":42.0}"#), true),
            (Integer, Some("41"), Some(r#"{"region":42}"#), false),
            (
                Integer,
                Some("9007199254740993"),
                Some(r#"{"region":9007199254740992}"#),
                false,
            ),
            (Integer, Some("1e999"), Some(r#"{"region":1e400}"#), false),
            (Boolean, Some("true"), Some(r#"{"region":true}"#), true),
            (Boolean, Some("True"), Some(r#"{"region":true}"#), false),
        ] {
            assert_eq!(
                check(kind, header, arguments),
                want,
                "{kind:?} {header:?} {arguments:?}"
            );
        }
    }
}
