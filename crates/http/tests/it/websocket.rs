//! WebSocket over real connections: the handshake, what closes a connection, and what holds as on stdio.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use http::HeaderMap;
use polyport_http::{Authorize, Challenge, Config, Endpoint};
use polyport_proto::{Limits, Principal};
use polyport_rt::{BoxFuture, Service};
use polyport_testkit::handlers::Puppet;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::sockets::{exchange, serve, serve_endpoint};
use crate::{INITIALIZE, endpoint_with};

/// Nothing in these tests takes so long.
const LONG: Duration = Duration::from_secs(20);
const KEY: &str = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n";

type Socket = WebSocketStream<TcpStream>;

/// A WebSocket to a path.
async fn dial(address: std::net::SocketAddr, path: &str) -> Socket {
    let stream = TcpStream::connect(address).await.unwrap();
    let mut request = format!("ws://{address}{path}")
        .into_client_request()
        .unwrap();
    let headers = request.headers_mut();
    headers.insert("sec-websocket-protocol", "mcp".parse().unwrap());
    let dialed = tokio_tungstenite::client_async(request, stream);
    timeout(LONG, dialed).await.unwrap().unwrap().0
}

async fn say(socket: &mut Socket, text: &str) {
    socket.send(Message::text(text)).await.unwrap();
}

/// The next message, or the code with which it is closed.
async fn hear(socket: &mut Socket) -> Result<Value, u16> {
    loop {
        let next = timeout(LONG, socket.next()).await.unwrap();
        match next {
            Some(Ok(Message::Text(text))) => return Ok(serde_json::from_str(&text).unwrap()),
            Some(Ok(Message::Close(frame))) => {
                return Err(frame.map_or(1005, |frame| frame.code.into()));
            }
            Some(Ok(_)) => {}
            None | Some(Err(_)) => return Err(0),
        }
    }
}

/// The head of an answer after which the connection goes on.
async fn head_of(address: std::net::SocketAddr, text: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut out = Vec::new();
    while !out.ends_with(b"\r\n\r\n") {
        out.push(timeout(LONG, stream.read_u8()).await.unwrap().unwrap());
    }
    String::from_utf8(out).unwrap()
}

/// Lets in who has a token, and says who that is.
struct Tokens;

impl Authorize for Tokens {
    fn authorize(&self, headers: &HeaderMap) -> BoxFuture<Result<Arc<Principal>, Challenge>> {
        let token = headers.get("authorization").cloned();
        Box::pin(async move {
            let challenge = Challenge {
                status: 401,
                www_authenticate: "Bearer".to_owned(),
            };
            let token = token.ok_or(challenge)?;
            Ok(Arc::new(Principal {
                issuer: "i".into(),
                client: "c".into(),
                subject: token.to_str().unwrap().into(),
            }))
        })
    }
}

// req: V-106
#[tokio::test]
async fn v_106_nobody_is_upgraded_before_it_is_known_who_asks() {
    let endpoint = Endpoint::new(
        Service::new(Puppet::default()),
        Config {
            authorize: Some(Arc::new(Tokens)),
            ..Config::default()
        },
    );
    let (address, stopper, serving) = serve_endpoint(endpoint).await;
    for path in ["/mcp", "/ws", "/ws/"] {
        for (headers, want) in [
            ("Host: localhost\r\nAuthorization: t\r\n", "101"),
            (
                "Host: localhost\r\nOrigin: https://evil.test\r\nAuthorization: t\r\n",
                "403",
            ),
            ("Host: evil.test\r\nAuthorization: t\r\n", "403"),
            ("Host: localhost\r\n", "401"),
            (
                "Host: localhost\r\nOrigin: null\r\nAuthorization: t\r\n",
                "403",
            ),
        ] {
            let text = format!("GET {path} HTTP/1.1\r\n{headers}{KEY}\r\n");
            let answer = if want == "101" {
                head_of(address, &text).await
            } else {
                exchange(
                    address,
                    &text.replace("keep-alive, Upgrade", "Upgrade, close"),
                )
                .await
            };
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {want}")),
                "{path} {headers}: {answer}"
            );
        }
    }
    stopper.stop();
    serving.await.unwrap();
}

// req: D-20
#[tokio::test]
async fn d_20_handshakes() {
    let (address, stopper, serving) = serve().await;
    let good = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    for (headers, want) in [
        (format!("{good}Sec-WebSocket-Version: 8\r\n"), "426"),
        (good.to_owned(), "426"),
        ("Sec-WebSocket-Version: 13\r\n".to_owned(), "400"),
        (
            "Sec-WebSocket-Key: short\r\nSec-WebSocket-Version: 13\r\n".to_owned(),
            "400",
        ),
        (
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j!Q==\r\nSec-WebSocket-Version: 13\r\n"
                .to_owned(),
            "400",
        ),
    ] {
        let text = format!(
            "GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n{headers}\r\n"
        );
        let answer = exchange(address, &text).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {want}")),
            "{headers}: {answer}"
        );
        assert_eq!(
            answer.to_lowercase().contains("sec-websocket-version: 13"),
            want == "426"
        );
    }
    // Without the wish it is no page.
    let plain = exchange(
        address,
        "GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    );
    assert!(plain.await.starts_with("HTTP/1.1 426"));
    // What is offered, and what is echoed.
    for (offered, echoed) in [
        (None, None),
        (Some("mcp"), Some("mcp")),
        (
            Some("mcp.version.2025-11-25, mcp, mcp.auth.hush"),
            Some("mcp"),
        ),
        (Some("graphql-ws"), None),
    ] {
        let stream = TcpStream::connect(address).await.unwrap();
        let mut request = format!("ws://{address}/mcp").into_client_request().unwrap();
        if let Some(offered) = offered {
            let headers = request.headers_mut();
            headers.insert("sec-websocket-protocol", offered.parse().unwrap());
        }
        // The other client refuses what was offered and is not echoed; the answer is what counts.
        let answer = match tokio_tungstenite::client_async(request, stream).await {
            Ok((_, response)) => response.headers().get("sec-websocket-protocol").cloned(),
            Err(_) => None,
        };
        assert_eq!(
            answer.as_ref().map(|v| v.to_str().unwrap()),
            echoed,
            "{offered:?}"
        );
    }
    stopper.stop();
    serving.await.unwrap();
}

// req: S-SOCKET
#[tokio::test]
async fn one_message_is_one_message_in_every_revision() {
    let (address, stopper, serving) = serve().await;
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut socket = dial(address, "/mcp").await;
        say(&mut socket, &INITIALIZE.replace("2025-06-18", revision)).await;
        let answer = hear(&mut socket).await.unwrap();
        assert_eq!(answer["result"]["protocolVersion"], revision);
        // Line ends between tokens are space.
        let call = json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call",
            "params": {"name": "echo", "arguments": {"text": "one\ntwo"}}});
        say(
            &mut socket,
            &serde_json::to_string_pretty(&call)
                .unwrap()
                .replace('\n', "\r\n"),
        )
        .await;
        let answer = hear(&mut socket).await.unwrap();
        assert_eq!(
            (&answer["id"], &answer["result"]["text"]),
            (&json!("a"), &json!("one\ntwo"))
        );
        say(&mut socket, "no message").await;
        assert_eq!(hear(&mut socket).await.unwrap()["error"]["code"], -32700);
        say(
            &mut socket,
            "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}",
        )
        .await;
        assert_eq!(hear(&mut socket).await.unwrap()["id"], 3);
        socket.close(None).await.unwrap();
    }
    stopper.stop();
    serving.await.unwrap();
}

// req: S-SOCKET
#[tokio::test]
async fn frames_that_break_the_rules_are_told_by_a_code() {
    let mut limits = Limits::default();
    limits.message_bytes = 1_000;
    let (address, stopper, serving) =
        serve_endpoint(endpoint_with(Puppet::default(), limits)).await;
    // Frames as they are on the wire; the first byte says what it is, 0x80 of the second that it is masked (with zeros here).
    let masked = |first: u8, bytes: &[u8]| {
        let length = u8::try_from(bytes.len()).unwrap();
        [&[first, 0x80 | length, 0, 0, 0, 0], bytes].concat()
    };
    let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
    let opened = |bytes: &[u8]| [&masked(0x81, ping.as_bytes())[..], bytes].concat();
    let rows: &[(&str, Vec<u8>, u16)] = &[
        ("a text that is none", masked(0x81, &[0xff, 0xff]), 1007),
        (
            "a frame that is not masked",
            vec![0x81, 2, b'{', b'}'],
            1002,
        ),
        ("an unknown kind of frame", masked(0x83, b""), 1002),
        ("an unknown kind of control frame", masked(0x8b, b""), 1002),
        (
            "a bit of an extension nobody has offered",
            masked(0xc1, b"{}"),
            1002,
        ),
        ("a ping in pieces", masked(0x09, b""), 1002),
        (
            "a ping that is too long",
            [&[0x89, 0xfe, 0, 200, 0, 0, 0, 0][..], &[0; 200]].concat(),
            1002,
        ),
        ("the rest of nothing", masked(0x80, b"{}"), 1002),
        (
            "a second beginning",
            [masked(0x01, b"{"), masked(0x81, b"}")].concat(),
            1002,
        ),
        ("a close without a whole code", masked(0x88, &[3]), 1002),
        (
            "a close with a code that is none",
            masked(0x88, &999_u16.to_be_bytes()),
            1002,
        ),
        (
            "a length beyond all bounds",
            [&[0x81, 0xff][..], &[0x7f; 8], &[0; 4]].concat(),
            1009,
        ),
        (
            "an answered close",
            masked(0x88, &1000_u16.to_be_bytes()),
            1000,
        ),
    ];
    for (what, frame, want) in rows {
        for frame in [frame.clone(), opened(frame)] {
            let mut socket = dial(address, "/ws").await;
            socket.get_mut().write_all(&frame).await.unwrap();
            let mut heard = hear(&mut socket).await;
            if heard.is_ok() {
                heard = hear(&mut socket).await;
            }
            assert_eq!(heard, Err(*want), "{what}");
        }
    }
    stopper.stop();
    serving.await.unwrap();
}

// req: S-SOCKET
#[tokio::test]
async fn what_closes_a_connection_and_with_which_code() {
    let mut limits = Limits::default();
    limits.message_bytes = 1_000;
    let (address, stopper, serving) =
        serve_endpoint(endpoint_with(Puppet::default(), limits)).await;
    let rows = [
        (Message::binary(&b"{}"[..]), 1003),
        (Message::text("x".repeat(2_000)), 1009),
        (Message::Close(None), 1005),
    ];
    for (message, want) in rows {
        let mut socket = dial(address, "/ws").await;
        let shown = format!("{message:?}");
        socket.send(message).await.unwrap();
        assert_eq!(hear(&mut socket).await, Err(want), "{shown:.60}");
    }
    // The end of the server.
    let mut socket = dial(address, "/ws").await;
    say(&mut socket, INITIALIZE).await;
    hear(&mut socket).await.unwrap();
    stopper.stop();
    assert_eq!(hear(&mut socket).await, Err(1001));
    let ended = timeout(LONG, serving).await.unwrap().unwrap();
    assert_eq!(ended.cut, 0);
}

// req: S-SOCKET
#[tokio::test]
async fn a_client_that_leaves_ends_its_calls_and_a_call_in_flight_is_drained() {
    let puppet = Puppet::default();
    let (seen, told) = (puppet.seen.clone(), puppet.told.clone());
    let (address, stopper, serving) =
        serve_endpoint(endpoint_with(puppet, Limits::default())).await;
    let call = |step: &str| {
        json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": step}})
            .to_string()
    };
    let mut socket = dial(address, "/mcp").await;
    say(&mut socket, INITIALIZE).await;
    hear(&mut socket).await.unwrap();
    say(&mut socket, &call("never")).await;
    say(
        &mut socket,
        "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"ping\"}",
    )
    .await;
    assert_eq!(hear(&mut socket).await.unwrap()["id"], 8);
    drop(socket);
    let ended = async {
        while seen.dropped.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, ended).await.unwrap();
    // One that is answered within the drain is answered.
    let mut socket = dial(address, "/mcp").await;
    say(&mut socket, INITIALIZE).await;
    hear(&mut socket).await.unwrap();
    say(&mut socket, &call("told")).await;
    say(
        &mut socket,
        "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"ping\"}",
    )
    .await;
    assert_eq!(hear(&mut socket).await.unwrap()["id"], 8);
    stopper.stop();
    told.notify_one();
    assert_eq!(hear(&mut socket).await.unwrap()["id"], 7);
    assert_eq!(hear(&mut socket).await, Err(1001));
    timeout(LONG, serving).await.unwrap().unwrap();
}

// req: V-106
#[tokio::test]
async fn v_106_calls_know_who_connected() {
    let puppet = Puppet::default();
    let known = puppet.clone();
    let endpoint = Endpoint::new(
        Service::new(puppet),
        Config {
            authorize: Some(Arc::new(Tokens)),
            ..Config::default()
        },
    );
    let (address, stopper, serving) = serve_endpoint(endpoint).await;
    let stream = TcpStream::connect(address).await.unwrap();
    let mut request = format!("ws://{address}/ws").into_client_request().unwrap();
    request
        .headers_mut()
        .insert("authorization", "ada".parse().unwrap());
    let mut socket = tokio_tungstenite::client_async(request, stream)
        .await
        .unwrap()
        .0;
    say(&mut socket, INITIALIZE).await;
    hear(&mut socket).await.unwrap();
    let call =
        json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "echo"}});
    say(&mut socket, &call.to_string()).await;
    hear(&mut socket).await.unwrap();
    assert_eq!(known.seen.subjects().last(), Some(&Some("ada".to_owned())));
    stopper.stop();
    serving.await.unwrap();
}

// req: S-SOCKET
#[tokio::test]
async fn a_peer_that_says_nothing_is_asked_and_then_left() {
    let mut limits = Limits::default();
    limits.keep_alive = Duration::from_millis(50);
    let (address, stopper, serving) =
        serve_endpoint(endpoint_with(Puppet::default(), limits)).await;
    // One that answers pings stays.
    let mut socket = dial(address, "/ws").await;
    let waited = timeout(Duration::from_millis(400), socket.next()).await;
    assert!(!matches!(waited, Ok(None | Some(Err(_)))), "{waited:?}");
    // One that reads nothing of it is left.
    let mut mute = TcpStream::connect(address).await.unwrap();
    let text = format!("GET /ws HTTP/1.1\r\nHost: localhost\r\n{KEY}\r\n");
    mute.write_all(text.as_bytes()).await.unwrap();
    let mut out = Vec::new();
    let ended = mute.read_to_end(&mut out);
    timeout(LONG, ended).await.unwrap().unwrap();
    assert!(out.starts_with(b"HTTP/1.1 101"));
    stopper.stop();
    serving.await.unwrap();
}
