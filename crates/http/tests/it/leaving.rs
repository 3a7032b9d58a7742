//! Clients that vanish, that do not read, and the end of the server: what becomes of their streams over real connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use http_body::Body as _;
use polyport_proto::{Level, Limits};
use polyport_rt::Ended;
use polyport_testkit::handlers::Puppet;
use polyport_wire::sse;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Handle;

use crate::sockets::serve_endpoint;
use crate::{
    INITIALIZE, INITIALIZED, PLAIN, call, endpoint, endpoint_with, open, open_in, request, stream,
    want_logs,
};

/// The head of a request for a stream.
fn head(path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{headers}\r\n")
}

/// Waits until something holds, which must not take long.
async fn until(what: &str, holds: impl Fn() -> bool) {
    let wait = async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(20), wait).await;
    assert!(waited.is_ok(), "{what}");
}

// req: BR-108
// req: BR-083
#[tokio::test]
async fn br_108_br_083_streams_whose_clients_left_leave_nothing() {
    let endpoint = endpoint();
    let (address, stopper, serving) = serve_endpoint(endpoint.clone()).await;
    let session = open_in(&endpoint, "2025-11-25").await;
    let tasks = || Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let post = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: text/event-stream\r\nMcp-Session-Id: {session}\r\nContent-Length: {}\r\n\r\n{}",
        call(1, "slow").len(),
        call(1, "slow"),
    );
    let get = head("/mcp", &format!("Mcp-Session-Id: {session}\r\n"));
    let texts = [head("/sse", ""), get, post];
    for n in 0..300 {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(texts[n % 3].as_bytes()).await.unwrap();
        // Some leave at once, some with the head, some with a part of the body; all without a word.
        let mut taken = vec![0; n % 300];
        if n % 2 == 0 {
            let read = client.read(&mut taken);
            let _ = tokio::time::timeout(Duration::from_secs(5), read).await;
        }
    }
    until("a connection is held for nobody", || tasks() == before).await;
    until("a session is kept for nobody", || endpoint.sessions() == 1).await;
    assert_eq!(open(&endpoint).await.len(), 32);
    stopper.stop();
    serving.await.unwrap();
}

/// Counts how often somebody is woken.
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

// req: BR-108
#[tokio::test(start_paused = true)]
async fn br_108_an_idle_stream_wakes_nobody() {
    let endpoint = endpoint();
    let session = open(&endpoint).await;
    let get = [PLAIN, &[("mcp-session-id", session.as_str())]].concat();
    for (path, headers) in [("/mcp", get.as_slice()), ("/sse", PLAIN)] {
        let response = endpoint.handle(request("GET", path, headers, "")).await;
        let mut body = std::pin::pin!(response.into_body());
        let count = Arc::new(Count(AtomicUsize::new(0)));
        let waker = Waker::from(count.clone());
        let mut cx = Context::from_waker(&waker);
        assert!(matches!(
            body.as_mut().poll_frame(&mut cx),
            Poll::Ready(Some(_))
        ));
        for minutes in 1..4 {
            assert!(body.as_mut().poll_frame(&mut cx).is_pending());
            tokio::time::sleep(Duration::from_secs(60)).await;
            assert_eq!(count.0.load(Ordering::SeqCst), minutes, "its keep-alive");
            assert!(matches!(
                body.as_mut().poll_frame(&mut cx),
                Poll::Ready(Some(_))
            ));
        }
    }
}

// req: D-35
// req: BR-109
#[tokio::test]
async fn d_35_who_took_nothing_and_was_let_go_may_come_back() {
    let mut limits = Limits::default();
    limits.response_write = Duration::from_millis(300);
    limits.replay_bytes = 64 << 20;
    limits.queue_bytes = 64 << 20;
    limits.waiting_logs_bytes = 64 << 20;
    let puppet = Puppet::default();
    let endpoint = endpoint_with(puppet.clone(), limits);
    let (address, stopper, serving) = serve_endpoint(endpoint.clone()).await;
    let session = open(&endpoint).await;
    want_logs(&endpoint, &session).await;
    let tasks = Handle::current().metrics().num_alive_tasks();
    let mut stuck = TcpStream::connect(address).await.unwrap();
    let text = head("/mcp", &format!("Mcp-Session-Id: {session}\r\n"));
    stuck.write_all(text.as_bytes()).await.unwrap();
    stuck.read_exact(&mut [0; 20]).await.unwrap();
    // More than the system's buffers take in.
    let long = "x".repeat(2_000_000);
    for n in 0..10 {
        let data = format!("{{\"n\":{n},\"l\":\"{long}\"}}");
        puppet.bus.log(Level::Error, None, &data);
    }
    let left = || Handle::current().metrics().num_alive_tasks() == tasks;
    until("it is let go", left).await;
    let headers = [
        ("mcp-session-id", session.as_str()),
        ("last-event-id", "1-0"),
    ];
    let mut back = stream(&endpoint, "GET", &headers, "").await;
    back.events = sse::Events::new(4 << 20);
    for n in 0..10 {
        let (id, message) = back.message().await;
        assert_eq!(
            (id, &message["params"]["data"]["n"]),
            (Some(format!("1-{}", n + 1)), &n.into())
        );
    }
    drop(stuck);
    stopper.stop();
    serving.await.unwrap();
}

// req: D-35
#[cfg(target_os = "linux")]
#[tokio::test]
async fn d_35_a_client_that_confirms_nothing_is_let_go() {
    let mut limits = Limits::default();
    limits.response_write = Duration::from_millis(300);
    let puppet = Puppet::default();
    let endpoint = endpoint_with(puppet.clone(), limits);
    let (address, stopper, serving) = serve_endpoint(endpoint.clone()).await;
    let session = open(&endpoint).await;
    want_logs(&endpoint, &session).await;
    let tasks = Handle::current().metrics().num_alive_tasks();
    // Its buffer is full at once, and the little that is written fits into ours: no write waits.
    let client = TcpSocket::new_v4().unwrap();
    client.set_recv_buffer_size(1).unwrap();
    let mut client = client.connect(address).await.unwrap();
    let text = head("/mcp", &format!("Mcp-Session-Id: {session}\r\n"));
    client.write_all(text.as_bytes()).await.unwrap();
    client.read_exact(&mut [0; 20]).await.unwrap();
    let data = format!("\"{}\"", "x".repeat(8_000));
    puppet.bus.log(Level::Error, None, &data);
    let left = || Handle::current().metrics().num_alive_tasks() == tasks;
    until("it is let go", left).await;
    drop(client);
    stopper.stop();
    serving.await.unwrap();
}

// req: P-END
#[tokio::test(start_paused = true)]
async fn the_stop_lets_calls_answer_on_the_stream_of_a_pair() {
    for (tool, cut, answers) in [("slow", 0, 1), ("never", 1, 0)] {
        let endpoint = endpoint();
        let (_, stopper, serving) = serve_endpoint(endpoint.clone()).await;
        let response = endpoint.handle(request("GET", "/sse", PLAIN, "")).await;
        let mut stream = crate::Stream::new(response);
        let target = format!("/{}", stream.next().await.unwrap().data);
        for body in [INITIALIZE, INITIALIZED, &call(1, tool)] {
            let got = endpoint.handle(request("POST", &target, PLAIN, body)).await;
            assert_eq!(got.status(), 202);
        }
        assert_eq!(stream.message().await.1["id"], 0);
        stopper.stop();
        let (rest, ended) = tokio::join!(stream.rest(), serving);
        assert_eq!(rest.len(), answers, "{tool}");
        assert_eq!(ended.unwrap(), Ended { cut, broken: false });
        assert_eq!(endpoint.sessions(), 0);
    }
}
