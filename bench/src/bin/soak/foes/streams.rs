//! Answers and streams that nobody reads, calls that nobody wants any more, questions without waiting.

use std::io;
use std::time::Duration;

use super::Foe;
use super::sessions::{initialized, open};
use polyport_bench::wire::{Wire, head, post};
use polyport_bench::words::{INITIALIZE, call, call_with_progress, modern_call, modern_headers};

/// Opens a stream for what belongs to no call.
async fn listen(foe: &mut Foe, session: &str) -> io::Result<Wire> {
    let mut wire = foe.connect().await?;
    let headers = [
        ("Host", "localhost"),
        ("Accept", "text/event-stream"),
        ("Mcp-Session-Id", session),
    ];
    wire.send(head("GET", "/mcp", &headers).as_bytes()).await?;
    Ok(wire)
}

async fn session(foe: &mut Foe) -> io::Result<(Wire, Option<String>)> {
    let mut wire = foe.connect().await?;
    let session = open(foe, &mut wire, INITIALIZE).await?;
    if let Some(session) = &session {
        initialized(foe, &mut wire, session).await?;
    }
    Ok((wire, session))
}

/// A stream that is held open and never read.
pub(super) async fn unread(foe: &mut Foe) -> io::Result<()> {
    let (wire, Some(session)) = session(foe).await? else {
        return Ok(());
    };
    let stream = listen(foe, &session).await?;
    let pause = foe.rng.millis(1_000, 20_000);
    tokio::time::sleep(pause).await;
    foe.leave(stream);
    foe.leave(wire);
    Ok(())
}

/// One stream more than a session may hold (`Limits::streams_per_session` is 4).
pub(super) async fn too_many(foe: &mut Foe) -> io::Result<()> {
    let (_wire, Some(session)) = session(foe).await? else {
        return Ok(());
    };
    let mut streams = Vec::new();
    for _ in 0..4 {
        let mut stream = listen(foe, &session).await?;
        stream.some().await?;
        streams.push(stream);
    }
    let mut fifth = listen(foe, &session).await?;
    let answer = foe.ask(&mut fifth, b"").await?;
    if answer.status != 409 {
        foe.fault(&format!("the fifth stream is answered {}", answer.status));
    }
    Ok(())
}

/// A long answer, of which not a byte is read.
pub(super) async fn unread_answer(foe: &mut Foe) -> io::Result<()> {
    let mut wire = foe.connect().await?;
    let length = foe.rng.within(1 << 20, 8 << 20);
    let (tool, arguments) = if foe.place.rich {
        ("big", format!("{{\"bytes\":{length}}}"))
    } else {
        (
            "echo",
            format!("{{\"text\":\"{}\"}}", foe.text().repeat(length / 40)),
        )
    };
    wire.send(&post(
        &modern_headers(tool),
        modern_call("1", tool, &arguments, ""),
    ))
    .await?;
    let pause = foe.rng.millis(1_000, 15_000);
    tokio::time::sleep(pause).await;
    foe.leave(wire);
    Ok(())
}

/// Many questions in one breath; the answers are read all, in part, or not at all.
pub(super) async fn pipelined(foe: &mut Foe) -> io::Result<()> {
    let mut wire = foe.connect().await?;
    let text = foe.text();
    let arguments = format!("{{\"text\":\"{text}\"}}");
    let many = foe.rng.within(2, 300);
    let mut all = Vec::new();
    for n in 0..many {
        let message = modern_call(&n.to_string(), "echo", &arguments, "");
        all.extend(post(&modern_headers("echo"), message));
    }
    // The server may stop reading while nobody reads its answers.
    let sent = tokio::time::timeout(Duration::from_secs(2), wire.send(&all)).await;
    let read = *foe.rng.pick(&[0, many / 2, many]);
    for n in 0..if matches!(sent, Ok(Ok(()))) { read } else { 0 } {
        let answer = foe.ask(&mut wire, b"").await?;
        if !String::from_utf8_lossy(&answer.body).contains(&format!("\"id\":{n},")) {
            foe.fault(&format!("answer {n} is another one"));
        }
    }
    foe.leave(wire);
    Ok(())
}

/// A call of a session that is cancelled from another connection, sooner or later than it ends.
pub(super) async fn cancelled(foe: &mut Foe) -> io::Result<()> {
    let (mut wire, Some(session)) = session(foe).await? else {
        return Ok(());
    };
    let headers = [("Mcp-Session-Id", session.as_str())];
    let message = if foe.place.rich {
        let tool = *foe.rng.pick(&["wait", "count"]);
        let arguments = if tool == "wait" {
            "{\"seconds\":3}"
        } else {
            "{\"to\":30,\"delay_ms\":50}"
        };
        call_with_progress("5", tool, arguments, "5")
    } else {
        call("5", "echo", "{\"text\":\"theirs-cancelled\"}")
    };
    wire.send(&post(&headers, message)).await?;
    let pause = foe.rng.millis(0, 500);
    tokio::time::sleep(pause).await;
    let mut other = foe.connect().await?;
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5,"reason":"theirs-changed my mind"}}"#;
    foe.ask(&mut other, &post(&headers, cancel)).await?;
    // What became of the call has to come to an end.
    foe.ask(&mut wire, b"").await?;
    Ok(())
}

/// A modern call whose client leaves while it runs, which cancels it.
pub(super) async fn left(foe: &mut Foe) -> io::Result<()> {
    let mut wire = foe.connect().await?;
    let (tool, arguments) = if foe.place.rich {
        ("count", "{\"to\":1000,\"delay_ms\":20}")
    } else {
        ("echo", "{\"text\":\"theirs-left\"}")
    };
    let token = ",\"progressToken\":1";
    wire.send(&post(
        &modern_headers(tool),
        modern_call("1", tool, arguments, token),
    ))
    .await?;
    for _ in 0..foe.rng.within(0, 4) {
        wire.some().await?;
    }
    foe.leave(wire);
    Ok(())
}
