//! One JSON-RPC message: its kind, its id, and where its parts lie, found in one pass over the frame.
//! Which methods exist and what they carry is not known here.
//!
//! Nothing is allocated but the text of an id that is a string, and the table of keys of objects that
//! have unusually many.

use std::borrow::Cow;

use bytes::Bytes;

use crate::params::Spans;
use crate::scan::{Bad, Scanner, check_length, space};
use crate::span::Span;
use crate::{Limits, Malformed, MalformedKind, Params, Raw, RequestId, text};

/// What a message is.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Kind {
    /// A method and an id: it wants an answer.
    Request,
    /// A method without an id: it must not be answered.
    Notification,
    /// A result.
    Response,
    /// An error.
    Failure,
}

/// A message that has been read: its frame and what is where in it.
///
/// Keys are compared after their escapes are resolved. A key that comes twice is refused: in requests
/// and notifications in every object, in responses and failures in the outermost only, because what a
/// server returns is often not of its own making.
#[derive(Clone, Debug)]
pub struct Message {
    /// Holds the frame also when the message has no params.
    params: Params,
    kind: Kind,
    id: Option<RequestId>,
    /// With its quotes.
    method: Span,
    /// The result or the error.
    outcome: Span,
}

impl Message {
    /// Reads one frame. What is JSON is what `serde_json` takes for a `RawValue`: a lone surrogate such as
    /// `"\ud800"` passes (but makes no method, no id and no [`Params::name`]), and so does a number of any
    /// size. A byte order mark is not skipped: framers do that.
    ///
    /// `"params":null` counts as no params, and of a `result` and an `error` one of which is null the
    /// other one counts, because peers in the field send such.
    pub fn parse(frame: Bytes, limits: &Limits) -> Result<Self, Malformed> {
        check_length(&frame)?;
        let mut scanner = Scanner::new(&frame, limits);
        let mut envelope = Envelope::default();
        envelope
            .read(&mut scanner)
            .map_err(|Bad(offset)| Malformed::unreadable(&frame, offset))?;
        let id = envelope.id(&frame);
        match envelope.judge(&frame, &scanner, id.is_some()) {
            Ok((kind, outcome)) => Ok(Self {
                kind,
                id,
                method: envelope.method,
                outcome,
                params: Params {
                    spans: envelope.params,
                    frame,
                },
            }),
            Err((kind, offset)) => {
                let notification = envelope.must_not_be_answered(&frame);
                Err(Malformed {
                    kind,
                    offset,
                    id,
                    notification,
                    answer: !envelope.method.is_present(),
                })
            }
        }
    }

    /// What it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The id. Requests and responses have one, notifications have none, failures may have one.
    pub fn id(&self) -> Option<&RequestId> {
        self.id.as_ref()
    }

    /// Takes the id out, which spares a copy of its text.
    pub fn take_id(&mut self) -> Option<RequestId> {
        self.id.take()
    }

    /// The method, escapes resolved; empty for responses and failures.
    pub fn method(&self) -> Cow<'_, str> {
        let decode = |raw| text::decode(raw).expect("`judge` has decoded the method");
        self.method_text().map_or_else(Cow::default, decode)
    }

    /// The method as it was spelled, without its quotes.
    pub fn method_text(&self) -> Option<&str> {
        let text = self
            .method
            .is_present()
            .then(|| &self.params.frame[self.method.inner()])?;
        Some(std::str::from_utf8(text).expect("the scanner has checked the frame"))
    }

    /// The params; those of a response are absent.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The params, without a copy.
    pub fn into_params(self) -> Params {
        self.params
    }

    /// The result of a response, sharing the frame.
    pub fn result(&self) -> Option<Raw> {
        if self.kind == Kind::Response {
            self.params.raw_at(self.outcome)
        } else {
            None
        }
    }

    /// The error of a failure, sharing the frame; of whatever type it is.
    pub fn error(&self) -> Option<Raw> {
        if self.kind == Kind::Failure {
            self.params.raw_at(self.outcome)
        } else {
            None
        }
    }

    /// The whole text.
    pub fn frame(&self) -> &Bytes {
        &self.params.frame
    }
}

/// The outermost object, before it is decided what it is.
#[derive(Default)]
struct Envelope {
    whole: Span,
    version: Span,
    id: Span,
    ids: usize,
    method: Span,
    params: Spans,
    result: Span,
    error: Span,
}

impl Envelope {
    fn read(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Bad> {
        let start = space(scanner.text(), 0);
        let end = if scanner.opens_object(start, 0) {
            scanner.unique = true;
            scanner.object(start, 0, |scanner, key, start| {
                let slot = match &*key.name(scanner.text()) {
                    b"jsonrpc" => &mut self.version,
                    b"id" => {
                        self.ids += 1;
                        &mut self.id
                    }
                    b"method" => &mut self.method,
                    b"params" => return self.params.read(scanner, start, 1),
                    b"result" => return outcome(scanner, start, &mut self.result),
                    b"error" => return outcome(scanner, start, &mut self.error),
                    _ => return scanner.value(start, 1),
                };
                let end = scanner.value(start, 1)?;
                *slot = Span::new(start, end);
                Ok(end)
            })?
        } else {
            scanner.value(start, 0)?
        };
        self.whole = Span::new(start, end);
        scanner.end(end)
    }

    /// The id, if it is one and the only one.
    fn id(&self, frame: &[u8]) -> Option<RequestId> {
        if self.ids != 1 {
            return None;
        }
        RequestId::parse(std::str::from_utf8(&frame[self.id.range()]).ok()?)
    }

    /// What it is, and where its result or error is; or what is wrong with it, and where.
    fn judge(
        &mut self,
        frame: &[u8],
        scanner: &Scanner<'_>,
        has_id: bool,
    ) -> Result<(Kind, Span), (MalformedKind, usize)> {
        match frame[self.whole.start()] {
            b'{' => {}
            b'[' => return Err((MalformedKind::Batch, self.whole.start())),
            _ => return Err((MalformedKind::NotObject, self.whole.start())),
        }
        if let Some(excess) = scanner.excess {
            return Err(excess);
        }
        if let Some(offset) = scanner.repeated {
            return Err((MalformedKind::DuplicateKey, offset));
        }
        if string(frame, self.version).is_none_or(|inner| *text::decode_bytes(inner) != *b"2.0") {
            return Err((MalformedKind::NoVersion, self.version.start()));
        }
        if self.method.is_present() {
            let kind = self.judge_call(frame, scanner, has_id)?;
            return Ok((kind, Span::default()));
        }
        self.params = Spans::default();
        self.judge_answer(frame, has_id)
    }

    fn judge_call(
        &mut self,
        frame: &[u8],
        scanner: &Scanner<'_>,
        has_id: bool,
    ) -> Result<Kind, (MalformedKind, usize)> {
        if self.result.is_present() || self.error.is_present() {
            return Err((MalformedKind::Ambiguous, self.method.start()));
        }
        if !string(frame, self.method).is_some_and(text::is_text) {
            return Err((MalformedKind::BadMethod, self.method.start()));
        }
        if let Some(offset) = scanner.repeated_within {
            return Err((MalformedKind::DuplicateKey, offset));
        }
        if self.id.is_present() && !has_id {
            return Err((MalformedKind::BadId, self.id.start()));
        }
        let start = self.params.whole.start();
        self.params.settle(frame).map_err(|kind| (kind, start))?;
        Ok(if has_id {
            Kind::Request
        } else {
            Kind::Notification
        })
    }

    fn judge_answer(
        &self,
        frame: &[u8],
        has_id: bool,
    ) -> Result<(Kind, Span), (MalformedKind, usize)> {
        let null = |span: Span| frame[span.range()] == *b"null";
        let (kind, outcome) = match (self.result.is_present(), self.error.is_present()) {
            (false, false) => return Err((MalformedKind::BadMethod, 0)),
            (true, false) => (Kind::Response, self.result),
            (false, true) => (Kind::Failure, self.error),
            (true, true) if null(self.error) => (Kind::Response, self.result),
            (true, true) if null(self.result) => (Kind::Failure, self.error),
            (true, true) => return Err((MalformedKind::Ambiguous, self.error.start())),
        };
        // JSON-RPC 2.0 §5: the id of an error is null when the request's could not be read.
        let optional = kind == Kind::Failure && (!self.id.is_present() || null(self.id));
        if has_id || optional {
            Ok((kind, outcome))
        } else {
            Err((MalformedKind::BadId, self.id.start()))
        }
    }

    /// A notification, or an answer itself.
    fn must_not_be_answered(&self, frame: &[u8]) -> bool {
        if self.method.is_present() {
            // JSON-RPC 2.0 §7: a method that is no string makes no notification; it is answered.
            !self.id.is_present() && string(frame, self.method).is_some()
        } else {
            self.result.is_present() || self.error.is_present()
        }
    }
}

/// A result or an error: what is inside may repeat its keys.
fn outcome(scanner: &mut Scanner<'_>, start: usize, slot: &mut Span) -> Result<usize, Bad> {
    scanner.unique = false;
    let end = scanner.value(start, 1)?;
    scanner.unique = true;
    *slot = Span::new(start, end);
    Ok(end)
}

/// The inside of the string at a span, if it is one.
fn string(frame: &[u8], span: Span) -> Option<&[u8]> {
    let is_string = span.is_present() && frame[span.start()] == b'"';
    is_string.then(|| &frame[span.inner()])
}
