//! Questions that nobody answers, answers that nobody wants, states that are not theirs, streams that are not read or come back to.

use std::io;

use polyport::serde_json::{Value, json};

use super::Foe;
use super::sessions::{initialized, open};
use crate::ordinary::messages;
use polyport_bench::wire::{Wire, head, post, request};
use polyport_bench::words::{INITIALIZE_ABLE, LISTEN, able_call, call, listen, modern_headers};

async fn session(foe: &mut Foe) -> io::Result<(Wire, Option<String>)> {
    let mut wire = foe.connect().await?;
    let session = open(foe, &mut wire, INITIALIZE_ABLE).await?;
    if let Some(session) = &session {
        initialized(foe, &mut wire, session).await?;
    }
    Ok((wire, session))
}

/// Calls that ask, whose client is gone; most have the decency to end their session.
pub(super) async fn vanish(foe: &mut Foe) -> io::Result<()> {
    let (mut wire, Some(session)) = session(foe).await? else {
        return Ok(());
    };
    let headers = [("Mcp-Session-Id", session.as_str())];
    for n in 0..foe.rng.within(1, 4) {
        let mut asking = foe.connect().await?;
        let arguments = json!({"text": foe.text()}).to_string();
        let asks = post(&headers, call(&n.to_string(), "badge", &arguments));
        asking.send(&asks).await?;
        if foe.rng.percent(70) {
            asking.some().await?;
        }
        foe.leave(asking);
    }
    if foe.rng.percent(80) {
        let headers = [("Host", "localhost"), ("Mcp-Session-Id", session.as_str())];
        foe.ask(&mut wire, &request("DELETE", "/mcp", &headers, ""))
            .await?;
    }
    foe.leave(wire);
    Ok(())
}

/// Answers to what was never asked, or not of them.
pub(super) async fn astray(foe: &mut Foe) -> io::Result<()> {
    let (mut wire, Some(session)) = session(foe).await? else {
        return Ok(());
    };
    for _ in 0..foe.rng.within(1, 6) {
        let id = foe.rng.pick(&["1", "2", "-1", "\"1\"", "99999999999"]);
        let what = foe.rng.pick(&[
            "\"result\":{\"action\":\"accept\",\"content\":{\"name\":\"theirs-astray\"}}",
            "\"result\":[]",
            "\"error\":{\"code\":-1,\"message\":\"theirs-no\"}",
        ]);
        let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{what}}}");
        let answer = post(&[("Mcp-Session-Id", &session)], answer);
        let met = foe.ask(&mut wire, &answer).await?;
        if !matches!(met.status, 202 | 400 | 404) {
            foe.fault(&format!("an answer astray is answered {}", met.status));
        }
    }
    Ok(())
}

/// A call that asks: its arguments, and the state that came with the question.
async fn asked(foe: &mut Foe, wire: &mut Wire) -> io::Result<Option<(String, String)>> {
    let arguments = json!({"text": foe.text()}).to_string();
    let asks = able_call("1", "badge", &arguments, "");
    let answer = foe.ask(wire, &post(&modern_headers("badge"), asks)).await?;
    // Some servers have no such tool.
    let came = messages(&answer).unwrap_or_default();
    let state = came
        .last()
        .and_then(|it| it["result"]["requestState"].as_str());
    if foe.place.asks && state.is_none() && answer.status != 503 {
        foe.fault(&format!("nothing is asked: {}", answer.status));
    }
    Ok(state.map(|state| (arguments, state.to_owned())))
}

async fn bring(foe: &mut Foe, wire: &mut Wire, arguments: &str, state: &str) -> io::Result<Value> {
    let answers = "{\"who\":{\"action\":\"accept\",\"content\":{\"name\":\"theirs-name\"}}}";
    let more = format!(
        ",\"requestState\":{},\"inputResponses\":{answers}",
        json!(state)
    );
    let again = post(
        &modern_headers("badge"),
        able_call("2", "badge", arguments, &more),
    );
    let answer = foe.ask(wire, &again).await?;
    let came = messages(&answer).unwrap_or_default();
    Ok(came.last().cloned().unwrap_or_default())
}

/// A state that was changed, cut, or brought with other arguments.
pub(super) async fn tampered(foe: &mut Foe) -> io::Result<()> {
    let mut wire = foe.connect().await?;
    let Some((arguments, state)) = asked(foe, &mut wire).await? else {
        return Ok(());
    };
    let at = foe.rng.within(0, state.len());
    let mut changed = state.clone();
    let (arguments, state) = match foe.rng.within(0, 4) {
        0 => (arguments, state[..at].to_owned()),
        1 => (arguments, "A".repeat(foe.rng.within(1, 60_000))),
        2 => ("{\"text\":\"theirs-other\"}".to_owned(), state),
        _ => {
            let other = if &state[at..=at] == "A" { "B" } else { "A" };
            changed.replace_range(at..=at, other);
            (arguments, changed)
        }
    };
    let met = bring(foe, &mut wire, &arguments, &state).await?;
    if met.get("result").is_some() {
        foe.fault(&format!("a changed state is taken up: {met}"));
    }
    Ok(())
}

/// A state that is brought more than once, which is no wrong: an answer may get lost.
pub(super) async fn replayed(foe: &mut Foe) -> io::Result<()> {
    let mut wire = foe.connect().await?;
    let Some((arguments, state)) = asked(foe, &mut wire).await? else {
        return Ok(());
    };
    for _ in 0..foe.rng.within(2, 6) {
        let met = bring(foe, &mut wire, &arguments, &state).await?;
        if met["result"]["content"].is_null() && met["error"]["code"] != -32603 {
            foe.fault(&format!("a state is not taken up again: {met}"));
        }
    }
    Ok(())
}

/// Streams of changes that nobody reads.
pub(super) async fn unread_listen(foe: &mut Foe) -> io::Result<()> {
    let mut streams = Vec::new();
    for n in 0..foe.rng.within(1, 6) {
        let mut wire = foe.connect().await?;
        wire.send(&post(&LISTEN, listen(&n.to_string()))).await?;
        streams.push(wire);
    }
    let pause = foe.rng.millis(500, 10_000);
    tokio::time::sleep(pause).await;
    for wire in streams {
        foe.leave(wire);
    }
    Ok(())
}

/// A stream that is left, and what its client, or somebody, says of where it was.
pub(super) async fn resume(foe: &mut Foe) -> io::Result<()> {
    let (_wire, Some(session)) = session(foe).await? else {
        return Ok(());
    };
    let number = foe.rng.number().to_string();
    let id = *foe
        .rng
        .pick(&["0-0", "0-1", "1-0", "1-99", "theirs", "-", "../1", "00-0"]);
    let made_up = format!("{number}-{number}");
    for id in [None, Some(id), Some(made_up.as_str())] {
        let mut headers = vec![
            ("Host", "localhost"),
            ("Accept", "text/event-stream"),
            ("Mcp-Session-Id", session.as_str()),
        ];
        headers.extend(id.map(|id| ("Last-Event-ID", id)));
        let mut stream = foe.connect().await?;
        stream
            .send(head("GET", "/mcp", &headers).as_bytes())
            .await?;
        let (answer, _) = stream.head().await?;
        foe.record.seen(foe.act, answer.status.to_string());
        if !matches!(answer.status, 200 | 400 | 404 | 409 | 410) {
            foe.fault(&format!("coming back is answered {}", answer.status));
        }
        foe.leave(stream);
    }
    Ok(())
}
