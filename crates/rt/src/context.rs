//! What a call says before it ends (progress, logs), what it may know, and how it learns that it is cancelled.
//! Not how that looks on the wire of a transport: see [`Outlet`].

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use polyport_model::Level;
use polyport_proto::throttle::Throttle;
use polyport_proto::{Admitted, Envelope};
use polyport_wire::{Params, write};
use tokio::sync::Notify;

use crate::clock::Clock;

/// One request to answer.
#[derive(Debug)]
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
            params: admitted.params,
            context: Context::new(admitted.envelope, outlet),
        }
    }
}

/// Where an edge takes the notifications of a call.
pub trait Outlet: Send + Sync + 'static {
    /// Takes one message, without framing.
    ///
    /// # Errors
    /// There is no room; the message comes back.
    fn note(&self, context: &Context, message: Vec<u8>) -> Result<(), Vec<u8>>;

    /// The name of the transport, for our own log.
    fn transport(&self) -> &'static str;
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
}

const RUNNING: u8 = 0;
const OVER: u8 = 1;

/// What surrounds a running call. Cheap to clone.
#[derive(Clone)]
pub struct Context(Arc<Inner>);

struct Inner {
    envelope: Envelope,
    outlet: Arc<dyn Outlet>,
    /// [`RUNNING`], [`OVER`], or 2 and more: cancelled, with the reason.
    state: AtomicU8,
    /// Nothing of this call may be sent any more, even if it has ended.
    revoked: AtomicBool,
    cancelled: Notify,
    /// Made by the first thing said. Its lock also orders what is said before the end of the call.
    said: Mutex<Option<Box<Said>>>,
}

struct Said {
    clock: Clock,
    progress: Throttle,
    last: f64,
    held_back: Option<Vec<u8>>,
    logs: Throttle,
    left_out: u32,
}

impl Context {
    /// The context of a call.
    pub fn new(envelope: Envelope, outlet: Arc<dyn Outlet>) -> Self {
        let inner = Inner {
            envelope,
            outlet,
            state: AtomicU8::new(RUNNING),
            revoked: AtomicBool::new(false),
            cancelled: Notify::new(),
            said: Mutex::new(None),
        };
        Self(Arc::new(inner))
    }

    /// Revision, client, principal.
    pub fn envelope(&self) -> &Envelope {
        &self.0.envelope
    }

    /// Reports progress to a client that asked for it; to others nothing is sent.
    ///
    /// `progress` must grow from report to report: what does not is left out (basic/utilities/progress). A burst of 8 goes
    /// out at once, then 5 a second; the newest of those held back goes out before the result.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        let Some(token) = self.0.envelope.progress_token() else {
            return;
        };
        let mut said = self.said();
        if self.state() != RUNNING || !progress.is_finite() {
            return;
        }
        let said = said.get_or_insert_with(Said::new);
        if progress <= said.last {
            return;
        }
        said.last = progress;
        let mut params = b"{\"progressToken\":".to_vec();
        params.extend_from_slice(token.as_bytes());
        params.extend_from_slice(b",\"progress\":");
        number(&mut params, progress);
        if let Some(total) = total.filter(|t| t.is_finite()) {
            params.extend_from_slice(b",\"total\":");
            number(&mut params, total);
        }
        if let Some(message) = message {
            params.extend_from_slice(b",\"message\":");
            write::string(&mut params, message);
        }
        params.push(b'}');
        let text = notification("notifications/progress", &params);
        if said.progress.admit(said.clock.now()) {
            said.held_back = self.0.outlet.note(self, text).err();
        } else {
            said.held_back = Some(text);
        }
    }

    /// Sends a log message to a client that asked for this level; to others nothing is sent. `data` is JSON text.
    ///
    /// A burst of 50, then 20 a second; how many were left out is said afterwards (server/utilities/logging). What the model
    /// must see belongs in the result.
    pub fn log(&self, level: Level, logger: Option<&str>, data: &str) {
        if self
            .0
            .envelope
            .log_level()
            .is_none_or(|wanted| level < wanted)
        {
            return;
        }
        let mut said = self.said();
        if self.state() != RUNNING {
            return;
        }
        let said = said.get_or_insert_with(Said::new);
        if !said.logs.admit(said.clock.now()) {
            said.left_out += 1;
            return;
        }
        let left_out = said.left_out;
        if let Some(note) = said.take_left_out()
            && self.0.outlet.note(self, note).is_err()
        {
            // It is said with the next one. The message itself has hardly room either, and is counted below.
            said.left_out = left_out;
        }
        if self
            .0
            .outlet
            .note(self, log_message(level, logger, data))
            .is_err()
        {
            said.left_out += 1;
        }
    }

    /// Would a log message of this level be sent at all?
    pub fn logs(&self, level: Level) -> bool {
        self.0
            .envelope
            .log_level()
            .is_some_and(|wanted| level >= wanted)
    }

    /// Is the call no longer wanted?
    pub fn is_cancelled(&self) -> bool {
        self.state() > OVER
    }

    /// Why it is no longer wanted.
    pub fn cancel_reason(&self) -> Option<CancelReason> {
        match self.state() {
            2 => Some(CancelReason::Client),
            3 => Some(CancelReason::Disconnected),
            4 => Some(CancelReason::Shutdown),
            _ => None,
        }
    }

    /// Waits until the call is no longer wanted. Its future is dropped a grace later (default 2 seconds).
    pub async fn cancelled(&self) -> CancelReason {
        loop {
            let notified = self.0.cancelled.notified();
            if let Some(reason) = self.cancel_reason() {
                return reason;
            }
            notified.await;
        }
    }

    /// Ends the wish for this call; nothing of it is sent any more, not even what it has said already.
    pub fn cancel(&self, reason: CancelReason) {
        let said = self.said();
        self.0.revoked.store(true, Ordering::Release);
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

    /// Was it cancelled, be it after its end? Then what waits to be sent for it is left out.
    pub fn is_revoked(&self) -> bool {
        self.0.revoked.load(Ordering::Acquire)
    }

    /// Ends what may be said: whatever comes later is left out. Gives back what was held back and goes before the result.
    pub fn finish(&self) -> Vec<Vec<u8>> {
        let mut said = self.said();
        if self
            .0
            .state
            .compare_exchange(RUNNING, OVER, Ordering::AcqRel, Ordering::Relaxed)
            .is_err()
        {
            return Vec::new();
        }
        let Some(said) = said.as_mut() else {
            return Vec::new();
        };
        said.take_left_out()
            .into_iter()
            .chain(said.held_back.take())
            .collect()
    }

    /// Are both the surroundings of one call?
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The name of the transport by which it came.
    pub(crate) fn transport(&self) -> &'static str {
        self.0.outlet.transport()
    }

    fn state(&self) -> u8 {
        self.0.state.load(Ordering::Acquire)
    }

    fn said(&self) -> MutexGuard<'_, Option<Box<Said>>> {
        // Nothing that is done under the lock leaves it half done.
        self.0.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the cancel and then for the grace.
    pub(crate) async fn cancelled_for(&self, grace: Duration) {
        self.cancelled().await;
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

impl Said {
    fn new() -> Box<Self> {
        Box::new(Self {
            clock: Clock::start(),
            progress: Throttle::progress(),
            last: f64::NEG_INFINITY,
            held_back: None,
            logs: Throttle::logs(),
            left_out: 0,
        })
    }

    fn take_left_out(&mut self) -> Option<Vec<u8>> {
        let n = std::mem::take(&mut self.left_out);
        (n > 0).then(|| {
            log_message(
                Level::Warning,
                Some("polyport"),
                &format!("\"{n} log messages were left out: too many at once\""),
            )
        })
    }
}

fn log_message(level: Level, logger: Option<&str>, data: &str) -> Vec<u8> {
    let mut params = b"{\"level\":\"".to_vec();
    params.extend_from_slice(level.as_str().as_bytes());
    params.push(b'"');
    if let Some(logger) = logger {
        params.extend_from_slice(b",\"logger\":");
        write::string(&mut params, logger);
    }
    params.extend_from_slice(b",\"data\":");
    params.extend_from_slice(data.as_bytes());
    params.push(b'}');
    notification("notifications/message", &params)
}

fn notification(method: &str, params: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(params.len() + 64);
    let params = std::str::from_utf8(params).expect("made of JSON text");
    write::notification(&mut out, method, Some(params));
    out
}

/// Whole numbers without a fraction, as most clients write them.
#[allow(clippy::cast_possible_truncation)]
fn number(out: &mut Vec<u8>, n: f64) {
    if n.fract() == 0.0 && n.abs() < 9_007_199_254_740_992.0 {
        out.extend_from_slice((n as i64).to_string().as_bytes());
    } else {
        out.extend_from_slice(n.to_string().as_bytes());
    }
}
