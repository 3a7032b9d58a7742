//! Responses: their heads, and how refusals look.

use http::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use polyport_proto::Code;
use polyport_proto::http::Refusal;
use polyport_proto::http::headers::Accepts;
use polyport_proto::peer;
use polyport_wire::sse;

use crate::authorize::Challenge;
use crate::body::Body;

/// Tells nginx and its kin not to hold back events (basic/transports/streamable-http).
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

pub(crate) fn json(status: u16, text: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::whole(text));
    *response.status_mut() = status_code(status);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if status == 503 {
        headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// A reply that is there at once, in the form that the client takes.
pub(crate) fn reply(status: u16, text: Vec<u8>, accepts: Accepts) -> Response<Body> {
    if status != 200 || accepts.json {
        return json(status, text);
    }
    let mut event = Vec::with_capacity(text.len() + 32);
    sse::event(&mut event, None, Some("message"), &text);
    events(Body::whole(event))
}

pub(crate) fn events(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(
        CACHE_CONTROL,
        HeaderValue::from_static("no-cache, no-transform"),
    );
    headers.insert(ACCEL_BUFFERING, HeaderValue::from_static("no"));
    response
}

pub(crate) fn empty(status: u16) -> Response<Body> {
    let mut response = Response::new(Body::whole(Vec::new()));
    *response.status_mut() = status_code(status);
    response
}

/// Nothing more is read from the connection: what follows may be no request.
pub(crate) fn last(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

pub(crate) fn refusal(refusal: &Refusal, allow: &'static str) -> Response<Body> {
    let mut response = match &refusal.error {
        Some(error) => {
            let mut text = Vec::new();
            peer::refusal(refusal.id.as_ref(), error, &mut text);
            json(refusal.status, text)
        }
        None => empty(refusal.status),
    };
    // Who sends what is no message may have meant what follows otherwise, too.
    if refusal
        .error
        .as_ref()
        .is_some_and(|error| error.code == Code::Parse)
    {
        response = last(response);
    }
    if refusal.status == 405 {
        response
            .headers_mut()
            .insert(ALLOW, HeaderValue::from_static(allow));
    }
    response
}

pub(crate) fn challenge(challenge: &Challenge) -> Response<Body> {
    let mut response = empty(challenge.status);
    if let Ok(value) = HeaderValue::from_str(&challenge.www_authenticate) {
        response.headers_mut().insert(WWW_AUTHENTICATE, value);
    }
    response
}

/// Statuses are our own numbers.
fn status_code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
