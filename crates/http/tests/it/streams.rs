//! When a response becomes a stream, what stands on it, and what its end means.

use std::sync::atomic::Ordering;
use std::time::Duration;

use http_body_util::BodyExt;
use polyport_proto::Limits;
use polyport_testkit::handlers::Puppet;

use crate::{CALL, PLAIN, V, endpoint, endpoint_with, modern, open, post, request};

fn with_token(tool: &str) -> String {
    modern("tools/call", &format!(r#""name":"{tool}""#))
        .replace("\"_meta\":{", "\"_meta\":{\"progressToken\":\"t\",")
}

#[tokio::test(start_paused = true)]
async fn a_quiet_call_is_json_and_a_talking_one_a_stream() {
    let endpoint = endpoint();
    let quiet = post(
        &endpoint,
        &[V, CALL, ("mcp-name", "slow")],
        &with_token("slow"),
    )
    .await;
    assert_eq!(quiet.headers["content-type"], "application/json");
    assert_eq!(quiet.json()["result"]["resultType"], "complete");
    let talking = post(
        &endpoint,
        &[V, CALL, ("mcp-name", "progress")],
        &with_token("progress"),
    )
    .await;
    assert_eq!(talking.headers["content-type"], "text/event-stream");
    assert_eq!(talking.headers["x-accel-buffering"], "no");
    let events = talking.events();
    assert_eq!(events.len(), 4);
    assert_eq!(events[2]["params"]["progress"], 3);
    assert_eq!(events[3]["id"], 1);
    assert!(talking.text.starts_with("event: message\ndata: "));
    // What is said at the first poll, too, comes before the answer.
    let burst = post(
        &endpoint,
        &[V, CALL, ("mcp-name", "burst")],
        &with_token("burst"),
    )
    .await;
    assert_eq!(burst.events().len(), 10, "8, the newest, the answer");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_no_stream_gets_the_answer_only() {
    let endpoint = endpoint();
    let headers = [
        PLAIN[0],
        PLAIN[1],
        ("accept", "application/json"),
        V,
        CALL,
        ("mcp-name", "progress"),
    ];
    let got = crate::send(&endpoint, "POST", &headers, &with_token("progress")).await;
    assert_eq!(got.headers["content-type"], "application/json");
    assert_eq!(got.json()["id"], 1);
}

// req: M-DROP
#[tokio::test(start_paused = true)]
async fn closing_a_modern_stream_cancels() {
    let puppet = Puppet::default();
    let endpoint = endpoint_with(puppet.clone(), Limits::default());
    let headers = [PLAIN, &[V, CALL, ("mcp-name", "tidy")]].concat();
    // Before the head of the response …
    let waiting = endpoint.handle(request("POST", "/mcp", &headers, &with_token("tidy")));
    assert!(
        tokio::time::timeout(Duration::from_secs(1), waiting)
            .await
            .is_err()
    );
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(puppet.seen.cancelled.load(Ordering::SeqCst), 1);
    // … and after it: a silent call becomes a stream when a proxy might lose patience.
    let response = endpoint
        .handle(request("POST", "/mcp", &headers, &with_token("tidy")))
        .await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut body = response.into_body();
    assert_eq!(
        body.frame().await.unwrap().unwrap().into_data().unwrap(),
        ": open\n\n"
    );
    assert_eq!(
        body.frame().await.unwrap().unwrap().into_data().unwrap(),
        ": keep-alive\n\n"
    );
    drop(body);
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(puppet.seen.cancelled.load(Ordering::SeqCst), 2);
}

// req: BR-063
#[tokio::test(start_paused = true)]
async fn br_063_closing_a_legacy_stream_does_not_cancel() {
    let puppet = Puppet::default();
    let endpoint = endpoint_with(puppet.clone(), Limits::default());
    let session = open(&endpoint).await;
    let headers = [PLAIN, &[("mcp-session-id", session.as_str())]].concat();
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tidy"}}"#;
    let waiting = endpoint.handle(request("POST", "/mcp", &headers, call));
    assert!(
        tokio::time::timeout(Duration::from_secs(1), waiting)
            .await
            .is_err()
    );
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(puppet.seen.cancelled.load(Ordering::SeqCst), 0);
    // The end of the session does.
    assert_eq!(
        crate::send(&endpoint, "DELETE", &headers, "").await.status,
        204
    );
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(puppet.seen.cancelled.load(Ordering::SeqCst), 1);
}

// req: BR-086
#[tokio::test(start_paused = true)]
async fn br_086_a_get_stream_begins_at_once_and_ends_with_its_session() {
    let mut limits = Limits::default();
    limits.streams_per_session = 2;
    let endpoint = endpoint_with(Puppet::default(), limits);
    let session = open(&endpoint).await;
    let headers = [PLAIN, &[("mcp-session-id", session.as_str())]].concat();
    let first = endpoint.handle(request("GET", "/mcp", &headers, "")).await;
    let mut body = first.into_body();
    assert_eq!(
        body.frame().await.unwrap().unwrap().into_data().unwrap(),
        ": open\n\n"
    );
    let second = endpoint.handle(request("GET", "/mcp", &headers, "")).await;
    assert_eq!(
        endpoint
            .handle(request("GET", "/mcp", &headers, ""))
            .await
            .status(),
        409
    );
    drop(second);
    assert_eq!(
        endpoint
            .handle(request("GET", "/mcp", &headers, ""))
            .await
            .status(),
        200
    );
    assert_eq!(
        crate::send(&endpoint, "DELETE", &headers, "").await.status,
        204
    );
    assert!(body.frame().await.is_none());
}

// req: D-29
// req: M-HTTP
#[tokio::test(start_paused = true)]
async fn the_status_of_a_modern_call_is_open_until_its_first_event() {
    let endpoint = endpoint();
    for (tool, status, code, events) in [
        ("lacks sampling", 400, -32021, 0),
        ("slow then lacks sampling", 400, -32021, 0),
        ("is unknown", 404, -32601, 0),
        ("slow then is unknown", 404, -32601, 0),
        ("slow then refuses", 200, -32602, 0),
        ("slow then panics", 200, -32603, 0),
        ("progress then lacks sampling", 200, -32021, 4),
        ("progress then is unknown", 200, -32601, 4),
    ] {
        let got = post(&endpoint, &[V, CALL, ("mcp-name", tool)], &with_token(tool)).await;
        assert_eq!((got.status, got.events().len()), (status, events), "{tool}");
        let answer = got.events().pop().unwrap_or_else(|| got.json());
        assert_eq!(answer["error"]["code"], code, "{tool}: {got:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_result_is_whole_on_a_stream_and_alone() {
    let endpoint = endpoint();
    let text: String = "añ€😀\u{2028}\\\"\\n"
        .chars()
        .cycle()
        .take(1 << 18)
        .collect();
    let text = text.trim_end_matches('\\');
    for (tool, events) in [("echo", 0), ("burst then echo", 10)] {
        let body = with_token(tool).replace(
            "\"_meta\":",
            &format!("\"arguments\":{{\"text\":\"{text}\"}},\"_meta\":"),
        );
        let got = post(&endpoint, &[V, CALL, ("mcp-name", tool)], &body).await;
        let answer = if events == 0 {
            got.json()
        } else {
            assert_eq!(got.events().len(), events);
            got.events().pop().unwrap()
        };
        let want: String = serde_json::from_str(&format!("\"{text}\"")).unwrap();
        assert!(answer["result"]["text"] == *want, "{tool}");
    }
}
