//! Bodies that no ordinary client sends: no JSON, no JSON-RPC, too deep, too many, too long.

use std::io;
use std::time::Duration;

use super::Foe;
use polyport_bench::wire::{head, post};
use polyport_bench::words::{META, modern_call, modern_headers};

/// Texts that are refused, or at least not understood.
const TEXTS: &[&[u8]] = &[
    b"",
    b" ",
    b"{",
    b"}",
    b"null",
    b"true",
    b"7",
    b"\"text\"",
    b"[]",
    b"[[]]",
    b"[1,2,3]",
    b"{}",
    b"{}{}",
    b"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
    b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
    b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
    b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}",
    b"{\"jsonrpc\":\"2.0\",\"id\":1e999,\"method\":\"ping\"}",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\\ud800\"}",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"method\":\"pong\"}",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[1]}",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{\"code\":1,\"message\":\"\"}}",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
    b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"\xff\xfe\"}}",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"\xed\xa0\x80\"}}",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"a\x00b\"}}",
    b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
    b"\xff\xfe{\x00}\x00",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} junk",
    b"{'jsonrpc':'2.0'}",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",}",
    b"{\"jsonrpc\":\"2.0\",\"id\":NaN,\"method\":\"ping\"}",
    b"{\"jsonrpc\":\"2.0\",\"id\":01,\"method\":\"ping\"}",
];

/// Any text out of the table, or one that is made: deep, long, wide, doubled. Never one that is answered with a result.
pub(crate) fn bad(rng: &mut polyport_bench::rng::Rng) -> Vec<u8> {
    let call = |arguments: &str| {
        let call = modern_call("1", "echo", arguments, "");
        call.into_bytes()
    };
    match rng.within(0, 12) {
        0 => {
            let deep = *rng.pick(&[129, 1_000, 100_000]);
            call(&("[".repeat(deep) + &"]".repeat(deep)))
        }
        1 => "{\"a\":".repeat(rng.within(200, 200_000)).into_bytes(),
        2 => call(&format!("[{}0]", "0,".repeat(100_000))),
        3 => {
            let members: Vec<String> = (0..100_001).map(|n| format!("\"k{n}\":0")).collect();
            call(&format!("{{{}}}", members.join(",")))
        }
        4 => {
            let members: Vec<String> = (0..5_000).map(|n| format!("\"k{n}\":0")).collect();
            call(&format!("{{{},\"k77\":1}}", members.join(",")))
        }
        5 => format!(
            "[{}]",
            vec!["{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"; 101].join(",")
        )
        .into_bytes(),
        6 => call(&format!(
            "{{\"text\":{}}}",
            "9".repeat(rng.within(100, 100_000))
        )),
        7 => {
            // A good call with one byte changed to one that JSON never has outside of a text.
            let mut text = call("{\"text\":\"theirs-x\"}");
            let at = rng.within(0, text.len());
            text[at] = *rng.pick(&[0x00, 0x1f, 0x80, 0xc0, 0xff]);
            text
        }
        _ => rng.pick(TEXTS).to_vec(),
    }
}

pub(super) async fn bad_json(foe: &mut Foe) -> io::Result<()> {
    let mut wire = foe.connect().await?;
    for _ in 0..foe.rng.within(1, 5) {
        let body = bad(&mut foe.rng);
        let headers = modern_headers("echo");
        let headers = if foe.rng.percent(50) {
            &headers[..]
        } else {
            &[]
        };
        let answer = foe.ask(&mut wire, &post(headers, &body)).await?;
        if answer.status == 200
            && !answer
                .body
                .windows(7)
                .any(|w| w == b"isError" || w == b"\"error\"")
        {
            let shown = String::from_utf8_lossy(&body[..body.len().min(300)]).into_owned();
            foe.fault(&format!("answered 200: {shown}"));
        }
        if answer.closes {
            break;
        }
    }
    Ok(())
}

/// A head that promises far too much, then as much of it as the server takes.
pub(super) async fn huge(foe: &mut Foe) -> io::Result<()> {
    let mut wire = foe.connect().await?;
    let expects = foe.rng.percent(50);
    let mut headers = vec![
        ("Host", "localhost"),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("Content-Length", "1073741824"),
    ];
    if expects {
        headers.push(("Expect", "100-continue"));
    }
    let answer = foe
        .ask(&mut wire, head("POST", "/mcp", &headers).as_bytes())
        .await?;
    if answer.status != 413 {
        foe.fault(&format!("{} for a gigabyte", answer.status));
    }
    Ok(())
}

/// Chunks without an end; the server has to say stop at 16 MiB.
pub(super) async fn endless(foe: &mut Foe) -> io::Result<()> {
    const CHUNK: usize = 1 << 18;
    let mut wire = foe.connect().await?;
    let headers = [
        ("Host", "localhost"),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("Transfer-Encoding", "chunked"),
    ];
    wire.send(head("POST", "/mcp", &headers).as_bytes()).await?;
    let chunk = format!("{CHUNK:x}\r\n{}\r\n", " ".repeat(CHUNK));
    for n in 0..200 {
        if wire.send(chunk.as_bytes()).await.is_err() {
            break;
        }
        if n == 199 {
            foe.fault("50 MB were taken");
        }
    }
    if let Ok(Ok(answer)) = tokio::time::timeout(Duration::from_secs(5), wire.answer()).await {
        foe.record.seen(foe.act, answer.status.to_string());
    } else {
        foe.record.seen(foe.act, "cut off");
    }
    Ok(())
}

/// As long as may be, and answered.
pub(super) async fn large_echo(foe: &mut Foe) -> io::Result<()> {
    let mut wire = foe.connect().await?;
    let length = foe.rng.within(1 << 20, 15 << 20);
    let text = foe.text().repeat(length / 40);
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"{text}"}},"_meta":{{{META}}}}}}}"#
    );
    let answer = foe
        .ask(&mut wire, &post(&modern_headers("echo"), body))
        .await?;
    if answer.status != 200 {
        foe.fault(&format!("{} for {length} bytes", answer.status));
    }
    Ok(())
}

/// A promise of as much as may be, of which a little comes. It must not take room from those who send.
pub(super) async fn promised(foe: &mut Foe) -> io::Result<()> {
    let mut wire = foe.connect().await?;
    let headers = [
        ("Host", "localhost"),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("Content-Length", "16777216"),
    ];
    wire.send(head("POST", "/mcp", &headers).as_bytes()).await?;
    for _ in 0..foe.rng.within(2, 20) {
        wire.send(b"{\"text\":\"theirs-promise").await?;
        let pause = foe.rng.millis(10, 1_000);
        tokio::time::sleep(pause).await;
    }
    foe.leave(wire);
    Ok(())
}
