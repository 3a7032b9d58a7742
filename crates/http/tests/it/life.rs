//! What is counted over HTTP, what our log says of sessions, and when the handler starts and shuts down.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use polyport_http::{Config, Endpoint, ListenError, bind};
use polyport_proto::{Limits, Outcome};
use polyport_rt::{Call, Handler, Service, StartError, Stats, stop};
use polyport_testkit::Log;
use polyport_testkit::handlers::Puppet;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::{CALL, INITIALIZE, PING, PLAIN, V, call, got, modern, open, post, request, send};

fn counted(limits: Limits) -> (Service, Endpoint) {
    let service = Service::new(Puppet::default()).limits(limits);
    (service.clone(), Endpoint::new(service, Config::default()))
}

// req: D-12
#[tokio::test(start_paused = true)]
async fn d_12_sessions_and_streams_are_counted_while_they_live() {
    let mut limits = Limits::default();
    (limits.sessions, limits.streams_per_session) = (2, 1);
    let (service, endpoint) = counted(limits);
    let session = open(&endpoint).await;
    open(&endpoint).await;
    assert_eq!(post(&endpoint, &[], INITIALIZE).await.status, 503);
    let in_session = [PLAIN[0], PLAIN[2], ("mcp-session-id", &*session)];
    let stream = endpoint
        .handle(request("GET", "/mcp", &in_session, ""))
        .await;
    let second = send(&endpoint, "GET", &in_session, "").await;
    assert_eq!(second.status, 409);
    let stats = service.stats();
    assert_eq!(
        (stats.sessions, stats.streams, stats.refused),
        (2, 1, 2),
        "{stats:?}"
    );
    assert_eq!(send(&endpoint, "DELETE", &in_session, "").await.status, 204);
    got(stream).await;
    let stats = service.stats();
    assert_eq!((stats.sessions, stats.streams), (1, 0));
    // The other one was never heard of again.
    tokio::time::sleep(Duration::from_secs(31 * 60)).await;
    assert_eq!(post(&endpoint, &[], INITIALIZE).await.status, 200);
    assert_eq!(service.stats().sessions, 1);
}

// req: D-12
#[tokio::test(start_paused = true)]
async fn d_12_what_is_refused_makes_no_session_and_what_is_left_is_cancelled() {
    let (service, endpoint) = counted(Limits::default());
    for body in [
        "{",
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#,
        PING,
    ] {
        post(&endpoint, &[], body).await;
    }
    assert_eq!(service.stats(), Stats::default());
    let headers = [PLAIN, &[V, CALL, ("mcp-name", "never")]].concat();
    let body = modern("tools/call", r#""name":"never""#);
    let calling = endpoint.handle(request("POST", "/mcp", &headers, &body));
    // After 15 seconds of silence it is a stream.
    let response = tokio::time::timeout(Duration::from_secs(60), calling)
        .await
        .unwrap();
    let stats = service.stats();
    assert_eq!((stats.streams, stats.calls, stats.sessions), (1, 1, 0));
    drop(response);
    tokio::time::sleep(Duration::from_secs(3)).await;
    let stats = service.stats();
    assert_eq!((stats.streams, stats.calls, stats.cancelled), (0, 0, 1));
}

// req: D-24
#[tokio::test(start_paused = true)]
async fn d_24_a_session_has_a_tag_in_the_log_and_never_its_id() {
    let log = Log::at(tracing::Level::TRACE);
    let (_, endpoint) = counted(Limits::default());
    let sessions = [open(&endpoint).await, open(&endpoint).await];
    for session in [&sessions[0], &sessions[1], &sessions[0]] {
        let headers = [
            ("mcp-session-id", &**session),
            ("authorization", "Bearer s3cret-token"),
            ("cookie", "s3cret-cookie"),
        ];
        assert_eq!(
            post(&endpoint, &headers, &call(1, "echo")).await.status,
            200
        );
    }
    let ended = log.events("call ended");
    let tags: Vec<_> = ended[2..].iter().map(|line| line.get("session")).collect();
    assert_eq!((tags[0].len(), tags[0]), (16, tags[2]));
    assert_ne!(tags[0], tags[1]);
    assert_eq!(ended[2].get("transport"), "http");
    let shown = format!("{endpoint:?}");
    for text in [log.text(), shown] {
        assert!(!text.contains("s3cret"), "{text}");
        for session in &sessions {
            assert!(!text.contains(&**session) && !text.contains(&session[..8]));
        }
    }
}

/// Starts unless told not to, and counts both ends.
#[derive(Clone, Default)]
struct Mortal {
    puppet: Puppet,
    refuses: bool,
    started: Arc<AtomicUsize>,
    ended: Arc<AtomicUsize>,
}

impl Handler for Mortal {
    async fn call(&self, call: Call) -> Outcome {
        assert_eq!(self.started.load(Ordering::SeqCst), 1);
        assert_eq!(self.ended.load(Ordering::SeqCst), 0);
        self.puppet.call(call).await
    }

    async fn start(&self) -> Result<(), StartError> {
        self.started.fetch_add(1, Ordering::SeqCst);
        if self.refuses {
            return Err(StartError::new("no disk"));
        }
        Ok(())
    }

    async fn shutdown(&self) {
        self.ended.fetch_add(1, Ordering::SeqCst);
    }
}

// req: D-09
#[tokio::test]
async fn d_09_over_http_it_starts_before_the_listener_and_shuts_down_after_the_drain() {
    let mortal = Mortal::default();
    let endpoint = Endpoint::new(Service::new(mortal.clone()), Config::default());
    let bound = bind(endpoint, ([127, 0, 0, 1], 0).into(), false)
        .await
        .unwrap();
    assert_eq!(mortal.started.load(Ordering::SeqCst), 1);
    let (address, (stopper, stop)) = (bound.address(), stop::stop());
    let serving = tokio::spawn(bound.serve(stop));
    let mut stream = TcpStream::connect(address).await.unwrap();
    let body = modern("tools/call", r#""name":"told""#);
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\nMCP-Protocol-Version: {}\r\nMcp-Method: tools/call\r\nMcp-Name: told\r\nContent-Length: {}\r\n\r\n",
        V.1,
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).await.unwrap();
    let begun = async {
        while mortal.puppet.seen.calls.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), begun)
        .await
        .unwrap();
    stopper.stop();
    // The call runs to its end before the server shuts down.
    tokio::task::yield_now().await;
    assert_eq!(mortal.ended.load(Ordering::SeqCst), 0);
    mortal.puppet.told.notify_one();
    let mut answer = String::new();
    let answered = stream.read_to_string(&mut answer);
    tokio::time::timeout(Duration::from_secs(20), answered)
        .await
        .unwrap()
        .unwrap();
    assert!(answer.contains("resultType"), "{answer}");
    assert_eq!(serving.await.unwrap().cut, 0);
    assert_eq!(mortal.ended.load(Ordering::SeqCst), 1);
}

// req: D-09
#[tokio::test]
async fn d_09_over_http_what_does_not_start_listens_on_nothing() {
    let mortal = Mortal {
        refuses: true,
        ..Mortal::default()
    };
    let endpoint = Endpoint::new(Service::new(mortal.clone()), Config::default());
    let refused = bind(endpoint, ([127, 0, 0, 1], 0).into(), false)
        .await
        .unwrap_err();
    assert!(matches!(refused, ListenError::Start(_)));
    assert_eq!(refused.to_string(), "the server did not start: no disk");
    assert_eq!(mortal.ended.load(Ordering::SeqCst), 0);
}
