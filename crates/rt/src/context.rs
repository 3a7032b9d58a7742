//! What surrounds a call: what it may know, and how it learns that it is cancelled. What it says is in `says`; how that looks on the
//! wire of a transport is for the [`Outlet`].

mod outlet;
mod says;

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use polyport_proto::{Admitted, Envelope, Era};
use polyport_wire::{Params, RequestId};
use tokio::sync::Notify;

use crate::bus::Alert;
use crate::marks::Marks;
use crate::revocation::Revocation;
use crate::rounds::Rounds;
use crate::said::Said;
pub use outlet::Outlet;

/// One request to answer.
pub struct Call {
    /// The method, as the modern era names it.
    pub method: &'static str,
    /// Its parameters.
    pub params: Params,
    /// Everything around it.
    pub context: Context,
}

impl Call {
    /// The call of a request that was let in; what it says goes to `outlet`.
    pub fn new(admitted: Admitted, outlet: Arc<dyn Outlet>) -> Self {
        Self {
            method: admitted.method,
            params: admitted.params.clone(),
            context: Context::new(admitted, outlet),
        }
    }
}

impl fmt::Debug for Call {
    /// What is asked belongs in no log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("method", &self.method)
            .field("context", &self.context)
            .finish_non_exhaustive()
    }
}

/// Why a call is no longer wanted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum CancelReason {
    /// The client said so.
    Client,
    /// The client is gone, or has closed the stream that means the same.
    Disconnected,
    /// The server ends.
    Shutdown,
    /// It took too long. The client is still told how it ended.
    TimedOut,
}

const RUNNING: u8 = 0;
const OVER: u8 = 1;

/// What surrounds a running call. Cheap to clone.
#[derive(Clone)]
pub struct Context(Arc<Inner>);

struct Inner {
    id: RequestId,
    method: &'static str,
    params: Params,
    envelope: Envelope,
    outlet: Arc<dyn Outlet>,
    /// [`RUNNING`], [`OVER`], or 2 and more: cancelled, with the reason.
    state: AtomicU8,
    /// Nothing of this call may be sent any more, even if it has ended. Made when somebody must know.
    revoked: OnceLock<Revocation>,
    marks: Marks,
    /// What the client has said when it cancelled the call.
    why: OnceLock<String>,
    cancelled: Notify,
    /// Made by the first thing said. Its lock also orders what is said before the end of the call.
    said: Mutex<Option<Box<Said>>>,
    /// Made by the first question.
    rounds: Mutex<Option<Box<Rounds>>>,
    /// Questions are open that wait for the end of the round.
    asking: AtomicBool,
    /// Such a question was opened, perhaps on another thread than the one that runs the call.
    asked: Notify,
    /// The call's future is gone.
    settled: AtomicBool,
    /// Somebody waits for that, or has done so.
    watched: AtomicBool,
}

impl Context {
    /// The context of a call.
    pub fn new(admitted: Admitted, outlet: Arc<dyn Outlet>) -> Self {
        let inner = Inner {
            id: admitted.id,
            method: admitted.method,
            params: admitted.params,
            envelope: admitted.envelope,
            outlet,
            state: AtomicU8::new(RUNNING),
            revoked: OnceLock::new(),
            marks: Marks::default(),
            why: OnceLock::new(),
            cancelled: Notify::new(),
            said: Mutex::new(None),
            rounds: Mutex::new(None),
            asking: AtomicBool::new(false),
            asked: Notify::new(),
            settled: AtomicBool::new(false),
            watched: AtomicBool::new(false),
        };
        Self(Arc::new(inner))
    }

    /// Revision, client, principal.
    pub fn envelope(&self) -> &Envelope {
        &self.0.envelope
    }

    /// The id of the request, which is the client's own and may repeat.
    pub fn request_id(&self) -> &RequestId {
        &self.0.id
    }

    /// The method of the request, as the modern era names it.
    pub fn method(&self) -> &'static str {
        self.0.method
    }

    /// The parameters of the request.
    pub fn params(&self) -> &Params {
        &self.0.params
    }

    /// Is the call no longer wanted, so that it is not answered?
    pub fn is_cancelled(&self) -> bool {
        self.state_code() > OVER
    }

    /// Why it should end: it is no longer wanted, or its time is over.
    pub fn cancel_reason(&self) -> Option<CancelReason> {
        match self.state_code() {
            2 => Some(CancelReason::Client),
            3 => Some(CancelReason::Disconnected),
            4 => Some(CancelReason::Shutdown),
            5 => Some(CancelReason::TimedOut),
            _ => self.0.marks.is_expired().then_some(CancelReason::TimedOut),
        }
    }

    /// Waits until the call should end. Its future is dropped a grace later (default 2 seconds).
    pub async fn cancelled(&self) -> CancelReason {
        loop {
            let notified = self.0.cancelled.notified();
            if let Some(reason) = self.cancel_reason() {
                return reason;
            }
            notified.await;
        }
    }

    /// The words with which the client has cancelled the call. They are its own, and may be anything.
    pub fn cancel_words(&self) -> Option<&str> {
        self.0.why.get().map(String::as_str)
    }

    /// The client cancels the call, and says why, or does not.
    pub fn cancel_as_told(&self, why: Option<String>) {
        if let Some(why) = why {
            // The first word counts, as the first wish does.
            let _ = self.0.why.set(why);
        }
        self.cancel(CancelReason::Client);
    }

    /// Ends the wish for this call; nothing of it is sent any more, not even what it has said already.
    pub fn cancel(&self, reason: CancelReason) {
        let said = self.said();
        self.revocation().revoke();
        let code = 2 + reason as u8;
        let changed = self
            .0
            .state
            .compare_exchange(RUNNING, code, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok();
        drop(said);
        if changed {
            self.0.cancelled.notify_waiters();
        }
    }

    /// Tells the call that its time is over. It says nothing more, and is answered all the same: by whoever says this.
    pub fn expire(&self) {
        let said = self.said();
        self.0.marks.expire();
        drop(said);
        self.0.cancelled.notify_waiters();
    }

    /// Notes that there was no room for the call, for the statistics and the log.
    pub fn turn_away(&self) {
        self.0.marks.turn_away();
    }

    pub(crate) fn marks(&self) -> &Marks {
        &self.0.marks
    }

    /// Was it cancelled, be it after its end? Then what waits to be sent for it is left out.
    pub fn is_revoked(&self) -> bool {
        self.0.revoked.get().is_some_and(Revocation::is_revoked)
    }

    /// The same for whoever keeps what the call has said.
    pub fn revocation(&self) -> Revocation {
        self.0.revoked.get_or_init(Revocation::default).clone()
    }

    /// Ends the stream on which the client waits for this call, which goes on: the client comes back for the rest after `retry`.
    ///
    /// Only over HTTP, in revisions whose streams may be left like this (2025-11-25, basic/transports), and for clients that
    /// take streams. False: nothing changes.
    pub fn release(&self, retry: Duration) -> bool {
        self.state_code() == RUNNING && self.0.outlet.release(self, retry)
    }

    /// Are both the surroundings of one call?
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The name of the transport by which it came.
    pub(crate) fn transport(&self) -> &'static str {
        self.0.outlet.transport()
    }

    fn state_code(&self) -> u8 {
        self.0.state.load(Ordering::Acquire)
    }

    /// Tells the session of this call no updates of those resources that it wants and may not see, until the next time this is called.
    pub fn hide_updates(&self, is_hidden: impl Fn(&str) -> bool) {
        if let Some(listener) = self.0.outlet.listener() {
            listener.hide(is_hidden);
        }
    }

    pub(crate) fn outlet(&self) -> &Arc<dyn Outlet> {
        &self.0.outlet
    }

    pub(crate) fn alert(&self) -> Weak<dyn Alert> {
        let alert: Arc<dyn Alert> = self.0.outlet.clone();
        Arc::downgrade(&alert)
    }

    pub(crate) fn question_wait(&self) -> Duration {
        self.0.outlet.question_wait()
    }

    /// Is it a request of the modern era?
    pub(crate) fn is_modern(&self) -> bool {
        self.envelope().profile().era == Era::Modern
    }

    /// Does a question end the round of this call, rather than wait?
    pub(crate) fn asks_in_rounds(&self) -> bool {
        self.is_modern() && !self.in_task()
    }

    /// Does it belong to a legacy session that its client can come back to?
    pub fn has_session(&self) -> bool {
        self.0.outlet.listener().is_some()
    }

    /// Is it a task?
    pub fn in_task(&self) -> bool {
        self.0.outlet.in_task()
    }

    /// The surroundings of the same call as a task: it knows what its rounds have brought so far.
    pub(crate) fn as_task(&self, outlet: Arc<dyn Outlet>) -> Self {
        let admitted = Admitted {
            id: self.0.id.clone(),
            method: self.0.method,
            params: self.0.params.clone(),
            envelope: self.0.envelope.clone(),
        };
        let task = Self::new(admitted, outlet);
        let mut rounds = self.rounds().take();
        if let Some(rounds) = &mut rounds {
            rounds.rerun();
        }
        *task.rounds() = rounds;
        task
    }

    pub(crate) fn rounds(&self) -> MutexGuard<'_, Option<Box<Rounds>>> {
        self.0.rounds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Is a question open that waits for the end of the round?
    pub(crate) fn is_asking(&self) -> bool {
        self.0.asking.load(Ordering::SeqCst)
    }

    pub(crate) fn set_asking(&self, asking: bool) {
        self.0.asking.store(asking, Ordering::SeqCst);
    }

    /// Whoever runs the call should see whether it waits for nothing else.
    pub(crate) fn tell_asked(&self) {
        self.0.asked.notify_one();
    }

    /// Waits for that.
    pub(crate) async fn asked(&self) {
        self.0.asked.notified().await;
    }

    /// The call's future is gone: whoever still waits for an answer, on another thread, hears that the call is over.
    pub(crate) fn settle(&self) {
        self.0.settled.store(true, Ordering::SeqCst);
        if self.is_asking() {
            self.end_round();
        }
        if self.0.watched.load(Ordering::SeqCst) {
            self.0.cancelled.notify_waiters();
        }
    }

    /// Waits until the call is no longer wanted, or its future is gone.
    pub(crate) async fn ended(&self) {
        // Before it is asked whether the future is gone: one of the two sees what the other has said.
        self.0.watched.store(true, Ordering::SeqCst);
        loop {
            let notified = self.0.cancelled.notified();
            if self.is_cancelled() || self.is_settled() {
                return;
            }
            notified.await;
        }
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.0.settled.load(Ordering::SeqCst)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.state_code() == OVER
    }

    fn said(&self) -> MutexGuard<'_, Option<Box<Said>>> {
        // Nothing that is done under the lock leaves it half done.
        self.0.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the cancel and then for the grace.
    pub(crate) async fn cancelled_for(&self, grace: Duration) {
        loop {
            let notified = self.0.cancelled.notified();
            if self.is_cancelled() {
                break;
            }
            notified.await;
        }
        tokio::time::sleep(grace).await;
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("envelope", &self.0.envelope)
            .field("cancelled", &self.cancel_reason())
            .finish_non_exhaustive()
    }
}
