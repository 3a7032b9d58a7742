//! Sessions that are opened and forgotten, guessed, overfilled.

use std::io;

use super::Foe;
use polyport_bench::wire::{Wire, post, request};
use polyport_bench::words::{INITIALIZE, INITIALIZE_BATCHES, INITIALIZED, call};

/// Sessions that one flood opens: more than a server keeps (`Limits::sessions` is 10,000).
const FLOOD: usize = 12_000;

/// Opens a session; none: all are taken.
pub(super) async fn open(
    foe: &mut Foe,
    wire: &mut Wire,
    initialize: &str,
) -> io::Result<Option<String>> {
    let answer = foe.ask(wire, &post(&[], initialize)).await?;
    if answer.session.is_none() && answer.status != 503 {
        foe.fault(&format!("no session: {}", answer.status));
    }
    Ok(answer.session)
}

/// Says that the opening is over.
pub(super) async fn initialized(foe: &mut Foe, wire: &mut Wire, session: &str) -> io::Result<()> {
    let done = foe
        .ask(wire, &post(&[("Mcp-Session-Id", session)], INITIALIZED))
        .await?;
    if !matches!(done.status, 202 | 404) {
        foe.fault(&format!("initialized is answered {}", done.status));
    }
    Ok(())
}

pub(super) async fn open_only(foe: &mut Foe) -> io::Result<()> {
    let mut wire = foe.connect().await?;
    for _ in 0..foe.rng.within(1, 10) {
        open(foe, &mut wire, INITIALIZE).await?;
    }
    Ok(())
}

pub(super) async fn open_and_leave(foe: &mut Foe) -> io::Result<()> {
    let mut wire = foe.connect().await?;
    if let Some(session) = open(foe, &mut wire, INITIALIZE).await? {
        initialized(foe, &mut wire, &session).await?;
    }
    foe.leave(wire);
    Ok(())
}

pub(super) async fn open_and_end(foe: &mut Foe) -> io::Result<()> {
    let mut wire = foe.connect().await?;
    let Some(session) = open(foe, &mut wire, INITIALIZE).await? else {
        return Ok(());
    };
    let headers = [("Mcp-Session-Id", session.as_str())];
    if foe.rng.percent(50) {
        initialized(foe, &mut wire, &session).await?;
        let text = foe.text();
        let message = call("1", "echo", &format!("{{\"text\":\"{text}\"}}"));
        foe.ask(&mut wire, &post(&headers, message)).await?;
    }
    let host = [("Host", "localhost")];
    let end = request("DELETE", "/mcp", &[host.as_slice(), &headers].concat(), "");
    foe.ask(&mut wire, &end).await?;
    let again = foe
        .ask(
            &mut wire,
            &post(&headers, call("2", "echo", "{\"text\":\"theirs-late\"}")),
        )
        .await?;
    if again.status != 404 {
        foe.fault(&format!(
            "a session that was ended is answered {}",
            again.status
        ));
    }
    Ok(())
}

/// Nobody's sessions.
pub(super) async fn unknown(foe: &mut Foe) -> io::Result<()> {
    let mut wire = foe.connect().await?;
    let guess = match foe.rng.within(0, 4) {
        0 => format!("{:016x}{:016x}", foe.rng.number(), foe.rng.number()),
        1 => "0".repeat(foe.rng.within(1, 4_000)),
        2 => "../../etc/passwd".to_owned(),
        _ => "*".to_owned(),
    };
    let headers = [
        ("Host", "localhost"),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("Mcp-Session-Id", guess.as_str()),
    ];
    let method = *foe.rng.pick(&["POST", "GET", "DELETE"]);
    let message = call("1", "echo", "{\"text\":\"theirs-guess\"}");
    let answer = foe
        .ask(&mut wire, &request(method, "/mcp", &headers, message))
        .await?;
    if answer.status != 404 {
        foe.fault(&format!(
            "{method} with a guessed session is answered {}",
            answer.status
        ));
    }
    Ok(())
}

pub(super) async fn batch(foe: &mut Foe) -> io::Result<()> {
    let mut wire = foe.connect().await?;
    let revision = *foe.rng.pick(&[INITIALIZE, INITIALIZE_BATCHES]);
    let Some(session) = open(foe, &mut wire, revision).await? else {
        return Ok(());
    };
    initialized(foe, &mut wire, &session).await?;
    let mut parts = Vec::new();
    for n in 0..foe.rng.within(1, 120) {
        let text = foe.text();
        parts.push(match foe.rng.within(0, 6) {
            0 => INITIALIZE.to_owned(),
            1 => "{\"jsonrpc\":\"2.0\"}".to_owned(),
            2 => format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{n}}}}}"),
            3 => "[]".to_owned(),
            _ => call(&n.to_string(), "echo", &format!("{{\"text\":\"{text}\"}}")),
        });
    }
    let message = format!("[{}]", parts.join(","));
    foe.ask(&mut wire, &post(&[("Mcp-Session-Id", &session)], message))
        .await?;
    Ok(())
}

/// One id for many calls of one session at once.
pub(super) async fn same_id(foe: &mut Foe) -> io::Result<()> {
    let mut wire = foe.connect().await?;
    let Some(session) = open(foe, &mut wire, INITIALIZE).await? else {
        return Ok(());
    };
    initialized(foe, &mut wire, &session).await?;
    let tool = if foe.place.rich { "count" } else { "echo" };
    let arguments = if foe.place.rich {
        "{\"to\":3,\"delay_ms\":100}"
    } else {
        "{\"text\":\"theirs-twice\"}"
    };
    let text = post(&[("Mcp-Session-Id", &session)], call("1", tool, arguments));
    let mut others = Vec::new();
    for _ in 0..foe.rng.within(1, 6) {
        let mut other = foe.connect().await?;
        other.send(&text).await?;
        others.push(other);
    }
    for mut other in others {
        foe.ask(&mut other, b"").await?;
    }
    Ok(())
}

/// More sessions than there is room for, as fast as they are given: half of them never initialized.
pub(crate) async fn flood(mut foe: Foe) {
    let mut opened = 0;
    while opened < FLOOD && !foe.stop.is_stopped() {
        let Ok(mut wire) = foe.connect().await else {
            return;
        };
        for _ in 0..200 {
            let Ok(session) = open(&mut foe, &mut wire, INITIALIZE).await else {
                break;
            };
            opened += 1;
            if let Some(session) = session.filter(|_| opened % 2 == 0)
                && initialized(&mut foe, &mut wire, &session).await.is_err()
            {
                break;
            }
        }
    }
}
