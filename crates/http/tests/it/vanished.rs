//! Clients that are asked and read no more: how long their calls wait, and for whom they wait on.

use std::sync::Arc;
use std::time::Duration;

use polyport_http::{Config, Endpoint};
use polyport_proto::Limits;
use polyport_rt::Service;
use polyport_testkit::handlers::Puppet;
use tokio::time::sleep;

use crate::questions::{ACCEPT, ROOTS, able, answer, begin, open_able, post_in, question};
use crate::sessions::Tokens;
use crate::{INITIALIZED, Stream, call, endpoint, endpoint_with, post, stream};

/// An endpoint on which one call at a time may run.
fn narrow(adjust: impl FnOnce(&mut Limits)) -> Endpoint {
    let mut limits = Limits::default();
    limits.calls = 1;
    adjust(&mut limits);
    endpoint_with(Puppet::default(), limits)
}

/// Is there room for one more call?
async fn has_room(endpoint: &Endpoint, session: &str) -> bool {
    post_in(endpoint, session, &call(9, "echo")).await.status == 200
}

async fn come_back(endpoint: &Endpoint, session: &str, last: &str) -> Stream {
    let id = [("mcp-session-id", session), ("last-event-id", last)];
    stream(endpoint, "GET", &id, "").await
}

// req: Q-VANISHED
#[tokio::test(start_paused = true)]
async fn who_vanishes_holds_no_call_for_longer_than_a_minute() {
    for (revision, keys) in [
        ("2024-11-05", "roots"),
        ("2025-03-26", "roots"),
        ("2025-06-18", "form"),
        ("2025-11-25", "form"),
    ] {
        let endpoint = narrow(|_| {});
        let session = open_able(&endpoint, revision).await;
        let mut asking = begin(&endpoint, &session, &call(1, &format!("asks {keys}"))).await;
        // As long as it is read the question waits.
        question(&mut asking).await;
        sleep(Duration::from_secs(300)).await;
        assert!(!has_room(&endpoint, &session).await, "{revision}");
        drop(asking);
        sleep(Duration::from_secs(59)).await;
        assert!(!has_room(&endpoint, &session).await, "{revision}");
        sleep(Duration::from_secs(2)).await;
        assert!(has_room(&endpoint, &session).await, "{revision}");
        if revision == "2024-11-05" {
            continue;
        }
        // Who comes back too late is told.
        let rest = come_back(&endpoint, &session, "1-0").await.rest().await;
        let methods: Vec<_> = rest.iter().map(|(_, m)| m["method"].as_str()).collect();
        assert_eq!(methods[1..], [Some("notifications/cancelled"), None]);
        let message = rest[2].1["error"]["message"].as_str().unwrap();
        assert!(message.contains("can no longer be asked"), "{message}");
    }
}

// req: Q-VANISHED
// req: L-RESUME
#[tokio::test(start_paused = true)]
async fn who_comes_back_in_time_is_still_asked() {
    for revision in ["2025-06-18", "2025-11-25"] {
        let endpoint = endpoint();
        let session = open_able(&endpoint, revision).await;
        let mut asking = begin(&endpoint, &session, &call(1, "asks form")).await;
        let asked = question(&mut asking).await;
        // Each time away counts for itself.
        for _ in 0..5 {
            drop(asking);
            sleep(Duration::from_secs(55)).await;
            asking = come_back(&endpoint, &session, "1-0").await;
            assert_eq!(question(&mut asking).await, asked, "{revision}");
        }
        post_in(&endpoint, &session, &answer(&asked["id"], ACCEPT)).await;
        assert_eq!(
            asking.rest().await[0].1["result"]["form"]["action"],
            "accept"
        );
    }
}

// req: Q-VANISHED
// req: L-RESUME
#[tokio::test(start_paused = true)]
async fn who_was_sent_away_has_the_time_for_that_on_top() {
    // It is told to come back after three seconds; the question comes after one.
    let released = "releases then slow then asks form";
    for (at, in_time) in [(4_500, true), (5_500, false)] {
        let endpoint = narrow(|limits| limits.question_unread = Duration::from_secs(2));
        let session = open_able(&endpoint, "2025-11-25").await;
        let sent_away = begin(&endpoint, &session, &call(1, released)).await;
        assert_eq!(sent_away.rest().await, []);
        sleep(Duration::from_millis(at)).await;
        assert_eq!(has_room(&endpoint, &session).await, !in_time, "{at}");
        let mut again = come_back(&endpoint, &session, "1-0").await;
        let asked = question(&mut again).await;
        post_in(&endpoint, &session, &answer(&asked["id"], ACCEPT)).await;
        let rest = again.rest().await;
        let end = &rest.last().unwrap().1;
        assert_eq!(end["result"].is_object(), in_time, "{at} {end}");
    }
}

// req: Q-VANISHED
#[tokio::test(start_paused = true)]
async fn a_question_has_its_time_however_long_its_client_was_away_before() {
    let endpoint = endpoint();
    let session = open_able(&endpoint, "2025-11-25").await;
    let body = call(1, "two minutes then asks form");
    drop(begin(&endpoint, &session, &body).await);
    sleep(Duration::from_secs(150)).await;
    let mut again = come_back(&endpoint, &session, "1-0").await;
    let asked = question(&mut again).await;
    post_in(&endpoint, &session, &answer(&asked["id"], ACCEPT)).await;
    assert!(again.rest().await[0].1["result"].is_object());
}

// req: Q-VANISHED
#[tokio::test(start_paused = true)]
async fn who_cannot_come_back_is_not_asked() {
    let endpoint = narrow(|_| {});
    let session = open_able(&endpoint, "2024-11-05").await;
    // The call has its stream after fifteen seconds, and that is left before the question.
    let body = call(1, "two minutes then asks roots");
    drop(begin(&endpoint, &session, &body).await);
    sleep(Duration::from_secs(104)).await;
    assert!(!has_room(&endpoint, &session).await);
    sleep(Duration::from_secs(2)).await;
    assert!(has_room(&endpoint, &session).await);
}

async fn open_as(endpoint: &Endpoint, who: &[(&str, &str)]) -> String {
    let session = post(endpoint, who, &able()).await.session();
    let id = [who, &[("mcp-session-id", session.as_str())]].concat();
    post(endpoint, &id, INITIALIZED).await;
    session
}

// req: D-35
// req: Q-BOUND
#[tokio::test(start_paused = true)]
async fn d_35_questions_of_a_principal_are_bounded() {
    let ada: &[_] = &[("authorization", "Bearer ada")];
    let bob: &[_] = &[("authorization", "Bearer bob")];
    // Whom nobody knows counts as one.
    for (knows, who, other) in [(true, ada, Some(bob)), (false, &[], None)] {
        let mut limits = Limits::default();
        limits.questions_per_principal = 2;
        let config = Config {
            authorize: knows.then(|| Arc::new(Tokens) as _),
            ..Config::default()
        };
        let endpoint = Endpoint::new(Service::new(Puppet::default()).limits(limits), config);
        let ask = async |who: &[_], session: &str| {
            let id = [who, &[("mcp-session-id", session)]].concat();
            stream(&endpoint, "POST", &id, &call(1, "asks roots")).await
        };
        let session = open_as(&endpoint, who).await;
        let mut first = ask(who, &session).await;
        let asked = question(&mut first).await;
        // One that waits for its client to be ready counts, too.
        let opening = post(&endpoint, who, &able()).await.session();
        let second = ask(who, &opening).await;
        let third = open_as(&endpoint, who).await;
        let id = [who, &[("mcp-session-id", third.as_str())]].concat();
        let refused = post(&endpoint, &id, &call(1, "asks roots")).await;
        assert!(refused.text.contains("Too many questions"), "{refused:?}");
        if let Some(other) = other {
            let session = open_as(&endpoint, other).await;
            question(&mut ask(other, &session).await).await;
        }
        let id = [who, &[("mcp-session-id", session.as_str())]].concat();
        post(&endpoint, &id, &answer(&asked["id"], ROOTS)).await;
        assert!(first.rest().await[0].1["result"].is_object());
        question(&mut ask(who, &third).await).await;
        drop(second);
    }
}
