//! Heads of requests that are too long: the target, one header, many headers.

use polyport_http::Endpoint;
use polyport_proto::Limits;
use polyport_testkit::handlers::Puppet;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::sockets::serve_endpoint;
use crate::{INITIALIZE, PLAIN, endpoint_with, request};

fn endpoint() -> Endpoint {
    let mut limits = Limits::default();
    limits.head_bytes = 10_000;
    endpoint_with(Puppet::default(), limits)
}

// req: D-35
#[tokio::test(start_paused = true)]
async fn d_35_a_head_is_measured_exactly() {
    let endpoint = endpoint();
    let line = |(name, value): &(&str, &str)| name.len() + value.len() + ": \r\n".len();
    let used: usize = PLAIN.iter().map(line).sum();
    for (over, want) in [(0, 200), (1, 431)] {
        let spare = 10_000 - used - "/mcp".len() + over;
        let query = format!("/mcp?{}", "z".repeat(spare - "?".len()));
        let value = "x".repeat(spare - line(&("x-long", "")));
        let many = vec![("x-many", ""); spare / line(&("x-many", ""))];
        let rest = format!(
            "/mcp?{}",
            "z".repeat(spare - 1 - many.iter().map(line).sum::<usize>())
        );
        for (target, more) in [
            (&*query, &[][..]),
            ("/mcp", &[("x-long", &*value)]),
            (&*rest, &many),
        ] {
            let headers = [PLAIN, more].concat();
            let got = endpoint.handle(request("POST", target, &headers, INITIALIZE));
            assert_eq!(got.await.status(), want, "{} {}", target.len(), more.len());
        }
    }
}

/// The status that a head is answered with, be it cut off in the middle.
async fn status(address: std::net::SocketAddr, head: &str) -> Option<u16> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let (mut reader, mut writer) = stream.split();
    let mut got = Vec::new();
    let sent = async {
        // A server may answer and leave before it has read everything.
        let _ = writer.write_all(head.as_bytes()).await;
    };
    let read = async {
        let _ = reader.read_to_end(&mut got).await;
    };
    tokio::join!(sent, read);
    let text = String::from_utf8_lossy(&got);
    text.split(' ').nth(1)?.parse().ok()
}

// req: V-418
// req: D-35
#[tokio::test]
async fn v_418_a_long_head_is_431_over_a_socket() {
    let (address, stopper, serving) = serve_endpoint(endpoint()).await;
    let begin = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    for (length, want) in [(9_000, 415), (11_000, 431), (60_000, 431), (1 << 20, 431)] {
        let long = "x".repeat(length);
        let one = format!("{begin}X-Long: {long}\r\n\r\n");
        let many = format!("{begin}{}\r\n", "X-Many: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n".repeat(length / 110));
        let endless = format!("{begin}X-Long: {long}");
        assert_eq!(status(address, &one).await, Some(want), "{length}");
        if want == 431 {
            assert_eq!(status(address, &many).await, Some(431), "{length}");
        }
        if length >= 60_000 {
            assert_eq!(status(address, &endless).await, Some(431), "{length}");
        }
    }
    stopper.stop();
    serving.await.unwrap();
}
