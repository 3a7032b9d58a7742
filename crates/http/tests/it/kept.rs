//! How much is kept for clients that may come back: of a stream, of a session, of all, and for how long.

use polyport_http::Endpoint;
use polyport_proto::Limits;
use polyport_testkit::handlers::Puppet;

use crate::replay::{S, begin, begin_and_leave, ids, resume, resume_whole};
use crate::{PLAIN, call_with_token, endpoint, endpoint_with, open, post, send, stream};

// req: D-35
// req: L-RESUME
#[tokio::test(start_paused = true)]
async fn d_35_what_is_no_longer_kept_is_said_to_be_lost() {
    let (mut few, mut short, mut none) = (Limits::default(), Limits::default(), Limits::default());
    few.replay_events = 2;
    short.replay_bytes = 200;
    none.replay_bytes_in_all = 0;
    for (limits, oldest) in [(few, 2), (short, 2), (none, 4)] {
        let endpoint = endpoint_with(Puppet::default(), limits);
        let session = open(&endpoint).await;
        assert_eq!(
            begin(&endpoint, &session, 1, "progress")
                .await
                .rest()
                .await
                .len(),
            4
        );
        for event in 0..oldest {
            let got = resume_whole(&endpoint, &session, &format!("1-{event}")).await;
            assert_eq!(
                (got.status, got.code()),
                (410, Some(-32600)),
                "{event}: {got:?}"
            );
            assert!(got.text.contains("no longer kept"), "{got:?}");
        }
        for event in oldest..4 {
            let rest = resume(&endpoint, &session, &format!("1-{event}"))
                .await
                .rest()
                .await;
            assert_eq!(rest.len(), 4 - event, "{event}");
        }
        assert_eq!(resume_whole(&endpoint, &session, "1-4").await.status, 204);
    }
    // What nobody has read is not let go of by number: it is all there.
    let mut limits = Limits::default();
    limits.replay_events = 2;
    let endpoint = endpoint_with(Puppet::default(), limits);
    let session = open(&endpoint).await;
    begin_and_leave(&endpoint, &session, 1, "progress then slow").await;
    tokio::time::sleep(S(10)).await;
    let rest = resume(&endpoint, &session, "1-1").await.rest().await;
    assert_eq!(ids(&rest), ["1-2", "1-3", "1-4"]);
}

// req: D-35
#[tokio::test(start_paused = true)]
async fn d_35_an_answer_is_kept_however_long_it_is() {
    let endpoint = endpoint();
    let session = open(&endpoint).await;
    let body = call_with_token(1, "progress").replace(
        "\"tool\":\"",
        &format!("\"long\":\"{}\",\"tool\":\"", "x".repeat(2 << 20)),
    );
    let id = [("mcp-session-id", session.as_str())];
    let got = post(&endpoint, &id, &body).await;
    assert!(got.text.len() > 2 << 20);
    let rest = resume_whole(&endpoint, &session, "1-3").await;
    assert!(rest.text.len() > 2 << 20 && rest.text.contains("id: 1-4"));
    assert_eq!(resume_whole(&endpoint, &session, "1-2").await.status, 410);
}

// req: D-35
#[tokio::test(start_paused = true)]
async fn d_35_streams_are_kept_by_number_and_by_time() {
    let mut limits = Limits::default();
    limits.replay_streams = 2;
    let endpoint = endpoint_with(Puppet::default(), limits.clone());
    let session = open(&endpoint).await;
    let kept = endpoint.kept_bytes();
    // One whose call runs is not idle, and stays.
    let long = "progress then two minutes then two minutes";
    begin_and_leave(&endpoint, &session, 1, long).await;
    for id in 2..=5 {
        begin(&endpoint, &session, id, "progress")
            .await
            .rest()
            .await;
    }
    for (stream, status) in [(1, 200), (2, 410), (3, 200), (4, 200), (5, 200)] {
        let got = resume(&endpoint, &session, &format!("{stream}-1")).await;
        assert_eq!(got.status, status, "{stream}");
    }
    // The time of idleness counts from when the call has ended and nobody reads: the one before them has been idle longer.
    endpoint_sweep(&endpoint).await;
    tokio::time::sleep(S(250)).await;
    endpoint_sweep(&endpoint).await;
    assert_eq!(resume(&endpoint, &session, "4-1").await.status, 410);
    tokio::time::sleep(limits.replay_time - S(20)).await;
    endpoint_sweep(&endpoint).await;
    assert_eq!(resume(&endpoint, &session, "1-1").await.status, 200);
    assert!(endpoint.kept_bytes() > kept);
    tokio::time::sleep(S(20)).await;
    endpoint_sweep(&endpoint).await;
    tokio::time::sleep(limits.replay_time).await;
    endpoint_sweep(&endpoint).await;
    for stream in 1..=5 {
        let got = resume_whole(&endpoint, &session, &format!("{stream}-1")).await;
        assert_eq!(got.status, 410, "{stream}");
    }
    assert_eq!(endpoint.kept_bytes(), kept, "nothing is kept for good");
}

/// An opening looks for what is over.
async fn endpoint_sweep(endpoint: &Endpoint) {
    let session = open(endpoint).await;
    let id = [("mcp-session-id", session.as_str())];
    send(endpoint, "DELETE", &[PLAIN, &id].concat(), "").await;
}

// req: D-35
#[tokio::test(start_paused = true)]
async fn d_35_what_is_kept_of_all_is_bounded() {
    let mut limits = Limits::default();
    limits.replay_bytes_in_all = 10_000;
    let endpoint = endpoint_with(Puppet::default(), limits);
    let session = open(&endpoint).await;
    let long = "x".repeat(6_000);
    let body = |id| {
        call_with_token(id, "progress")
            .replace("\"tool\":\"", &format!("\"l\":\"{long}\",\"tool\":\""))
    };
    let header = [("mcp-session-id", session.as_str())];
    // Two answers that nobody takes: there is room for one.
    for id in 1..=2 {
        let mut begun = stream(&endpoint, "POST", &header, &body(id)).await;
        begun.message().await;
        drop(begun);
        tokio::time::sleep(S(10)).await;
        assert!(endpoint.kept_bytes() <= 10_000);
    }
    assert_eq!(
        resume_whole(&endpoint, &session, "1-1")
            .await
            .events()
            .len(),
        3
    );
    let got = resume_whole(&endpoint, &session, "2-1").await;
    assert_eq!((got.status, got.code()), (410, Some(-32600)));
    // Who waits gets an answer however full it is.
    let got = post(&endpoint, &header, &body(3)).await;
    assert_eq!(got.events().len(), 4);
    // The end of the session frees all.
    send(&endpoint, "DELETE", &[PLAIN, &header].concat(), "").await;
    assert_eq!(endpoint.kept_bytes(), 0);
}

// req: D-35
// req: D-21
#[tokio::test(start_paused = true)]
async fn d_35_progress_without_room_is_left_out_and_its_answer_is_not() {
    let mut limits = Limits::default();
    limits.replay_bytes_in_all = 10_000;
    let endpoint = endpoint_with(Puppet::default(), limits);
    let (session, other) = (open(&endpoint).await, open(&endpoint).await);
    begin_and_leave(&endpoint, &session, 1, "progress then slow").await;
    // An answer that its client has not taken fills the room.
    let long = format!("\"l\":\"{}\",\"tool\":\"", "x".repeat(12_000));
    let body = call_with_token(1, "echo").replace("\"tool\":\"", &long);
    let events = [
        ("mcp-session-id", other.as_str()),
        ("accept", "text/event-stream"),
    ];
    let plain = [PLAIN[0], PLAIN[1], events[1], events[0]];
    let unread = endpoint.handle(crate::request("POST", "/mcp", &plain, &body));
    let unread = unread.await;
    assert!(endpoint.kept_bytes() > 10_000);
    tokio::time::sleep(std::time::Duration::from_millis(2_500)).await;
    drop(unread);
    let ended = [PLAIN, &events[..1]].concat();
    assert_eq!(send(&endpoint, "DELETE", &ended, "").await.status, 204);
    tokio::time::sleep(S(5)).await;
    let rest = resume(&endpoint, &session, "1-1").await.rest().await;
    assert_eq!(ids(&rest), ["1-2", "1-3"]);
    assert_eq!(rest[0].1["params"]["progress"], 3, "the newest");
    assert_eq!(rest[1].1["id"], 1);
}
