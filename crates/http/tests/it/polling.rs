//! Streams that are ended early, and clients that come back for the rest (2025-11-25).

use std::time::Duration;

use polyport_http::{Config, Endpoint};
use polyport_rt::Service;
use polyport_testkit::handlers::Puppet;
use tokio::time::Instant;

use crate::{CALL, PLAIN, V, call, call_with_token, endpoint, modern, open_in, post, send, stream};

// req: D-31
#[tokio::test(start_paused = true)]
async fn d_31_a_released_call_goes_on_and_its_client_comes_back() {
    for (tool, before) in [
        ("releases then slow", 0),
        ("slow then releases then slow", 0),
        ("progress then releases then progress then slow", 3),
    ] {
        let endpoint = endpoint();
        let session = open_in(&endpoint, "2025-11-25").await;
        let id = [("mcp-session-id", session.as_str())];
        let got = post(&endpoint, &id, &call_with_token(1, tool)).await;
        assert_eq!(got.headers["content-type"], "text/event-stream");
        let events = got.sse();
        assert_eq!(
            (events[0].id.as_deref(), &*events[0].data),
            (Some("1-0"), "")
        );
        assert_eq!(events.len(), before + 2, "{got:?}");
        let end = events.last().unwrap();
        assert_eq!((end.retry, &*end.data), (Some(3_000), ""), "{got:?}");
        // It is away for as long as it was asked to be, and the call goes on meanwhile.
        tokio::time::sleep(Duration::from_secs(3)).await;
        let last = format!("1-{before}");
        let headers = [id[0], ("last-event-id", &last)];
        let rest = stream(&endpoint, "GET", &headers, "").await.rest().await;
        assert_eq!(rest.last().unwrap().1["result"]["tool"], tool);
        assert_eq!(rest[0].0, Some(format!("1-{}", before + 1)));
    }
}

// req: D-31
#[tokio::test(start_paused = true)]
async fn d_31_a_call_may_be_released_again_and_again() {
    let endpoint = endpoint();
    let session = open_in(&endpoint, "2025-11-25").await;
    let id = [("mcp-session-id", session.as_str())];
    let tool = ["releases then slow"; 3].join(" then ");
    let begun = Instant::now();
    assert_eq!(post(&endpoint, &id, &call(1, &tool)).await.sse().len(), 2);
    let headers = [id[0], ("last-event-id", "1-0")];
    for second in 1..=2 {
        let got = send(&endpoint, "GET", &[PLAIN, &headers].concat(), "").await;
        assert_eq!(begun.elapsed().as_secs(), second);
        let events = got.sse();
        assert_eq!(events[0].id.as_deref(), Some("1-0"), "{got:?}");
        assert_eq!(events[1].retry, Some(3_000), "{got:?}");
    }
    // Nobody reads it when it is released a last time: whoever comes then is not sent away.
    let got = send(&endpoint, "GET", &[PLAIN, &headers].concat(), "").await;
    assert_eq!(got.events()[0]["result"]["tool"], tool, "{got:?}");
}

// req: D-31
#[tokio::test(start_paused = true)]
async fn d_31_a_release_is_for_the_connection_of_its_time() {
    let endpoint = endpoint();
    let session = open_in(&endpoint, "2025-11-25").await;
    let id = [("mcp-session-id", session.as_str())];
    let tool = "progress then releases then slow";
    let mut dead = stream(&endpoint, "POST", &id, &call_with_token(1, tool)).await;
    assert!(dead.next().await.is_some());
    // The client of a connection that is dead, and not known to be so, comes back by itself meanwhile.
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    let headers = [id[0], ("last-event-id", "1-0")];
    let got = send(&endpoint, "GET", &[PLAIN, &headers].concat(), "").await;
    assert!(
        got.sse().iter().all(|event| event.retry.is_none()),
        "{got:?}"
    );
    assert_eq!(got.events().last().unwrap()["result"]["tool"], tool);
}

// req: D-31
#[tokio::test(start_paused = true)]
async fn d_31_elsewhere_nothing_is_released() {
    let endpoint = endpoint();
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        let session = open_in(&endpoint, revision).await;
        let id = [("mcp-session-id", session.as_str())];
        let got = post(&endpoint, &id, &call(1, "releases")).await;
        assert_eq!(got.json()["result"]["released"], false, "{revision}");
    }
    let session = open_in(&endpoint, "2025-11-25").await;
    let json = [
        PLAIN[0],
        PLAIN[1],
        ("accept", "application/json"),
        ("mcp-session-id", &session),
    ];
    let got = send(&endpoint, "POST", &json, &call(1, "releases")).await;
    assert_eq!(
        got.json()["result"]["released"],
        false,
        "a client that takes no stream"
    );
    let got = post(
        &endpoint,
        &[V, CALL, ("mcp-name", "releases")],
        &modern("tools/call", r#""name":"releases""#),
    )
    .await;
    assert_eq!(got.json()["result"]["released"], false);
    let config = Config {
        sessions: false,
        ..Config::default()
    };
    let endpoint = Endpoint::new(Service::new(Puppet::default()), config);
    let got = post(
        &endpoint,
        &[("mcp-protocol-version", "2025-11-25")],
        &call(1, "releases"),
    )
    .await;
    assert_eq!(
        got.json()["result"]["released"],
        false,
        "nobody could come back"
    );
}

// req: L-RESUME
#[tokio::test(start_paused = true)]
async fn a_silent_call_soon_has_an_id_to_come_back_to() {
    for (revision, seconds) in [("2025-06-18", 15), ("2025-11-25", 2)] {
        let endpoint = endpoint();
        let session = open_in(&endpoint, revision).await;
        let id = [("mcp-session-id", session.as_str())];
        let begun = Instant::now();
        let mut silent = stream(&endpoint, "POST", &id, &call(1, "two minutes")).await;
        assert_eq!(begun.elapsed().as_secs(), seconds, "{revision}");
        if revision == "2025-11-25" {
            assert_eq!(silent.next().await.unwrap().id.as_deref(), Some("1-0"));
        }
        drop(silent);
        tokio::time::sleep(Duration::from_secs(200)).await;
        let headers = [id[0], ("last-event-id", "1-0")];
        let got = send(&endpoint, "GET", &[PLAIN, &headers].concat(), "").await;
        assert_eq!(got.events()[0]["result"]["tool"], "two minutes");
    }
}
