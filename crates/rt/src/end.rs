//! How a call ended, in the words of our own statistics and log. Not what its client is told.

use polyport_proto::{Code, Outcome};

use crate::context::Context;

/// How a call ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum End {
    /// With a result; whether the result tells of a failure is not looked at here.
    Ok,
    /// With an error for which its client can do something.
    Refused,
    /// With an internal error.
    Failed,
    /// Nobody waited for it any more.
    Cancelled,
    /// It took too long.
    TimedOut,
    /// There was no room for it.
    TurnedAway,
}

impl End {
    /// No outcome: it was cancelled and did not end in its grace.
    pub(crate) fn of(context: &Context, outcome: Option<&Outcome>) -> Self {
        if context.is_cancelled() {
            return Self::Cancelled;
        }
        if context.marks().is_expired() {
            return Self::TimedOut;
        }
        if context.marks().is_turned_away() {
            return Self::TurnedAway;
        }
        match outcome {
            None => Self::Cancelled,
            Some(Outcome::Failed(error)) if error.code == Code::Internal => Self::Failed,
            Some(Outcome::Failed(_)) => Self::Refused,
            Some(_) => Self::Ok,
        }
    }
}
