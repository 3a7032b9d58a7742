//! What a response holds: its kind, its text within bounds, its events.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Response, header};
use hyper::body::Incoming;
use polyport_rt::{CallError, Inbox, MAX_ANSWER, Status};
use polyport_wire::sse::Events;
use polyport_wire::{Kind, Limits, Message, Raw, RequestId, batch};

use super::coding::Plain;

/// Bytes that are read of what a server says beside the protocol.
const MAX_SAID: usize = 64 << 10;
/// Characters of it that are shown.
const SHOWN: usize = 300;
/// How long a body is that we have taken apart.
const UNPACKED: &str = " once it is no longer compressed";

/// What a body holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Holds {
    Json,
    Events,
    Other,
}

/// What the headers say that the body holds.
pub(super) fn holds(headers: &HeaderMap) -> Holds {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        Holds::Json
    } else if essence.eq_ignore_ascii_case("text/event-stream") {
        Holds::Events
    } else {
        Holds::Other
    }
}

/// The whole message of a body.
pub(super) async fn whole(body: Plain) -> Result<Bytes, CallError> {
    let unpacked = if body.is_packed() { UNPACKED } else { "" };
    let (text, is_all) = upto(body, MAX_ANSWER).await?;
    if is_all {
        Ok(text)
    } else {
        Err(too_long(unpacked))
    }
}

async fn upto(mut body: Plain, most: usize) -> Result<(Bytes, bool), CallError> {
    let mut text = BytesMut::new();
    while let Some(piece) = body.piece().await {
        let piece = piece?;
        if text.len() + piece.len() > most {
            text.extend_from_slice(&piece[..most - text.len()]);
            return Ok((text.freeze(), false));
        }
        // Most bodies come in one piece. It is copied: it would keep all alive that was read with it.
        if text.is_empty() && body.is_at_end() {
            return Ok((Bytes::copy_from_slice(&piece), true));
        }
        text.extend_from_slice(&piece);
    }
    Ok((text.freeze(), true))
}

/// What a server says with a status that is no answer.
pub(crate) async fn status(response: Response<Incoming>) -> Status {
    let (head, body) = response.into_parts();
    let mut status = Status::new(head.status.as_u16());
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    status.challenges = head
        .headers
        .get_all(header::WWW_AUTHENTICATE)
        .iter()
        .map(text)
        .collect();
    status.retry_after = head.headers.get(header::RETRY_AFTER).map(text);
    let Ok(body) = Plain::new(&head.headers, body) else {
        return status;
    };
    let Ok((said, is_all)) = upto(body, MAX_SAID).await else {
        return status;
    };
    status.error = Some(&said).filter(|_| is_all).and_then(failure);
    if status.error.is_none() && holds(&head.headers) != Holds::Events {
        status.said = shown(&said);
    }
    status
}

/// The error object of a message that is a failure, whoever it names: some servers name nobody.
pub(super) fn failure(text: &Bytes) -> Option<Raw> {
    let message = Message::parse(text.clone(), &Limits::default()).ok()?;
    (message.kind() == Kind::Failure).then(|| message.error())?
}

/// Why a body that should be the answer to a question is none.
pub(super) fn no_answer(text: &Bytes, status: u16) -> CallError {
    if let Some(error) = failure(text) {
        return CallError::Refused(error);
    }
    CallError::Unreadable(match Message::parse(text.clone(), &Limits::default()) {
        _ if text.trim_ascii().is_empty() => nothing(status),
        _ if batch::is_batch(text) => "it is a batch, and the answer is not in it".to_owned(),
        Err(malformed) => format!("{malformed}: {}", shown(text)),
        Ok(message) => match (message.kind(), message.id()) {
            (Kind::Request | Kind::Notification, _) => {
                format!(
                    "it is no answer, but {} of the server's own",
                    message.method()
                )
            }
            (_, Some(id)) => format!("it is the answer to something else, which is {id}"),
            (_, None) => "it is the answer to something else".to_owned(),
        },
    })
}

/// A body without anything in it.
pub(super) fn nothing(status: u16) -> String {
    format!("the server took the question and answered nothing (HTTP status {status})")
}

/// The beginning of a text that people may read; a page is none.
pub(crate) fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let text = text.trim();
    if text.starts_with('<') {
        return "(a page for a browser)".to_owned();
    }
    text.chars().take(SHOWN).collect()
}

/// Where a stream of events stands.
#[derive(Debug)]
pub(super) struct Reading {
    body: Plain,
    events: Events,
    /// The last id that has come, which a new stream may begin after.
    pub(super) last: Option<String>,
    /// How long the server wants us to wait before we come again.
    pub(super) retry: Option<Duration>,
    /// Bytes that have come since the last event with data.
    since: usize,
    /// It is not read any further.
    left: bool,
}

/// An event: its name and its data.
type Event = (Option<String>, String);

impl Reading {
    /// The stream that a response brings.
    ///
    /// # Errors
    /// It is compressed in a way that was not asked for.
    pub(super) fn new(response: Response<Incoming>) -> Result<Self, CallError> {
        let (head, body) = response.into_parts();
        Ok(Self {
            body: Plain::new(&head.headers, body)?,
            events: Events::new(MAX_ANSWER),
            last: None,
            retry: None,
            since: 0,
            left: false,
        })
    }

    /// The next event that has data; None at the end of the stream, however it came. An error: something could not be taken, which may
    /// have been the answer.
    pub(super) async fn next(&mut self) -> Option<Result<Event, CallError>> {
        loop {
            for event in self.events.by_ref() {
                let Ok(event) = event else {
                    tracing::warn!(
                        limit = MAX_ANSWER,
                        "the server sent an event that is too long; it is left out"
                    );
                    return Some(Err(too_long("")));
                };
                if let Some(id) = event.id {
                    self.last = (!id.is_empty()).then_some(id);
                }
                if let Some(ms) = event.retry {
                    self.retry = Some(Duration::from_millis(ms));
                }
                if !event.data.is_empty() {
                    self.since = 0;
                    return Some(Ok((event.name, event.data)));
                }
            }
            if self.left {
                return None;
            }
            match self.body.piece().await? {
                Ok(piece) => {
                    self.since += piece.len();
                    if self.body.is_packed() && self.since > MAX_ANSWER {
                        // A few bytes would have us read for ever what holds nothing.
                        self.left = true;
                        return Some(Err(too_long(UNPACKED)));
                    }
                    self.events.push(&piece);
                }
                Err(error @ CallError::Unreadable(_)) => return Some(Err(error)),
                Err(_) => return None,
            }
        }
    }

    /// Gives the next message to the inbox, as one on the stream of that request. As [`next`](Self::next).
    pub(super) async fn give(
        &mut self,
        inbox: &Inbox,
        request: Option<&RequestId>,
    ) -> Option<Result<(), CallError>> {
        Some(self.next().await?.map(|(name, data)| {
            if name.is_none_or(|name| name == "message") {
                inbox.take_on(request, data.into());
            }
        }))
    }
}

fn too_long(how: &str) -> CallError {
    CallError::Unreadable(format!("it is longer than {MAX_ANSWER} bytes{how}"))
}
