//! What a call says before it ends: progress, logs and other notifications, in order, and nothing after its end.

use std::sync::atomic::Ordering;

use polyport_model::Level;
use polyport_wire::write;

use super::{Context, OVER, RUNNING};
use crate::said::{Said, log_message, notification, number};

impl Context {
    /// Sends a notification; false: there was no room, or the call is over.
    pub fn send(&self, method: &str, params: &[u8]) -> bool {
        let said = self.said();
        let sent = self.state_code() == RUNNING
            && self
                .0
                .outlet
                .note(self, notification(method, params))
                .is_ok();
        drop(said);
        sent
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
        if self.state_code() != RUNNING || self.0.marks.is_expired() || !progress.is_finite() {
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
        if self.state_code() != RUNNING || self.0.marks.is_expired() {
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

    /// Passes on a message of a task that this call waits for.
    pub(crate) fn pass(&self, message: Vec<u8>) -> Result<(), Vec<u8>> {
        let said = self.said();
        let passed = match self.state_code() {
            RUNNING => self.0.outlet.note(self, message),
            _ => Err(message),
        };
        drop(said);
        passed
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
}
