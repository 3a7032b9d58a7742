//! Questions to a client that has not said yet that it is ready: they wait, within bounds.

use std::time::Duration;

use polyport_proto::Limits;
use polyport_testkit::handlers::Puppet;

use crate::questions::{ACCEPT, ROOTS, able, answer, begin, begin_able, post_in, question};
use crate::{INITIALIZED, PLAIN, Stream, call, cancel, endpoint, endpoint_with, request, send};

// req: BR-046
#[tokio::test(start_paused = true)]
async fn br_046_a_question_waits_for_initialized() {
    for (revision, keys, result) in [
        ("2024-11-05", "roots", ROOTS),
        ("2025-03-26", "roots", ROOTS),
        ("2025-06-18", "form", ACCEPT),
        ("2025-11-25", "form", ACCEPT),
    ] {
        let endpoint = endpoint();
        let session = begin_able(&endpoint, revision).await;
        let mut asking = begin(&endpoint, &session, &call(1, &format!("asks {keys}"))).await;
        // What is cancelled or waited for no more is never asked.
        let cancelled = begin(&endpoint, &session, &call(2, &format!("asks {keys}"))).await;
        post_in(&endpoint, &session, &cancel(2)).await;
        assert_eq!(cancelled.rest().await, []);
        let impatient = call(3, &format!("impatient {keys}"));
        let got = post_in(&endpoint, &session, &impatient).await;
        assert!(got.text.contains("nobody"), "{revision} {got:?}");
        // Some streams begin with an id.
        let silent = async |stream: &mut Stream| loop {
            match tokio::time::timeout(Duration::from_secs(20), stream.next()).await {
                Ok(event) => assert_eq!(event.unwrap().data, "", "{revision}"),
                Err(_) => return,
            }
        };
        silent(&mut asking).await;
        post_in(&endpoint, &session, INITIALIZED).await;
        let asked = question(&mut asking).await;
        assert_eq!(asked["id"], 1, "{revision}: it is the first");
        post_in(&endpoint, &session, &answer(&asked["id"], result)).await;
        let rest = asking.rest().await;
        assert_eq!(rest.len(), 1, "{revision} {rest:?}");
        assert_eq!(rest[0].1["id"], 1);
    }
}

// req: BR-046
#[tokio::test(start_paused = true)]
async fn br_046_the_wait_for_initialized_is_bounded() {
    let mut limits = Limits::default();
    limits.question_wait = Duration::from_secs(40);
    limits.questions_per_session = 2;
    let endpoint = endpoint_with(Puppet::default(), limits);
    let session = begin_able(&endpoint, "2025-06-18").await;
    let begun = tokio::time::Instant::now();
    let first = call(1, "asks form");
    let second = call(2, "asks form");
    let third = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let got = post_in(&endpoint, &session, &call(3, "asks form")).await;
        (got, begun.elapsed().as_secs())
    };
    let (first, second, (third, seconds)) = tokio::join!(
        post_in(&endpoint, &session, &first),
        post_in(&endpoint, &session, &second),
        third
    );
    for got in [first, second] {
        assert!(got.text.contains("Nobody answered"), "{got:?}");
        assert!(!got.text.contains("notifications/cancelled"), "{got:?}");
    }
    assert_eq!(begun.elapsed().as_secs(), 40);
    assert!(third.text.contains("Too many questions"), "{third:?}");
    assert_eq!(seconds, 1);
    // There is room again; and the end of the session is the end of what waits.
    let ends = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let id = [PLAIN, &[("mcp-session-id", session.as_str())]].concat();
        send(&endpoint, "DELETE", &id, "").await
    };
    let fourth = call(4, "asks form");
    let (got, _) = tokio::join!(post_in(&endpoint, &session, &fourth), ends);
    assert_eq!(begun.elapsed().as_secs(), 41, "{got:?}");
}

// req: BR-046
// req: D-18
#[tokio::test(start_paused = true)]
async fn br_046_a_pair_is_asked_once_it_is_ready() {
    let endpoint = endpoint();
    let response = endpoint.handle(request("GET", "/sse", PLAIN, "")).await;
    let mut stream = Stream::new(response);
    let target = format!("/{}", stream.next().await.unwrap().data);
    let say = async |body: &str| {
        let got = endpoint.handle(request("POST", &target, PLAIN, body)).await;
        assert_eq!(got.status(), 202);
    };
    say(&able()).await;
    stream.message().await;
    say(&call(1, "asks roots")).await;
    assert!(stream.is_silent().await);
    say(INITIALIZED).await;
    let asked = question(&mut stream).await;
    say(&answer(&asked["id"], ROOTS)).await;
    assert_eq!(stream.message().await.1["id"], 1);
}
