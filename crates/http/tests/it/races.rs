//! What crosses on its way over HTTP: cancels and answers, ids that are used again, bounds that are reached meanwhile.

use std::sync::atomic::Ordering;
use std::time::Duration;

use http_body_util::BodyExt;
use polyport_proto::Limits;
use polyport_testkit::handlers::Puppet;

use crate::{
    CALL, Got, INITIALIZE, PING, PLAIN, V, call, cancel, endpoint, endpoint_with, modern, open,
    open_old, post, request, send,
};

/// Something that happens a while later.
async fn after<T>(ms: u64, what: impl Future<Output = T>) -> T {
    tokio::time::sleep(Duration::from_millis(ms)).await;
    what.await
}

// req: P-REUSE
#[tokio::test(start_paused = true)]
async fn an_id_that_is_used_again_gets_its_own_answer() {
    let endpoint = endpoint();
    let session = open(&endpoint).await;
    let id = [("mcp-session-id", session.as_str())];
    for tool in ["tidy", "never", "tidy then panics"] {
        let (one, stop, two) = (call(1, tool), cancel(1), call(1, "two minutes"));
        let (first, _, second) = tokio::join!(
            post(&endpoint, &id, &one),
            after(100, post(&endpoint, &id, &stop)),
            after(200, post(&endpoint, &id, &two)),
        );
        assert!(first.events().is_empty(), "{tool}: {first:?}");
        let answers = second.events();
        assert_eq!(answers[0]["result"]["tool"], "two minutes", "{second:?}");
        assert_eq!(answers.len(), 1, "{second:?}");
    }
}

// req: L-BATCH
// req: D-13
#[tokio::test(start_paused = true)]
async fn a_batch_without_its_cancelled_part_is_answered() {
    let endpoint = endpoint();
    let session = open_old(&endpoint).await;
    let id = [("mcp-session-id", session.as_str())];
    let (tidy, stop) = (call(7, "tidy"), cancel(7));
    let inside = post(&endpoint, &id, &format!("[{PING},{tidy},{stop}]")).await;
    let batch = format!("[{tidy},{PING}]");
    let (outside, _) = tokio::join!(
        post(&endpoint, &id, &batch),
        after(100, post(&endpoint, &id, &stop)),
    );
    let slow = call(8, "slow");
    let batch = format!("[{tidy},{slow},{PING}]");
    let (early, _) = tokio::join!(
        post(&endpoint, &id, &batch),
        after(100, post(&endpoint, &id, &stop)),
    );
    for (got, ids) in [(inside, vec![1]), (outside, vec![1]), (early, vec![1, 8])] {
        let answers = got.json();
        let answered = answers.as_array().unwrap().iter();
        let mut answered: Vec<_> = answered.map(|a| a["id"].as_i64().unwrap()).collect();
        answered.sort_unstable();
        assert_eq!(answered, ids, "{got:?}");
    }
}

// req: D-13
// req: BR-059
#[tokio::test(start_paused = true)]
async fn d_13_what_waits_to_be_sent_goes_with_its_call() {
    for tool in ["never", "tidy"] {
        let puppet = Puppet::default();
        let endpoint = endpoint_with(puppet.clone(), Limits::default());
        let session = open(&endpoint).await;
        let id = [("mcp-session-id", session.as_str())];
        let level =
            r#"{"jsonrpc":"2.0","id":5,"method":"logging/setLevel","params":{"level":"info"}}"#;
        post(&endpoint, &id, level).await;
        let headers = [PLAIN, &id].concat();
        let body = call(1, &format!("logs then told then ten logs then {tool}"));
        let stream = endpoint
            .handle(request("POST", "/mcp", &headers, &body))
            .await;
        let mut stream = stream.into_body();
        let first = stream.frame().await.unwrap().unwrap();
        assert!(first.into_data().unwrap().starts_with(b"id: 1-1\n"));
        puppet.told.notify_one();
        tokio::time::sleep(Duration::from_secs(1)).await;
        post(&endpoint, &id, &cancel(1)).await;
        let rest = stream.collect().await.unwrap().to_bytes();
        assert!(rest.is_empty(), "{rest:?}");
    }
}

// req: D-06
#[tokio::test(start_paused = true)]
async fn d_06_a_call_that_panics_while_it_is_dropped_ends_its_response() {
    let endpoint = endpoint();
    let session = open(&endpoint).await;
    let id = [("mcp-session-id", session.as_str())];
    let (bomb, stop) = (call(1, "explodes"), cancel(1));
    let begun = tokio::time::Instant::now();
    let (got, _) = tokio::join!(
        post(&endpoint, &id, &bomb),
        after(100, post(&endpoint, &id, &stop)),
    );
    assert!(got.events().is_empty(), "{got:?}");
    assert_eq!(begun.elapsed().as_secs(), 2, "the grace");
}

// req: P-END
#[tokio::test(start_paused = true)]
async fn a_deleted_session_ends_its_calls_and_their_responses() {
    let puppet = Puppet::default();
    let endpoint = endpoint_with(puppet.clone(), Limits::default());
    let session = open(&endpoint).await;
    let id = [("mcp-session-id", session.as_str())];
    let (never, headers) = (call(1, "never"), [PLAIN, &id].concat());
    let begun = tokio::time::Instant::now();
    let (got, _) = tokio::join!(
        post(&endpoint, &id, &never),
        after(100, send(&endpoint, "DELETE", &headers, "")),
    );
    assert!(got.events().is_empty(), "{got:?}");
    assert_eq!(begun.elapsed().as_secs(), 2, "the grace");
    assert_eq!(puppet.seen.dropped.load(Ordering::SeqCst), 1);
}

/// Room for three of the puppet's notifications, by number and by length.
fn narrow() -> [Limits; 2] {
    let (mut few, mut short) = (Limits::default(), Limits::default());
    few.queue_messages = 3;
    short.queue_bytes = 350;
    [few, short]
}

/// A call that wants progress and logs, in both eras.
async fn talk(limits: &Limits, tool: &str) -> [Got; 2] {
    let endpoint = endpoint_with(Puppet::default(), limits.clone());
    let session = open(&endpoint).await;
    let id = [("mcp-session-id", session.as_str())];
    let level = r#"{"jsonrpc":"2.0","id":5,"method":"logging/setLevel","params":{"level":"info"}}"#;
    post(&endpoint, &id, level).await;
    let body = call(1, tool).replace(
        "\"arguments\"",
        "\"_meta\":{\"progressToken\":1},\"arguments\"",
    );
    let legacy = post(&endpoint, &id, &body).await;
    let body = modern("tools/call", &format!(r#""name":"{tool}""#)).replace(
        "\"_meta\":{",
        "\"_meta\":{\"progressToken\":1,\"io.modelcontextprotocol/logLevel\":\"info\",",
    );
    [
        legacy,
        post(&endpoint, &[V, CALL, ("mcp-name", tool)], &body).await,
    ]
}

// req: D-35
// req: D-21
#[tokio::test(start_paused = true)]
async fn d_35_what_has_no_room_in_a_stream_is_left_out_and_counted() {
    for limits in narrow() {
        for tool in ["ten logs", "slow then ten logs"] {
            for got in talk(&limits, tool).await {
                let events = got.events();
                assert_eq!(events.len(), 5, "{got:?}");
                for (n, event) in events.iter().take(3).enumerate() {
                    assert_eq!(event["params"]["data"]["n"], n, "{got:?}");
                }
                let note = "7 log messages were left out: too many at once";
                assert_eq!(events[3]["params"]["data"], note, "{got:?}");
                assert_eq!(events[4]["id"], 1, "{got:?}");
            }
        }
        for tool in ["burst", "slow then burst"] {
            for got in talk(&limits, tool).await {
                let events = got.events();
                let progress = events
                    .iter()
                    .filter_map(|e| e["params"]["progress"].as_i64());
                assert_eq!(progress.collect::<Vec<_>>(), [1, 2, 3, 100], "{got:?}");
                assert_eq!(events[4]["id"], 1, "{got:?}");
            }
        }
    }
}

// req: D-35
#[tokio::test(start_paused = true)]
async fn d_35_calls_beyond_the_bound_are_503() {
    let (mut server, mut session) = (Limits::default(), Limits::default());
    server.calls = 1;
    session.calls_per_session = 1;
    for (limits, eras) in [(server, 2), (session, 1)] {
        let endpoint = endpoint_with(Puppet::default(), limits);
        let name = open(&endpoint).await;
        let id = [("mcp-session-id", name.as_str())];
        let (slow, more) = (call(1, "slow"), call(2, "echo"));
        let body = modern("tools/call", r#""name":"echo""#);
        let headers = [V, CALL, ("mcp-name", "echo")];
        let (first, legacy, modern) = tokio::join!(
            post(&endpoint, &id, &slow),
            after(100, post(&endpoint, &id, &more)),
            after(100, post(&endpoint, &headers, &body)),
        );
        assert_eq!(first.json()["result"]["tool"], "slow");
        for (got, id) in [(legacy, 2), (modern, 1)].iter().take(eras) {
            assert_eq!((got.status, got.code()), (503, Some(-32600)), "{got:?}");
            assert_eq!(got.headers["retry-after"], "1", "{got:?}");
            assert_eq!(got.json()["id"], *id, "{got:?}");
        }
        assert_eq!(post(&endpoint, &id, &more).await.status, 200);
        assert_eq!(post(&endpoint, &headers, &body).await.status, 200);
    }
}

// req: D-35
#[tokio::test(start_paused = true)]
async fn d_35_handshakes_are_calls_of_the_server_too() {
    let mut limits = Limits::default();
    limits.calls = 1;
    let puppet = Puppet {
        discovers: "slow",
        ..Puppet::default()
    };
    let endpoint = endpoint_with(puppet, limits);
    let (first, second) = tokio::join!(
        post(&endpoint, &[], INITIALIZE),
        after(100, post(&endpoint, &[], INITIALIZE)),
    );
    assert_eq!(first.status, 200);
    assert_eq!(
        (second.status, second.code()),
        (503, Some(-32600)),
        "{second:?}"
    );
    assert_eq!(second.json()["id"], 0);
    assert_eq!(endpoint.sessions(), 1);
    assert_eq!(post(&endpoint, &[], INITIALIZE).await.status, 200);
}
