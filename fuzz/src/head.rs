//! The head of an HTTP request and its body, out of bytes: a first line of method and target, headers, a blank line. More
//! forgiving than HTTP, so that most bytes become some request; what can be no header is left out.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};

pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Request {
    pub(crate) fn read(data: &[u8]) -> Self {
        let mut rest = data;
        let (method, target) = split(line(&mut rest), b' ');
        let mut request = Self {
            method: Method::from_bytes(method).unwrap_or(Method::POST),
            uri: Uri::try_from(target.trim_ascii()).unwrap_or_default(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
        };
        loop {
            let header = line(&mut rest);
            if header.is_empty() {
                break;
            }
            let (name, value) = split(header, b':');
            let name = HeaderName::from_bytes(name.trim_ascii());
            let value = HeaderValue::from_bytes(value.strip_prefix(b" ").unwrap_or(value));
            if let (Ok(name), Ok(value)) = (name, value) {
                // A map that is full takes no more; that is no matter here.
                let _ = request.headers.try_append(name, value);
            }
        }
        request.body = Bytes::copy_from_slice(rest);
        request
    }
}

/// Takes the next line off, without its end.
fn line<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let (line, after) = split(rest, b'\n');
    *rest = after;
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// What is before the first `at` and what is behind it.
fn split(text: &[u8], at: u8) -> (&[u8], &[u8]) {
    let Some(end) = text.iter().position(|byte| *byte == at) else {
        return (text, &[]);
    };
    (&text[..end], &text[end + 1..])
}
