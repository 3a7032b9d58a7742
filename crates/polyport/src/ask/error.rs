//! Why a question has no answer, and how a call ends that needed one.

use std::fmt;

use polyport_rt::NoAnswer;

/// Why a question has no answer. By `?` it ends a tool with a text for the model, a prompt or a resource with an error; a client that
/// cannot be asked gets the protocol's error for that.
#[derive(Clone, Debug)]
pub struct AskError(Why);

#[derive(Clone, Debug)]
pub(crate) enum Why {
    Declined,
    Cancelled,
    /// See [`NoAnswer::Unsupported`].
    Unsupported(&'static str),
    NoAnswer(NoAnswer),
    Unreadable(String),
    /// A fault of the author or of ours.
    Internal(String),
}

impl AskError {
    pub(crate) fn declined() -> Self {
        Self(Why::Declined)
    }

    pub(crate) fn cancelled() -> Self {
        Self(Why::Cancelled)
    }

    pub(crate) fn unsupported(capability: &'static str) -> Self {
        Self(Why::Unsupported(capability))
    }

    pub(crate) fn over() -> Self {
        Self(Why::NoAnswer(NoAnswer::Over))
    }

    pub(crate) fn no_answer(no: NoAnswer) -> Self {
        Self(if no.is_internal() {
            Why::Internal(no.to_string())
        } else {
            Why::NoAnswer(no)
        })
    }

    pub(crate) fn unreadable(why: impl fmt::Display) -> Self {
        Self(Why::Unreadable(why.to_string()))
    }

    pub(crate) fn internal(why: impl fmt::Display) -> Self {
        Self(Why::Internal(why.to_string()))
    }

    /// Did the user say no?
    pub fn is_declined(&self) -> bool {
        matches!(self.0, Why::Declined)
    }

    /// Did the user go away?
    pub fn is_cancelled(&self) -> bool {
        matches!(self.0, Why::Cancelled)
    }

    /// Can the client not be asked this?
    pub fn is_unsupported(&self) -> bool {
        matches!(self.0, Why::Unsupported(_))
    }

    pub(crate) fn why(&self) -> &Why {
        &self.0
    }
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Why::Declined => f.write_str("The user declined to answer, so this was not done"),
            Why::Cancelled => {
                f.write_str("The user closed the question without an answer, so this was not done")
            }
            Why::Unsupported(what) => NoAnswer::Unsupported(what).fmt(f),
            Why::NoAnswer(no) => no.fmt(f),
            Why::Unreadable(why) => write!(f, "The answer does not fit the question: {why}"),
            Why::Internal(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for AskError {}
