//! The asking side of a WebSocket: servers that answer, that break the rules, and that read slowly.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use polyport_http::client::{Target, open};
use polyport_proto::{Era, Revisions};
use polyport_rt::{CallError, Caller, Patience, Wait};
use polyport_testkit::Web;
use polyport_testkit::web::{Reply, Then};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::faults::{end, kind};
use super::{LONG, facts, patience};

type Socket = WebSocketStream<TcpStream>;

/// Connects to a server that answers the handshake of the protocol, and then does as it is told.
async fn connected<F, Fut>(does: F) -> Caller
where
    F: FnOnce(Socket) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
        let asked = hear(&mut socket).await;
        let result = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "serverInfo": {"name": "s", "version": "1"}});
        say(&mut socket, &asked, &result).await;
        // That it is initialized.
        hear(&mut socket).await;
        does(socket).await;
    });
    let target = Target::new(&format!("ws://{address}/mcp")).unwrap();
    let legacy = Revisions::of(Era::Legacy);
    let opened = open(target, facts(), legacy, patience()).await;
    opened.unwrap().0
}

async fn hear(socket: &mut Socket) -> Value {
    loop {
        match socket.next().await.unwrap().unwrap() {
            Message::Text(text) => return serde_json::from_str(&text).unwrap(),
            Message::Ping(_) | Message::Pong(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

async fn say(socket: &mut Socket, asked: &Value, result: &Value) {
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result});
    socket
        .send(Message::text(answer.to_string()))
        .await
        .unwrap();
}

// req: S-SOCKET
#[tokio::test]
async fn a_server_that_breaks_the_rules_is_named_as_such() {
    for (message, code) in [
        (Message::binary(&b"{}"[..]), Some(1003)),
        // Of this one not all is taken, and so the end of it is none that could be heard.
        (Message::text("x".repeat((64 << 20) + 1)), None),
    ] {
        let (told, tells) = tokio::sync::oneshot::channel();
        let caller = connected(|mut socket| async move {
            hear(&mut socket).await;
            // It may be closed on us.
            let _ = socket.send(message).await;
            while let Some(Ok(heard)) = socket.next().await {
                if let Message::Close(frame) = heard {
                    let _ = told.send(frame.map(|frame| u16::from(frame.code)));
                    return;
                }
            }
        })
        .await;
        let answer = timeout(LONG, caller.request("tools/list", "{}"))
            .await
            .unwrap();
        assert!(
            matches!(answer, Err(CallError::Unreadable(_))),
            "{answer:?}"
        );
        if code.is_some() {
            // It is told what it has done.
            assert_eq!(timeout(LONG, tells).await.unwrap().unwrap(), code);
        }
    }
}

// req: S-GONE
#[tokio::test]
async fn a_server_that_closes_is_gone() {
    let caller = connected(|mut socket| async move {
        hear(&mut socket).await;
        socket.close(None).await.unwrap();
    })
    .await;
    let answer = timeout(LONG, caller.request("tools/list", "{}"))
        .await
        .unwrap();
    assert!(matches!(answer, Err(CallError::Closed)), "{answer:?}");
}

/// One that says why is quoted.
// req: S-GONE
#[tokio::test]
async fn a_server_that_closes_with_words_is_quoted() {
    for (code, reason, want) in [
        (
            CloseCode::Error,
            "overloaded",
            "with code 1011 (overloaded)",
        ),
        (CloseCode::Away, "", "with code 1001"),
        (
            CloseCode::Library(4001),
            "token expired",
            "with code 4001 (token expired)",
        ),
        (CloseCode::Protocol, "unmasked", "with code 1002 (unmasked)"),
        // What of these the peer has said is not known.
        (
            CloseCode::Protocol,
            "Protocol violation",
            "with code 1002 (Protocol violation), or with one that may not be sent",
        ),
        (
            CloseCode::Abnormal,
            "gone",
            "with code 1002 (Protocol violation), or with one that may not be sent",
        ),
        (
            CloseCode::Bad(999),
            "",
            "with code 1002 (Protocol violation), or with one that may not be sent",
        ),
    ] {
        let caller = connected(move |mut socket| async move {
            hear(&mut socket).await;
            let reason = reason.into();
            let frame = CloseFrame { code, reason };
            socket.close(Some(frame)).await.unwrap();
        })
        .await;
        let answer = timeout(LONG, caller.request("tools/list", "{}"));
        match answer.await.unwrap() {
            Err(CallError::Broken(why)) => {
                assert_eq!(why, format!("the peer closed the WebSocket {want}"));
            }
            other => panic!("{other:?}"),
        }
    }
}

// req: S-SOCKET
#[tokio::test]
async fn much_is_sent_while_much_comes() {
    let caller = connected(|mut socket| async move {
        // It speaks before it reads, so that its reader is woken while ours waits to write.
        let note = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}});
        for _ in 0..200 {
            socket.send(Message::text(note.to_string())).await.unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        for _ in 0..8 {
            let asked = hear(&mut socket).await;
            say(&mut socket, &asked, &json!({})).await;
        }
        while let Some(Ok(_)) = socket.next().await {}
    })
    .await;
    let params = json!({"text": "x".repeat(8 << 20)}).to_string();
    for _ in 0..8 {
        let answer = timeout(LONG, caller.request("tools/call", &params)).await;
        answer.unwrap().unwrap();
    }
    assert_eq!(caller.notifications().len(), 200);
    timeout(LONG, caller.close()).await.unwrap();
}

// req: S-SOCKET, S-GONE
#[tokio::test]
async fn a_handshake_that_is_none_is_a_typed_error() {
    let switching =
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n";
    let endless = format!("HTTP/1.1 101 Go\r\n{}", "x: y\r\n".repeat(100_000));
    let raw = |text: &str, then| Reply::raw(text, then);
    for (want, reply) in [
        ("unreadable", Reply::of("200 OK", "text/html", "", "<html>")),
        ("status 401", Reply::empty("401 Who")),
        ("status 404", Reply::empty("404 Not Found")),
        ("status 426", Reply::empty("426 Upgrade Required")),
        ("status 502", Reply::empty("502 Bad Gateway")),
        (
            "unreadable",
            raw(&format!("{switching}\r\n"), Then::Silence),
        ),
        (
            "unreadable",
            raw(
                &format!("{switching}Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"),
                Then::Silence,
            ),
        ),
        ("broken", raw("SSH-2.0-x\r\n\r\n", Then::End)),
        ("broken", raw("", Then::End)),
        ("broken", raw("", Then::Reset)),
        ("broken", raw("HTTP/1.1 101 G", Then::Deaf)),
        ("broken", raw(&endless, Then::Silence)),
        ("timed out", raw("", Then::Silence)),
        ("timed out", raw("HTTP/1.1 101 Go\r\n", Then::Silence)),
    ] {
        let shown = format!(
            "{want} {}",
            format!("{reply:?}").chars().take(200).collect::<String>()
        );
        let web = Web::serve(move |_| reply.clone()).await;
        let target = Target::new(&web.url("/mcp").replace("http", "ws")).unwrap();
        let opening = open(target, facts(), Revisions::ALL, soon());
        let error = timeout(LONG, opening).await.unwrap().expect_err(&shown);
        assert_eq!(kind(&error), want, "{shown}: {error}");
    }
}

/// What a server agrees to that was not offered is not what both speak: no connection comes of it.
// req: S-SOCKET-OFFER
#[tokio::test]
async fn a_handshake_agrees_to_what_was_offered_and_to_no_more() {
    const SWITCHED: &str = "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n";
    let (extension, protocol, other) = (
        "an extension that was not offered: ",
        "a sub-protocol that was not offered: ",
        "not an answer to ours",
    );
    for (head, want) in [
        (format!("{SWITCHED}Sec-WebSocket-Protocol: mcp\r\n"), None),
        // D-20.
        (SWITCHED.to_owned(), None),
        (
            format!("{SWITCHED}Sec-WebSocket-Extensions:\r\nSec-WebSocket-Protocol:\r\n"),
            None,
        ),
        (
            format!("{SWITCHED}Sec-WebSocket-Extensions: permessage-deflate\r\n"),
            Some(format!("{extension}permessage-deflate")),
        ),
        (
            format!(
                "{SWITCHED}Sec-WebSocket-Extensions: x-a; b=1\r\nSec-WebSocket-Extensions: x-c\r\n"
            ),
            Some(format!("{extension}x-a; b=1, x-c")),
        ),
        (
            format!("{SWITCHED}Sec-WebSocket-Protocol: graphql-ws\r\n"),
            Some(format!("{protocol}graphql-ws")),
        ),
        (
            format!("{SWITCHED}Sec-WebSocket-Protocol: mcp, chat\r\n"),
            Some(format!("{protocol}mcp, chat")),
        ),
        (
            format!("{SWITCHED}Sec-WebSocket-Protocol: mcp\r\nSec-WebSocket-Protocol: chat\r\n"),
            Some(format!("{protocol}mcp, chat")),
        ),
        (
            "Connection: Upgrade\r\nUpgrade: h2c\r\n".to_owned(),
            Some(other.to_owned()),
        ),
        ("Upgrade: websocket\r\n".to_owned(), Some(other.to_owned())),
    ] {
        let shown = head.clone();
        let web = Web::serve(move |asked| {
            let key = asked.header("sec-websocket-key").unwrap();
            let accept = derive_accept_key(key.as_bytes());
            let text = format!(
                "HTTP/1.1 101 Switching Protocols\r\n{head}Sec-WebSocket-Accept: {accept}\r\n\r\n"
            );
            Reply::raw(text, Then::Silence)
        })
        .await;
        let target = Target::new(&web.url("/mcp").replace("http", "ws")).unwrap();
        let opening = open(target, facts(), Revisions::ALL, soon());
        let error = timeout(LONG, opening).await.unwrap().expect_err(&shown);
        match want {
            // Nobody answers what it is asked then.
            None => assert_eq!(kind(&error), "timed out", "{shown}: {error}"),
            Some(want) => {
                assert_eq!(kind(&error), "unreadable", "{shown}: {error}");
                assert!(error.to_string().ends_with(&want), "{shown}: {error}");
            }
        }
    }
}

/// Little patience.
fn soon() -> Patience {
    let soon = Duration::from_millis(300);
    Patience {
        probe: soon,
        handshake: soon,
        request: soon,
    }
}

// req: S-SOCKET, S-GONE
#[tokio::test]
async fn whatever_comes_instead_of_an_answer_is_a_typed_error() {
    // Frames as RFC 6455, 5.2 has them, and what follows.
    let text = |text: &str| [&[0x81, u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    let answer = r#"{"jsonrpc":"2.0","id":2,"result":{}}"#;
    for (want, bytes, then) in [
        ("timed out", Vec::new(), Then::Silence),
        ("timed out", text("no JSON"), Then::Silence),
        (
            "timed out",
            text(r#"{"jsonrpc":"2.0","id":9,"result":{}}"#),
            Then::Silence,
        ),
        ("timed out", text(answer)[..9].to_vec(), Then::Silence),
        ("timed out", [0x89, 0].repeat(1_000), Then::Silence),
        ("closed", Vec::new(), Then::End),
        ("closed", Vec::new(), Then::Reset),
        ("closed", Vec::new(), Then::Deaf),
        ("closed", text(answer)[..9].to_vec(), Then::End),
        ("broken", vec![0x88, 2, 0x03, 0xf3], Then::Silence),
        ("closed", vec![0x88, 0], Then::End),
        // A reserved bit, an unknown kind, a mask of a server, a part of nothing, a long ping, no UTF-8, a promise of too much.
        ("unreadable", vec![0xf1, 2, b'{', b'}'], Then::Silence),
        ("unreadable", vec![0x83, 2, b'{', b'}'], Then::Silence),
        (
            "unreadable",
            vec![0x81, 0x82, 0, 0, 0, 0, b'{', b'}'],
            Then::Silence,
        ),
        ("unreadable", vec![0x80, 2, b'{', b'}'], Then::Silence),
        (
            "unreadable",
            [&[0x89, 126, 1, 0][..], &[0; 256]].concat(),
            Then::Silence,
        ),
        ("unreadable", vec![0x81, 2, 0xff, 0xfe], Then::Silence),
        (
            "unreadable",
            vec![0x81, 127, 0, 0, 0, 1, 0, 0, 0, 0],
            Then::Silence,
        ),
        ("no failure", text(answer), Then::Silence),
    ] {
        let shown = format!("{want} {bytes:x?} {then:?}");
        let caller = connected(move |mut socket| async move {
            hear(&mut socket).await;
            let mut stream = socket.into_inner();
            stream.write_all(&bytes).await.unwrap();
            match then {
                Then::End => {}
                Then::Reset => stream.set_zero_linger().unwrap(),
                _ => {
                    if then == Then::Deaf {
                        stream.shutdown().await.unwrap();
                    }
                    let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
                }
            }
        })
        .await;
        let wait = Wait {
            total: Some(Duration::from_millis(300)),
            ..Wait::default()
        };
        let asked = caller.request_waiting("tools/list", "{}", &wait);
        let got = timeout(LONG, asked).await.unwrap();
        assert_eq!(end(got), want, "{shown}");
        timeout(LONG, caller.close()).await.unwrap();
    }
}
