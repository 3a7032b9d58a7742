//! Sessions: kept, forgotten by the server, opened anew, ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_like::join_all;
use polyport_rt::CallError;
use polyport_testkit::Web;
use polyport_testkit::web::{Asked, Reply};
use serde_json::json;

use super::{as_usual, initialized, legacy, result};

/// A server whose sessions are numbers; it knows only the newest of those that it has not forgotten.
async fn forgetful(
    is_lost: impl Fn(usize) -> bool + Send + Sync + 'static,
) -> (Web, Arc<AtomicUsize>) {
    let begun = Arc::new(AtomicUsize::new(0));
    let count = begun.clone();
    let web = Web::serve(move |asked: &Asked| {
        let message = asked.message();
        if message["method"] == "initialize" {
            let session = count.fetch_add(1, Ordering::SeqCst) + 1;
            let head = format!("Mcp-Session-Id: {session}\r\n");
            let body = initialized(asked, "2025-11-25").to_string();
            return Reply::of("200 OK", "application/json", &head, &body);
        }
        let session = asked
            .header("mcp-session-id")
            .and_then(|id| id.parse().ok());
        if asked.method == "POST" && session.is_none_or(&is_lost) {
            return Reply::of("404 Not Found", "application/json", "", "{}");
        }
        as_usual(asked).unwrap_or_else(|| Reply::json(&result(asked, &json!({"n": session}))))
    })
    .await;
    (web, begun)
}

/// What would be a library's, for three lines.
mod futures_like {
    use tokio::task::JoinSet;

    pub(super) async fn join_all<T: Send + 'static>(
        all: impl Iterator<Item = impl Future<Output = T> + Send + 'static>,
    ) -> Vec<T> {
        let mut set: JoinSet<T> = all.collect();
        let mut out = Vec::new();
        while let Some(done) = set.join_next().await {
            out.push(done.unwrap());
        }
        out
    }
}

// req: BR-120
#[tokio::test]
async fn br_120_a_forgotten_session_is_opened_anew_once_for_all_who_wait() {
    let lost = Arc::new(AtomicUsize::new(0));
    let known = lost.clone();
    let (web, begun) = forgetful(move |session| session <= known.load(Ordering::SeqCst)).await;
    let caller = Arc::new(legacy(&web).await);
    let first = caller.request("tools/list", "{}").await.unwrap();
    assert_eq!(first.as_str(), "{\"n\":1}");
    // The server is started anew.
    lost.store(1, Ordering::SeqCst);
    let calls = (0..50).map(|_| {
        let caller = caller.clone();
        async move { caller.request("tools/call", "{\"name\":\"a\"}").await }
    });
    for answer in join_all(calls).await {
        assert_eq!(answer.unwrap().as_str(), "{\"n\":2}");
    }
    assert_eq!(begun.load(Ordering::SeqCst), 2);
    let calls = web
        .heard()
        .iter()
        .filter(|name| *name == "tools/call")
        .count();
    assert!((50..=100).contains(&calls), "each at most twice: {calls}");
}

/// What is asked while the session is opened anew waits for it, and is no stranger's meanwhile.
// req: BR-120
#[tokio::test]
async fn br_120_what_is_asked_meanwhile_belongs_to_the_new_session() {
    let begun = Arc::new(AtomicUsize::new(0));
    let count = begun.clone();
    let ready = Arc::new(AtomicUsize::new(0));
    let web = Web::serve(move |asked: &Asked| {
        let session: Option<usize> = asked
            .header("mcp-session-id")
            .and_then(|id| id.parse().ok());
        match asked.message()["method"].as_str() {
            Some("initialize") => {
                let session = count.fetch_add(1, Ordering::SeqCst) + 1;
                let head = format!("Mcp-Session-Id: {session}\r\n");
                let body = initialized(asked, "2025-11-25").to_string();
                let reply = Reply::of("200 OK", "application/json", &head, &body);
                reply.drip(40, Duration::from_millis(5))
            }
            Some("notifications/initialized") => {
                ready.store(session.unwrap(), Ordering::SeqCst);
                Reply::empty("202 Accepted").drip(10, Duration::from_millis(5))
            }
            // The first session is forgotten as soon as it is there.
            Some(_) if session == Some(1) => Reply::empty("404 Not Found"),
            Some(_) if session != Some(ready.load(Ordering::SeqCst)) => {
                Reply::empty("400 Bad Request")
            }
            _ => as_usual(asked).unwrap_or_else(|| Reply::json(&result(asked, &json!({})))),
        }
    })
    .await;
    let caller = Arc::new(legacy(&web).await);
    let calls = (0..60).map(|n| {
        let caller = caller.clone();
        async move {
            tokio::time::sleep(Duration::from_millis(n)).await;
            caller.request("tools/call", "{\"name\":\"a\"}").await
        }
    });
    for answer in join_all(calls).await {
        answer.unwrap();
    }
    assert_eq!(begun.load(Ordering::SeqCst), 2);
}

// req: BR-120
#[tokio::test]
async fn br_120_a_server_that_forgets_every_session_is_no_server() {
    let (web, begun) = forgetful(|_| true).await;
    let caller = legacy(&web).await;
    let answer = caller.request("tools/list", "{}").await;
    assert!(matches!(answer, Err(CallError::SessionLost)), "{answer:?}");
    assert_eq!(begun.load(Ordering::SeqCst), 2);
}

// req: D-19
#[tokio::test]
async fn d_19_a_session_that_ends_is_told_and_404_and_405_are_an_end_too() {
    for status in [
        "200 OK",
        "404 Not Found",
        "405 Method Not Allowed",
        "500 No",
    ] {
        let web = Web::serve(move |asked| match asked.method.as_str() {
            "DELETE" => Reply::empty(status),
            _ => as_usual(asked).unwrap(),
        })
        .await;
        legacy(&web).await.close().await;
        let last = web.asked().pop().unwrap();
        assert_eq!(last.method, "DELETE", "{status}");
        assert_eq!(last.header("mcp-session-id"), Some("first"));
    }
}

// req: BR-079
#[tokio::test]
async fn br_079_404_without_a_session_and_400_with_one_are_not_its_end() {
    let web = Web::serve(|asked| match asked.message()["method"].as_str() {
        Some("initialize") => Reply::json(&initialized(asked, "2025-11-25")),
        Some("tools/list") => Reply::of("404 Not Found", "text/plain", "", "nothing here"),
        Some("tools/call") => Reply::of("503 Busy", "text/plain", "Retry-After: 7\r\n", ""),
        Some("ping") => Reply::json(&result(asked, &json!({}))),
        _ => as_usual(asked).unwrap(),
    })
    .await;
    let caller = legacy(&web).await;
    for (method, code) in [("tools/list", 404), ("tools/call", 503)] {
        match caller.request(method, "{}").await {
            Err(CallError::Status(status)) => assert_eq!(status.code, code),
            other => panic!("{method}: {other:?}"),
        }
        // One that fails is one that fails.
        caller.request("ping", "{}").await.unwrap();
    }
    let heard = web.heard();
    let begun = heard.iter().filter(|name| *name == "initialize").count();
    assert_eq!(begun, 1, "{heard:?}");
}
