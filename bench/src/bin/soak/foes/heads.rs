//! Heads that no ordinary client sends: somebody else's hosts, wrong methods and types, too much, and no HTTP at all.

use std::io;

use super::Foe;
use polyport_bench::wire::{head, request};
use polyport_bench::words::INITIALIZE;

type Header = (&'static str, &'static str);

const HOST: Header = ("Host", "localhost");
const TYPE: Header = ("Content-Type", "application/json");
const ACCEPT: Header = ("Accept", "application/json, text/event-stream");

/// Method, target, headers, and the only right status.
const WRONG: &[(&str, &str, &[Header], u16)] = &[
    ("POST", "/mcp", &[("Host", "evil.test"), TYPE, ACCEPT], 403),
    (
        "POST",
        "/mcp",
        &[("Host", "localhost.evil.test"), TYPE, ACCEPT],
        403,
    ),
    (
        "POST",
        "/mcp",
        &[("Host", "user@localhost"), TYPE, ACCEPT],
        403,
    ),
    (
        "POST",
        "/mcp",
        &[HOST, ("Host", "evil.test"), TYPE, ACCEPT],
        403,
    ),
    ("POST", "/mcp", &[TYPE, ACCEPT], 403),
    (
        "POST",
        "/mcp",
        &[HOST, ("Origin", "http://evil.test"), TYPE, ACCEPT],
        403,
    ),
    (
        "POST",
        "/mcp",
        &[HOST, ("Origin", "null"), TYPE, ACCEPT],
        403,
    ),
    ("POST", "http://evil.test/mcp", &[HOST, TYPE, ACCEPT], 403),
    ("GET", "/mcp", &[("Host", "evil.test"), ACCEPT], 403),
    ("DELETE", "/mcp", &[("Host", "evil.test")], 403),
    ("PUT", "/mcp", &[HOST, TYPE, ACCEPT], 405),
    ("PATCH", "/mcp", &[HOST, TYPE, ACCEPT], 405),
    ("OPTIONS", "/mcp", &[HOST], 405),
    ("TRACE", "/mcp", &[HOST], 405),
    ("GET", "/mcp", &[HOST, ACCEPT], 405),
    ("DELETE", "/mcp", &[HOST], 405),
    ("POST", "/", &[HOST, TYPE, ACCEPT], 404),
    ("POST", "/mcp/../mcp", &[HOST, TYPE, ACCEPT], 404),
    ("POST", "/mcp%2f", &[HOST, TYPE, ACCEPT], 404),
    (
        "POST",
        "/mcp",
        &[HOST, ("Content-Type", "text/plain"), ACCEPT],
        415,
    ),
    (
        "POST",
        "/mcp",
        &[
            HOST,
            ("Content-Type", "application/x-www-form-urlencoded"),
            ACCEPT,
        ],
        415,
    ),
    ("POST", "/mcp", &[HOST, ACCEPT], 415),
    ("POST", "/mcp", &[HOST, TYPE, ("Accept", "text/html")], 406),
    (
        "POST",
        "/mcp",
        &[HOST, TYPE, ACCEPT, ("MCP-Protocol-Version", "1999-01-01")],
        400,
    ),
];

pub(super) async fn wrong_head(foe: &mut Foe) -> io::Result<()> {
    let mut wire = foe.connect().await?;
    let (method, target, headers, expect) = *foe.rng.pick(WRONG);
    let answer = foe
        .ask(&mut wire, &request(method, target, headers, INITIALIZE))
        .await?;
    if answer.status != expect {
        foe.fault(&format!(
            "{method} {target} {headers:?}: {} instead of {expect}",
            answer.status
        ));
    }
    Ok(())
}

pub(super) async fn huge_head(foe: &mut Foe) -> io::Result<()> {
    let mut wire = foe.connect().await?;
    // Beyond what a server takes (`Limits::head_bytes` is 64 KiB), by a little or by far.
    let long = "x".repeat(foe.rng.within(64 << 10, 1 << 20));
    let plain = [HOST, TYPE, ACCEPT];
    let text = match foe.rng.within(0, 4) {
        0 => request(
            "POST",
            "/mcp",
            &[plain.as_slice(), &[("X-Long", &long)]].concat(),
            INITIALIZE,
        ),
        1 => request("POST", &format!("/{long}"), &plain, INITIALIZE),
        2 => request("POST", "/mcp", &vec![("X-Many", "y"); 2_000], INITIALIZE),
        // No end at all.
        _ => format!("POST /mcp HTTP/1.1\r\nX: {long}").into_bytes(),
    };
    let answer = foe.ask(&mut wire, &text).await?;
    if answer.status < 400 {
        foe.fault(&format!("a head of {} bytes is taken", text.len()));
    }
    Ok(())
}

/// No HTTP, or such as two readers understand in two ways. The second message must never be seen as a request.
const BROKEN: &[&str] = &[
    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /mcp HTTP/1.1\r\nHost: evil.test\r\n\r\n",
    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}   \r\n",
    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: -1\r\n\r\n{}",
    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99999999999999999999999\r\n\r\n{}",
    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: +2\r\n\r\n{}",
    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\n{}\r\nzz\r\n",
    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: gzip, chunked, identity\r\n\r\n0\r\n\r\n",
    "POST /mcp HTTP/1.1\r\nHost : localhost\r\n\r\n",
    "POST /mcp HTTP/1.1\r\nHost: local\0host\r\n\r\n",
    "POST /mcp HTTP/1.1\r\n Host: localhost\r\n\r\n",
    "POST /mcp HTTP/1.1\nHost: localhost\nContent-Length: 2\n\n{}",
    "POST /mcp\r\n\r\n",
    "POST /mcp HTTP/9.9\r\nHost: localhost\r\n\r\n",
    "POST /mcp HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}",
    "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n",
    "GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
    "GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u{4}\0\0\0\0\0\0\0\u{1}\u{7f}\u{7f}\u{7f}\u{7f}\0\0\0\0\0",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nGET / HTTP/1.1\r\n\r\n",
    "\u{16}\u{3}\u{1}\0\u{5}\u{1}\0\0\u{1}\0",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}\n",
    "\r\n\r\n\r\n\r\n\r\n",
    "\0\0\0\0",
];

pub(super) async fn broken(foe: &mut Foe) -> io::Result<()> {
    let mut wire = foe.connect().await?;
    let text = if foe.rng.percent(30) {
        let length = foe.rng.within(1, 4_000);
        foe.rng.bytes(length)
    } else if foe.rng.percent(20) {
        // A good head with one byte changed.
        let mut text = head(
            "POST",
            "/mcp",
            &[HOST, TYPE, ACCEPT, ("Content-Length", "2")],
        )
        .into_bytes();
        let at = foe.rng.within(0, text.len());
        text[at] = foe.rng.bytes(1)[0];
        text.extend_from_slice(b"{}");
        text
    } else {
        foe.rng.pick(BROKEN).as_bytes().to_vec()
    };
    wire.send(&text).await?;
    // Some of these only make the server wait for more, so this waits a little and leaves.
    let pause = foe.rng.millis(10, 300);
    let first = tokio::time::timeout(pause, wire.answer()).await;
    if let Ok(Ok(answer)) = first {
        foe.record.seen(foe.act, answer.status.to_string());
        if answer.status < 300 {
            foe.fault(&format!(
                "{} for {:?}",
                answer.status,
                String::from_utf8_lossy(&text)
            ));
        }
        // What is left over may be refused as no HTTP, but must not be taken for a request.
        let second = tokio::time::timeout(pause, wire.answer()).await;
        if let Ok(Ok(second)) = second
            && second.status != 400
        {
            foe.fault(&format!(
                "a second answer, {}, for {:?}",
                second.status,
                String::from_utf8_lossy(&text)
            ));
        }
    }
    foe.leave(wire);
    Ok(())
}
