//! What only a real connection shows: the listener, HTTP/1.1 and HTTP/2, clients that leave.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http_body_util::BodyExt;
use polyport_http::{Config, Endpoint, ListenError, bind};
use polyport_proto::Limits;
use polyport_rt::{Ended, Service, Stopper, stop};
use polyport_testkit::handlers::Puppet;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::sessions::begin;
use crate::{INITIALIZE, PLAIN, call, endpoint, endpoint_with, open, request};

pub(crate) async fn serve() -> (SocketAddr, Stopper, JoinHandle<Ended>) {
    serve_endpoint(endpoint()).await
}

pub(crate) async fn serve_endpoint(endpoint: Endpoint) -> (SocketAddr, Stopper, JoinHandle<Ended>) {
    let bound = bind(endpoint, ([127, 0, 0, 1], 0).into(), false)
        .await
        .unwrap();
    let address = bound.address();
    let (stopper, stop) = stop::stop();
    (address, stopper, tokio::spawn(bound.serve(stop)))
}

pub(crate) async fn exchange(address: SocketAddr, text: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut out = Vec::new();
    tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut out))
        .await
        .unwrap()
        .unwrap();
    String::from_utf8(out).unwrap()
}

pub(crate) fn http(head: &str, body: &str) -> String {
    format!(
        "{head}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

// req: V-107
#[tokio::test]
async fn v_107_hosts_over_a_socket() {
    let (address, stopper, serving) = serve().await;
    for (head, status) in [
        ("POST /mcp HTTP/1.1\r\nHost: localhost", "200"),
        ("POST /mcp HTTP/1.1\r\nHost: evil.test", "403"),
        (
            "POST http://evil.test/mcp HTTP/1.1\r\nHost: localhost",
            "403",
        ),
        ("POST /mcp HTTP/1.0\r\nX: y", "403"),
        (
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nHost: localhost",
            "403",
        ),
    ] {
        let got = exchange(address, &http(head, INITIALIZE)).await;
        assert_eq!(got.split(' ').nth(1), Some(status), "{head}: {got}");
    }
    stopper.stop();
    assert_eq!(
        serving.await.unwrap(),
        Ended {
            cut: 0,
            broken: false
        }
    );
}

// req: BR-084
#[tokio::test]
async fn br_084_clients_that_leave_harm_nobody() {
    let (address, stopper, serving) = serve().await;
    for n in 0..50 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let text = http("POST /mcp HTTP/1.1\r\nHost: localhost", INITIALIZE);
        stream
            .write_all(&text.as_bytes()[..text.len() * n / 50])
            .await
            .unwrap();
        drop(stream);
    }
    let got = exchange(
        address,
        &http("POST /mcp HTTP/1.1\r\nHost: localhost", INITIALIZE),
    )
    .await;
    assert!(got.starts_with("HTTP/1.1 200"), "{got}");
    stopper.stop();
    serving.await.unwrap();
}

// req: V-105B
#[tokio::test]
async fn v_105b_other_machines_are_not_let_in_unasked() {
    let endpoint = Endpoint::new(Service::new(Puppet::default()), Config::default());
    let refused = bind(endpoint.clone(), ([0, 0, 0, 0], 0).into(), false)
        .await
        .unwrap_err();
    assert!(matches!(refused, ListenError::Insecure(_)));
    assert!(refused.to_string().contains("--insecure-listen"));
    assert!(bind(endpoint, ([0, 0, 0, 0], 0).into(), true).await.is_ok());
}

// req: P-END
#[tokio::test(start_paused = true)]
async fn the_end_waits_for_calls_whose_clients_have_left() {
    for (tool, cut, ms) in [("slow", 0, 500), ("tidy", 1, 10_500), ("never", 1, 12_000)] {
        let puppet = Puppet::default();
        let endpoint = endpoint_with(puppet.clone(), Limits::default());
        let (_, stopper, serving) = serve_endpoint(endpoint.clone()).await;
        let session = open(&endpoint).await;
        begin(&endpoint, &session, tool, Duration::from_millis(500)).await;
        let before = Instant::now();
        stopper.stop();
        let ended = serving.await.unwrap();
        assert_eq!(ended.cut, cut, "{tool}");
        assert_eq!(before.elapsed().as_millis() / 100, ms / 100, "{tool}");
        let seen = (
            puppet.seen.tidied.load(Ordering::SeqCst),
            puppet.seen.dropped.load(Ordering::SeqCst),
        );
        let want = (usize::from(tool == "tidy"), usize::from(tool == "never"));
        assert_eq!(seen, want, "{tool}");
    }
}

// req: P-END
#[tokio::test(start_paused = true)]
async fn the_stop_ends_streams_that_no_call_holds() {
    let endpoint = endpoint();
    let (_, stopper, serving) = serve_endpoint(endpoint.clone()).await;
    let session = open(&endpoint).await;
    begin(&endpoint, &session, "never", Duration::from_millis(500)).await;
    let headers = [PLAIN, &[("mcp-session-id", session.as_str())]].concat();
    let stream = endpoint.handle(request("GET", "/mcp", &headers, "")).await;
    let before = Instant::now();
    stopper.stop();
    let said = stream.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(
        (&*said, before.elapsed().as_secs()),
        (&b": open\n\n"[..], 0)
    );
    serving.await.unwrap();
}

// req: P-SESSION
#[tokio::test(start_paused = true)]
async fn sessions_whose_time_is_over_go_by_themselves() {
    let endpoint = endpoint();
    let (_, stopper, serving) = serve_endpoint(endpoint.clone()).await;
    open(&endpoint).await;
    tokio::time::sleep(Duration::from_secs(29 * 60)).await;
    assert_eq!(endpoint.sessions(), 1);
    tokio::time::sleep(Duration::from_secs(2 * 60)).await;
    assert_eq!(endpoint.sessions(), 0);
    stopper.stop();
    serving.await.unwrap();
}

// req: D-35
#[tokio::test]
async fn d_35_connections_beyond_the_bound_wait() {
    let mut limits = Limits::default();
    limits.connections = 2;
    let (address, stopper, serving) =
        serve_endpoint(endpoint_with(Puppet::default(), limits)).await;
    let asked = b"GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let answered = async |stream: &mut TcpStream| {
        stream.write_all(asked).await.unwrap();
        let mut got = vec![0; 4_096];
        let length = stream.read(&mut got).await.unwrap();
        assert!(got[..length].starts_with(b"HTTP/1.1 404"));
    };
    let mut first = TcpStream::connect(address).await.unwrap();
    let mut second = TcpStream::connect(address).await.unwrap();
    answered(&mut first).await;
    answered(&mut second).await;
    let mut third = TcpStream::connect(address).await.unwrap();
    third.write_all(asked).await.unwrap();
    // However often the others are answered, this one is not.
    for _ in 0..50 {
        answered(&mut first).await;
        answered(&mut second).await;
    }
    let silence = third.try_read(&mut [0; 1]).unwrap_err();
    assert_eq!(silence.kind(), std::io::ErrorKind::WouldBlock);
    drop(second);
    third.read_u8().await.unwrap();
    drop((first, third));
    stopper.stop();
    serving.await.unwrap();
}

const MOMENT: Duration = Duration::from_millis(300);

/// The only place of a server is free again when whoever holds it keeps it waiting for a moment.
async fn is_let_go(request_read: Duration, hold: impl AsyncFnOnce(&mut TcpStream, &str)) {
    let mut limits = Limits::default();
    limits.connections = 1;
    limits.request_read = request_read;
    limits.response_write = MOMENT;
    limits.keep_alive = Duration::from_millis(100);
    let endpoint = endpoint_with(Puppet::default(), limits);
    let (address, stopper, serving) = serve_endpoint(endpoint.clone()).await;
    let session = open(&endpoint).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    hold(&mut stream, &session).await;
    let got = exchange(
        address,
        &http("POST /mcp HTTP/1.1\r\nHost: localhost", INITIALIZE),
    )
    .await;
    assert!(got.starts_with("HTTP/1.1 200"), "{got}");
    drop(stream);
    stopper.stop();
    serving.await.unwrap();
}

// req: D-35
#[tokio::test]
async fn d_35_a_client_that_says_nothing_is_let_go() {
    is_let_go(MOMENT, async |_, _| {}).await;
    is_let_go(MOMENT, async |stream, _| {
        stream.write_all(b"POST /mcp HT").await.unwrap()
    })
    .await;
}

// req: D-35
#[tokio::test]
async fn d_35_a_client_that_asks_no_more_is_let_go() {
    is_let_go(MOMENT, async |stream, _| {
        let text = http("POST /mcp HTTP/1.1\r\nHost: localhost", INITIALIZE);
        let text = text.replace("Connection: close\r\n", "");
        stream.write_all(text.as_bytes()).await.unwrap();
        stream.read_u8().await.unwrap();
    })
    .await;
}

// req: D-35
#[tokio::test]
async fn d_35_a_client_that_takes_no_answer_is_let_go() {
    // Sending takes its time, too.
    is_let_go(Duration::from_secs(30), async |stream, session| {
        // More than the system's buffers take in.
        let body = call(1, "echo").replace(
            "\"tool\":\"",
            &format!("\"tool\":\"{}", "x".repeat(14_000_000)),
        );
        let head = format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: {session}");
        stream
            .write_all(http(&head, &body).as_bytes())
            .await
            .unwrap();
    })
    .await;
}
