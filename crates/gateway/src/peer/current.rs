//! What a client has of the servers when others take their place: the connections that are the same go on, the rest end with the calls
//! that run on them.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use polyport::client::Link;
use tokio::task::JoinSet;

use super::Peer;
use crate::catalogue::Route;
use crate::owners::Tasks;
use crate::upstream::Shared;

/// The newest of what one client has.
#[derive(Default)]
pub(crate) struct Current(Mutex<Weak<Peer>>);

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

impl Peer {
    /// The same client before these servers. It hears that the lists have changed.
    pub(crate) fn succeeded(&self, shared: &Arc<Shared>) -> Arc<Self> {
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
        next.bus.tools_changed();
        next.bus.prompts_changed();
        next.bus.resources_changed();
        next
    }

    /// Waits until no call of the client runs here, and then ends the connections that nobody has taken over.
    pub(crate) async fn retire(&self, next: &Arc<Shared>) {
        self.quiet().await;
        let mut closing = JoinSet::new();
        for (upstream, link) in self.shared.upstreams.iter().zip(&*self.links) {
            if next.position(upstream.id).is_none() && !upstream.is_common {
                let link = link.clone();
                closing.spawn(async move { link.close().await });
            }
        }
        closing.join_all().await;
    }

    /// Waits until no call of the client runs here.
    pub(crate) async fn quiet(&self) {
        loop {
            let quiet = self.quiet.notified();
            tokio::pin!(quiet);
            quiet.as_mut().enable();
            if self.calls.load(Ordering::Acquire) == 0 {
                return;
            }
            quiet.await;
        }
    }
}
