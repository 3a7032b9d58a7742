//! What an HTTP request to an MCP endpoint is: one pure function of its head, then one of head and body. Not the
//! transport, not the session itself.

use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use polyport_wire::{Kind, Malformed, Message, RequestId, batch};

use super::guard::Guard;
use super::headers::{Accepts, PROTOCOL_VERSION, SESSION_ID, is_json, is_plain};
use super::mirror::Mirror;
use crate::blame::Blame;
use crate::envelope::Envelope;
use crate::limits::Limits;
use crate::outcome::RpcError;
use crate::peer::Admitted;
use crate::receipt::Receipt;
use crate::revision::{Era, Revision, Revisions, modern};

/// The head of a request.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// GET, POST, DELETE, or something that we refuse.
    pub method: &'a Method,
    /// The target; over HTTP/2 it holds the authority.
    pub uri: &'a Uri,
    /// All headers.
    pub headers: &'a HeaderMap,
}

impl Head<'_> {
    /// Bytes of the target and the headers, as HTTP/1.1 writes them.
    fn length(&self) -> usize {
        let target = self.uri.path_and_query().map_or(0, |t| t.as_str().len());
        let authority = self.uri.authority().map_or(0, |a| a.as_str().len());
        let line =
            |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len() + 4;
        target + authority + self.headers.iter().map(line).sum::<usize>()
    }
}

/// What the head asks for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verb {
    /// A message follows in the body.
    Post(Accepts),
    /// Messages of a session that belong to no request.
    Listen,
    /// The end of a session.
    Delete,
}

/// The two paths of HTTP with SSE (2024-11-05, basic/transports).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PairPath {
    /// GET: the stream of a session; the session is as old.
    Stream,
    /// POST: the messages of that session.
    Messages,
}

/// A request that is not served: what to answer.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The id of the request, where it could be read.
    pub id: Option<RequestId>,
    /// The body; none: an empty one.
    pub error: Option<RpcError>,
}

impl Refusal {
    /// What the client did wrong, and in which request.
    pub fn new(blame: &Blame, id: Option<RequestId>) -> Self {
        Self {
            status: blame.status(),
            id,
            error: Some(blame.error()),
        }
    }
}

impl From<Blame> for Refusal {
    fn from(blame: Blame) -> Self {
        Self::new(&blame, None)
    }
}

/// How an endpoint is set up, as far as classification needs it.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The revisions that are spoken.
    pub speaks: Revisions,
    /// Legacy clients get sessions. Without, each of their requests stands alone (D-11).
    pub sessions: bool,
    /// Hosts and origins.
    pub guard: Guard,
    /// Bounds.
    pub limits: Limits,
}

/// Where a POST goes.
#[derive(Debug)]
pub enum Route {
    /// A modern request, complete in itself.
    Modern(Receipt, Admitted),
    /// A modern notification: taken, nothing comes of it over HTTP.
    ModernNotification,
    /// `initialize`: opens a session.
    Initialize(Message),
    /// A message of a session; its id is in the header.
    Session(Message),
    /// What is no message, and may be meant as an answer to what its session asked. It is refused all the same.
    BadAnswer(Malformed),
    /// A batch of a session.
    Batch(Vec<bytes::Bytes>),
    /// A batch where there are no sessions, in this revision.
    BatchAlone(Revision, Vec<bytes::Bytes>),
    /// A legacy message where there are no sessions, in this revision.
    Alone(Revision, Message),
}

impl Endpoint {
    /// Judges a head, in the order of design: who reaches us, then how, then how much.
    ///
    /// # Errors
    /// The refusal to send.
    pub fn check_head(&self, head: Head<'_>) -> Result<Verb, Refusal> {
        self.check_reach(head)?;
        match *head.method {
            Method::POST => {}
            Method::GET | Method::DELETE if !self.sessions => {
                return Err(Blame::MethodNotAllowed.into());
            }
            // Without a session id this is a client that looks for another transport; 405 is what it waits for.
            // A modern client has neither of the two, whatever else its request says.
            Method::GET | Method::DELETE if self.is_modern(head.headers) => {
                return Err(Blame::MethodNotAllowed.into());
            }
            Method::GET | Method::DELETE if !head.headers.contains_key(SESSION_ID) => {
                return Err(Blame::MethodNotAllowed.into());
            }
            Method::GET if Accepts::read(head.headers).sse => return Ok(Verb::Listen),
            Method::GET => return Err(Blame::StreamNotAcceptable.into()),
            Method::DELETE => return Ok(Verb::Delete),
            _ => return Err(Blame::MethodNotAllowed.into()),
        }
        check_content(head.headers)?;
        let accepts = Accepts::read(head.headers);
        if !accepts.json && !accepts.sse {
            return Err(Blame::NotAcceptable.into());
        }
        self.check_length(head.headers)?;
        Ok(Verb::Post(accepts))
    }

    /// Judges a head that is sent to one of the two paths of HTTP with SSE, in the same order.
    ///
    /// # Errors
    /// The refusal to send.
    pub fn check_pair_head(&self, path: PairPath, head: Head<'_>) -> Result<(), Refusal> {
        self.check_reach(head)?;
        match (path, head.method) {
            (PairPath::Stream, &Method::GET) if Accepts::read(head.headers).sse => Ok(()),
            (PairPath::Stream, &Method::GET) => Err(Blame::StreamNotAcceptable.into()),
            (PairPath::Messages, &Method::POST) => {
                check_content(head.headers)?;
                self.check_length(head.headers)?;
                self.check_pair_version(head.headers)
            }
            _ => Err(Blame::MethodNotAllowed.into()),
        }
    }

    /// Judges a head that wants to become a WebSocket, in the same order.
    ///
    /// # Errors
    /// The refusal to send.
    pub fn check_upgrade(&self, head: Head<'_>) -> Result<(), Refusal> {
        self.check_reach(head)?;
        match *head.method {
            Method::GET => Ok(()),
            _ => Err(Blame::MethodNotAllowed.into()),
        }
    }

    /// Who reaches us, and with how much before the body.
    fn check_reach(&self, head: Head<'_>) -> Result<(), Refusal> {
        self.guard.check(head.uri, head.headers)?;
        let limit = self.limits.head_bytes;
        if head.length() > limit {
            return Err(Blame::HeadTooLong { limit }.into());
        }
        Ok(())
    }

    fn check_length(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let limit = self.limits.message_bytes;
        let length = headers
            .get(http::header::CONTENT_LENGTH)
            .and_then(|v| v.to_str().ok())
            .and_then(|v| v.parse::<u64>().ok());
        match length {
            Some(length) if length > limit as u64 => Err(Blame::TooLong { limit }.into()),
            _ => Ok(()),
        }
    }

    /// A client that names its revision on this transport names one that the transport carries (D-43).
    fn check_pair_version(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        match self.version(headers)? {
            Some(revision) if revision.profile().era == Era::Modern => {
                Err(Blame::UnsupportedVersion {
                    requested: revision.name().to_owned(),
                    supported: self.speaks.only(Era::Legacy),
                }
                .into())
            }
            _ => Ok(()),
        }
    }

    /// Judges the body of a POST whose head was let in.
    ///
    /// # Errors
    /// The refusal to send.
    pub fn classify(&self, headers: &HeaderMap, body: bytes::Bytes) -> Result<Route, Refusal> {
        if batch::is_batch(&body) {
            return self.batch(headers, &body);
        }
        let message = match Message::parse(body, &self.limits.json) {
            Ok(message) => message,
            Err(malformed)
                if malformed.answer && self.sessions && headers.contains_key(SESSION_ID) =>
            {
                return Ok(Route::BadAnswer(malformed));
            }
            Err(malformed) => return Err(refuse_malformed(malformed)),
        };
        if modern::speaks_modern(message.params()) {
            return self.modern(headers, message);
        }
        match self.version(headers) {
            Ok(Some(revision)) if revision.profile().era == Era::Modern => {
                self.modern(headers, message)
            }
            Ok(revision) => self.legacy(headers, revision, message),
            Err(blame) => Err(Refusal::new(&blame, message.id().cloned())),
        }
    }

    /// The revision that the header names. A modern one is looked at again with `_meta`, whether it is spoken or not.
    ///
    /// 2025-06-18, basic/transports: what is invalid or not supported is refused with 400.
    fn version(&self, headers: &HeaderMap) -> Result<Option<Revision>, Blame> {
        let mut values = headers.get_all(PROTOCOL_VERSION).iter();
        let Some(value) = values.next() else {
            return Ok(None);
        };
        let mut name = String::from_utf8_lossy(value.as_bytes());
        // Several lines are one list (RFC 9110 §5.3), which names no revision.
        for value in values {
            name.to_mut().push_str(", ");
            name.to_mut()
                .push_str(&String::from_utf8_lossy(value.as_bytes()));
        }
        let known = Revision::parse(name.trim());
        match known.filter(|r| self.speaks.contains(*r) || r.profile().era == Era::Modern) {
            Some(revision) => Ok(Some(revision)),
            None => Err(Blame::UnknownVersionHeader(name.into_owned())),
        }
    }

    /// In which revision a legacy message without a session is served.
    fn alone(&self, named: Option<Revision>) -> Result<Revision, Blame> {
        let revision = named.unwrap_or(Revision::UNNAMED);
        if self.speaks.contains(revision) {
            Ok(revision)
        } else {
            Err(Blame::UnsupportedVersion {
                requested: revision.name().to_owned(),
                supported: self.speaks,
            })
        }
    }

    fn is_modern(&self, headers: &HeaderMap) -> bool {
        matches!(self.version(headers), Ok(Some(revision)) if revision.profile().era == Era::Modern)
    }

    fn legacy(
        &self,
        headers: &HeaderMap,
        named: Option<Revision>,
        message: Message,
    ) -> Result<Route, Refusal> {
        let is_opening = message.kind() == Kind::Request && message.method() == "initialize";
        if !self.sessions {
            // What `initialize` comes to is for its own version to say.
            let revision = if is_opening {
                Ok(named.unwrap_or(Revision::UNNAMED))
            } else {
                self.alone(named)
            };
            return match revision {
                Ok(revision) => Ok(Route::Alone(revision, message)),
                Err(blame) => Err(Refusal::new(&blame, message.id().cloned())),
            };
        }
        if headers.contains_key(SESSION_ID) {
            return Ok(Route::Session(message));
        }
        if is_opening {
            return Ok(Route::Initialize(message));
        }
        Err(Refusal::new(&Blame::SessionMissing, message.id().cloned()))
    }

    fn modern(&self, headers: &HeaderMap, mut message: Message) -> Result<Route, Refusal> {
        match message.kind() {
            Kind::Request => {}
            Kind::Notification => return Ok(Route::ModernNotification),
            // basic/transports/streamable-http: clients of this era post no responses.
            Kind::Response | Kind::Failure => return Err(Blame::UnexpectedResponse.into()),
        }
        let mirror = Mirror::new(headers);
        let admitted = modern::admit(
            &message.method(),
            message.params(),
            self.speaks,
            Some(&mirror),
        );
        let id = message.take_id().unwrap_or(RequestId::Number(0));
        match admitted {
            Ok((method, envelope)) => Ok(modern_route(id, method, envelope, message)),
            Err(blame) => Err(Refusal::new(&blame, Some(id))),
        }
    }

    fn batch(&self, headers: &HeaderMap, body: &bytes::Bytes) -> Result<Route, Refusal> {
        let parts = batch::split(body, &self.limits.json).map_err(refuse_malformed)?;
        let named = self.version(headers)?;
        if !self.sessions {
            return Ok(Route::BatchAlone(self.alone(named)?, parts));
        }
        if !headers.contains_key(SESSION_ID) {
            return Err(Blame::SessionMissing.into());
        }
        Ok(Route::Batch(parts))
    }
}

/// Is it a body that we read?
fn check_content(headers: &HeaderMap) -> Result<(), Blame> {
    match (is_json(headers), is_plain(headers)) {
        (false, _) => Err(Blame::MediaType),
        (true, false) => Err(Blame::ContentCoding),
        (true, true) => Ok(()),
    }
}

fn modern_route(
    id: RequestId,
    method: &'static str,
    envelope: Envelope,
    message: Message,
) -> Route {
    let receipt = Receipt {
        id: id.clone(),
        method,
        revision: envelope.revision(),
        opening: false,
        alone: true,
        batch: None,
    };
    Route::Modern(
        receipt,
        Admitted {
            id,
            method,
            params: message.into_params(),
            envelope,
        },
    )
}

/// What is answered to text that is no message.
pub fn refuse_malformed(malformed: Malformed) -> Refusal {
    let blame = Blame::from(&malformed);
    let error = (!malformed.notification).then(|| blame.error());
    Refusal {
        status: blame.status(),
        id: malformed.id,
        error,
    }
}
