//! The HTTP endpoint without a socket: a request value in, the body of the response out. The making of the request counts too.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use polyport::Service;
use polyport::http::{Config, Endpoint};

use super::Given;
use super::ask::{Ask, Era};

const SESSION: &str = "mcp-session-id";

/// Asks so many times.
pub(super) async fn run(service: Service, era: Era, ask: Ask, rounds: u32, keep: bool) -> Given {
    let endpoint = Endpoint::new(service, Config::default());
    let mut request = post(ask.message(era));
    match era {
        Era::Legacy => {
            let mut session = None;
            for message in era.opening(ask) {
                let mut opening = post(message);
                if let Some(session) = &session {
                    opening.headers_mut().insert(SESSION, Clone::clone(session));
                }
                let response = endpoint.handle(opening).await;
                assert!(response.status().is_success(), "{:?}", response.status());
                session = response.headers().get(SESSION).cloned().or(session);
            }
            let session = session.expect("the opening gives a session");
            request.headers_mut().insert(SESSION, session);
        }
        Era::Modern => {
            let headers = request.headers_mut();
            let named = [
                ("mcp-protocol-version", Some("2026-07-28")),
                ("mcp-method", Some(ask.method())),
                ("mcp-name", ask.tool()),
            ];
            for (name, value) in named {
                if let Some(value) = value {
                    headers.insert(name, http::HeaderValue::from_static(value));
                }
            }
        }
    }
    let mut given = Given::default();
    for _ in 0..rounds {
        let response = endpoint.handle(request.clone()).await;
        assert_eq!(response.status(), StatusCode::OK);
        let Ok(body) = response.into_body().collect().await;
        let body = body.to_bytes();
        given.bytes += body.len();
        if keep {
            given.last = body.to_vec();
        }
    }
    given
}

fn post(message: String) -> Request<Full<Bytes>> {
    Request::builder()
        .method(Method::POST)
        .uri("/mcp")
        .header(HOST, "127.0.0.1:7400")
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json, text/event-stream")
        .body(Full::new(message.into()))
        .expect("the parts are constants")
}
