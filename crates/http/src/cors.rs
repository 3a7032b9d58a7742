//! The browser path: what pages of origins that were allowed may send and read (Fetch standard, CORS protocol). Which origins
//! those are is the guard's to say. Cookies have no part in it, so credentials are never allowed.

use http::header::{
    ACCEPT, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, AUTHORIZATION, CONTENT_TYPE,
    ORIGIN, VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, request};
use polyport_proto::http::Guard;
use polyport_proto::http::headers::{METHOD, NAME, PROTOCOL_VERSION, SESSION_ID};

use crate::body::Body;
use crate::respond;

/// Does a browser ask what a page of an allowed origin may send? It asks without credentials, before the request itself.
pub(crate) fn is_preflight(guard: &Guard, head: &request::Parts) -> bool {
    head.method == Method::OPTIONS
        && head.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
        && guard.listed_origin(&head.headers).is_some()
}

/// The answer to a preflight. What every response has is left to [`dress`].
pub(crate) fn preflight(head: &request::Parts, methods: &'static str) -> Response<Body> {
    let mut response = respond::empty(204);
    let headers = response.headers_mut();
    headers.insert(
        ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static(methods),
    );
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, allowed_headers(&head.headers));
    headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    if head.headers.contains_key(REQUEST_PRIVATE_NETWORK) {
        headers.insert(ALLOW_PRIVATE_NETWORK, HeaderValue::from_static("true"));
    }
    response
}

/// The headers of our protocol, and of the mirrored arguments (`Mcp-Param-…`) those that are asked for.
fn allowed_headers(asked: &HeaderMap) -> HeaderValue {
    let mut allowed = String::new();
    for name in &SENT {
        allowed.push_str(name.as_str());
        allowed.push_str(", ");
    }
    for value in asked.get_all(ACCESS_CONTROL_REQUEST_HEADERS) {
        let names = value.as_bytes().split(|byte| *byte == b',');
        for name in names.filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok()) {
            if name.as_str().starts_with("mcp-param-") {
                allowed.push_str(name.as_str());
                allowed.push_str(", ");
            }
        }
    }
    HeaderValue::from_str(allowed.trim_end_matches(", ")).expect("names of headers are visible")
}

/// Tells the browser whose pages may read a response, errors too; and caches that it depends on who asks.
pub(crate) fn dress(guard: &Guard, asked: &HeaderMap, response: &mut Response<Body>) {
    if !guard.has_origins() {
        return;
    }
    let headers = response.headers_mut();
    headers.append(VARY, HeaderValue::from_name(ORIGIN));
    if let Some(origin) = guard.listed_origin(asked) {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, READ);
    }
}

/// What clients send; beside it what browsers let pass anyway.
const SENT: [HeaderName; 8] = [
    ACCEPT,
    AUTHORIZATION,
    CONTENT_TYPE,
    HeaderName::from_static("last-event-id"),
    METHOD,
    NAME,
    PROTOCOL_VERSION,
    SESSION_ID,
];
/// What clients read.
const READ: HeaderValue =
    HeaderValue::from_static("mcp-session-id, mcp-protocol-version, www-authenticate, retry-after");
/// How long a browser may remember the answer, in seconds: as long as any of them does.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");
/// A page on the internet asks for a server in a private network (Private Network Access).
const REQUEST_PRIVATE_NETWORK: HeaderName =
    HeaderName::from_static("access-control-request-private-network");
const ALLOW_PRIVATE_NETWORK: HeaderName =
    HeaderName::from_static("access-control-allow-private-network");
