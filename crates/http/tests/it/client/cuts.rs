//! A connection that fails anywhere in a session, in every way, over every transport: a typed error soon, and nothing is left. And what
//! a thousand sessions leave, good ones and broken ones: nothing.

use std::time::Duration;

use polyport_rt::CallError;
use polyport_testkit::side_by_side;
use tokio::time::timeout;

use super::LONG;
use super::between::{ALL, Between, Fails, Held, WAYS, session};
use crate::sockets::serve;

/// Places at which a session is cut, evenly over its answers.
const PLACES: usize = 24;
/// How long one answer is waited for where only patience ends it. A failure that shows has to be seen before anybody's patience ends.
const PATIENCE: Duration = Duration::from_millis(500);
/// Only what hangs takes so long.
const HANGS: Duration = Duration::from_secs(60);

// req: S-GONE, S-CUT
#[tokio::test]
async fn a_connection_that_fails_anywhere_is_a_typed_error_soon() {
    let (server, _stopper, _) = serve().await;
    let held = Held::now();
    for &way in WAYS {
        let whole = Between::new(server, Fails::Closes, usize::MAX).await;
        session(way, whole.address, LONG).await.unwrap();
        let length = whole.passed();
        drop(whole);
        let cuts = ALL
            .iter()
            .flat_map(|&fails| (0..=PLACES).map(move |at| (fails, at)));
        let cuts = cuts.map(|(fails, at)| async move {
            let after = length * at / PLACES;
            let between = Between::new(server, fails, after).await;
            let patience = if fails.is_seen() { LONG } else { PATIENCE };
            let ended = timeout(HANGS, session(way, between.address, patience)).await;
            let ended = ended.unwrap_or_else(|_| panic!("{way:?} {fails:?} {after} hangs"));
            let shown = format!("{way:?} {fails:?} after {after} of {length}: {ended:?}");
            match ended {
                // What fails after the last answer, or slowly enough, is seen by nobody.
                Ok(()) => assert!(at > PLACES / 2, "{shown}"),
                Err((_, CallError::TimedOut(_))) => assert!(!fails.is_seen(), "{shown}"),
                // That it refuses POST, and then says nothing, is what is known of it.
                Err(("open", CallError::Status(_))) if way.path == "/sse" => {
                    assert!(!fails.is_seen(), "{shown}");
                }
                Err((step, CallError::Unreachable(_))) if at == 0 => assert_eq!(step, "open"),
                Err((_, CallError::Broken(_) | CallError::Closed | CallError::Unreachable(_))) => {
                    assert!(fails.is_seen(), "{shown}")
                }
                Err(_) => panic!("{shown}"),
            }
        });
        side_by_side(50, cuts).await;
    }
    held.is_back().await;
}

// req: S-GONE, S-CUT
#[tokio::test]
async fn a_thousand_sessions_leave_nothing() {
    let (server, _stopper, _) = serve().await;
    // What is made once is made by now.
    for &way in WAYS {
        session(way, server, LONG).await.unwrap();
    }
    let held = Held::now();
    let rounds = (0..1_000).map(|n| async move {
        let way = WAYS[n % WAYS.len()];
        let ended = timeout(LONG, session(way, server, LONG)).await;
        ended
            .unwrap()
            .unwrap_or_else(|error| panic!("{way:?}: {error:?}"));
    });
    side_by_side(10, rounds).await;
    held.is_back().await;
}

// req: S-GONE, S-CUT
#[tokio::test]
async fn a_thousand_broken_connections_leave_nothing() {
    let (server, _stopper, _) = serve().await;
    let held = Held::now();
    let rounds = (0..1_000).map(|n| async move {
        let way = WAYS[n % WAYS.len()];
        let fails = ALL[n / WAYS.len() % 3];
        let between = Between::new(server, fails, n * 7 % 1_900).await;
        // Some only look away, in the midst of whatever it is.
        let look = if n % 4 == 0 {
            Duration::from_millis(n as u64 % 20)
        } else {
            LONG
        };
        let ended = timeout(look, session(way, between.address, LONG)).await;
        assert!(ended.is_ok() || n % 4 == 0, "{way:?} {fails:?} hangs");
    });
    side_by_side(10, rounds).await;
    held.is_back().await;
}
