//! Whether a long operation may go on: asked in every loop. Knows nothing of files.

use std::time::Instant;

use super::{FilesError, Limits};

/// The two ends that come from outside: the caller cancelled, or the time is up.
pub(crate) struct Pace<'a> {
    cancelled: &'a dyn Fn() -> bool,
    deadline: Option<Instant>,
}

impl<'a> Pace<'a> {
    pub(crate) fn new(limits: &Limits, cancelled: &'a dyn Fn() -> bool) -> Self {
        // A time so long that the clock cannot hold it is no bound at all; `Limits` documents none that long.
        Self {
            cancelled,
            deadline: Instant::now().checked_add(limits.time),
        }
    }

    /// False when the time is up and what was found so far is the answer.
    pub(crate) fn go_on(&self) -> Result<bool, FilesError> {
        if (self.cancelled)() {
            return Err(FilesError::Cancelled);
        }
        Ok(self
            .deadline
            .is_none_or(|deadline| Instant::now() < deadline))
    }

    /// For operations whose half answer is worth nothing.
    pub(crate) fn must_go_on(&self, path: impl FnOnce() -> String) -> Result<(), FilesError> {
        if self.go_on()? {
            Ok(())
        } else {
            Err(FilesError::TimeUp { path: path() })
        }
    }
}
