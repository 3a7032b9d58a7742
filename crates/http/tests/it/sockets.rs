//! What only a real connection shows: the listener, HTTP/1.1 and HTTP/2, clients that leave.

use std::time::Duration;

use polyport_http::{Config, Endpoint, ListenError, bind};
use polyport_rt::{Ended, Service, stop};
use polyport_testkit::handlers::Puppet;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::INITIALIZE;

async fn serve() -> (
    std::net::SocketAddr,
    polyport_rt::Stopper,
    tokio::task::JoinHandle<Ended>,
) {
    let endpoint = Endpoint::new(Service::new(Puppet::default()), Config::default());
    let bound = bind(endpoint, ([127, 0, 0, 1], 0).into(), false)
        .await
        .unwrap();
    let address = bound.address();
    let (stopper, stop) = stop::stop();
    (address, stopper, tokio::spawn(bound.serve(stop)))
}

async fn exchange(address: std::net::SocketAddr, text: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut out = Vec::new();
    tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut out))
        .await
        .unwrap()
        .unwrap();
    String::from_utf8(out).unwrap()
}

fn http(head: &str, body: &str) -> String {
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
