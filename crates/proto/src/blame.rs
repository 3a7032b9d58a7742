//! Every way a peer can be wrong, each with its JSON-RPC error and its HTTP status. A variant is asserted by a test.

use std::fmt;

use polyport_wire::{Malformed, MalformedKind, Raw, code};

use crate::outcome::{Code, RpcError, shorten};
use crate::revision::Revisions;

/// What the peer did wrong.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Blame {
    /// The text is not a JSON-RPC message.
    Malformed(MalformedKind),
    /// A message longer than [`Limits::message_bytes`](crate::Limits::message_bytes).
    TooLong {
        /// The bound, in bytes.
        limit: usize,
    },
    /// Something other than `initialize` or `ping` without a session and without `_meta`.
    NotInitialized,
    /// A second `initialize` in one session.
    AlreadyInitialized,
    /// `initialize` without a usable member.
    BadInitialize {
        /// Which member.
        member: &'static str,
    },
    /// `clientInfo` and `capabilities` are longer than [`Limits::client_facts_bytes`](crate::Limits::client_facts_bytes).
    ClientFactsTooLong {
        /// The bound, in bytes.
        limit: usize,
    },
    /// More is being received at once than [`Limits::bodies_bytes`](crate::Limits::bodies_bytes).
    TooManyBytes,
    /// A modern request within a batch, which its revision does not have.
    ModernInBatch,
    /// A JSON array where the revision has no batches.
    BatchNotSpoken,
    /// `initialize` within a batch.
    InitializeInBatch,
    /// A request whose id belongs to a call that still runs.
    DuplicateId,
    /// More calls at once than the bound.
    TooManyCalls {
        /// The bound.
        limit: usize,
    },
    /// More resources subscribed to than the bound.
    TooManySubscriptions {
        /// The bound.
        limit: usize,
    },
    /// More streams of `subscriptions/listen` of one principal than the bound.
    TooManyListens {
        /// The bound.
        limit: usize,
    },
    /// The method is not one of this revision.
    UnknownMethod(String),
    /// `logging/setLevel` or `_meta` names a level that does not exist.
    BadLevel(String),
    /// A reserved `_meta` member is missing from a modern request.
    MetaMissing(&'static str),
    /// A reserved `_meta` member has the wrong type.
    MetaInvalid(&'static str),
    /// We do not speak the revision of the request.
    UnsupportedVersion {
        /// What was asked for.
        requested: String,
        /// What we speak.
        supported: Revisions,
    },
    /// An HTTP header that must mirror the body is missing.
    HeaderMissing(&'static str),
    /// An HTTP header holds characters or an encoding that it must not.
    HeaderMalformed(String),
    /// An HTTP header disagrees with the body.
    HeaderMismatch(String),
    /// A response where requests and notifications are expected.
    UnexpectedResponse,
    /// The `MCP-Protocol-Version` header of a legacy request names nothing we know.
    UnknownVersionHeader(String),
    /// A request without the session id that it needs.
    SessionMissing,
    /// A session that is not, or no longer, there; or is somebody else's.
    SessionUnknown,
    /// No room for another session.
    TooManySessions,
    /// No room for another stream of this session.
    TooManyStreams,
    /// `Last-Event-ID` names no event that this session has had.
    EventUnknown,
    /// `Last-Event-ID` names an event, and what followed it is no longer kept.
    EventsLost,
    /// A message without the session that the `endpoint` event names (2024-11-05, basic/transports, HTTP with SSE).
    PairMissing,
    /// The session that a message names is not there, or no longer; or is somebody else's.
    PairUnknown,
    /// The client does not read the stream on which its answers wait.
    TooMuchUnread,
    /// `Host` is missing, doubled, malformed or not one of ours (DNS rebinding).
    HostForbidden,
    /// `Origin` is present and not allowed.
    OriginForbidden,
    /// The HTTP method is not spoken here.
    MethodNotAllowed,
    /// The body is not declared as JSON.
    MediaType,
    /// The body is declared to be compressed.
    ContentCoding,
    /// The client accepts neither of our formats.
    NotAcceptable,
    /// `Accept` leaves no form for an answer that can only be a stream.
    StreamNotAcceptable,
    /// The target and the headers are longer than [`Limits::head_bytes`](crate::Limits::head_bytes).
    HeadTooLong {
        /// The bound, in bytes.
        limit: usize,
    },
    /// The endpoint is coming to its end.
    Closing,
}

impl Blame {
    /// The JSON-RPC error that says so.
    pub fn error(&self) -> RpcError {
        let error = RpcError::new(self.code(), self.to_string());
        match self {
            Self::UnsupportedVersion {
                requested,
                supported,
            } => error.with_data(versions(requested, *supported)),
            _ => error,
        }
    }

    /// Its code.
    pub fn code(&self) -> Code {
        match self {
            Self::Malformed(kind) => match kind.code() {
                code::PARSE => Code::Parse,
                code::INVALID_PARAMS => Code::InvalidParams,
                _ => Code::InvalidRequest,
            },
            Self::UnknownMethod(_) => Code::MethodNotFound,
            Self::BadLevel(_)
            | Self::ClientFactsTooLong { .. }
            | Self::BadInitialize { .. }
            | Self::MetaMissing(_)
            | Self::MetaInvalid(_) => Code::InvalidParams,
            Self::UnsupportedVersion { .. } => Code::UnsupportedVersion,
            Self::HeaderMissing(_) | Self::HeaderMalformed(_) | Self::HeaderMismatch(_) => {
                Code::HeaderMismatch
            }
            _ => Code::InvalidRequest,
        }
    }

    /// The HTTP status that goes with it.
    pub fn status(&self) -> u16 {
        match self {
            Self::UnknownMethod(_) | Self::SessionUnknown | Self::PairUnknown => 404,
            Self::HostForbidden | Self::OriginForbidden => 403,
            Self::MethodNotAllowed => 405,
            Self::NotAcceptable | Self::StreamNotAcceptable => 406,
            Self::TooManyStreams => 409,
            Self::EventsLost => 410,
            Self::TooLong { .. } => 413,
            Self::MediaType | Self::ContentCoding => 415,
            Self::HeadTooLong { .. } => 431,
            Self::Closing
            | Self::TooManyBytes
            | Self::TooManyCalls { .. }
            | Self::TooManySessions
            | Self::TooMuchUnread => 503,
            _ => 400,
        }
    }

    /// The HTTP status within a legacy session, where faults in a readable request are ordinary answers.
    pub fn session_status(&self) -> u16 {
        match self {
            Self::AlreadyInitialized
            | Self::BadInitialize { .. }
            | Self::BatchNotSpoken
            | Self::ClientFactsTooLong { .. }
            | Self::DuplicateId
            | Self::InitializeInBatch
            | Self::UnsupportedVersion { .. } => 400,
            Self::TooManyCalls { .. } => 503,
            _ => 200,
        }
    }
}

impl From<&Malformed> for Blame {
    fn from(malformed: &Malformed) -> Self {
        Self::Malformed(malformed.kind)
    }
}

impl fmt::Display for Blame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(kind) => write!(f, "The message {kind}"),
            Self::TooLong { limit } => write!(f, "The message is longer than the limit of {limit} bytes"),
            Self::NotInitialized => {
                f.write_str("Not initialized: send initialize first, or say io.modelcontextprotocol/protocolVersion in params._meta")
            }
            Self::AlreadyInitialized => f.write_str("Already initialized: one initialize per session"),
            Self::BadInitialize { member } => write!(f, "initialize: {member} is missing or has the wrong type"),
            Self::ClientFactsTooLong { limit } => write!(
                f,
                "initialize: clientInfo and capabilities together are longer than the limit of {limit} bytes"
            ),
            Self::TooManyBytes => f.write_str("Too much is being received at once: retry later, or send less"),
            Self::ModernInBatch => {
                f.write_str("A request of this protocol revision stands alone: send it outside the batch")
            }
            Self::BatchNotSpoken => f.write_str("Batches are not part of this protocol revision: send one message at a time"),
            Self::InitializeInBatch => f.write_str("initialize must not be part of a batch"),
            Self::DuplicateId => f.write_str("The id belongs to a request that is still running: use another one"),
            Self::TooManyCalls { limit } => write!(f, "Too many calls at once (limit {limit}): retry when one has finished"),
            Self::TooManySubscriptions { limit } => {
                write!(f, "Too many resources subscribed to (limit {limit}): unsubscribe from one first")
            }
            Self::TooManyListens { limit } => {
                write!(f, "Too many streams of subscriptions/listen (limit {limit}): close one first")
            }
            Self::UnknownMethod(method) => write!(f, "Method not found: {}", shorten(method)),
            Self::BadLevel(level) => write!(
                f,
                "Unknown log level {}: use debug, info, notice, warning, error, critical, alert or emergency",
                shorten(level)
            ),
            Self::MetaMissing(key) => write!(f, "params._meta lacks {key}, which every request of this revision carries"),
            Self::MetaInvalid(key) => write!(f, "params._meta: {key} has the wrong type"),
            Self::UnsupportedVersion { .. } => f.write_str("Unsupported protocol version"),
            Self::HeaderMissing(name) => write!(f, "Header mismatch: {name} is missing"),
            Self::HeaderMalformed(name) => write!(f, "Header mismatch: {name} is malformed"),
            Self::HeaderMismatch(what) => write!(f, "Header mismatch: {what}"),
            Self::UnexpectedResponse => f.write_str("A response that answers nothing we asked"),
            Self::UnknownVersionHeader(v) => write!(f, "MCP-Protocol-Version {} is not a revision that we speak", shorten(v)),
            Self::SessionMissing => f.write_str("Mcp-Session-Id is missing: send initialize first, or say the revision in params._meta"),
            Self::SessionUnknown => f.write_str("No such session: send initialize without Mcp-Session-Id to begin a new one"),
            Self::TooManySessions => f.write_str("Too many sessions: end one with DELETE, or retry later"),
            Self::TooManyStreams => f.write_str("Too many streams of this session: close one"),
            Self::EventUnknown => f.write_str("Last-Event-ID names no event of this session: leave it out to begin a new stream"),
            Self::EventsLost => f.write_str(
                "What followed Last-Event-ID is no longer kept: leave it out to begin a new stream, and ask again for what is missing",
            ),
            Self::PairMissing => f.write_str("sessionId is missing: open the event stream with GET, and post to what its endpoint event names"),
            Self::PairUnknown => f.write_str("No such session: open the event stream with GET to begin a new one"),
            Self::TooMuchUnread => f.write_str("Too much waits on the event stream: read it, then retry"),
            Self::HostForbidden => f.write_str("Host is not one that this server answers to: whoever runs it has to allow the name"),
            Self::OriginForbidden => f.write_str("Origin is not allowed to call this server: whoever runs it has to allow the page"),
            Self::HeadTooLong { limit } => write!(f, "The head of the request is longer than the limit of {limit} bytes"),
            Self::Closing => f.write_str("The server is ending: retry later"),
            Self::MethodNotAllowed => f.write_str("HTTP method not allowed here"),
            Self::MediaType => f.write_str("Content-Type must be application/json"),
            Self::ContentCoding => f.write_str("Compressed bodies are not taken: send it as it is, without Content-Encoding"),
            Self::NotAcceptable => f.write_str("Accept must allow application/json or text/event-stream"),
            Self::StreamNotAcceptable => f.write_str("All that is to come is a stream: Accept must allow text/event-stream"),
        }
    }
}

/// The data of -32022 (2026-07-28, basic/versioning).
fn versions(requested: &str, supported: Revisions) -> Raw {
    let mut out = b"{\"supported\":[".to_vec();
    for (i, revision) in supported.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        polyport_wire::write::string(&mut out, revision.name());
    }
    out.extend_from_slice(b"],\"requested\":");
    polyport_wire::write::string(&mut out, requested);
    out.push(b'}');
    Raw::trusted(out)
}
