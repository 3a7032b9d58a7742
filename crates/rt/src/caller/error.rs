//! Why a request has no result.

use std::fmt;
use std::time::Duration;

use polyport_wire::Raw;

/// Why a request has no result.
#[derive(Debug)]
#[non_exhaustive]
pub enum CallError {
    /// The peer answered with this JSON-RPC error.
    Refused(Raw),
    /// The connection ended first.
    Closed,
    /// No answer in time; the peer was told that we no longer wait.
    TimedOut(Duration),
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
            Self::TimedOut(after) => write!(f, "no answer after {after:?}"),
            Self::NoCommonRevision(theirs) => {
                write!(f, "the server speaks none of our revisions, but {theirs}")
            }
            Self::Unreadable(why) => write!(f, "the server's answer cannot be read: {why}"),
        }
    }
}

impl std::error::Error for CallError {}
