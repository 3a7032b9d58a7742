//! Why a request has no result.

use std::fmt;

use polyport_model::RpcError;
use polyport_wire::Raw;

use super::Late;

/// Why a request has no result.
#[derive(Debug)]
#[non_exhaustive]
pub enum CallError {
    /// The peer answered with this JSON-RPC error.
    Refused(Raw),
    /// The connection ended first.
    Closed,
    /// The server cannot be reached: nothing was sent. The text says at which step.
    Unreachable(String),
    /// The connection broke while the answer was awaited; whether the server has done what was asked is not known.
    Broken(String),
    /// The answer is an HTTP status instead of a message.
    Status(Box<Status>),
    /// The server has forgotten the session, twice in a row; it has not done what was asked.
    SessionLost,
    /// No answer in time; the peer was told that we no longer wait.
    TimedOut(Late),
    /// The server has asked so often within one request, and asks on; it was told that we no longer wait. See
    /// [`MAX_QUESTIONS`](super::MAX_QUESTIONS).
    AsksOn(usize),
    /// The server speaks no revision that we do; it named these.
    NoCommonRevision(String),
    /// The answer is not what the specification says it is. The text says what is wrong with it.
    Unreadable(String),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => write!(f, "the peer refused: {}", error.as_str()),
            Self::Closed => f.write_str("the connection ended before the answer came"),
            Self::Unreachable(why) => write!(f, "the server cannot be reached: {why}"),
            Self::Broken(why) => write!(f, "the connection broke before the answer came: {why}"),
            Self::Status(status) => status.fmt(f),
            Self::SessionLost => f.write_str("the server forgets each session at once"),
            Self::TimedOut(late) => late.fmt(f),
            Self::AsksOn(times) => write!(f, "the server has asked {times} times, and asks on"),
            Self::NoCommonRevision(theirs) => {
                write!(f, "the server speaks none of our revisions, but {theirs}")
            }
            Self::Unreadable(why) => write!(f, "the server's answer cannot be read: {why}"),
        }
    }
}

impl std::error::Error for CallError {}

/// An HTTP status instead of an answer.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Status {
    /// The status.
    pub code: u16,
    /// The error object that came with it, if one did.
    pub error: Option<Raw>,
    /// The beginning of what else the body says, as text.
    pub said: String,
    /// What the server wants before it answers: its `WWW-Authenticate` headers.
    pub challenges: Vec<String>,
    /// When to try again: `Retry-After`.
    pub retry_after: Option<String>,
}

impl Status {
    /// A status with nothing else.
    pub fn new(code: u16) -> Self {
        Self {
            code,
            ..Self::default()
        }
    }

    /// Is it how a server refuses what it does not speak? Who must log in, is busy or out of order says nothing of what it speaks.
    pub fn is_refusal(&self) -> bool {
        matches!(self.code, 400..=499) && !matches!(self.code, 401 | 403 | 407 | 408 | 425 | 429)
    }

    /// The error object, where the server has answered the request with one; else the status.
    pub(super) fn meant(self: Box<Self>) -> CallError {
        match self.error {
            Some(error) if !matches!(self.code, 401 | 403) => CallError::Refused(error),
            _ => CallError::Status(self),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the server answers with HTTP status {}", self.code)?;
        if let Some(when) = &self.retry_after {
            write!(f, " (try again after {when})")?;
        }
        match self.error.as_ref().map(Raw::decode::<RpcError>) {
            Some(Ok(error)) => write!(f, ": {error}"),
            _ if self.said.is_empty() => Ok(()),
            _ => write!(f, ": {}", self.said),
        }
    }
}
