//! What a handler does before the first client and after the last, and what is counted meanwhile.

use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use polyport_proto::{Limits, Outcome};
use polyport_rt::layer::Trace;
use polyport_rt::{Call, Handler, Service, StartError, Stats};
use polyport_testkit::handlers::Puppet;
use polyport_testkit::{Log, Script};
use tracing::Level;

use crate::OPEN;

type Seen = Arc<Mutex<Vec<&'static str>>>;

/// Notes when it starts and shuts down, and does so as it is told: well, badly, never, or with a panic.
struct Mortal {
    starts: &'static str,
    ends: &'static str,
    seen: Seen,
}

impl Mortal {
    fn new(starts: &'static str, ends: &'static str) -> (Self, Seen) {
        let seen = Seen::default();
        (
            Self {
                starts,
                ends,
                seen: seen.clone(),
            },
            seen,
        )
    }
}

impl Handler for Mortal {
    async fn call(&self, call: Call) -> Outcome {
        self.seen.lock().unwrap().push("call");
        Puppet::default().call(call).await
    }

    async fn start(&self) -> Result<(), StartError> {
        self.seen.lock().unwrap().push("start");
        match self.starts {
            "well" => {}
            "never" => std::future::pending().await,
            "panics" => panic!("as it was told"),
            why => return Err(StartError::new(why)),
        }
        Ok(())
    }

    async fn shutdown(&self) {
        self.seen.lock().unwrap().push("shutdown");
        match self.ends {
            "never" => std::future::pending().await,
            "panics" => panic!("as it was told"),
            _ => {}
        }
    }
}

// req: D-09
#[tokio::test(start_paused = true)]
async fn d_09_it_starts_before_the_first_call_and_shuts_down_after_the_drain() {
    for ends in ["well", "never", "panics"] {
        let (mortal, seen) = Mortal::new("well", ends);
        let mut peer = Script::connect(Service::new(mortal).layer(Trace::new()));
        peer.play(OPEN).await;
        peer.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}"#)
            .await;
        peer.end().await;
        assert_eq!(
            *seen.lock().unwrap(),
            ["start", "call", "call", "shutdown"],
            "{ends}"
        );
    }
}

// req: D-09
#[tokio::test(start_paused = true)]
async fn d_09_what_does_not_start_serves_nothing_and_says_why() {
    for (starts, why) in [
        ("no disk", "the server did not start: no disk"),
        ("never", "the server did not start within 30 s"),
        ("panics", "the server panicked while it started"),
    ] {
        let log = Log::at(Level::ERROR);
        let (mortal, seen) = Mortal::new(starts, "well");
        let service = Service::new(mortal);
        let mut peer = Script::connect(service.clone());
        assert_eq!(peer.receive().await, None, "{starts}");
        assert!(peer.end().await.broken);
        assert_eq!(log.events("nothing is served")[0].get("error"), why);
        assert_eq!(*seen.lock().unwrap(), ["start"], "{starts}");
        let error = service.start().await.unwrap_err();
        assert_eq!(
            (error.to_string(), format!("{error:?}")),
            (why.into(), why.into())
        );
    }
}

// req: D-09
#[tokio::test(start_paused = true)]
async fn d_09_once_for_all_who_serve() {
    let (mortal, seen) = Mortal::new("well", "well");
    let service = Service::new(mortal);
    let (one, two) = (
        service.start().await.unwrap(),
        service.clone().start().await.unwrap(),
    );
    one.shutdown().await;
    assert_eq!(*seen.lock().unwrap(), ["start"]);
    two.shutdown().await;
    assert_eq!(*seen.lock().unwrap(), ["start", "shutdown"]);
    // Served again, it starts again; who only lets go of it leaves nothing running.
    drop(service.start().await.unwrap());
    service.start().await.unwrap().shutdown().await;
    assert_eq!(
        *seen.lock().unwrap(),
        ["start", "shutdown", "start", "start", "shutdown"]
    );
}

// req: D-12
#[tokio::test(start_paused = true)]
async fn d_12_what_lives_and_what_became_of_it() {
    let mut limits = Limits::default();
    limits.calls_per_session = 2;
    let service = Service::new(Puppet::default()).limits(limits);
    assert_eq!(service.stats(), Stats::default());
    let mut peer = Script::connect(service.clone());
    peer.play(OPEN).await;
    peer.play(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"never"}}
        > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow"}}
        > {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"slow"}}
        ~ {"id":3,"error":{"code":-32600}}
    "#,
    )
    .await;
    let stats = service.stats();
    assert_eq!(
        (stats.sessions, stats.calls, stats.begun, stats.refused),
        (1, 2, 3, 1)
    );
    peer.play(
        r#"
        ~ {"id":2,"result":{}}
        > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
        @ 3s
        > {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"panics"}}
        ~ {"id":4,"error":{"code":-32603}}
        > {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"never"}}
        @ 1ms
    "#,
    )
    .await;
    let stats = service.stats();
    assert_eq!((stats.calls, stats.cancelled, stats.failed), (1, 1, 1));
    peer.end().await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let stats = service.stats();
    assert_eq!(
        (stats.sessions, stats.calls, stats.cancelled, stats.begun),
        (0, 0, 2, 5)
    );
}
