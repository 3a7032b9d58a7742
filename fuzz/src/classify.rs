//! The check of what an HTTP request is taken for, by every kind of endpoint.

use bytes::Bytes;
use http::{Method, header};
use polyport_proto::http::classify::{Endpoint, Head, Refusal, Route, Verb};
use polyport_proto::http::guard::Guard;
use polyport_proto::http::headers::{Accepts, PROTOCOL_VERSION, SESSION_ID, is_json};
use polyport_proto::{Era, Limits, Revisions, peer};
use polyport_wire::{Kind, Message, RequestId};

use crate::head::Request;

/// Reads `data` as an HTTP request.
///
/// - A head that is let in says what it is let in for.
/// - A body goes where its endpoint, its session and its kind lead.
/// - A refusal has a status of its own kind, and an id only if the body has it; its error is a message.
pub fn check(data: &[u8]) {
    let request = Request::read(data);
    for sessions in [false, true] {
        for speaks in [
            Revisions::ALL,
            Revisions::of(Era::Legacy),
            Revisions::of(Era::Modern),
        ] {
            let endpoint = Endpoint {
                speaks,
                sessions,
                guard: Guard::loopback(),
                limits: Limits::default(),
            };
            check_head(&endpoint, &request);
            check_body(&endpoint, &request);
        }
    }
}

fn check_head(endpoint: &Endpoint, request: &Request) {
    let Request {
        method,
        uri,
        headers,
        ..
    } = request;
    let head = Head {
        method,
        uri,
        headers,
    };
    let verb = match endpoint.check_head(head) {
        Ok(verb) => verb,
        Err(refusal) => return check_refusal(&refusal, &[]),
    };
    assert_eq!(endpoint.guard.check(uri, headers), Ok(()), "let in");
    let in_session = endpoint.sessions && headers.contains_key(SESSION_ID);
    match verb {
        Verb::Post(accepts) => {
            assert_eq!(method, Method::POST);
            assert!(is_json(headers), "the body is JSON");
            assert_eq!(accepts, Accepts::read(headers));
            assert!(accepts.json || accepts.sse, "an answer is accepted");
            let length = headers.get(header::CONTENT_LENGTH);
            let length = length.and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
            let limit = endpoint.limits.message_bytes as u64;
            assert!(length.is_none_or(|length| length <= limit), "not too long");
        }
        Verb::Listen => {
            assert_eq!(method, Method::GET);
            assert!(in_session && Accepts::read(headers).sse);
        }
        Verb::Delete => {
            assert_eq!(method, Method::DELETE);
            assert!(in_session);
        }
    }
}

fn check_body(endpoint: &Endpoint, request: &Request) {
    let Request { headers, body, .. } = request;
    let in_session = endpoint.sessions && headers.contains_key(SESSION_ID);
    let is_batch = |parts: &[Bytes]| (1..=endpoint.limits.json.batch).contains(&parts.len());
    let route = match endpoint.classify(headers, body.clone()) {
        Ok(route) => route,
        Err(refusal) => return check_refusal(&refusal, body),
    };
    match route {
        Route::Modern(receipt, admitted) => {
            assert!(stands_in(&receipt.id, body), "the id is the request's");
            assert_eq!(receipt.method, admitted.method);
            assert_eq!(receipt.revision, admitted.envelope.revision());
            assert_eq!(receipt.revision.profile().era, Era::Modern);
            assert!(endpoint.speaks.contains(receipt.revision), "spoken here");
            let header = headers.get(PROTOCOL_VERSION).expect("the header is there");
            assert_eq!(
                header.as_bytes().trim_ascii(),
                receipt.revision.name().as_bytes()
            );
        }
        Route::ModernNotification => {}
        Route::Initialize(message) => {
            assert!(endpoint.sessions && !in_session);
            assert_eq!(message.kind(), Kind::Request);
            assert_eq!(message.method(), "initialize");
        }
        Route::Session(message) => {
            assert!(in_session);
            assert_eq!(message.frame(), body);
        }
        Route::BadAnswer(malformed) => {
            assert!(in_session && malformed.answer);
        }
        Route::Batch(parts) => {
            assert!(in_session);
            assert!(is_batch(&parts));
        }
        Route::BatchAlone(revision, parts) => {
            assert!(!endpoint.sessions && endpoint.speaks.contains(revision));
            assert!(is_batch(&parts));
        }
        Route::Alone(revision, message) => {
            assert!(!endpoint.sessions);
            assert_eq!(revision.profile().era, Era::Legacy);
            let is_opening = message.method() == "initialize";
            assert!(is_opening || endpoint.speaks.contains(revision));
            assert_eq!(message.frame(), body);
        }
    }
}

fn check_refusal(refusal: &Refusal, body: &[u8]) {
    assert!((400..600).contains(&refusal.status), "{}", refusal.status);
    if let Some(id) = &refusal.id {
        assert!(stands_in(id, body), "{id} stands in the body");
    }
    let Some(error) = &refusal.error else {
        return;
    };
    let mut out = Vec::new();
    peer::refusal(refusal.id.as_ref(), error, &mut out);
    let message = Message::parse(out.into(), &polyport_wire::Limits::default());
    let message = message.expect("an error is a message");
    assert_eq!(message.kind(), Kind::Failure);
    assert_eq!(message.id(), refusal.id.as_ref());
}

/// Whether the body has this id, as `serde_json` reads it. What that cannot decode (lone surrogates, great depth) is not
/// looked at.
fn stands_in(id: &RequestId, body: &[u8]) -> bool {
    let Ok(body) = serde_json::from_slice::<serde_json::Value>(body) else {
        return true;
    };
    match id {
        RequestId::Number(number) => body["id"].as_i64() == Some(*number),
        RequestId::Text(text) => body["id"].as_str() == Some(text),
    }
}
