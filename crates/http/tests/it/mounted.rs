//! The endpoint inside an axum application: under any path, beside other routes, and to the application's end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt;
use http_body_util::combinators::BoxBody;
use polyport_http::{Body, Endpoint};
use polyport_proto::Limits;
use polyport_rt::Ended;
use polyport_testkit::handlers::Puppet;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tower_service::Service;

use crate::sessions::begin;
use crate::sockets::{exchange, http};
use crate::{
    CALL, INITIALIZE, PLAIN, V, call, endpoint, endpoint_with, got, modern, open, request,
};

/// An application around an endpoint. It stops when it is notified.
async fn serve(
    endpoint: Endpoint,
    mount: impl FnOnce(Router, Endpoint) -> Router,
) -> (SocketAddr, Arc<Notify>, JoinHandle<()>) {
    let app = Router::new().route("/health", get(|| async { "well" }));
    let app = mount(app, endpoint.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let told = Arc::new(Notify::new());
    let stop = {
        let told = told.clone();
        async move {
            told.notified().await;
            endpoint.close().await;
        }
    };
    let serving = axum::serve(listener, app).with_graceful_shutdown(stop);
    let serving = async move { serving.await.unwrap() };
    (address, told, tokio::spawn(serving))
}

fn post(path: &str, headers: &str, body: &str) -> String {
    let head = format!("POST {path} HTTP/1.1\r\nHost: localhost{headers}");
    http(&head, body)
}

fn status(text: &str) -> Option<&str> {
    text.split(' ').nth(1)
}

// req: D-34
#[tokio::test]
async fn d_34_an_application_mounts_it_where_it_likes() {
    type Mount = fn(Router, Endpoint) -> Router;
    let mounts: [(Mount, &[&str], &[&str]); 5] = [
        (
            |app, endpoint| app.route_service("/mcp", endpoint),
            &["/mcp"],
            &["/", "/mcp/x", "/mcp2"],
        ),
        (
            |app, endpoint| app.nest_service("/ai", endpoint),
            &[
                "/ai/mcp",
                "/ai/mcp/",
                "/ai",
                "/ai/",
                "/ai/mcp?x=y",
                "/ai?x=y",
            ],
            &["/mcp", "/ai/x", "/aimcp"],
        ),
        (
            |app, endpoint| app.nest_service("/ai/mcp", endpoint),
            &["/ai/mcp", "/ai/mcp/", "/ai/mcp/mcp"],
            &["/mcp", "/ai/"],
        ),
        (
            |app, endpoint| app.nest("/a", Router::new().nest_service("/b", endpoint)),
            &["/a/b/mcp", "/a/b"],
            &["/mcp", "/a", "/b/mcp"],
        ),
        (
            |app, endpoint| app.fallback_service(endpoint),
            &["/mcp", "/"],
            &["/ai/mcp", "/x"],
        ),
    ];
    for (mount, there, elsewhere) in mounts {
        let puppet = Puppet::default();
        let endpoint = endpoint_with(puppet.clone(), Limits::default());
        let (address, told, serving) = serve(endpoint.clone(), mount).await;
        for path in there {
            let opened = exchange(address, &post(path, "", INITIALIZE)).await;
            assert_eq!(status(&opened), Some("200"), "{path}: {opened}");
            assert!(opened.contains("mcp-session-id: "), "{path}: {opened}");
            let headers =
                "\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo";
            let body = modern("tools/call", r#""name":"echo","arguments":{"n":7}"#);
            let called = exchange(address, &post(path, headers, &body)).await;
            assert!(called.contains("\"n\":7"), "{path}: {called}");
            // The guard is ours, wherever it is mounted.
            let foreign = format!("POST {path} HTTP/1.1\r\nHost: evil.test");
            let refused = exchange(address, &http(&foreign, INITIALIZE)).await;
            assert_eq!(status(&refused), Some("403"), "{path}: {refused}");
        }
        assert_eq!(endpoint.sessions(), there.len());
        for path in elsewhere {
            let got = exchange(address, &post(path, "", INITIALIZE)).await;
            assert_eq!(status(&got), Some("404"), "{path}: {got}");
        }
        let health = "GET /health HTTP/1.1\r\nHost: any.example\r\nConnection: close\r\n\r\n";
        assert!(exchange(address, health).await.ends_with("well"));
        told.notify_one();
        serving.await.unwrap();
    }
}

/// Reads until this has come.
async fn until(stream: &mut TcpStream, text: &str) -> String {
    let mut got = Vec::new();
    let read = async {
        while !String::from_utf8_lossy(&got).contains(text) {
            assert_ne!(stream.read_buf(&mut got).await.unwrap(), 0, "{text}");
        }
    };
    tokio::time::timeout(Duration::from_secs(10), read)
        .await
        .unwrap();
    String::from_utf8(got).unwrap()
}

// req: D-34
// req: P-END
#[tokio::test]
async fn d_34_the_end_of_the_application_ends_sessions_and_streams() {
    let puppet = Puppet::default();
    let endpoint = endpoint_with(puppet.clone(), Limits::default());
    let (address, told, serving) =
        serve(endpoint.clone(), |app, e| app.nest_service("/ai", e)).await;
    let session = open(&endpoint).await;
    let named = format!("\r\nMcp-Session-Id: {session}");
    let mut stream = TcpStream::connect(address).await.unwrap();
    let listen = format!(
        "GET /ai/mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream{named}\r\n\r\n"
    );
    stream.write_all(listen.as_bytes()).await.unwrap();
    until(&mut stream, ": open").await;
    let mut calling = TcpStream::connect(address).await.unwrap();
    let running = post("/ai/mcp", &named, &call(1, "told"));
    calling.write_all(running.as_bytes()).await.unwrap();
    while puppet.seen.calls.load(Ordering::SeqCst) < 2 {
        tokio::task::yield_now().await;
    }
    told.notify_one();
    // The stream ends as a stream should, and nobody new is let in, while the call goes on.
    until(&mut stream, "0\r\n\r\n").await;
    let late = exchange(address, &post("/ai/mcp", "", INITIALIZE)).await;
    assert_eq!(status(&late), Some("503"), "{late}");
    assert!(late.contains("retry-after: 1"), "{late}");
    assert!(late.contains("ending"), "{late}");
    puppet.told.notify_one();
    let answer = until(&mut calling, "\"id\":1").await;
    assert_eq!(status(&answer), Some("200"), "{answer}");
    let ended = tokio::time::timeout(Duration::from_secs(10), serving);
    ended.await.unwrap().unwrap();
    assert_eq!(endpoint.sessions(), 0);
}

// req: D-34
// req: P-END
#[tokio::test(start_paused = true)]
async fn d_34_what_does_not_end_is_cut_off() {
    for (tool, cut, seconds) in [("slow", 0, 0), ("tidy", 1, 10), ("never", 1, 12)] {
        let puppet = Puppet::default();
        let endpoint = endpoint_with(puppet.clone(), Limits::default());
        let session = open(&endpoint).await;
        begin(&endpoint, &session, tool, Duration::from_millis(500)).await;
        let begun = tokio::time::Instant::now();
        let want = Ended { cut, broken: false };
        assert_eq!(endpoint.close().await, want, "{tool}");
        assert_eq!(begun.elapsed().as_secs(), seconds, "{tool}");
        assert_eq!(endpoint.sessions(), 0);
        assert_eq!(endpoint.close().await.cut, 0, "a second time");
        let modern = [V, CALL, ("mcp-name", "echo")];
        for (headers, body) in [
            (PLAIN.to_vec(), INITIALIZE.to_owned()),
            (
                [PLAIN, &modern].concat(),
                crate::modern("tools/call", r#""name":"echo""#),
            ),
        ] {
            let late = endpoint
                .handle(request("POST", "/mcp", &headers, &body))
                .await;
            assert_eq!(late.status(), 503);
        }
        let seen = (
            puppet.seen.tidied.load(Ordering::SeqCst),
            puppet.seen.dropped.load(Ordering::SeqCst),
        );
        let want = (usize::from(tool == "tidy"), usize::from(tool == "never"));
        assert_eq!(seen, want, "{tool}");
    }
}

/// What a router calls it with: a body of another kind than ours, with errors of its own.
fn foreign(body: &str) -> Request<BoxBody<Bytes, String>> {
    let body = http_body_util::Full::new(Bytes::copy_from_slice(body.as_bytes()));
    let (head, ()) = request("POST", "/", PLAIN, "").map(drop).into_parts();
    let body = BoxBody::new(body.map_err(|never| match never {}));
    Request::from_parts(head, body)
}

// req: D-34
// req: P-SESSION
#[tokio::test(start_paused = true)]
async fn d_34_sessions_go_by_themselves_there_too() {
    let mut endpoint = endpoint();
    let tasks = || {
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
    };
    for _ in 0..2 {
        let response = endpoint.call(foreign(INITIALIZE)).await.unwrap();
        assert_eq!(got(response).await.status, 200);
    }
    assert_eq!((endpoint.sessions(), tasks()), (2, 1));
    tokio::time::sleep(Duration::from_secs(91)).await;
    assert_eq!(endpoint.sessions(), 0);
    drop(endpoint);
    tokio::time::sleep(Duration::from_secs(31)).await;
    assert_eq!(tasks(), 0, "nothing is left of it");
}

/// The response is one that axum takes.
#[test]
fn the_body_is_one_of_others() {
    fn is_body<B: http_body::Body<Data = Bytes> + Send + 'static>() {}
    fn is_response<R: axum::response::IntoResponse>() {}
    is_body::<Body>();
    is_response::<http::Response<Body>>();
}
