//! Streams that end before their time, and what is done about it.

use std::sync::{Arc, Mutex};

use polyport_rt::CallError;
use polyport_testkit::Web;
use polyport_testkit::web::{Asked, Reply, Then};
use serde_json::{Value, json};

use super::{as_usual, initialized, legacy, modern, result};

fn event(id: &str, message: &Value) -> String {
    format!("id: {id}\ndata: {message}\n\n")
}

/// A server whose streams of calls end early, and go on by GET as `goes_on` says from the last event and the call.
async fn early(
    revision: &'static str,
    first: &'static str,
    goes_on: impl Fn(&str, &Asked) -> Reply + Send + Sync + 'static,
) -> Web {
    let call: Arc<Mutex<Option<Asked>>> = Arc::default();
    Web::serve(move |asked| {
        if asked.method == "GET"
            && let Some(after) = asked.header("last-event-id")
        {
            let call = call.lock().unwrap().clone().unwrap();
            return goes_on(after, &call);
        }
        match asked.message()["method"].as_str() {
            Some("initialize") => Reply::json(&initialized(asked, revision)),
            Some("tools/call") => {
                *call.lock().unwrap() = Some(asked.clone());
                Reply::events("", first, Then::End)
            }
            _ => as_usual(asked).unwrap(),
        }
    })
    .await
}

// req: S-RESUME, BR-211
#[tokio::test]
async fn br_211_a_stream_goes_on_from_its_last_event() {
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        // Begun with an event without data, as 2025-11-25 has it, and ended twice on the way.
        let web = early(revision, "id: a\nretry: 20\ndata:\n\n", |after, call| match after {
            "a" => {
                let note = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}});
                Reply::events("", &event("b", &note), Then::End)
            }
            "b" => Reply::events("", &event("c", &result(call, &json!({"done": true}))), Then::End),
            other => panic!("{other}"),
        })
        .await;
        let caller = legacy(&web).await;
        let answer = caller.request("tools/call", "{}").await.unwrap();
        assert_eq!(answer.as_str(), "{\"done\":true}");
        assert_eq!(caller.notifications().len(), 1, "{revision}");
    }
}

// req: S-RESUME
#[tokio::test]
async fn a_stream_that_cannot_go_on_is_a_broken_connection() {
    let gone = |_: &str, _: &Asked| Reply::empty("405 Method Not Allowed");
    for (revision, first) in [
        // No event that it could go on from.
        ("2025-11-25", ""),
        ("2025-11-25", ": nothing\n\n"),
        ("2025-11-25", "id: a\ndata:\n\nid:\ndata:\n\n"),
        // The server does not resume it.
        ("2025-11-25", "retry: 5\nid: a\ndata:\n\n"),
        // A revision without that.
        ("2024-11-05", "retry: 5\nid: a\ndata:\n\n"),
        // Cut in the midst of its answer.
        (
            "2025-11-25",
            "data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}",
        ),
    ] {
        let web = early(revision, first, gone).await;
        let caller = legacy(&web).await;
        let answer = caller.request("tools/call", "{}").await;
        assert!(
            matches!(answer, Err(CallError::Broken(_))),
            "{first}: {answer:?}"
        );
    }
}

// req: S-RESUME
#[tokio::test]
async fn a_modern_stream_that_breaks_is_lost() {
    let web = Web::serve(|asked| match asked.message()["method"].as_str() {
        Some("tools/call") => Reply::events("", "id: a\nretry: 5\ndata:\n\n", Then::End),
        _ => as_usual(asked).unwrap(),
    })
    .await;
    let answer = modern(&web)
        .await
        .request("tools/call", "{\"name\":\"a\"}")
        .await;
    assert!(matches!(answer, Err(CallError::Broken(_))), "{answer:?}");
    assert_eq!(web.heard(), ["server/discover", "tools/call"]);
}

// req: S-RESUME
#[tokio::test]
async fn what_belongs_to_no_request_is_heard_again_after_a_break() {
    let note = |n: u32| json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": n}});
    let web =
        Web::serve(
            move |asked| match (asked.method.as_str(), asked.header("last-event-id")) {
                ("GET", None) => {
                    let text = format!("retry: 10\n{}", event("x1", &note(1)));
                    Reply::events("", &text, Then::End)
                }
                ("GET", Some("x1")) => Reply::events("", &event("x2", &note(2)), Then::Silence),
                ("GET", other) => panic!("{other:?}"),
                _ => as_usual(asked).unwrap(),
            },
        )
        .await;
    let caller = legacy(&web).await;
    for n in 1..=2 {
        let heard = caller.notification().await.unwrap();
        let heard: Value = serde_json::from_slice(&heard).unwrap();
        assert_eq!(heard["params"]["data"], n);
    }
    caller.close().await;
}
