//! One who hears of changes: what it wants, and what it has not taken yet. Of each thing it hears once, so that what waits is bounded by
//! what it wants.

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use polyport_proto::{Blame, Limits, Remembered};
use polyport_wire::{Raw, write};
use tokio::sync::Notify;

use super::logs::Logs;
use super::tasks::{self, News};
use super::visits::Visits;
use super::{Alert, Bus, lock, write_tag};

/// One who hears of changes. What it wants ends when it is dropped.
pub struct Listener {
    pub(super) bus: Bus,
    pub(super) id: u64,
    /// The subscription's id, which is said with each message.
    pub(super) tag: Option<Raw>,
    pub(super) limits: Arc<Limits>,
    pub(super) alert: Weak<dyn Alert>,
    pub(super) ended: AtomicBool,
    pub(super) end: Notify,
    pub(super) state: Mutex<State>,
}

pub(super) struct State {
    pub(super) wants: Wants,
    /// Resources among them of which it is told nothing.
    pub(super) hidden: HashSet<String>,
    pub(super) session: Option<Arc<Remembered>>,
    pub(super) pending: Pending,
}

#[derive(Default)]
pub(super) struct Wants {
    pub(super) tools: bool,
    pub(super) prompts: bool,
    pub(super) resources: bool,
    pub(super) uris: HashSet<String>,
    pub(super) tasks: HashSet<String>,
}

#[derive(Default)]
pub(super) struct Pending {
    pub(super) tools: bool,
    pub(super) prompts: bool,
    pub(super) resources: bool,
    pub(super) updated: Vec<String>,
    pub(super) logs: Option<Box<Logs>>,
    pub(super) visits: Option<Box<Visits>>,
    pub(super) tasks: Option<Box<News>>,
    /// Messages of somebody else, as they are.
    pub(super) passed: Vec<Vec<u8>>,
}

impl Listener {
    /// Notes what is to be told, and wakes whoever writes to the client if that is new.
    pub(super) fn note(&self, note: impl FnOnce(&mut State, &Limits) -> bool) {
        let new = note(&mut lock(&self.state), &self.limits);
        if new && let Some(alert) = self.alert.upgrade() {
            alert.alert();
        }
    }

    /// Wants to hear of one more resource. Twice is once.
    ///
    /// # Errors
    /// It is subscribed to as many as it may be.
    pub fn subscribe(&self, uri: &str) -> Result<(), Blame> {
        let mut state = lock(&self.state);
        state.hidden.remove(uri);
        if state.wants.uris.contains(uri) {
            return Ok(());
        }
        let limit = self.limits.subscriptions;
        if state.wants.uris.len() >= limit {
            return Err(Blame::TooManySubscriptions { limit });
        }
        state.wants.uris.insert(uri.to_owned());
        // Under the lock, so that the end of this wish is not told before its beginning.
        self.bus.0.interest.in_one(uri, true);
        Ok(())
    }

    /// Wants to hear of a resource no more. One that it did not want is no error.
    pub fn unsubscribe(&self, uri: &str) {
        let mut state = lock(&self.state);
        state.pending.updated.retain(|waiting| waiting != uri);
        state.hidden.remove(uri);
        if state.wants.uris.remove(uri) {
            self.bus.0.interest.in_one(uri, false);
        }
    }

    /// Is told nothing of those resources that it wants and may not see, until it is asked anew or wants one again.
    pub fn hide(&self, is_hidden: impl Fn(&str) -> bool) {
        let uris = lock(&self.state).wants.uris.clone();
        let hidden: HashSet<_> = uris.into_iter().filter(|uri| is_hidden(uri)).collect();
        let mut state = lock(&self.state);
        state
            .pending
            .updated
            .retain(|waiting| !hidden.contains(waiting));
        state.hidden = hidden;
    }

    /// All that has changed since the last time, as messages.
    pub fn take(&self) -> Vec<Vec<u8>> {
        let mut state = lock(&self.state);
        let pending = &mut state.pending;
        let mut out = Vec::new();
        for (changed, method) in [
            (&mut pending.tools, "notifications/tools/list_changed"),
            (&mut pending.prompts, "notifications/prompts/list_changed"),
            (
                &mut pending.resources,
                "notifications/resources/list_changed",
            ),
        ] {
            if std::mem::take(changed) {
                out.push(self.message(method, None));
            }
        }
        for uri in std::mem::take(&mut pending.updated) {
            out.push(self.message("notifications/resources/updated", Some(&uri)));
        }
        if let Some(logs) = &mut pending.logs {
            logs.take(&mut out);
        }
        out.extend(pending.visits.iter_mut().flat_map(|visits| visits.take()));
        let news = pending.tasks.iter_mut().flat_map(|news| news.take());
        out.extend(news.map(|task| tasks::message(self.tag.as_ref(), &task)));
        out.append(&mut pending.passed);
        out
    }

    fn message(&self, method: &str, uri: Option<&str>) -> Vec<u8> {
        let mut params = Vec::new();
        if let Some(tag) = &self.tag {
            params.extend_from_slice(b"\"_meta\":");
            write_tag(&mut params, tag);
        }
        if let Some(uri) = uri {
            if !params.is_empty() {
                params.push(b',');
            }
            params.extend_from_slice(b"\"uri\":");
            write::string(&mut params, uri);
        }
        let mut out = Vec::new();
        let params = String::from_utf8(params).expect("made of JSON text");
        let params = (!params.is_empty()).then(|| format!("{{{params}}}"));
        write::notification(&mut out, method, params.as_deref());
        out
    }

    /// The client has been sent to the page of this id. One whose revision has no such ids is not told of its end either.
    pub(crate) fn expect_visit(&self, id: &str) {
        let mut state = lock(&self.state);
        let session = state.session.as_ref();
        if session.is_some_and(|session| session.revision.profile().elicitation_ids) {
            let visits = state.pending.visits.get_or_insert_default();
            visits.begin(id, self.limits.visits_per_session);
        }
    }

    /// The page of this id is done: who is to say so may. Once.
    pub(crate) fn ends_visit(&self, id: &str) -> bool {
        let mut state = lock(&self.state);
        let visits = state.pending.visits.as_mut();
        visits.is_some_and(|visits| visits.end(id))
    }

    /// Tells the client that this page is done.
    pub(crate) fn tell_visited(&self, id: &str) {
        self.note(|state, limits| {
            let visits = state.pending.visits.get_or_insert_default();
            visits.tell(id, limits.visits_per_session);
            true
        });
    }

    /// The page of this id is done. False: the client was not sent there, or has been told.
    pub(crate) fn visited(&self, id: &str) -> bool {
        let ends = self.ends_visit(id);
        if ends {
            self.tell_visited(id);
        }
        ends
    }

    /// Ends the stream: the server stops, or this connection does.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Release);
        self.end.notify_waiters();
    }

    /// Waits for that end.
    pub async fn ended(&self) {
        loop {
            let notified = self.end.notified();
            if self.ended.load(Ordering::Acquire) {
                return;
            }
            notified.await;
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        {
            let mut listeners = lock(&self.bus.0.listeners);
            listeners.remove(&self.id);
            if listeners.capacity() > 64 && listeners.len() < listeners.capacity() / 8 {
                listeners.shrink_to_fit();
            }
        }
        let wants = std::mem::take(&mut lock(&self.state).wants);
        for uri in wants.uris {
            self.bus.0.interest.in_one(&uri, false);
        }
        for id in wants.tasks {
            self.bus.0.interest.in_task(&id, false);
        }
        if wants.resources {
            self.bus.0.interest.in_list(false);
        }
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener")
            .field("id", &self.id)
            .field("tag", &self.tag)
            .finish_non_exhaustive()
    }
}
