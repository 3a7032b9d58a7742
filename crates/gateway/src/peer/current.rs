//! What a client has of the servers when others take their place: the connections that are the same go on, the rest end with the calls
//! that run on them, those that wait for the client's answers among them.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use polyport::client::Link;
use polyport::{Call, Outcome};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::{Busy, Peer};
use crate::catalogue::Route;
use crate::owners::Tasks;
use crate::upstream::Shared;

/// How long a call that has asked its client is waited for when its server is gone; as long as calls are parked.
const ASKED: Duration = Duration::from_secs(10 * 60);
/// Such calls of one client that are remembered.
const MAX_ASKED: usize = 256;

/// The newest of what one client has.
#[derive(Default)]
pub(crate) struct Current(Mutex<Weak<Peer>>);

/// Calls that have ended with a question, and go on when they come back with the answer.
#[derive(Default)]
pub(super) struct Asked(Mutex<VecDeque<(String, Instant)>>);

impl Asked {
    fn note(&self, call: &str) {
        let mut asked = self.calls();
        if asked.len() >= MAX_ASKED {
            asked.pop_front();
        }
        asked.push_back((call.to_owned(), Instant::now() + ASKED));
    }

    fn take(&self, call: &str) -> bool {
        let mut asked = self.calls();
        let found = asked.iter().rposition(|(known, _)| known == call);
        found.and_then(|at| asked.remove(at)).is_some()
    }

    /// When the last of them is given up.
    pub(super) fn until(&self) -> Option<Instant> {
        let mut asked = self.calls();
        asked.retain(|(_, until)| *until > Instant::now());
        asked.back().map(|(_, until)| *until)
    }

    fn calls(&self) -> MutexGuard<'_, VecDeque<(String, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What tells a call from others of its client when it comes back.
pub(crate) fn key(call: &Call) -> String {
    let params = &call.params;
    let name = params.name().or_else(|| params.uri()).unwrap_or_default();
    format!("{} {name}", call.method)
}

impl Current {
    pub(crate) fn peer(&self) -> Option<Arc<Peer>> {
        let newest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        newest.upgrade()
    }

    pub(super) fn set(&self, peer: &Arc<Peer>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(peer);
    }
}

/// What the next one takes over.
pub(super) struct Before {
    links: HashMap<u64, Link>,
    pub(super) places: HashMap<String, Route>,
    pub(super) tasks: Tasks,
}

impl Before {
    pub(super) fn link(&self, id: u64) -> Option<Link> {
        self.links.get(&id).cloned()
    }
}

impl Busy {
    /// What the client had of the servers when this call asked it something; now, if it has asked nothing.
    pub(crate) fn of_call(self, call: &Call) -> Self {
        if call.context.state().is_none() {
            return self;
        }
        let key = key(call);
        if self.asked.take(&key) {
            return self;
        }
        let before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let older = before.iter().rev().filter_map(Weak::upgrade);
        let found = older
            .map(|peer| peer.busy())
            .find(|peer| peer.asked.take(&key));
        drop(before);
        found.unwrap_or(self)
    }

    /// Notes that a call has asked its client something, if it has.
    pub(crate) fn note(&self, call: &str, outcome: &Outcome) {
        if matches!(outcome, Outcome::NeedInput(_)) {
            self.asked.note(call);
        }
    }
}

impl Peer {
    /// The same client before these servers. It hears that the lists have changed.
    pub(crate) fn succeeded(self: &Arc<Self>, shared: &Arc<Shared>) -> Arc<Self> {
        self.leave();
        let ids = self.shared.upstreams.iter().map(|upstream| upstream.id);
        // A server that is started anew has the resources and the tasks of the one before it, as far as it knows.
        let moved = |server: usize| {
            let old = self.shared.upstreams.get(server)?;
            let same = |new: &crate::Upstream| new.name == old.name;
            let by_id = shared.position(old.id);
            by_id.or_else(|| shared.upstreams.iter().position(same))
        };
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let moved_places = places.iter().filter_map(|(uri, route)| {
            let server = moved(route.server)?;
            let name = route.name.clone();
            Some((uri.clone(), Route { server, name }))
        });
        let before = Before {
            links: ids.zip(self.links.iter().cloned()).collect(),
            places: moved_places.collect(),
            tasks: self.tasks.moved(moved),
        };
        drop(places);
        let next = Self::made(
            shared,
            self.current.clone(),
            self.bus.clone(),
            &self.client,
            Some(before),
        );
        let older = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let mut before: Vec<_> = older
            .iter()
            .filter(|peer| peer.strong_count() > 0)
            .cloned()
            .collect();
        drop(older);
        before.push(Arc::downgrade(self));
        *next.before.lock().unwrap_or_else(PoisonError::into_inner) = before;
        next.bus.tools_changed();
        next.bus.prompts_changed();
        next.bus.resources_changed();
        next
    }

    /// Waits until no call of the client goes on here, or all is over, and then ends the connections that nobody has taken over.
    pub(crate) async fn retire(&self, next: &Arc<Shared>, mut over: watch::Receiver<bool>) {
        let quiet = async {
            // What the client had before may have the same connections.
            for older in self.older() {
                older.quiet().await;
            }
            self.quiet().await;
        };
        tokio::select! {
            () = quiet => {}
            _ = over.wait_for(|over| *over) => {}
        }
        let mut closing = JoinSet::new();
        for (upstream, link) in self.shared.upstreams.iter().zip(&*self.links) {
            if next.position(upstream.id).is_none() && !upstream.is_common {
                let link = link.clone();
                closing.spawn(async move { link.close().await });
            }
        }
        closing.join_all().await;
    }

    /// What the client had before, as far as something still runs there.
    fn older(&self) -> Vec<Arc<Self>> {
        let before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        before.iter().filter_map(Weak::upgrade).collect()
    }

    /// The client is gone, and comes back with no answer.
    pub(super) fn let_go(&self) {
        for peer in self.older() {
            peer.asked.calls().clear();
            peer.quiet.notify_waiters();
        }
    }

    /// Waits until no call of the client runs here, nor will go on here.
    async fn quiet(&self) {
        loop {
            let quiet = self.quiet.notified();
            tokio::pin!(quiet);
            quiet.as_mut().enable();
            if self.calls.load(Ordering::Acquire) > 0 {
                quiet.await;
                continue;
            }
            match self.asked.until() {
                None => return,
                Some(until) => _ = timeout_at(until, quiet).await,
            }
        }
    }
}
