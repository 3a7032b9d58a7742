//! A handler with the bounds and revisions under which it is served, the same on every transport.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use polyport_proto::{Blame, Limits, Revisions};

use crate::handler::{DynHandler, Handler};

/// What an edge serves. Cheap to clone; clones share the count of running calls.
#[derive(Clone)]
pub struct Service {
    /// Who answers.
    pub handler: Arc<dyn DynHandler>,
    /// In which revisions.
    pub speaks: Revisions,
    /// Within which bounds.
    pub limits: Arc<Limits>,
    running: Arc<AtomicUsize>,
}

impl Service {
    /// Serves a handler in all revisions within the default bounds.
    pub fn new(handler: impl Handler) -> Self {
        Self::from_arc(Arc::new(handler))
    }

    /// The same for a handler that is shared already.
    pub fn from_arc(handler: Arc<dyn DynHandler>) -> Self {
        Self {
            handler,
            speaks: Revisions::ALL,
            limits: Arc::default(),
            running: Arc::default(),
        }
    }

    /// In these revisions only.
    #[must_use]
    pub fn speaks(mut self, speaks: Revisions) -> Self {
        self.speaks = speaks;
        self
    }

    /// Within these bounds.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = Arc::new(limits);
        self
    }

    /// How many calls run that were not ready at once.
    pub fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// Is there room for one more call?
    ///
    /// # Errors
    /// [`Blame::TooManyCalls`].
    pub fn check_room(&self) -> Result<(), Blame> {
        let limit = self.limits.calls;
        if self.running() >= limit {
            Err(Blame::TooManyCalls { limit })
        } else {
            Ok(())
        }
    }

    /// Counts a running call until what is given back is dropped.
    pub(crate) fn count(&self) -> Counted {
        self.running.fetch_add(1, Ordering::Relaxed);
        Counted(self.running.clone())
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service")
            .field("speaks", &self.speaks)
            .field("running", &self.running())
            .finish_non_exhaustive()
    }
}

/// One running call.
pub(crate) struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
