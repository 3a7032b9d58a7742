//! What went wrong in clients of others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use polyport_proto::{Era, Revisions};
use polyport_rt::CallError;
use polyport_testkit::Web;
use polyport_testkit::web::{Reply, Then};
use serde_json::json;
use tokio::time::timeout;

use super::{LONG, as_usual, initialized, legacy, opened, result};

// req: BR-073
#[tokio::test]
async fn br_073_only_a_good_answer_to_initialize_names_the_session() {
    let begun = Arc::new(AtomicUsize::new(0));
    let count = begun.clone();
    let web = Web::serve(move |asked| {
        let other = "Mcp-Session-Id: other\r\n";
        match asked.message()["method"].as_str() {
            Some("initialize") => {
                count.fetch_add(1, Ordering::SeqCst);
                as_usual(asked).unwrap()
            }
            Some("notifications/initialized") => Reply::of("202 Accepted", "text/plain", other, ""),
            Some("tools/list") => Reply::of("503 Busy", "text/plain", other, ""),
            Some("ping") => {
                let body = result(asked, &json!({})).to_string();
                Reply::of("200 OK", "application/json", other, &body)
            }
            Some("tools/call") if count.load(Ordering::SeqCst) == 1 => {
                Reply::of("404 Gone", "text/plain", other, "")
            }
            Some("tools/call") => Reply::json(&result(asked, &json!({}))),
            _ => as_usual(asked).unwrap(),
        }
    })
    .await;
    let caller = legacy(&web).await;
    assert!(caller.request("tools/list", "{}").await.is_err());
    caller.request("ping", "{}").await.unwrap();
    // The session is forgotten, and opened anew.
    caller.request("tools/call", "{}").await.unwrap();
    caller.close().await;
    for asked in web.asked() {
        let is_first = asked.message()["method"] == "initialize";
        let want = (!is_first).then_some("first");
        assert_eq!(asked.header("mcp-session-id"), want, "{asked:?}");
    }
    assert_eq!(begun.load(Ordering::SeqCst), 2);
    let refuses = Web::serve(|asked| match asked.message()["method"].as_str() {
        Some("initialize") => Reply::of("401 No", "text/plain", "Mcp-Session-Id: a\r\n", ""),
        _ => as_usual(asked).unwrap(),
    })
    .await;
    let legacy = Revisions::of(Era::Legacy);
    assert!(opened(&refuses, "/mcp", legacy).await.is_err());
    assert_eq!(refuses.heard(), ["initialize"]);
}

/// The requests by which streams are taken up again, by the id that each names.
fn taken_up(web: &Web) -> Vec<String> {
    let asked = web.asked();
    let named = asked
        .iter()
        .filter_map(|asked| asked.header("last-event-id"));
    named.map(str::to_owned).collect()
}

// req: BR-098, BR-093
#[tokio::test]
async fn br_098_br_093_a_stream_that_breaks_before_anything_new_keeps_its_place() {
    let tries = AtomicUsize::new(0);
    let web = Web::serve(move |asked| {
        let message = asked.message();
        match (message["method"].as_str(), asked.header("last-event-id")) {
            // `data` without a colon and lines of other kinds are no message, and no fault either.
            (Some("tools/call"), _) => {
                Reply::events("", "retry: 5\n\nid: e1\ndata\n\n: x\n\n", Then::End)
            }
            (None, Some("e1")) => match tries.fetch_add(1, Ordering::SeqCst) {
                0 => Reply::events("", "", Then::End),
                1 => Reply::events("", "retry: 1\n\n", Then::End),
                _ => {
                    let answer = json!({"jsonrpc": "2.0", "id": 2, "result": {"done": true}});
                    Reply::events("", &format!("id: e2\ndata: {answer}\n\n"), Then::End)
                }
            },
            (None, Some(other)) => panic!("{other}"),
            _ => as_usual(asked).unwrap(),
        }
    })
    .await;
    let caller = legacy(&web).await;
    let answer = timeout(LONG, caller.request("tools/call", "{}")).await;
    assert_eq!(answer.unwrap().unwrap().as_str(), "{\"done\":true}");
    assert_eq!(taken_up(&web), ["e1", "e1", "e1"]);
}

// req: BR-099
#[tokio::test]
async fn br_099_nobody_comes_back_for_what_is_there_or_after_the_end() {
    let web = Web::serve(|asked| match asked.message()["method"].as_str() {
        Some("tools/call") => {
            let answer = result(asked, &json!({}));
            let text = format!("id: a\nretry: 1\ndata:\n\nid: b\ndata: {answer}\n\n");
            Reply::events("", &text, Then::End)
        }
        Some("prompts/get") => Reply::events("", "id: c\nretry: 60\ndata:\n\n", Then::End),
        // The end of whoever comes after that is long in coming.
        Some("ping") => Reply::json(&result(asked, &json!({}))).drip(1, Duration::from_millis(2)),
        _ => as_usual(asked).unwrap(),
    })
    .await;
    let caller = legacy(&web).await;
    for _ in 0..5 {
        caller.request("tools/call", "{}").await.unwrap();
    }
    let waiting = caller.request("prompts/get", "{}");
    assert!(timeout(Duration::from_millis(20), waiting).await.is_err());
    caller.close().await;
    let after = legacy(&web).await;
    after.request("ping", "{}").await.unwrap();
    after.close().await;
    assert_eq!(taken_up(&web), [""; 0]);
}

// req: BR-107
#[tokio::test]
async fn br_107_what_runs_in_a_session_that_is_gone_is_lost_and_not_asked_again() {
    let begun = Arc::new(AtomicUsize::new(0));
    let count = begun.clone();
    let web = Web::serve(move |asked| match asked.message()["method"].as_str() {
        Some("initialize") => {
            let session = count.fetch_add(1, Ordering::SeqCst) + 1;
            let head = format!("Mcp-Session-Id: {session}\r\n");
            let body = initialized(asked, "2025-11-25").to_string();
            Reply::of("200 OK", "application/json", &head, &body)
        }
        Some("tools/call") => Reply::events("", ": begun\n\n", Then::Silence),
        Some("tools/list") if asked.header("mcp-session-id") == Some("1") => {
            Reply::empty("404 Not Found")
        }
        Some("tools/list") => Reply::json(&result(asked, &json!({"tools": []}))),
        _ => as_usual(asked).unwrap(),
    })
    .await;
    let caller = Arc::new(legacy(&web).await);
    let long = caller.clone();
    let long = tokio::spawn(async move { long.request("tools/call", "{\"name\":\"a\"}").await });
    while !web.heard().iter().any(|name| name == "tools/call") {
        tokio::task::yield_now().await;
    }
    caller.request("tools/list", "{}").await.unwrap();
    assert_eq!(begun.load(Ordering::SeqCst), 2);
    let lost = timeout(LONG / 4, long)
        .await
        .expect("it is not waited for")
        .unwrap();
    assert!(matches!(lost, Err(CallError::Broken(_))), "{lost:?}");
    let heard = web.heard();
    let calls = heard.iter().filter(|name| *name == "tools/call").count();
    assert_eq!(calls, 1, "{heard:?}");
}
