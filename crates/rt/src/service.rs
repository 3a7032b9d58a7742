//! A handler with the bounds and revisions under which it is served, the same on every transport.

use std::convert::Infallible;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use polyport_proto::http::HeaderParam;
use polyport_proto::{Blame, Envelope, Limits, Notice, Revisions, RpcError};
use tokio::sync::Notify;

use crate::bus::Bus;
use crate::fault::failure;
use crate::handler::{DynHandler, Handler, StartError};
use crate::journal::Shown;
use crate::layer::{Layer, Layered};
use crate::life::{Life, Started};
use crate::quota::Quota;
use crate::seal::SealKey;
use crate::state::States;
use crate::stats::{Counters, Kind, Live, Stats};

/// What an edge serves. Cheap to clone; clones share the count of running calls.
#[derive(Clone)]
pub struct Service {
    /// Who answers.
    pub handler: Arc<dyn DynHandler>,
    /// In which revisions.
    pub speaks: Revisions,
    /// Within which bounds.
    pub limits: Arc<Limits>,
    /// Who hears of changes outside calls.
    pub bus: Bus,
    pub(crate) states: Arc<States>,
    pub(crate) listens: Quota,
    running: Arc<AtomicUsize>,
    ended: Arc<Notify>,
    streams: Arc<Streams>,
    pub(crate) counters: Arc<Counters>,
    life: Arc<Life>,
    pub(crate) shown: Shown,
}

impl Service {
    /// Serves a handler in all revisions within the default bounds.
    pub fn new(handler: impl Handler) -> Self {
        Self::from_arc(Arc::new(handler))
    }

    /// The same for a handler that is shared already.
    pub fn from_arc(handler: Arc<dyn DynHandler>) -> Self {
        Self {
            bus: handler.bus_dyn().unwrap_or_default(),
            states: Arc::default(),
            listens: Quota::default(),
            handler,
            speaks: Revisions::ALL,
            limits: Arc::default(),
            running: Arc::default(),
            ended: Arc::default(),
            streams: Arc::default(),
            counters: Arc::default(),
            life: Arc::default(),
            shown: Arc::default(),
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

    /// Seals the state of calls between rounds with these keys, the first one; all of them open. Without, a key of this process
    /// alone is made: then only this process can take up what it began.
    #[must_use]
    pub fn seal_keys(self, keys: Vec<SealKey>) -> Self {
        self.rotate_seal_keys(keys);
        self
    }

    /// The same while it serves. Keep the old key second until [`Limits::state_life`] has passed.
    pub fn rotate_seal_keys(&self, keys: Vec<SealKey>) {
        self.states.seals.rotate(keys);
    }

    /// Puts a layer around the handler; the one that is put there last sees a call first.
    #[must_use]
    pub fn layer(mut self, layer: impl Layer) -> Self {
        self.handler = Arc::new(Layered::new(layer, self.handler));
        self
    }

    /// Whose values may stand in our own log of calls: names of arguments (`path`), of one tool or prompt (`read.path`), or `uri`.
    /// Defaults to none: the log has sizes and keyed hashes only.
    #[must_use]
    pub fn log_params<S: Into<Box<str>>>(mut self, fields: impl IntoIterator<Item = S>) -> Self {
        self.shown = fields.into_iter().map(Into::into).collect();
        self
    }

    /// Begins to serve: before the first one does, the handler starts, within [`Limits::start`].
    ///
    /// Whoever serves over stdio, over HTTP or in memory need not call it. Whoever mounts an endpoint elsewhere does, and ends with
    /// [`Started::shutdown`].
    ///
    /// # Errors
    /// [`StartError`]; nothing may be served then.
    pub async fn start(&self) -> Result<Started, StartError> {
        let life = self.life.clone();
        life.start(self.handler.clone(), self.limits.clone()).await
    }

    /// What lives in it now, and what became of its calls so far; of all clones together.
    pub fn stats(&self) -> Stats {
        self.counters.read(self.running())
    }

    /// Counts a session until what is given back is dropped.
    pub fn count_session(&self) -> Live {
        Live::new(self.counters.clone(), Kind::Session)
    }

    /// Counts a stream until what is given back is dropped.
    pub fn count_stream(&self) -> Live {
        Live::new(self.counters.clone(), Kind::Stream)
    }

    /// Counts what an edge refused because there is no room; other blames change nothing.
    pub fn count_refused(&self, blame: &Blame) {
        self.counters.refused(blame);
    }

    /// How many calls run that were not ready at once.
    pub fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// How many of them come to an end by themselves: all but streams of changes, which last until somebody ends them.
    pub fn unfinished(&self) -> usize {
        let streams = self.streams.open.load(Ordering::Relaxed);
        self.running().saturating_sub(streams)
    }

    /// Ends streams of changes: those that there are, and those that begin while it is awaited.
    pub async fn end_streams(&self) -> Infallible {
        loop {
            let begun = self.streams.begun.notified();
            self.bus.end();
            begun.await;
        }
    }

    /// Is there room for one more call?
    ///
    /// # Errors
    /// [`Blame::TooManyCalls`].
    pub fn check_room(&self) -> Result<(), Blame> {
        let limit = self.limits.calls;
        if self.running() >= limit {
            let blame = Blame::TooManyCalls { limit };
            self.count_refused(&blame);
            Err(blame)
        } else {
            Ok(())
        }
    }

    /// Where what changes for this client is told.
    pub fn bus_of(&self, envelope: &Envelope) -> Bus {
        let bus = self.handler.bus_of_dyn(envelope);
        bus.unwrap_or_else(|| self.bus.clone())
    }

    /// Tells the handler of a notification. A panic in it is logged, and the server lives on.
    pub fn notice(&self, notice: Notice) {
        let method = notice.method;
        let told = catch_unwind(AssertUnwindSafe(|| self.handler.notice_dyn(notice)));
        if told.is_err() {
            tracing::error!(method, "the handler of notifications panicked");
        }
    }

    /// The arguments of a tool that are mirrored in headers.
    ///
    /// # Errors
    /// The handler panicked: without knowing them, nothing may be let through.
    pub fn header_params(
        &self,
        tool: &str,
        envelope: &Envelope,
    ) -> Result<Option<Arc<[HeaderParam]>>, RpcError> {
        let asked = catch_unwind(AssertUnwindSafe(|| {
            self.handler.header_params_dyn(tool, envelope)
        }));
        asked.map_err(|_| failure("tools/call", "the handler panicked over mirrored arguments"))
    }

    /// Waits until no call runs. Only what was not ready at once counts.
    pub async fn idle(&self) {
        loop {
            let ended = self.ended.notified();
            if self.running() == 0 {
                return;
            }
            ended.await;
        }
    }

    /// Counts a stream of changes, which is on its bus, until what is given back is dropped.
    pub(crate) fn stream(&self) -> Stream {
        self.streams.open.fetch_add(1, Ordering::Relaxed);
        self.streams.begun.notify_waiters();
        Stream(self.streams.clone())
    }

    /// Counts a running call until what is given back is dropped.
    pub(crate) fn count(&self) -> Counted {
        self.running.fetch_add(1, Ordering::Relaxed);
        Counted {
            running: self.running.clone(),
            ended: self.ended.clone(),
        }
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

/// Streams of changes of `subscriptions/listen`.
#[derive(Debug, Default)]
struct Streams {
    open: AtomicUsize,
    begun: Notify,
}

/// One of them.
pub(crate) struct Stream(Arc<Streams>);

impl Drop for Stream {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One running call.
pub(crate) struct Counted {
    running: Arc<AtomicUsize>,
    ended: Arc<Notify>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        if self.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.ended.notify_waiters();
        }
    }
}
