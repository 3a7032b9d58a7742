//! Calls that are given up, at the server behind a relay.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use polyport::client::Connect;
use polyport::testing::connect_to;
use polyport::{Call, Handler, Outcome, Raw, Revision, Revisions, RpcError, Service, Wait};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

/// Waits until each call is given up, and notes the words with which it was, and when.
#[derive(Clone, Default)]
struct Waits(Arc<Mutex<Vec<GivenUp>>>);

type GivenUp = (Option<String>, Instant);

impl Handler for Waits {
    async fn call(&self, call: Call) -> Outcome {
        if call.method == "server/discover" {
            let offers = json!({"capabilities": {"tools": {}}});
            return Outcome::Complete(Raw::encode(&offers).unwrap());
        }
        call.context.cancelled().await;
        let words = call.context.cancel_words().map(str::to_owned);
        self.0.lock().unwrap().push((words, Instant::now()));
        Outcome::Failed(RpcError::invalid_params("too late"))
    }
}

// req: S-RELAY-CANCEL
#[tokio::test(start_paused = true)]
async fn a_call_is_given_up_behind_at_once_and_for_the_same_reason() {
    let revisions = [
        Revision::V2024_11_05,
        Revision::V2025_11_25,
        Revision::V2026_07_28,
    ];
    for ours in revisions {
        for theirs in revisions {
            for reason in [Some("no \"more\" of it\n"), None] {
                let waits = Waits::default();
                let client = Connect::service(Service::new(waits.clone()))
                    .speaks(Revisions::NONE.with(theirs));
                let relay = client.connect().await.unwrap().into_handler();
                let able = json!({});
                let peer = connect_to(Service::new(relay), ours, &able);
                let peer = peer.await.unwrap();
                let wait = Wait {
                    why: Some(Arc::new(move || reason.map(str::to_owned))),
                    ..Wait::default()
                };
                let call = json!({"name": "any"}).to_string();
                let asked = peer.caller().request_waiting("tools/call", &call, &wait);
                assert!(timeout(Duration::from_secs(1), asked).await.is_err());
                let given_up = Instant::now();
                sleep(Duration::from_secs(5)).await;
                let noted = waits.0.lock().unwrap().clone();
                let [(words, at)] = &noted[..] else {
                    panic!("{ours} to {theirs}: {noted:?}");
                };
                assert_eq!(words.as_deref(), reason, "{ours} to {theirs}");
                assert_eq!(*at, given_up, "{ours} to {theirs}");
            }
        }
    }
}
