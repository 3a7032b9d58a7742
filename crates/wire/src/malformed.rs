//! What is wrong with a frame. It says what the sender did and what it should send instead; who is told
//! is for the layers above.

use std::error::Error;
use std::fmt;

use crate::{RequestId, code};

/// A frame that is no message, and what is still known about it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Malformed {
    /// What the sender did wrong.
    pub kind: MalformedKind,
    /// Where in the frame, in bytes; 0 when something is missing.
    pub offset: usize,
    /// The id, when the frame is JSON and the id is legal and unambiguous; an error reply carries it.
    pub id: Option<RequestId>,
    /// No reply may be sent: the frame is a notification (a method and no id) or itself an answer
    /// (a result or an error and no method).
    pub notification: bool,
    /// It has no method: under the id of a request of ours it is meant as the answer.
    pub answer: bool,
}

impl Malformed {
    /// About a text of which nothing else is known.
    pub(crate) fn new(kind: MalformedKind, offset: usize) -> Self {
        Self {
            kind,
            offset,
            id: None,
            notification: false,
            answer: false,
        }
    }

    /// Text that is not JSON: was it at least UTF-8?
    pub(crate) fn unreadable(text: &[u8], offset: usize) -> Self {
        match std::str::from_utf8(text) {
            Ok(_) => Self::new(MalformedKind::NotJson, offset),
            Err(fault) => Self::new(MalformedKind::NotUtf8, fault.valid_up_to()),
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the sender's message {} (at byte {})",
            self.kind, self.offset
        )
    }
}

impl Error for Malformed {}

/// Every way in which a frame can fail to be a message.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum MalformedKind {
    /// It is not one JSON text.
    NotJson,
    /// It is not UTF-8.
    NotUtf8,
    /// It nests deeper than [`Limits::depth`](crate::Limits::depth).
    TooDeep,
    /// A container, the batch or all of it has more elements than [`Limits`](crate::Limits) allow, or the frame has
    /// four gigabytes or more.
    TooManyElements,
    /// It is JSON, but no object.
    NotObject,
    /// It is an array where one message was expected.
    Batch,
    /// `jsonrpc` is missing or not `"2.0"`.
    NoVersion,
    /// The id is null, or neither a string nor an integer of 64 bits; or a result has none.
    BadId,
    /// The method is no string; or there is no method, no result and no error.
    BadMethod,
    /// It has a method and also a result or an error, or both of these.
    Ambiguous,
    /// An object has a key twice.
    DuplicateKey,
    /// `params` is an array.
    ParamsArray,
    /// `params` is a string, a number or a boolean.
    ParamsPrimitive,
    /// It is a batch without messages.
    Empty,
}

impl MalformedKind {
    /// The error code for the reply, if there is one.
    pub fn code(self) -> i32 {
        match self {
            Self::NotJson | Self::NotUtf8 => code::PARSE,
            Self::ParamsArray => code::INVALID_PARAMS,
            Self::TooDeep
            | Self::TooManyElements
            | Self::NotObject
            | Self::Batch
            | Self::NoVersion
            | Self::BadId
            | Self::BadMethod
            | Self::Ambiguous
            | Self::DuplicateKey
            | Self::ParamsPrimitive
            | Self::Empty => code::INVALID_REQUEST,
        }
    }
}

impl fmt::Display for MalformedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotJson => "is not valid JSON; send one JSON object",
            Self::NotUtf8 => "is not UTF-8; send JSON encoded as UTF-8",
            Self::TooDeep => "nests too deep; send flatter JSON",
            Self::TooManyElements => "has too many elements; send fewer",
            Self::NotObject => "is not a JSON object; send one JSON-RPC object",
            Self::Batch => "is a batch, which is not accepted here; send one message at a time",
            Self::NoVersion => "lacks `\"jsonrpc\":\"2.0\"`; add it",
            Self::BadId => "has no usable id; send a string or an integer of 64 bits",
            Self::BadMethod => "has no `method` that is a string; add one",
            Self::Ambiguous => {
                "has more than one of `method`, `result` and `error`; send one of them"
            }
            Self::DuplicateKey => "has a key twice in one object; send each key once",
            Self::ParamsArray => "has an array as `params`; pass parameters by name, in an object",
            Self::ParamsPrimitive => {
                "has `params` that are no object; send an object or leave them out"
            }
            Self::Empty => "is an empty batch; send at least one message",
        })
    }
}
