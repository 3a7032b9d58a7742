//! Requests that do not end, or whose client does not wait for the answer.

use std::io;
use std::time::Duration;

use super::Foe;
use polyport_bench::wire::{Wire, head, post};
use polyport_bench::words::{INITIALIZE, modern_call, modern_headers};

const PLAIN: [(&str, &str); 3] = [
    ("Host", "localhost"),
    ("Content-Type", "application/json"),
    ("Accept", "application/json, text/event-stream"),
];

/// Part of a head, then nothing.
pub(super) async fn half_head(foe: &mut Foe) -> io::Result<()> {
    let mut wire = foe.connect().await?;
    let text = post(&[], INITIALIZE);
    let end = foe.rng.within(1, 120);
    wire.send(&text[..end]).await?;
    let pause = foe.rng.millis(0, 2_000);
    tokio::time::sleep(pause).await;
    foe.leave(wire);
    Ok(())
}

/// A head that promises more than comes.
pub(super) async fn half_body(foe: &mut Foe) -> io::Result<()> {
    let mut wire = foe.connect().await?;
    let promised = foe.rng.within(200, 200_000).to_string();
    let headers = [PLAIN.as_slice(), &[("Content-Length", &promised)]].concat();
    wire.send(head("POST", "/mcp", &headers).as_bytes()).await?;
    let end = foe.rng.within(0, INITIALIZE.len());
    wire.send(&INITIALIZE.as_bytes()[..end]).await?;
    let pause = foe.rng.millis(0, 2_000);
    tokio::time::sleep(pause).await;
    foe.leave(wire);
    Ok(())
}

/// One byte now and then, for at most 15 seconds.
async fn drip(foe: &mut Foe, wire: &mut Wire, text: &[u8]) -> io::Result<()> {
    let until = tokio::time::Instant::now() + Duration::from_secs(15);
    for byte in text.chunks(1) {
        wire.send(byte).await?;
        let pause = foe.rng.millis(20, 200);
        tokio::time::sleep(pause).await;
        if tokio::time::Instant::now() > until {
            break;
        }
    }
    Ok(())
}

pub(super) async fn dripped_head(foe: &mut Foe) -> io::Result<()> {
    let mut wire = foe.connect().await?;
    drip(foe, &mut wire, &post(&[], INITIALIZE)).await?;
    foe.leave(wire);
    Ok(())
}

pub(super) async fn dripped_body(foe: &mut Foe) -> io::Result<()> {
    let mut wire = foe.connect().await?;
    let headers = [PLAIN.as_slice(), &[("Content-Length", "5000")]].concat();
    wire.send(head("POST", "/mcp", &headers).as_bytes()).await?;
    drip(foe, &mut wire, INITIALIZE.as_bytes()).await?;
    foe.leave(wire);
    Ok(())
}

/// A good call, cut anywhere, or whole but with no interest in the answer.
pub(super) async fn vanish(foe: &mut Foe) -> io::Result<()> {
    let mut wire = foe.connect().await?;
    let text = foe.text().repeat(foe.rng.within(1, 200));
    let arguments = format!("{{\"text\":\"{text}\"}}");
    let request = post(
        &modern_headers("echo"),
        modern_call("1", "echo", &arguments, ""),
    );
    let end = if foe.rng.percent(50) {
        request.len()
    } else {
        foe.rng.within(1, request.len())
    };
    wire.send(&request[..end]).await?;
    if foe.rng.percent(30) && end == request.len() {
        wire.some().await?;
    }
    foe.leave(wire);
    Ok(())
}

/// Many connections at once on which nothing is said.
pub(super) async fn storm(foe: &mut Foe) -> io::Result<()> {
    let mut wires = Vec::new();
    for _ in 0..foe.rng.within(20, 80) {
        wires.push(foe.connect().await?);
    }
    wires.into_iter().for_each(|wire| foe.leave(wire));
    Ok(())
}

/// A connection on which nothing is ever said.
pub(super) async fn silence(foe: &mut Foe) -> io::Result<()> {
    let mut wire = foe.connect().await?;
    foe.wait_for_end(&mut wire).await
}

pub(super) async fn silence_in_head(foe: &mut Foe) -> io::Result<()> {
    let mut wire = foe.connect().await?;
    let end = foe.rng.within(1, 120);
    wire.send(&post(&[], INITIALIZE)[..end]).await?;
    foe.wait_for_end(&mut wire).await
}

pub(super) async fn silence_in_body(foe: &mut Foe) -> io::Result<()> {
    let mut wire = foe.connect().await?;
    let headers = [PLAIN.as_slice(), &[("Content-Length", "5000")]].concat();
    wire.send(head("POST", "/mcp", &headers).as_bytes()).await?;
    wire.send(INITIALIZE.as_bytes()).await?;
    foe.wait_for_end(&mut wire).await
}
