//! Why a client did not get what it asked for, and who erred.

use std::fmt;
use std::io;
use std::process::ExitStatus;

use polyport_model::{CallToolResult, InputRequiredResult, RpcError};
use polyport_rt::{CallError, Late, Status};

/// Why a client did not get what it asked for.
#[derive(Debug)]
#[non_exhaustive]
pub enum ClientError {
    /// The program of the server could not be started.
    NotStarted {
        /// Its name.
        program: String,
        /// Why.
        error: io::Error,
    },
    /// The server, which was a child of ours, has ended or has closed its output.
    Gone {
        /// How its process ended, if it has.
        status: Option<ExitStatus>,
        /// The last lines that it said on standard error.
        said: Vec<String>,
    },
    /// The connection to a server that is no child of ours has ended.
    Closed,
    /// There are as many connections to the server as there may be ([`Connect::at_most`](super::Connect::at_most)): so many.
    NoRoom(usize),
    /// The server cannot be reached: nothing was sent. The text says at which step.
    Unreachable(String),
    /// The connection broke while the answer was awaited; whether the server has done what was asked is not known.
    Broken(String),
    /// The server answers with an HTTP status instead of a message.
    Status(Box<Status>),
    /// The server answered with an error.
    Refused(RpcError),
    /// The server does not say that it offers this; it was not asked.
    NotOffered(&'static str),
    /// The server asks something first, which this client cannot answer; or a task goes on waiting for answers that it has.
    NeedsInput(Box<InputRequiredResult>),
    /// The result is not what the tool says that it answers. [`Connect::no_output_check`](super::Connect::no_output_check) takes such
    /// results as they are.
    Misfit {
        /// The tool.
        tool: String,
        /// Where it breaks its schema, and how.
        why: String,
        /// The result: the tool has run.
        result: Box<CallToolResult>,
    },
    /// The server has asked so often within one request, and asks on; it was told that we no longer wait. In the legacy era that are
    /// [`MAX_QUESTIONS`](crate::MAX_QUESTIONS) questions, in the modern one, and of a task, 16 rounds of them.
    AsksOn(usize),
    /// The task that was waited for has been cancelled.
    Cancelled,
    /// No answer in time.
    TimedOut(Late),
    /// The server and this client have no revision in common; the text says what the server speaks.
    NoCommonRevision(String),
    /// The answer is not what the specification says it is.
    Unreadable(String),
    /// The answer is of a type of results that this client does not know, and so no result; the text says of which.
    UnknownResult(String),
}

impl From<CallError> for ClientError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Refused(raw) => match raw.decode() {
                Ok(error) => Self::Refused(error),
                Err(error) => Self::Unreadable(format!("its error is no error object: {error}")),
            },
            CallError::AsksOn(times) => Self::AsksOn(times),
            CallError::TimedOut(late) => Self::TimedOut(late),
            CallError::NoCommonRevision(theirs) => Self::NoCommonRevision(theirs),
            CallError::Unreadable(why) => Self::Unreadable(why),
            CallError::Unreachable(why) => Self::Unreachable(why),
            CallError::Broken(why) => Self::Broken(why),
            CallError::Status(status) => Self::Status(status),
            CallError::SessionLost => {
                Self::Unreadable("it forgets each session at once".to_owned())
            }
            _ => Self::Closed,
        }
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted { program, error } => write!(f, "cannot start {program}: {error}"),
            Self::Gone { status, .. } => match status {
                Some(status) => write!(f, "the server has ended ({status})"),
                None => f.write_str("the server has closed its output"),
            },
            Self::Closed => f.write_str("the server has closed the connection"),
            Self::NoRoom(most) => write!(
                f,
                "there are {most} connections to the server, as many as there may be"
            ),
            Self::Unreachable(why) => write!(f, "the server cannot be reached: {why}"),
            Self::Broken(why) => write!(f, "the connection broke before the answer came: {why}"),
            Self::Status(status) => status.fmt(f),
            Self::Refused(error) => write!(f, "the server refused: {error}"),
            Self::NotOffered(what) => write!(f, "the server does not offer {what}"),
            Self::NeedsInput(_) => {
                f.write_str("the server asks something first, and nobody is there to answer")
            }
            Self::Misfit { tool, why, .. } => {
                write!(
                    f,
                    "the result of {tool} does not fit its output schema: {why}"
                )
            }
            Self::AsksOn(times) => write!(f, "the server has asked {times} times, and asks on"),
            Self::Cancelled => f.write_str("the task has been cancelled"),
            Self::TimedOut(late) => late.fmt(f),
            Self::NoCommonRevision(theirs) => {
                write!(
                    f,
                    "no revision of the protocol in common: the server speaks {theirs}"
                )
            }
            Self::Unreadable(why) => write!(f, "the server's answer cannot be read: {why}"),
            Self::UnknownResult(kind) => write!(
                f,
                "the server's answer is no result: its resultType is {kind}, which this client has not agreed to"
            ),
        }
    }
}

impl std::error::Error for ClientError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NotStarted { error, .. } => Some(error),
            _ => None,
        }
    }
}
