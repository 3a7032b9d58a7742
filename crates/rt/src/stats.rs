//! What lives in a service now and what became of its calls so far (D-12): counters that cost next to nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use polyport_proto::Blame;

use crate::end::End;

/// What a service says of itself; see [`Service::stats`](crate::Service::stats). The numbers are read one after the other, so
/// they may disagree by what happens meanwhile.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Conversations that are open: legacy sessions over HTTP, and connections of lines such as stdio.
    pub sessions: usize,
    /// Responses over HTTP that are streams and go on.
    pub streams: usize,
    /// Calls that run; one that is ready at once never counts.
    pub calls: usize,
    /// Calls that have begun.
    pub begun: u64,
    /// Calls that their client, its leaving, or the end of the server has cancelled.
    pub cancelled: u64,
    /// Calls that took too long.
    pub timed_out: u64,
    /// Requests that found no room: calls, sessions and streams above their bounds.
    pub refused: u64,
    /// Calls that ended with an internal error.
    pub failed: u64,
}

/// The counters of a service and its clones.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    sessions: AtomicUsize,
    streams: AtomicUsize,
    begun: AtomicU64,
    cancelled: AtomicU64,
    timed_out: AtomicU64,
    refused: AtomicU64,
    failed: AtomicU64,
}

/// What is counted while it lives.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Session,
    Stream,
}

impl Counters {
    pub(crate) fn read(&self, calls: usize) -> Stats {
        let live = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        let ever = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            sessions: live(&self.sessions),
            streams: live(&self.streams),
            calls,
            begun: ever(&self.begun),
            cancelled: ever(&self.cancelled),
            timed_out: ever(&self.timed_out),
            refused: ever(&self.refused),
            failed: ever(&self.failed),
        }
    }

    pub(crate) fn begun(&self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn ended(&self, end: End) {
        let counter = match end {
            End::Ok | End::Refused => return,
            End::Failed => &self.failed,
            End::Cancelled => &self.cancelled,
            End::TimedOut => &self.timed_out,
            End::TurnedAway => &self.refused,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts what was refused because there is no room; not what was wrong.
    pub(crate) fn refused(&self, blame: &Blame) {
        if matches!(
            blame,
            Blame::TooManyCalls { .. }
                | Blame::TooManySessions
                | Blame::TooManyStreams
                | Blame::TooMuchUnread
        ) {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn live(&self, kind: Kind) -> &AtomicUsize {
        match kind {
            Kind::Session => &self.sessions,
            Kind::Stream => &self.streams,
        }
    }
}

/// One thing that lives: counted until it is dropped.
#[derive(Debug)]
pub struct Live {
    counters: Arc<Counters>,
    kind: Kind,
}

impl Live {
    pub(crate) fn new(counters: Arc<Counters>, kind: Kind) -> Self {
        counters.live(kind).fetch_add(1, Ordering::Relaxed);
        Self { counters, kind }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.counters
            .live(self.kind)
            .fetch_sub(1, Ordering::Relaxed);
    }
}
