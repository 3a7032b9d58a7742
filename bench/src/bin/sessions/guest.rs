//! A legacy client from its coming to its leaving: a session, a call, and one of the ways in which clients go.

use std::io;
use std::time::Duration;

use polyport_bench::wire::{Answer, Wire, post, request};
use polyport_bench::words::{INITIALIZE, INITIALIZED, call};

/// No answer may come later.
const LATEST: Duration = Duration::from_secs(20);

/// How a client goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Leaves {
    /// It ends its session.
    Farewell,
    /// It hangs up.
    Silence,
    /// Its connection breaks while a call of it runs.
    Call,
    /// Its connections break, one of them a stream that it listens to.
    Stream,
    /// Not at all: the connection of a stream that it listens to is given back.
    Never,
}

impl Leaves {
    /// In turn; every other one says farewell.
    pub(crate) fn of(number: usize) -> Self {
        match number % 6 {
            1 => Self::Silence,
            3 => Self::Call,
            5 => Self::Stream,
            _ => Self::Farewell,
        }
    }
}

/// A whole visit to the server on this port.
pub(crate) async fn visit(
    port: u16,
    number: usize,
    leaves: Leaves,
) -> Result<Option<Wire>, String> {
    let mut wire = within("connecting", Wire::connect(port)).await?;
    let opened = exchange(&mut wire, &post(&[], INITIALIZE), 200).await?;
    let session = opened.session.ok_or("initialize: no session")?;
    let session = [("Mcp-Session-Id", session.as_str())];
    exchange(&mut wire, &post(&session, INITIALIZED), 202).await?;
    let text = format!("guest-{number}-");
    let asks = |id| call(id, "echo", &format!(r#"{{"text":"{text}"}}"#));
    let answer = exchange(&mut wire, &post(&session, asks("1")), 200).await?;
    let body = String::from_utf8_lossy(&answer.body);
    if !body.contains(&text) {
        return Err(format!("echo: {body}"));
    }
    let listens = || async {
        let mut stream = within("connecting", Wire::connect(port)).await?;
        let accepts = [("Host", "127.0.0.1"), ("Accept", "text/event-stream")];
        let get = request("GET", "/mcp", &[&accepts[..], &session].concat(), "");
        within("listening", stream.send(&get)).await?;
        let (head, _) = within("listening", stream.head()).await?;
        if head.status == 200 {
            Ok(stream)
        } else {
            Err(format!("listening is answered {}", head.status))
        }
    };
    match leaves {
        Leaves::Farewell => {
            let host = [("Host", "127.0.0.1")];
            let farewell = request("DELETE", "/mcp", &[&host[..], &session].concat(), "");
            exchange(&mut wire, &farewell, 204).await?;
        }
        Leaves::Silence => {}
        Leaves::Call => {
            within("echo", wire.send(&post(&session, asks("2")))).await?;
            wire.reset();
        }
        Leaves::Stream => {
            listens().await?.reset();
            wire.reset();
        }
        Leaves::Never => return listens().await.map(Some),
    }
    Ok(None)
}

async fn exchange(wire: &mut Wire, request: &[u8], status: u16) -> Result<Answer, String> {
    let both = async {
        wire.send(request).await?;
        wire.answer().await
    };
    let what = request.split(|byte| *byte == b'\n').next_back();
    let what = String::from_utf8_lossy(what.unwrap_or_default()).into_owned();
    let answer = within(&what, both).await?;
    if answer.status == status {
        return Ok(answer);
    }
    let body = String::from_utf8_lossy(&answer.body);
    Err(format!("{what}: {} {body}", answer.status))
}

async fn within<T>(what: &str, work: impl Future<Output = io::Result<T>>) -> Result<T, String> {
    match tokio::time::timeout(LATEST, work).await {
        Err(_) => Err(format!("{what}: nothing within {LATEST:?}")),
        Ok(Err(error)) => Err(format!("{what}: {error}")),
        Ok(Ok(done)) => Ok(done),
    }
}
