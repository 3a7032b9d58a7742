//! A legacy server over HTTP that forgets who listens: the stream of changes goes on, and says that there was a gap.

use std::time::Duration;

use polyport::client::{Change, Connect, Target, Wanted};
use polyport::{Era, Revisions};
use polyport_testkit::Web;
use polyport_testkit::web::{Asked, Reply, Then};
use serde_json::json;

/// Nothing in these tests takes so long.
const LONG: Duration = Duration::from_secs(20);

/// Gives sessions by number and knows the second one only, once the stream of the first has ended.
fn answer(asked: &Asked, begun: usize, is_over: bool) -> Reply {
    let message = asked.message();
    let session = asked.header("mcp-session-id");
    let is_known = !(is_over && session == Some("1"));
    let result = |result: serde_json::Value| json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    match (asked.method.as_str(), message["method"].as_str()) {
        ("POST", Some("initialize")) => {
            let head = format!("Mcp-Session-Id: {begun}\r\n");
            let capabilities =
                json!({"tools": {"listChanged": true}, "resources": {"subscribe": true}});
            let body = result(
                json!({"protocolVersion": "2025-11-25", "capabilities": capabilities,
                "serverInfo": {"name": "s", "version": "1"}}),
            );
            Reply::of("200 OK", "application/json", &head, &body.to_string())
        }
        _ if !is_known => Reply::empty("404 Not Found"),
        ("GET", _) if session == Some("1") => Reply::events("", "retry: 10\ndata:\n\n", Then::End),
        ("GET", _) => {
            let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
            Reply::events("", &format!("data: {changed}\n\n"), Then::Silence)
        }
        ("POST", Some(name)) if name.starts_with("notifications/") => Reply::empty("202 Accepted"),
        _ => Reply::json(&result(json!({}))),
    }
}

// req: S-CHANGES, BR-120
#[tokio::test]
async fn br_120_changes_of_a_server_that_was_started_anew() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let (begun, streams) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let web = Web::serve(move |asked| {
        if asked.message()["method"] == "initialize" {
            begun.fetch_add(1, Ordering::SeqCst);
        }
        let before = streams.load(Ordering::SeqCst);
        if asked.method == "GET" {
            streams.fetch_add(1, Ordering::SeqCst);
        }
        answer(asked, begun.load(Ordering::SeqCst), before > 0)
    })
    .await;
    let target = Target::new(&web.url("/mcp")).unwrap();
    let legacy = Revisions::of(Era::Legacy);
    let client = Connect::http(target)
        .speaks(legacy)
        .connect()
        .await
        .unwrap();
    let wanted = Wanted {
        lists: true,
        resources: vec!["test://one".to_owned()],
        ..Wanted::default()
    };
    // The first session may be over before it is subscribed to; then that opens the second.
    let mut changes = client.changes(wanted).await.unwrap();
    let mut heard = Vec::new();
    while heard.last() != Some(&Change::Tools) {
        let next = tokio::time::timeout(LONG, changes.next()).await.unwrap();
        heard.push(next.unwrap().unwrap().change);
    }
    assert!(
        heard.len() <= 2
            && heard[..heard.len() - 1]
                .iter()
                .all(|c| *c == Change::Reopened),
        "{heard:?}"
    );
    let asked = web.asked();
    let mut subscribed = asked
        .iter()
        .filter(|asked| asked.message()["method"] == "resources/subscribe");
    assert!(subscribed.next_back().unwrap().header("mcp-session-id") == Some("2"));
    drop(changes);
    client.close().await;
}
