//! The asking side of a WebSocket: servers that answer, that break the rules, and that read slowly.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use polyport_http::client::{Target, open};
use polyport_proto::{Era, Revisions};
use polyport_rt::{CallError, Caller};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

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
