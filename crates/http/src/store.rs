//! What all sessions of an endpoint share: their bounds, how much is kept for clients that may come back, and how much each
//! principal is asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use polyport_proto::Limits;
use polyport_rt::quota::Quota;

#[derive(Debug)]
pub(crate) struct Store {
    /// Bytes that wait for a client, or that are kept in case it missed them.
    used: AtomicUsize,
    /// Questions that wait for their answer.
    pub(crate) questions: Quota,
    pub(crate) limits: Arc<Limits>,
}

impl Store {
    pub(crate) fn new(limits: &Arc<Limits>) -> Self {
        Self {
            used: AtomicUsize::new(0),
            questions: Quota::default(),
            limits: limits.clone(),
        }
    }

    /// Counts bytes in. False: that is more than there may be.
    pub(crate) fn add(&self, bytes: usize) -> bool {
        self.used.fetch_add(bytes, Ordering::Relaxed) + bytes <= self.limits.replay_bytes_in_all
    }

    /// Counts bytes out.
    pub(crate) fn free(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Is there no room for one more byte?
    pub(crate) fn is_full(&self) -> bool {
        self.used() >= self.limits.replay_bytes_in_all
    }

    /// Bytes that are kept now.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}
