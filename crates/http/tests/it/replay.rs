//! Streams whose connection broke: what a client gets that comes back, and what it never gets.

use std::time::Duration;

use polyport_http::{Config, Endpoint};
use polyport_rt::Service;
use polyport_testkit::handlers::Puppet;
use serde_json::Value;

use crate::sessions::Tokens;
use crate::{
    CALL, Got, PING, PLAIN, Stream, V, call, call_with_token, cancel, endpoint, modern, open,
    open_in, open_old, post, send, stream,
};

pub(crate) const S: fn(u64) -> Duration = Duration::from_secs;

/// What comes back to a session with the id of an event.
pub(crate) async fn resume(endpoint: &Endpoint, session: &str, last: &str) -> Stream {
    let headers = [("mcp-session-id", session), ("last-event-id", last)];
    stream(endpoint, "GET", &headers, "").await
}

/// The same where it is refused, or ends at once.
pub(crate) async fn resume_whole(endpoint: &Endpoint, session: &str, last: &str) -> Got {
    let headers = [("mcp-session-id", session), ("last-event-id", last)];
    send(endpoint, "GET", &[PLAIN, &headers].concat(), "").await
}

/// Begins a call whose answer is a stream.
pub(crate) async fn begin(endpoint: &Endpoint, session: &str, id: u32, tool: &str) -> Stream {
    let headers = [("mcp-session-id", session)];
    stream(endpoint, "POST", &headers, &call_with_token(id, tool)).await
}

/// The same, and its client is gone when it has seen the first event.
pub(crate) async fn begin_and_leave(endpoint: &Endpoint, session: &str, id: u32, tool: &str) {
    let mut begun = begin(endpoint, session, id, tool).await;
    assert!(begun.next().await.is_some());
}

pub(crate) fn ids(messages: &[(Option<String>, Value)]) -> Vec<&str> {
    messages
        .iter()
        .filter_map(|(id, _)| id.as_deref())
        .collect()
}

/// What a message says: how far, or the tool that has ended.
fn gist(message: &Value) -> String {
    match &message["params"]["progress"] {
        Value::Null => message["result"]["tool"].to_string(),
        progress => progress.to_string(),
    }
}

fn gists(messages: &[(Option<String>, Value)]) -> Vec<String> {
    messages.iter().map(|(_, message)| gist(message)).collect()
}

// req: BR-093
// req: BR-095
#[tokio::test(start_paused = true)]
async fn br_093_br_095_each_revision_has_its_own_stream() {
    for (revision, primed, numbered) in [
        ("2024-11-05", false, false),
        ("2025-03-26", false, true),
        ("2025-06-18", false, true),
        ("2025-11-25", true, true),
    ] {
        let endpoint = endpoint();
        let session = open_in(&endpoint, revision).await;
        let id = [("mcp-session-id", session.as_str())];
        for number in 1..=2 {
            let got = post(&endpoint, &id, &call_with_token(1, "progress")).await;
            let mut events = got.sse();
            if primed {
                let first = events.remove(0);
                assert_eq!(first.id, Some(format!("{number}-0")), "{got:?}");
                assert_eq!((first.data.as_str(), first.name), ("", None), "{got:?}");
            }
            assert_eq!(events.len(), 4, "{got:?}");
            for (n, event) in events.iter().enumerate() {
                let id = numbered.then(|| format!("{number}-{}", n + 1));
                assert_eq!(event.id, id, "{got:?}");
                assert_eq!(event.name.as_deref(), Some("message"), "{got:?}");
                assert!(
                    serde_json::from_str::<Value>(&event.data).is_ok(),
                    "{got:?}"
                );
            }
        }
    }
    let body = modern("tools/call", r#""name":"progress""#)
        .replace("\"_meta\":{", "\"_meta\":{\"progressToken\":\"t\",");
    let got = post(&endpoint(), &[V, CALL, ("mcp-name", "progress")], &body).await;
    assert_eq!(got.sse().len(), 4);
    assert!(got.sse().iter().all(|event| event.id.is_none()), "{got:?}");
}

// req: BR-063
// req: L-RESUME
#[tokio::test(start_paused = true)]
async fn a_client_that_comes_back_gets_the_rest() {
    for (revision, least) in [("2025-03-26", 1), ("2025-06-18", 1), ("2025-11-25", 0)] {
        for seen in least..=3 {
            let endpoint = endpoint();
            let session = open_in(&endpoint, revision).await;
            let mut first = begin(&endpoint, &session, 7, "progress then slow").await;
            let mut last = first.next().await.unwrap().id;
            for _ in least..seen {
                last = first.message().await.0;
            }
            drop(first);
            // However long it is away: the call goes on, and its answer waits.
            tokio::time::sleep(S(100)).await;
            let last = last.unwrap();
            let rest = resume(&endpoint, &session, &last).await;
            assert_eq!(rest.status, 200);
            let rest = rest.rest().await;
            let from = seen;
            let all = ["1", "2", "3", "\"progress then slow\""];
            assert_eq!(gists(&rest), all[from..], "{revision} {last}");
            let numbers: Vec<_> = (from + 1..=4).map(|n| format!("1-{n}")).collect();
            assert_eq!(ids(&rest), numbers, "{revision} {last}");
        }
    }
}

// req: L-RESUME
#[tokio::test(start_paused = true)]
async fn a_stream_goes_on_live_after_its_replay() {
    let endpoint = endpoint();
    let session = open(&endpoint).await;
    let mut first = begin(&endpoint, &session, 1, "progress then two minutes").await;
    assert_eq!(first.message().await.0.as_deref(), Some("1-1"));
    drop(first);
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let mut second = resume(&endpoint, &session, "1-1").await;
    assert_eq!(gist(&second.message().await.1), "2", "kept");
    assert!(second.is_silent().await);
    assert_eq!(gist(&second.message().await.1), "3", "live");
    drop(second);
    let third = resume(&endpoint, &session, "1-2").await.rest().await;
    assert_eq!(ids(&third), ["1-3", "1-4"]);
}

// req: BR-098
#[tokio::test(start_paused = true)]
async fn br_098_a_stream_that_breaks_again_is_taken_up_again() {
    for revision in ["2025-06-18", "2025-11-25"] {
        let endpoint = endpoint();
        let session = open_in(&endpoint, revision).await;
        let mut first = begin(&endpoint, &session, 1, "progress then two minutes").await;
        while first.next().await.unwrap().id.as_deref() != Some("1-3") {}
        drop(first);
        for _ in 0..3 {
            let mut again = resume(&endpoint, &session, "1-3").await;
            if revision == "2025-11-25" {
                // Where a client may be told to come back, it is given its id again.
                let primed = again.next().await.unwrap();
                assert_eq!((primed.id.as_deref(), &*primed.data), (Some("1-3"), ""));
            }
            assert!(again.is_silent().await);
        }
        let rest = resume(&endpoint, &session, "1-3").await.rest().await;
        assert_eq!(gists(&rest), ["\"progress then two minutes\""]);
    }
}

// req: BR-099
#[tokio::test(start_paused = true)]
async fn br_099_there_is_nothing_to_come_back_for_after_the_end() {
    let endpoint = endpoint();
    let session = open_in(&endpoint, "2025-11-25").await;
    let answered = begin(&endpoint, &session, 1, "progress").await.rest().await;
    assert_eq!(ids(&answered).last(), Some(&"1-4"));
    // A second time the answer is there for who has missed it …
    let again = resume(&endpoint, &session, "1-3").await.rest().await;
    assert_eq!(ids(&again), ["1-4"]);
    // … and nothing for who has it: this status tells a client not to come again.
    let got = resume_whole(&endpoint, &session, "1-4").await;
    assert_eq!((got.status, got.text.as_str()), (204, ""));
    // A cancelled call has no answer, and what it said is no longer sent.
    let id = [("mcp-session-id", session.as_str())];
    for (n, tool) in ["progress then never", "never", "tidy"]
        .into_iter()
        .enumerate()
    {
        let begun = begin(&endpoint, &session, 2, tool).await;
        tokio::time::sleep(S(4)).await;
        drop(begun);
        post(&endpoint, &id, &cancel(2)).await;
        tokio::time::sleep(S(4)).await;
        let got = resume_whole(&endpoint, &session, &format!("{}-0", n + 2)).await;
        assert_eq!((got.status, got.text.as_str()), (204, ""), "{tool}");
    }
}

// req: BR-104
// req: V-309
#[tokio::test(start_paused = true)]
async fn br_104_v_309_nothing_foreign_is_replayed() {
    let endpoint = endpoint();
    let (ours, theirs) = (open(&endpoint).await, open(&endpoint).await);
    for session in [&ours, &theirs] {
        for (n, tool) in ["progress", "progress then slow"].into_iter().enumerate() {
            let secret = call_with_token(n as u32, tool).replace(
                "\"tool\":",
                &format!("\"secret\":\"{session}{n}\",\"tool\":"),
            );
            let id = [("mcp-session-id", session.as_str())];
            drop(stream(&endpoint, "POST", &id, &secret).await);
        }
    }
    // Their third stream is one that we never had.
    drop(begin(&endpoint, &theirs, 9, "progress").await);
    tokio::time::sleep(S(10)).await;
    for (session, other) in [(&ours, &theirs), (&theirs, &ours)] {
        for n in 0..2 {
            let rest = resume(&endpoint, session, &format!("{}-0", n + 1))
                .await
                .rest()
                .await;
            let text = format!("{rest:?}");
            assert!(text.contains(&format!("{session}{n}")) && !text.contains(other.as_str()));
            assert!(!text.contains(&format!("{session}{}", 1 - n)), "{text}");
            assert_eq!(
                rest.len(),
                4,
                "in order, once, and nothing after the answer"
            );
            assert_eq!(rest.last().unwrap().1["id"], n);
        }
    }
    for (last, status) in [
        ("3-1", 400),
        ("3-0", 400),
        ("0-0", 400),
        ("0-1", 400),
        ("1-5", 400),
    ] {
        let got = resume_whole(&endpoint, &ours, last).await;
        assert_eq!((got.status, got.code()), (status, Some(-32600)), "{last}");
    }
    let long = "9".repeat(8_000);
    for garbage in [
        "x",
        "-1",
        "1--1",
        "-1-1",
        "1-18446744073709551616",
        "18446744073709551615-0",
        "1-18446744073709551615",
        "1-1;1-1",
        "*",
        "%00",
        "1-1 ",
        &long,
        "../1-1",
        "1-1,2-1",
    ] {
        let got = resume_whole(&endpoint, &ours, garbage).await;
        assert_eq!((got.status, got.code()), (400, Some(-32600)), "{garbage}");
    }
    // An empty one names none: a new stream, with nothing on it.
    let mut fresh = resume(&endpoint, &ours, "").await;
    assert_eq!(fresh.status, 200);
    assert!(fresh.is_silent().await);
}

// req: V-309
#[tokio::test(start_paused = true)]
async fn v_309_a_stream_is_its_principals() {
    let config = Config {
        authorize: Some(std::sync::Arc::new(Tokens)),
        ..Config::default()
    };
    let endpoint = Endpoint::new(Service::new(Puppet::default()), config);
    let (ada, bob) = (
        ("authorization", "Bearer ada"),
        ("authorization", "Bearer bob"),
    );
    let session = post(&endpoint, &[ada], crate::INITIALIZE).await.session();
    let id = ("mcp-session-id", session.as_str());
    let begun = stream(
        &endpoint,
        "POST",
        &[ada, id],
        &call_with_token(1, "progress"),
    )
    .await;
    let last = ("last-event-id", "1-0");
    for (who, status) in [(bob, 404), (ada, 200)] {
        let got = stream(&endpoint, "GET", &[who, id, last], "").await;
        assert_eq!(got.status, status);
    }
    drop(begun);
    let begun = stream(
        &endpoint,
        "POST",
        &[ada, id],
        &call_with_token(2, "progress"),
    )
    .await;
    // Nor does it end what it may not have.
    stream(&endpoint, "GET", &[bob, id, ("last-event-id", "2-0")], "").await;
    assert_eq!(begun.rest().await.len(), 4);
}

// req: V-304
#[tokio::test(start_paused = true)]
async fn v_304_who_comes_back_takes_the_stream_from_a_dead_connection() {
    let endpoint = endpoint();
    let session = open(&endpoint).await;
    let mut dead = begin(&endpoint, &session, 1, "progress then slow").await;
    assert_eq!(gist(&dead.message().await.1), "1");
    let taken = resume(&endpoint, &session, "1-1").await;
    let (dead, rest) = tokio::join!(dead.rest(), taken.rest());
    assert_eq!(dead.len(), 0, "each message is on one stream");
    assert_eq!(gists(&rest), ["2", "3", "\"progress then slow\""]);
    // Even what the dead one had been given is on the new one, if it was not seen.
    let dead = begin(&endpoint, &session, 2, "progress").await;
    tokio::time::sleep(S(10)).await;
    let rest = resume(&endpoint, &session, "2-0").await.rest().await;
    assert_eq!(ids(&rest), ["2-1", "2-2", "2-3", "2-4"]);
    assert!(dead.rest().await.len() <= 1);
}

// req: L-BATCH
// req: L-RESUME
#[tokio::test(start_paused = true)]
async fn the_answer_of_a_batch_waits_too() {
    let endpoint = endpoint();
    let session = open_old(&endpoint).await;
    let id = [("mcp-session-id", session.as_str())];
    let batch = format!(
        "[{PING},{},{}]",
        call_with_token(2, "progress"),
        call_with_token(3, "never")
    );
    let mut begun = stream(&endpoint, "POST", &id, &batch).await;
    assert_eq!(gist(&begun.message().await.1), "1");
    drop(begun);
    tokio::time::sleep(S(10)).await;
    post(&endpoint, &id, &cancel(3)).await;
    let rest = resume(&endpoint, &session, "1-1").await.rest().await;
    assert_eq!(ids(&rest), ["1-2", "1-3", "1-4"]);
    let answers = rest[2].1.as_array().unwrap();
    assert_eq!(
        answers.iter().map(|a| a["id"].as_i64()).collect::<Vec<_>>(),
        [Some(1), Some(2)]
    );
}

// req: BR-107
#[tokio::test(start_paused = true)]
async fn br_107_the_streams_of_an_ended_session_end() {
    let endpoint = endpoint();
    let session = open(&endpoint).await;
    let id = [("mcp-session-id", session.as_str())];
    let mut running = begin(&endpoint, &session, 1, "progress then never").await;
    assert_eq!(gist(&running.message().await.1), "1");
    let mut general = stream(&endpoint, "GET", &id, "").await;
    let begun = tokio::time::Instant::now();
    send(&endpoint, "DELETE", &[PLAIN, &id].concat(), "").await;
    assert!(general.next().await.is_none());
    assert_eq!(running.rest().await.len(), 0);
    assert!(begun.elapsed() <= S(2), "the grace of what was cancelled");
    for last in ["1-1", "2-0"] {
        assert_eq!(resume_whole(&endpoint, &session, last).await.status, 404);
    }
    let fresh = open(&endpoint).await;
    let id = [("mcp-session-id", fresh.as_str())];
    assert_eq!(post(&endpoint, &id, &call(1, "echo")).await.status, 200);
    assert_eq!(endpoint.kept_bytes(), 0);
}
