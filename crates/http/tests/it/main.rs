//! The HTTP edge without sockets where it can be, over loopback where it must.
#![allow(clippy::unwrap_used)]

mod abuse;
mod apart;
mod bodies;
mod bounds;
mod classify;
#[cfg(feature = "client")]
mod client;
mod cors;
mod disagree;
mod guards;
mod heads;
mod kept;
mod leaving;
mod life;
mod listening;
mod memory;
mod mounted;
mod pair;
mod pair_rules;
mod polling;
mod questions;
mod races;
mod replay;
mod reported;
mod sessions;
mod sockets;
mod state;
mod storms;
mod streams;
mod unready;
mod vanished;
#[cfg(feature = "ws")]
mod websocket;

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use polyport_http::{Body, Config, Endpoint};
use polyport_proto::Limits;
use polyport_rt::Service;
use polyport_testkit::handlers::Puppet;
use polyport_wire::sse;
use serde_json::Value;

/// Headers that every ordinary request has.
const PLAIN: &[(&str, &str)] = &[
    ("host", "localhost:7400"),
    ("content-type", "application/json"),
    ("accept", "application/json, text/event-stream"),
];

/// A response that has ended.
#[derive(Debug)]
struct Got {
    status: u16,
    headers: HeaderMap,
    text: String,
}

impl Got {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    fn code(&self) -> Option<i64> {
        serde_json::from_str::<Value>(&self.text).ok()?["error"]["code"].as_i64()
    }

    /// The id that a JSON body names, be it null.
    fn json_id(&self) -> Option<Value> {
        let json: Value = serde_json::from_str(&self.text).ok()?;
        json.get("id").cloned()
    }

    fn session(&self) -> String {
        self.headers["mcp-session-id"].to_str().unwrap().to_owned()
    }

    /// All events of a stream, read by the rules of the standard.
    fn sse(&self) -> Vec<sse::Event> {
        let mut events = sse::Events::new(1 << 20);
        events.push(self.text.as_bytes());
        events.map(Result::unwrap).collect()
    }

    /// The messages of a stream.
    fn events(&self) -> Vec<Value> {
        let events = self.sse().into_iter();
        let messages = events.filter(|event| !event.data.is_empty());
        messages
            .map(|e| serde_json::from_str(&e.data).unwrap())
            .collect()
    }
}

/// A response that is a stream, read as it comes.
struct Stream {
    status: u16,
    body: Body,
    events: sse::Events,
}

impl Stream {
    fn new(response: Response<Body>) -> Self {
        Self {
            status: response.status().as_u16(),
            body: response.into_body(),
            events: sse::Events::new(1 << 20),
        }
    }

    /// The next event, within an hour. None: the stream has ended.
    async fn next(&mut self) -> Option<sse::Event> {
        tokio::time::timeout(Duration::from_secs(3_600), async {
            loop {
                if let Some(event) = self.events.next() {
                    return Some(event.unwrap());
                }
                let data = self.body.frame().await?.unwrap().into_data().unwrap();
                self.events.push(&data);
            }
        })
        .await
        .expect("an event, or the end")
    }

    /// The next event, which is a message, and its id.
    async fn message(&mut self) -> (Option<String>, Value) {
        let event = self.next().await.expect("one more event");
        assert_eq!(event.name.as_deref(), Some("message"), "{event:?}");
        let message = serde_json::from_str(&event.data).expect("a message is JSON");
        (event.id, message)
    }

    /// The messages up to the end, with their ids.
    async fn rest(mut self) -> Vec<(Option<String>, Value)> {
        let mut all = Vec::new();
        while let Some(event) = self.next().await {
            if !event.data.is_empty() {
                all.push((event.id, serde_json::from_str(&event.data).unwrap()));
            }
        }
        all
    }

    /// Has it nothing to say for now?
    async fn is_silent(&mut self) -> bool {
        let next = tokio::time::timeout(Duration::from_millis(100), self.next());
        next.await.is_err()
    }
}

fn endpoint() -> Endpoint {
    endpoint_with(Puppet::default(), Limits::default())
}

fn endpoint_with(puppet: Puppet, limits: Limits) -> Endpoint {
    Endpoint::new(Service::new(puppet).limits(limits), Config::default())
}

fn request(method: &str, uri: &str, headers: &[(&str, &str)], body: &str) -> Request<Full<Bytes>> {
    let mut request = Request::builder().method(method).uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request
        .body(Full::new(Bytes::copy_from_slice(body.as_bytes())))
        .unwrap()
}

async fn send(endpoint: &Endpoint, method: &str, headers: &[(&str, &str)], body: &str) -> Got {
    got(endpoint
        .handle(request(method, "/mcp", headers, body))
        .await)
    .await
}

/// Reads a response to its end.
async fn got(response: Response<Body>) -> Got {
    let (head, body) = response.into_parts();
    let body = tokio::time::timeout(Duration::from_secs(3_600), body.collect());
    let bytes = body.await.expect("it ends").unwrap().to_bytes();
    Got {
        status: head.status.as_u16(),
        headers: head.headers,
        text: String::from_utf8(bytes.to_vec()).unwrap(),
    }
}

/// A request whose response is read as it comes.
async fn stream(endpoint: &Endpoint, method: &str, headers: &[(&str, &str)], body: &str) -> Stream {
    let headers = [PLAIN, headers].concat();
    Stream::new(
        endpoint
            .handle(request(method, "/mcp", &headers, body))
            .await,
    )
}

async fn post(endpoint: &Endpoint, extra: &[(&str, &str)], body: &str) -> Got {
    send(endpoint, "POST", &[PLAIN, extra].concat(), body).await
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// Opens a session.
async fn open(endpoint: &Endpoint) -> String {
    let got = post(endpoint, &[], INITIALIZE).await;
    assert_eq!(got.status, 200, "{got:?}");
    let session = got.session();
    assert_eq!(
        post(endpoint, &[("mcp-session-id", &session)], INITIALIZED)
            .await
            .status,
        202
    );
    session
}

/// Asks for log messages in a session.
async fn want_logs(endpoint: &Endpoint, session: &str) {
    let level = r#"{"jsonrpc":"2.0","id":5,"method":"logging/setLevel","params":{"level":"info"}}"#;
    post(endpoint, &[("mcp-session-id", session)], level).await;
}

/// A modern request and its headers.
fn modern(method: &str, params: &str) -> String {
    let comma = if params.is_empty() { "" } else { "," };
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}{comma}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    )
}

/// Headers of a modern request, and of a call.
const V: (&str, &str) = ("mcp-protocol-version", "2026-07-28");
const CALL: (&str, &str) = ("mcp-method", "tools/call");

/// Opens a session of that revision.
async fn open_in(endpoint: &Endpoint, revision: &str) -> String {
    let initialize = INITIALIZE.replace("2025-06-18", revision);
    let session = post(endpoint, &[], &initialize).await.session();
    post(endpoint, &[("mcp-session-id", &session)], INITIALIZED).await;
    session
}

/// Opens a session of the revision that has batches.
async fn open_old(endpoint: &Endpoint) -> String {
    open_in(endpoint, "2025-03-26").await
}

/// A legacy call; its result names the tool.
fn call(id: u32, tool: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"tool":"{tool}"}}}}}}"#
    )
}

/// A legacy call that wants progress.
fn call_with_token(id: u32, tool: &str) -> String {
    let meta = "\"_meta\":{\"progressToken\":1},\"arguments\"";
    call(id, tool).replace("\"arguments\"", meta)
}

fn cancel(id: u32) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    )
}
