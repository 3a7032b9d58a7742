//! A legacy server over HTTP that forgets who listens: the stream of changes goes on, and says that there was a gap.

use std::time::Duration;

use polyport::client::{Change, Connect, Target, Wanted};
use polyport::{Era, Revisions};
use polyport_testkit::Web;
use polyport_testkit::web::{Asked, Reply, Then};
use serde_json::json;

/// Nothing in these tests takes so long.
const LONG: Duration = Duration::from_secs(20);

/// Words of servers for a session that they do not know.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Says {
    /// That of the specification.
    NotFound,
    /// With an error object, as the reference server.
    Bad,
    /// Without one.
    BadAlone,
    /// The stream alone is refused for a while, at first since the one before is held for open: the session lives.
    BadStream,
}

impl Says {
    fn reply(self, asked: &Asked) -> Reply {
        let bad = json!({"jsonrpc": "2.0", "id": asked.message()["id"],
            "error": {"code": -32000, "message": "Bad Request: No valid session ID provided"}});
        match self {
            Self::NotFound => Reply::empty("404 Not Found"),
            Self::Bad => Reply::of("400 Bad Request", "application/json", "", &bad.to_string()),
            Self::BadAlone | Self::BadStream => Reply::empty("400 Bad Request"),
        }
    }
}

/// Gives sessions by number and knows the second one only, once the stream of the first has ended.
fn answer(asked: &Asked, begun: usize, streams: usize, says: Says) -> Reply {
    let is_over = streams > 0;
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
        ("GET", _) if !is_known && says == Says::BadStream => match streams {
            1 => Reply::empty("409 Conflict"),
            2 => says.reply(asked),
            _ => changed(),
        },
        _ if !is_known && says != Says::BadStream => says.reply(asked),
        ("GET", _) if session == Some("1") => Reply::events("", "retry: 10\ndata:\n\n", Then::End),
        ("GET", _) => changed(),
        ("POST", Some(name)) if name.starts_with("notifications/") => Reply::empty("202 Accepted"),
        _ => Reply::json(&result(json!({}))),
    }
}

/// A stream on which something has changed.
fn changed() -> Reply {
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    Reply::events("", &format!("data: {changed}\n\n"), Then::Silence)
}

// req: S-CHANGES, BR-120
#[tokio::test]
async fn br_120_changes_of_a_server_that_was_started_anew() {
    for says in [Says::NotFound, Says::Bad, Says::BadAlone, Says::BadStream] {
        started_anew(says).await;
    }
}

async fn started_anew(says: Says) {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    let (begun, streams) = (AtomicUsize::new(0), AtomicUsize::new(0));
    // Where the server does not say that it has forgotten, what is asked by itself fails.
    let is_subscribed = AtomicBool::new(says == Says::NotFound);
    let web = Web::serve(move |asked| {
        if asked.message()["method"] == "initialize" {
            begun.fetch_add(1, Ordering::SeqCst);
        }
        if asked.message()["method"] == "resources/subscribe" {
            is_subscribed.store(true, Ordering::SeqCst);
        }
        let before = streams.load(Ordering::SeqCst);
        if asked.method == "GET" && is_subscribed.load(Ordering::SeqCst) {
            streams.fetch_add(1, Ordering::SeqCst);
        }
        answer(asked, begun.load(Ordering::SeqCst), before, says)
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
        "{says:?}: {heard:?}"
    );
    let session = match says {
        Says::BadStream => "1",
        _ => "2",
    };
    let asked = web.asked();
    let mut subscribed = asked
        .iter()
        .filter(|asked| asked.message()["method"] == "resources/subscribe");
    assert!(
        subscribed.next_back().unwrap().header("mcp-session-id") == Some(session),
        "{says:?}"
    );
    drop(changes);
    client.close().await;
}
