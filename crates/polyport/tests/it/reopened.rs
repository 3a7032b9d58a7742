//! The stream of changes of a modern server over HTTP that breaks: it is opened again, and that there was a gap is said.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use polyport::client::{Change, Connect, Target, Wanted};
use polyport::{Client, Era, Revisions};
use polyport_testkit::Web;
use polyport_testkit::web::{Asked, Reply, Then};
use serde_json::{Value, json};
use tokio::time::timeout;

/// Nothing in these tests takes so long.
const LONG: Duration = Duration::from_secs(20);
const LISTEN: &str = "subscriptions/listen";

fn events(messages: &[Value], then: Then) -> Reply {
    let events = messages
        .iter()
        .map(|message| format!("data: {message}\n\n"));
    Reply::events("", &events.collect::<String>(), then)
}

/// A modern server whose `n`th stream of changes is what `stream` says, from the request that asks for it.
async fn serve(stream: impl Fn(usize, &Asked) -> Reply + Send + Sync + 'static) -> (Web, Client) {
    let streams = AtomicUsize::new(0);
    let web = Web::serve(move |asked| {
        let message = asked.message();
        let result =
            |result: Value| json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        match message["method"].as_str() {
            Some("server/discover") => Reply::json(&result(json!({
                "supportedVersions": ["2026-07-28"], "resultType": "complete",
                "capabilities": {"tools": {"listChanged": true}},
            }))),
            Some(LISTEN) => stream(streams.fetch_add(1, Ordering::SeqCst), asked),
            _ => Reply::empty("404 Not Found"),
        }
    })
    .await;
    let connect = Connect::http(Target::new(&web.url("/mcp")).unwrap());
    let client = connect.speaks(Revisions::of(Era::Modern)).connect().await;
    (web, client.unwrap())
}

fn wanted() -> Wanted {
    Wanted {
        lists: true,
        ..Wanted::default()
    }
}

/// What a stream of changes begins with, and a change.
fn told(asked: &Asked) -> [Value; 2] {
    let id = asked.message()["id"].clone();
    let meta = json!({"io.modelcontextprotocol/subscriptionId": id});
    [
        "notifications/subscriptions/acknowledged",
        "notifications/tools/list_changed",
    ]
    .map(|method| {
        let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta.clone()});
        json!({"jsonrpc": "2.0", "method": method, "params": params})
    })
}

fn listened(web: &Web) -> usize {
    web.heard().iter().filter(|name| *name == LISTEN).count()
}

// req: S-CHANGES, S-GONE
#[tokio::test]
async fn a_stream_of_changes_that_breaks_is_opened_again() {
    let [a, b, c] = [Then::End, Then::Reset, Then::Deaf].map(breaks);
    tokio::join!(a, b, c);
}

async fn breaks(then: Then) {
    let (web, client) = serve(move |n, asked| match n {
        0 => events(&told(asked), then),
        // It is not quite there again.
        1 => Reply::raw("", Then::Reset),
        _ => events(&told(asked), Then::Silence),
    })
    .await;
    let mut changes = client.changes(wanted()).await.unwrap();
    for want in [Change::Tools, Change::Reopened, Change::Tools] {
        let heard = timeout(LONG, changes.next()).await.unwrap().unwrap();
        assert_eq!(heard.unwrap().change, want, "{then:?}");
    }
    assert_eq!(listened(&web), 3, "{then:?}");
    assert!(changes.told().lists);
}

// req: S-CHANGES
#[tokio::test]
async fn whoever_looks_in_between_hears_of_it_all_the_same() {
    let (web, client) = serve(|n, asked| match n {
        0 => events(&told(asked), Then::End),
        // It takes longer than anybody looks.
        _ => events(&told(asked), Then::Silence).drip(10, Duration::from_millis(2)),
    })
    .await;
    let mut changes = client.changes(wanted()).await.unwrap();
    let mut heard = Vec::new();
    let all = async {
        while heard.len() < 3 {
            // Dropped again and again in the midst of whatever it is at.
            if let Ok(next) = timeout(Duration::from_millis(30), changes.next()).await {
                heard.push(next.unwrap().unwrap().change);
            }
        }
    };
    let all = timeout(LONG, all).await;
    assert!(all.is_ok(), "{heard:?}");
    assert_eq!(heard, [Change::Tools, Change::Reopened, Change::Tools]);
    assert_eq!(listened(&web), 2);
}

// req: S-CHANGES
#[tokio::test]
async fn a_stream_of_changes_that_its_server_ends_is_not_opened_again() {
    let (web, client) = serve(|_, asked| {
        let [acknowledged, _] = told(asked);
        let end = json!({"jsonrpc": "2.0", "id": asked.message()["id"], "result": {"resultType": "complete"}});
        events(&[acknowledged, end], Then::End)
    })
    .await;
    let mut changes = client.changes(wanted()).await.unwrap();
    let heard = timeout(LONG, changes.next()).await.unwrap().unwrap();
    assert_eq!((heard, listened(&web)), (None, 1));
}
