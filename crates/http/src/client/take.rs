//! What a response holds: its kind, its text within bounds, its events.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Response, header};
use http_body::Body as _;
use hyper::body::Incoming;
use polyport_rt::{CallError, Inbox, MAX_ANSWER, Status};
use polyport_wire::sse::Events;
use polyport_wire::{Kind, Limits, Message, Raw, RequestId, batch};

/// Bytes that are read of what a server says beside the protocol.
const MAX_SAID: usize = 64 << 10;
/// Characters of it that are shown.
const SHOWN: usize = 300;

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

/// Is the body compressed? We ask for none.
pub(super) fn check_coding(headers: &HeaderMap) -> Result<(), CallError> {
    match headers.get(header::CONTENT_ENCODING) {
        Some(coding) if !coding.as_bytes().eq_ignore_ascii_case(b"identity") => {
            let coding = String::from_utf8_lossy(coding.as_bytes());
            let why = format!("it is compressed ({coding:?}), which was not asked for");
            Err(CallError::Unreadable(why))
        }
        _ => Ok(()),
    }
}

/// The next piece of a body; None at its end.
pub(super) async fn piece(body: &mut Incoming) -> Option<Result<Bytes, CallError>> {
    loop {
        match poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await? {
            Ok(frame) => {
                // Trailers hold nothing of ours.
                if let Ok(bytes) = frame.into_data() {
                    return Some(Ok(bytes));
                }
            }
            Err(error) => return Some(Err(CallError::Broken(error.to_string()))),
        }
    }
}

/// The whole message of a body.
pub(super) async fn whole(body: Incoming) -> Result<Bytes, CallError> {
    let (text, is_all) = upto(body, MAX_ANSWER).await?;
    if is_all {
        Ok(text)
    } else {
        let why = format!("it is longer than {MAX_ANSWER} bytes");
        Err(CallError::Unreadable(why))
    }
}

async fn upto(mut body: Incoming, most: usize) -> Result<(Bytes, bool), CallError> {
    let mut text = BytesMut::new();
    while let Some(piece) = piece(&mut body).await {
        let piece = piece?;
        if text.len() + piece.len() > most {
            text.extend_from_slice(&piece[..most - text.len()]);
            return Ok((text.freeze(), false));
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
    if check_coding(&head.headers).is_err() {
        return status;
    }
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
pub(super) fn shown(text: &[u8]) -> String {
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
    body: Incoming,
    events: Events,
    /// The last id that has come, which a new stream may begin after.
    pub(super) last: Option<String>,
    /// How long the server wants us to wait before we come again.
    pub(super) retry: Option<Duration>,
    /// An event was too long to be taken.
    lost: bool,
}

impl Reading {
    pub(super) fn new(body: Incoming) -> Self {
        Self {
            body,
            events: Events::new(MAX_ANSWER),
            last: None,
            retry: None,
            lost: false,
        }
    }

    /// The next event with its name and its data; None at the end of the stream, however it came.
    pub(super) async fn next(&mut self) -> Option<(Option<String>, String)> {
        loop {
            for event in self.events.by_ref() {
                let Ok(event) = event else {
                    tracing::warn!(
                        limit = MAX_ANSWER,
                        "the server sent an event that is too long; it is left out"
                    );
                    self.lost = true;
                    continue;
                };
                if let Some(id) = event.id {
                    self.last = (!id.is_empty()).then_some(id);
                }
                if let Some(ms) = event.retry {
                    self.retry = Some(Duration::from_millis(ms));
                }
                if !event.data.is_empty() {
                    return Some((event.name, event.data));
                }
            }
            self.events.push(&piece(&mut self.body).await?.ok()?);
        }
    }

    /// Was an event too long to be taken? It may have been the answer.
    ///
    /// # Errors
    /// It was.
    pub(super) fn check(&self) -> Result<(), CallError> {
        if self.lost {
            let why = format!("it is longer than {MAX_ANSWER} bytes");
            return Err(CallError::Unreadable(why));
        }
        Ok(())
    }

    /// Gives the next message to the inbox, as one on the stream of that request; `false` at the end of the stream.
    pub(super) async fn give(&mut self, inbox: &Inbox, request: Option<&RequestId>) -> bool {
        match self.next().await {
            Some((name, data)) => {
                if name.is_none_or(|name| name == "message") {
                    inbox.take_on(request, data.into());
                }
                true
            }
            None => false,
        }
    }
}
