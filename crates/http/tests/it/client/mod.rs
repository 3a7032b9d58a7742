//! The asking side, on servers that are scripts.

mod between;
mod coded;
mod cuts;
#[cfg(feature = "tls")]
mod elsewhere;
mod faults;
mod older;
mod opening;
#[cfg(feature = "tls")]
mod proxies;
mod reported;
mod resuming;
#[cfg(feature = "tls")]
mod secure;
mod sessions;
#[cfg(feature = "ws")]
mod socket;

use std::time::Duration;

use polyport_http::client::{Target, open};
use polyport_proto::{ClientFacts, Era, Revisions};
use polyport_rt::{CallError, Caller, Offer, Opened, Patience};
use polyport_testkit::Web;
use polyport_testkit::web::{Asked, Reply};
use polyport_wire::Raw;
use serde_json::{Value, json};

/// Nothing in these tests takes so long.
const LONG: Duration = Duration::from_secs(20);

fn facts() -> ClientFacts {
    ClientFacts {
        info: Some(Raw::from_static("{\"name\":\"c\",\"version\":\"1\"}")),
        capabilities: Raw::from_static("{}"),
    }
}

fn patience() -> Patience {
    Patience {
        probe: LONG,
        handshake: LONG,
        request: LONG,
    }
}

/// Connects to a path of a scripted server.
async fn opened(
    web: &Web,
    path: &str,
    offer: impl Into<Offer>,
) -> Result<(Caller, Opened), CallError> {
    let target = Target::new(&web.url(path)).unwrap();
    open(target, facts(), offer, patience()).await
}

async fn legacy(web: &Web) -> Caller {
    let opened = opened(web, "/mcp", Revisions::of(Era::Legacy)).await;
    opened.unwrap().0
}

async fn modern(web: &Web) -> Caller {
    let opened = opened(web, "/mcp", Revisions::of(Era::Modern)).await;
    opened.unwrap().0
}

/// A server that answers calls so, and a client of it.
async fn asked_with(
    answers: impl Fn(&Asked) -> Reply + Send + Sync + 'static,
    era: Era,
) -> (Web, Caller) {
    let web = Web::serve(move |asked| match asked.message()["method"].as_str() {
        Some("tools/call") => answers(asked),
        Some("tools/list") => Reply::json(&result(asked, &json!({}))),
        _ => as_usual(asked).unwrap(),
    })
    .await;
    let caller = match era {
        Era::Legacy => legacy(&web).await,
        Era::Modern => modern(&web).await,
    };
    (web, caller)
}

/// The answer to a message with this result.
fn result(asked: &Asked, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": asked.message()["id"], "result": result})
}

/// What every server answers until it comes to what a test is about.
fn as_usual(asked: &Asked) -> Option<Reply> {
    let message = asked.message();
    let name = message["method"].as_str();
    Some(match (asked.method.as_str(), name) {
        ("GET", _) => Reply::empty("405 Method Not Allowed"),
        ("DELETE", _) => Reply::empty("200 OK"),
        (_, Some("initialize")) => Reply::of(
            "200 OK",
            "application/json",
            "Mcp-Session-Id: first\r\n",
            &initialized(asked, "2025-11-25").to_string(),
        ),
        (_, Some("server/discover")) => Reply::json(&result(
            asked,
            &json!({"supportedVersions": ["2026-07-28"], "capabilities": {}, "resultType": "complete"}),
        )),
        (_, Some(name)) if name.starts_with("notifications/") => Reply::empty("202 Accepted"),
        _ => return None,
    })
}

fn initialized(asked: &Asked, revision: &str) -> Value {
    result(
        asked,
        &json!({"protocolVersion": revision, "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}),
    )
}
