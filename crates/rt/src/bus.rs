//! What changes outside any call, and who hears of it: list changes, updates of resources, logs. Nothing is queued twice: a listener
//! that has not taken a change yet hears of it once, so what waits is bounded by what was subscribed to.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use polyport_model::{Level, SubscriptionFilter};
use polyport_proto::{Blame, Limits, Remembered, Revision, Task};
use polyport_wire::Raw;
use tokio::sync::Notify;

mod interest;
mod listener;
mod logs;
pub(crate) mod tasks;
pub(crate) mod visits;

use interest::Interest;
pub use interest::Watcher;
pub use listener::Listener;
use listener::{Pending, State, Wants};
use logs::Logs;

/// Wakes whoever writes to a client.
pub trait Alert: Send + Sync + 'static {
    /// There is something to take.
    fn alert(&self);
}

/// A server's changes. Cheap to clone; clones are one bus.
#[derive(Clone, Default)]
pub struct Bus(Arc<Inner>);

#[derive(Default)]
struct Inner {
    next: AtomicU64,
    listeners: Mutex<HashMap<u64, Weak<Listener>>>,
    interest: Interest,
    dropped_logs: AtomicU64,
    /// Buses of parts of the clients.
    children: Mutex<Vec<Weak<Self>>>,
}

impl Bus {
    /// A bus on which nobody listens.
    pub fn new() -> Self {
        Self::default()
    }

    /// A bus for some of the clients: what is told on it only they hear, and what is told here does not reach them. It ends with this one.
    #[must_use]
    pub fn child(&self) -> Self {
        let child = Self::new();
        let mut children = lock(&self.0.children);
        children.retain(|child| child.strong_count() > 0);
        children.push(Arc::downgrade(&child.0));
        child
    }

    fn children(&self) -> Vec<Self> {
        let children = lock(&self.0.children);
        children
            .iter()
            .filter_map(Weak::upgrade)
            .map(Self)
            .collect()
    }

    /// Tells this watcher which resources are subscribed to. There can be one; false: there is one already.
    pub fn set_watcher(&self, watcher: Arc<dyn Watcher>) -> bool {
        self.0.interest.set_watcher(watcher)
    }

    /// The list of tools has changed.
    pub fn tools_changed(&self) {
        self.tell(|state| state.wants.tools && !std::mem::replace(&mut state.pending.tools, true));
    }

    /// The list of prompts has changed.
    pub fn prompts_changed(&self) {
        self.tell(|state| {
            state.wants.prompts && !std::mem::replace(&mut state.pending.prompts, true)
        });
    }

    /// The list of resources has changed.
    pub fn resources_changed(&self) {
        self.tell(|state| {
            state.wants.resources && !std::mem::replace(&mut state.pending.resources, true)
        });
    }

    /// A resource has changed.
    pub fn updated(&self, uri: &str) {
        if !self.0.interest.has(uri) {
            return;
        }
        self.tell(|state| {
            let new = state.wants.uris.contains(uri)
                && !state.hidden.contains(uri)
                && !state.pending.updated.iter().any(|waiting| waiting == uri);
            if new {
                state.pending.updated.push(uri.to_owned());
            }
            new
        });
    }

    /// A resource has changed that a server behind us names. Where nobody is subscribed to just that, it may be a part of what somebody
    /// is subscribed to, so that all hear of it who are subscribed to anything.
    pub fn updated_or_part(&self, uri: &str) {
        if self.0.interest.has(uri) {
            return self.updated(uri);
        }
        self.tell_each(|state, limits| {
            let updated = &mut state.pending.updated;
            let new = !state.wants.uris.is_empty()
                && updated.len() < limits.subscriptions
                && !updated.iter().any(|waiting| waiting == uri);
            if new {
                updated.push(uri.to_owned());
            }
            new
        });
    }

    /// Each resource that somebody is subscribed to may have changed.
    pub fn all_updated(&self) {
        self.tell(|state| {
            let State {
                wants,
                hidden,
                pending,
                ..
            } = state;
            let before = pending.updated.len();
            for uri in &wants.uris {
                if !hidden.contains(uri) && !pending.updated.contains(uri) {
                    pending.updated.push(uri.clone());
                }
            }
            pending.updated.len() > before
        });
    }

    /// A task has changed: those who subscribed to it hear of it, and so does the session that it belongs to.
    pub(crate) fn task_changed(&self, task: &Task, session: Option<&Weak<Listener>>) {
        let note = |state: &mut State| {
            let session = state.session.as_ref();
            let revision = session.map_or(Revision::LATEST, |session| session.revision);
            let news = state.pending.tasks.get_or_insert_default();
            news.note(task, revision)
        };
        self.tell(|state| state.wants.tasks.contains(task.id()) && note(state));
        if let Some(listener) = session.and_then(Weak::upgrade) {
            listener.note(|state, _| note(state));
        }
    }

    /// A task of a server behind us has changed, of which this is the state: the parameters of `notifications/tasks`, or the result of
    /// `tasks/get`. Those who listen to it hear of it.
    pub fn task_passed(&self, id: &str, state: &Raw) {
        self.tell(|state_of| {
            let wants = state_of.session.is_none() && state_of.wants.tasks.contains(id);
            wants && {
                let news = state_of.pending.tasks.get_or_insert_default();
                news.pass(id, state)
            }
        });
    }

    /// A notification for the legacy sessions whose revision it fits, as it is. Each keeps as many that it has not taken as log
    /// messages: those beyond are left out.
    pub fn pass(&self, message: &[u8], fits: impl Fn(Revision) -> bool) {
        self.tell_each(|state, limits| {
            let session = state.session.as_ref();
            if !session.is_some_and(|session| fits(session.revision)) {
                return false;
            }
            let passed = &mut state.pending.passed;
            let bytes: usize = passed.iter().map(Vec::len).sum();
            let fits = passed.len() < limits.waiting_logs
                && bytes + message.len() <= limits.waiting_logs_bytes;
            if fits {
                passed.push(message.to_vec());
            }
            fits
        });
    }

    /// A log message for legacy sessions that asked for this level; `data` is JSON text. The modern era has logs of calls only: for
    /// its clients it is dropped, and counted.
    pub fn log(&self, level: Level, logger: Option<&str>, data: &str) {
        let mut dropped = 0;
        self.tell_each(|state, limits| {
            let Some(session) = &state.session else {
                dropped += 1;
                return false;
            };
            if session.level().is_none_or(|wanted| level < wanted) {
                return false;
            }
            let logs = state.pending.logs.get_or_insert_with(Logs::new);
            logs.push(level, logger, data, limits);
            true
        });
        self.0.dropped_logs.fetch_add(dropped, Ordering::Relaxed);
    }

    /// How many log messages were dropped because the client is a modern one.
    pub fn dropped_logs(&self) -> u64 {
        self.0.dropped_logs.load(Ordering::Relaxed)
    }

    /// How many listen: legacy sessions and streams of `subscriptions/listen`.
    pub fn listeners(&self) -> usize {
        let own = lock(&self.0.listeners).len();
        own + self.children().iter().map(Self::listeners).sum::<usize>()
    }

    /// The resources that somebody is subscribed to.
    pub fn subscriptions(&self) -> Vec<String> {
        self.0.interest.uris()
    }

    /// The tasks that somebody listens to.
    pub fn tasks(&self) -> Vec<String> {
        self.0.interest.tasks()
    }

    /// How many resources somebody is subscribed to.
    pub fn watched(&self) -> usize {
        self.0.interest.len() + self.children().iter().map(Self::watched).sum::<usize>()
    }

    /// A legacy session listens: to all list changes, to what it subscribes to, to logs of its level.
    pub fn listen_session(
        &self,
        session: Arc<Remembered>,
        alert: Weak<dyn Alert>,
        limits: &Arc<Limits>,
    ) -> Arc<Listener> {
        let wants = Wants {
            tools: true,
            prompts: true,
            resources: true,
            uris: HashSet::new(),
            tasks: HashSet::new(),
        };
        self.listen(wants, Some(session), None, alert, limits)
    }

    /// A modern client listens to what its filter says. `id`: the JSON text of its request's id.
    ///
    /// # Errors
    /// More resources than there may be.
    pub fn listen_filter(
        &self,
        filter: &SubscriptionFilter,
        id: Raw,
        alert: Weak<dyn Alert>,
        limits: &Arc<Limits>,
    ) -> Result<Arc<Listener>, Blame> {
        let max = limits.subscriptions;
        let uris = filter.resource_subscriptions.iter().flatten();
        let uris: HashSet<_> = uris.cloned().collect();
        let tasks: HashSet<_> = filter.task_ids.iter().flatten().cloned().collect();
        if uris.len() + tasks.len() > max {
            return Err(Blame::TooManySubscriptions { limit: max });
        }
        let wants = Wants {
            tools: filter.tools_list_changed == Some(true),
            prompts: filter.prompts_list_changed == Some(true),
            resources: filter.resources_list_changed == Some(true),
            uris: HashSet::new(),
            tasks,
        };
        let listener = self.listen(wants, None, Some(id), alert, limits);
        for uri in uris {
            listener.subscribe(&uri)?;
        }
        for id in &lock(&listener.state).wants.tasks {
            self.0.interest.in_task(id, true);
        }
        Ok(listener)
    }

    fn listen(
        &self,
        wants: Wants,
        session: Option<Arc<Remembered>>,
        tag: Option<Raw>,
        alert: Weak<dyn Alert>,
        limits: &Arc<Limits>,
    ) -> Arc<Listener> {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        let listener = Arc::new(Listener {
            bus: self.clone(),
            id,
            tag,
            limits: limits.clone(),
            alert,
            ended: AtomicBool::new(false),
            end: Notify::new(),
            state: Mutex::new(State {
                wants,
                hidden: HashSet::new(),
                session,
                pending: Pending::default(),
            }),
        });
        lock(&self.0.listeners).insert(id, Arc::downgrade(&listener));
        if lock(&listener.state).wants.resources {
            self.0.interest.in_list(true);
        }
        listener
    }

    /// Ends all streams of `subscriptions/listen`: the server stops.
    pub fn end(&self) {
        for listener in self.all() {
            if listener.tag.is_some() {
                listener.end();
            }
        }
        self.children().iter().for_each(Self::end);
    }

    pub(crate) fn all(&self) -> Vec<Arc<Listener>> {
        let listeners = lock(&self.0.listeners);
        listeners.values().filter_map(Weak::upgrade).collect()
    }

    /// Notes a change where it is wanted and wakes those who had not heard of it.
    fn tell(&self, mut note: impl FnMut(&mut State) -> bool) {
        self.tell_each(|state, _| note(state));
    }

    /// The same within the bounds of each.
    fn tell_each(&self, mut note: impl FnMut(&mut State, &Limits) -> bool) {
        for listener in self.all() {
            listener.note(&mut note);
        }
    }
}

impl fmt::Debug for Bus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bus")
            .field("listeners", &self.listeners())
            .field("watched", &self.watched())
            .finish()
    }
}

/// `{"io.modelcontextprotocol/subscriptionId": id}`.
pub(crate) fn write_tag(out: &mut Vec<u8>, id: &Raw) {
    out.extend_from_slice(b"{\"io.modelcontextprotocol/subscriptionId\":");
    out.extend_from_slice(id.as_bytes());
    out.push(b'}');
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that is done under these locks leaves it half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
