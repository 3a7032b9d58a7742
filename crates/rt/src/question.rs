//! A question on its way, and why it may have no answer. Not the waiting: see `ask`.

use std::fmt;

use polyport_proto::{Answer, Question};
use polyport_wire::{Malformed, MalformedKind};
use tokio::sync::oneshot;

/// Why a question has no answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum NoAnswer {
    /// The client did not declare that it can answer, or has no stream on which it could be asked. Holds the capability that it
    /// would have to declare, as JSON, or what else is in the way, as the rest of a sentence.
    Unsupported(&'static str),
    /// The client answered with an error: its code and its words.
    Refused {
        /// The code of the client's error.
        code: i64,
        /// What it said.
        message: String,
    },
    /// What came is no answer to this question.
    Malformed(String),
    /// Nobody answered in time.
    TimedOut,
    /// As many questions are open as may be.
    TooMany,
    /// The client can no longer be asked: it has closed its side or left, or the server stops.
    Gone,
    /// A fault of the handler's author: this key has been used in this call.
    KeyUsedTwice(String),
    /// A fault of the handler's author: this request must not ask.
    NotHere,
    /// The call is over.
    Over,
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(what) => {
                let did = if what.starts_with('{') {
                    "it did not declare "
                } else {
                    ""
                };
                write!(f, "The client cannot be asked this: {did}{what}")
            }
            Self::Refused { code, message } => {
                write!(f, "The client refused to answer: {message} ({code})")
            }
            Self::Malformed(why) => write!(f, "The client's answer cannot be read: {why}"),
            Self::TimedOut => f.write_str("Nobody answered in time: ask again"),
            Self::TooMany => f.write_str("Too many questions are open: answer one of them first"),
            Self::Gone => f.write_str(
                "The client can no longer be asked: its connection has ended, or is about to",
            ),
            Self::KeyUsedTwice(key) => {
                write!(f, "The key {key:?} is used twice in one call")
            }
            Self::NotHere => {
                f.write_str("This request must not ask: only calls of tools, prompts and reads may")
            }
            Self::Over => f.write_str("The call is over"),
        }
    }
}

impl std::error::Error for NoAnswer {}

impl From<Malformed> for NoAnswer {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(match malformed.kind {
            MalformedKind::BadMethod => {
                "it has neither `result` nor `error`; send one of them".to_owned()
            }
            kind => format!("it {kind}"),
        })
    }
}

impl NoAnswer {
    /// Is it a fault of the handler's author? Then the client gets an internal error.
    pub fn is_internal(&self) -> bool {
        matches!(self, Self::KeyUsedTwice(_) | Self::NotHere)
    }
}

/// A question as an edge gets it to send.
#[derive(Debug)]
pub struct Asked {
    /// What is asked.
    pub question: Question,
    /// Who waits for the answer; closed when nobody does any more.
    pub asker: Asker,
}

/// Where an edge leaves the answer to a question, or why there will be none. Dropped it says that the client is gone.
pub type Asker = oneshot::Sender<Result<Answer, NoAnswer>>;
