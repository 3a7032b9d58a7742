//! What a call's function may know and say: [`Cx`]. How it reaches the client is the edge's business.

use std::time::Duration;

use polyport_model::{ClientCapabilities, Implementation, Level};
use polyport_proto::{Principal, Revision};
use polyport_rt::{CancelReason, Context};
use serde::Serialize;

/// The surroundings of a running call. Cheap to clone; what is said after the call has ended is left out.
#[derive(Clone, Debug)]
pub struct Cx(pub(crate) Context);

impl Cx {
    /// Reports progress, of nobody knows how much. Only clients that asked for it get it.
    pub fn progress(&self, progress: f64) {
        self.0.progress(progress, None, None);
    }

    /// Reports progress with a total and a message for a person.
    ///
    /// `progress` must grow. A burst of 8 reports goes out at once, then 5 a second, the newest always before the result.
    pub fn progress_of(&self, progress: f64, total: f64, message: &str) {
        self.0.progress(
            progress,
            Some(total),
            (!message.is_empty()).then_some(message),
        );
    }

    /// Sends a log message to a client that asked for this level. `data` may be a text or anything that serialises.
    ///
    /// What the model must see belongs in the result: many clients show logs to nobody.
    pub fn log(&self, level: Level, data: impl Serialize) {
        if self.0.logs(level)
            && let Ok(data) = serde_json::to_string(&data)
        {
            self.0.log(level, None, &data);
        }
    }

    /// [`log`](Self::log) at debug.
    pub fn debug(&self, data: impl Serialize) {
        self.log(Level::Debug, data);
    }

    /// [`log`](Self::log) at info.
    pub fn info(&self, data: impl Serialize) {
        self.log(Level::Info, data);
    }

    /// [`log`](Self::log) at warning.
    pub fn warning(&self, data: impl Serialize) {
        self.log(Level::Warning, data);
    }

    /// [`log`](Self::log) at error.
    pub fn error(&self, data: impl Serialize) {
        self.log(Level::Error, data);
    }

    /// Ends the HTTP response on which the client waits for this call, which goes on: the client comes back for what is said from
    /// now on and for the result, after `retry`. It spares a connection for a call that takes long.
    ///
    /// Works over HTTP with sessions, in the revisions that have it, for clients that take streams. Elsewhere it is `false` and
    /// changes nothing.
    pub fn release(&self, retry: Duration) -> bool {
        self.0.release(retry)
    }

    /// Tells this client's session no updates of those resources that it has subscribed to and may not see any more, until the next call
    /// of this says otherwise. A modern client has no session.
    pub fn hide_updates(&self, is_hidden: impl Fn(&str) -> bool) {
        self.0.hide_updates(is_hidden);
    }

    /// Should this call end, because nobody waits for it any more or its time is over?
    pub fn is_cancelled(&self) -> bool {
        self.0.cancel_reason().is_some()
    }

    /// Waits until this call should end. Its future is dropped 2 seconds later.
    pub async fn cancelled(&self) -> CancelReason {
        self.0.cancelled().await
    }

    /// The client's name and version, as it says itself. Never a reason to grant anything.
    pub fn client(&self) -> Option<Implementation> {
        self.0.envelope().client().info()
    }

    /// What the client can do.
    pub fn capabilities(&self) -> ClientCapabilities {
        self.0.envelope().client().capabilities()
    }

    /// The revision in which the client asks.
    pub fn revision(&self) -> Revision {
        self.0.envelope().revision()
    }

    /// Who asks, as an authorization layer proved.
    pub fn principal(&self) -> Option<&Principal> {
        self.0.envelope().principal().map(AsRef::as_ref)
    }
}
