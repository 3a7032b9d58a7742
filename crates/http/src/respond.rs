//! Responses: their heads, and how refusals look.

use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use polyport_proto::http::Refusal;
use polyport_proto::peer;

use crate::authorize::Challenge;
use crate::body::Body;

/// Tells nginx and its kin not to hold back events (basic/transports/streamable-http).
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

pub(crate) fn json(status: u16, text: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::whole(text));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
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
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
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
    match refusal.status {
        405 => {
            _ = response
                .headers_mut()
                .insert(ALLOW, HeaderValue::from_static(allow))
        }
        503 => {
            _ = response
                .headers_mut()
                .insert(RETRY_AFTER, HeaderValue::from_static("1"))
        }
        _ => {}
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
