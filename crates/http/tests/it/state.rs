//! What is kept for a session over HTTP: from its handshake to its end, whichever it is, and no longer.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use polyport_http::{Config, Endpoint, bind};
use polyport_proto::{Limits, Outcome};
use polyport_rt::{Call, Handler, Service, stop};
use polyport_testkit::handlers::Puppet;

use crate::pair::Client;
use crate::{INITIALIZE, PLAIN, call, open, post, send};

/// Keeps a number for each session that opens, and notes which have ended.
#[derive(Clone, Default)]
struct Keeper {
    opened: Arc<Mutex<u32>>,
    ended: Arc<Mutex<Vec<u32>>>,
    puppet: Puppet,
}

impl Keeper {
    fn ended(&self) -> Vec<u32> {
        self.ended.lock().unwrap().clone()
    }
}

impl Handler for Keeper {
    async fn call(&self, call: Call) -> Outcome {
        let session = call.context.envelope().session().cloned();
        if call.method == "server/discover"
            && let Some(session) = session.filter(|session| !session.kept.is_over())
        {
            let number = {
                let mut opened = self.opened.lock().unwrap();
                *opened += 1;
                *opened
            };
            let ended = self.ended.clone();
            session.kept.keep(number, move |number| {
                ended.lock().unwrap().push(*number);
            });
        }
        self.puppet.call(call).await
    }
}

fn keeper(limits: Limits, sessions: bool) -> (Keeper, Endpoint) {
    let keeper = Keeper::default();
    let config = Config {
        sessions,
        ..Config::default()
    };
    let service = Service::new(keeper.clone()).limits(limits);
    (keeper, Endpoint::new(service, config))
}

// req: D-08
#[tokio::test(start_paused = true)]
async fn d_08_what_a_session_keeps_ends_with_it_whichever_end_that_is() {
    let mut limits = Limits::default();
    limits.sessions = 2;
    let (keeper, endpoint) = keeper(limits, true);
    let one = open(&endpoint).await;
    open(&endpoint).await;
    // There is no room for a third one: what was kept for it is put away at once.
    assert_eq!(post(&endpoint, &[], INITIALIZE).await.status, 503);
    assert_eq!(keeper.ended(), [3]);
    let headers = [PLAIN[0], PLAIN[2], ("mcp-session-id", &*one)];
    // A call that still runs does not hold it up.
    let (session, never) = ([("mcp-session-id", &*one)], call(1, "never"));
    let calling = post(&endpoint, &session, &never);
    assert!(
        tokio::time::timeout(Duration::from_secs(1), calling)
            .await
            .is_err()
    );
    assert_eq!(send(&endpoint, "DELETE", &headers, "").await.status, 204);
    assert_eq!(keeper.ended(), [3, 1]);
    // The other one is left alone until its time is over, which the next client finds.
    tokio::time::sleep(Duration::from_secs(31 * 60)).await;
    open(&endpoint).await;
    assert_eq!(keeper.ended(), [3, 1, 2]);
    // A handshake that fails opens nothing.
    let bad = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#;
    post(&endpoint, &[], bad).await;
    assert_eq!(*keeper.opened.lock().unwrap(), 4);
}

// req: D-08
#[tokio::test(start_paused = true)]
async fn d_08_without_sessions_nothing_is_kept() {
    let (keeper, endpoint) = keeper(Limits::default(), false);
    for _ in 0..3 {
        assert_eq!(post(&endpoint, &[], INITIALIZE).await.status, 200);
        assert_eq!(post(&endpoint, &[], &call(1, "echo")).await.status, 200);
    }
    assert_eq!(
        (*keeper.opened.lock().unwrap(), keeper.ended()),
        (0, Vec::new())
    );
}

// req: D-08
#[tokio::test(start_paused = true)]
async fn d_08_a_session_on_the_pair_of_paths_ends_with_its_stream() {
    let (keeper, endpoint) = keeper(Limits::default(), true);
    let mut pair = Client::open(&endpoint).await;
    pair.handshake(&endpoint, "2024-11-05").await;
    assert_eq!(keeper.ended(), Vec::<u32>::new());
    drop(pair);
    assert_eq!(keeper.ended(), [1]);
}

// req: D-08
#[tokio::test]
async fn d_08_what_is_left_ends_with_the_server() {
    let (keeper, endpoint) = keeper(Limits::default(), true);
    let bound = bind(endpoint.clone(), ([127, 0, 0, 1], 0).into(), false)
        .await
        .unwrap();
    let (stopper, stop) = stop::stop();
    let serving = tokio::spawn(bound.serve(stop));
    open(&endpoint).await;
    stopper.stop();
    serving.await.unwrap();
    assert_eq!(keeper.ended(), [1]);
}
