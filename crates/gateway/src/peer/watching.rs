//! What a client hears of its servers while nobody asks: that one is there again, and which resources and
//! tasks somebody wants to hear of.

use std::sync::{Arc, Weak};

use polyport::client::{Link, LinkError, Relay};
use polyport::{Handler as _, Watcher};
use tokio::time::{Instant, sleep_until};

use super::{Current, Peer, READY};

/// Connects a client with a server, and again when that has ended: what it was subscribed to it is subscribed to again.
/// `is_first`: the client has not been told of it otherwise.
pub(super) async fn watch(peer: Weak<Peer>, server: usize, link: Link, mut is_first: bool) {
    loop {
        let begun = Instant::now();
        match link.open().await {
            Ok(relay) => {
                let is_late = begun.elapsed() > READY;
                let started = relay.start().await;
                if started.is_ok() && (!is_first || is_late) {
                    let Some(peer) = peer.upgrade() else {
                        return;
                    };
                    peer.comes_back(server, &relay).await;
                }
                relay.closed().await;
            }
            Err(LinkError::Down { again, .. }) => sleep_until(again).await,
            Err(_) => return,
        }
        is_first = false;
    }
}

impl Peer {
    /// A server is there that was not.
    async fn comes_back(&self, server: usize, relay: &Relay) {
        let mut missed = Vec::new();
        for uri in self.bus.subscriptions() {
            let place = self.known_place(&uri);
            let Some(route) = place.filter(|route| route.server == server) else {
                continue;
            };
            if let Err(error) = relay.subscribe(&route.name).await {
                tracing::warn!(%error, "a server that was started again does not take a subscription");
            }
            missed.push(uri);
        }
        self.bus.tools_changed();
        self.bus.prompts_changed();
        self.bus.resources_changed();
        for uri in missed {
            self.bus.updated(&uri);
        }
        let mut tasks = self.bus.tasks();
        tasks.retain(|id| self.tasks.server(id) == Some(server));
        if !tasks.is_empty() {
            relay.listen_to_tasks_again(tasks).await;
        }
    }
}

/// Tells a server what of its resources and tasks nobody wants to hear of any more.
pub(super) struct Watch(pub(super) Arc<Current>);

impl Watcher for Watch {
    fn watch(&self, uri: &str, on: bool) {
        let Some(peer) = self.0.peer() else {
            return;
        };
        match peer.known_place(uri) {
            Some(route) => {
                if let Some(relay) = peer.links[route.server].current() {
                    relay.watch(&route.name, on);
                }
            }
            // Whoever was not subscribed to it passes over its end.
            None if !on => {
                for relay in peer.connected() {
                    relay.watch(uri, false);
                }
            }
            None => {}
        }
    }

    fn watch_task(&self, id: &str, on: bool) {
        let Some(peer) = self.0.peer() else {
            return;
        };
        let server = peer.tasks.server(id);
        let link = server.and_then(|server| peer.links.get(server));
        match link.and_then(Link::current) {
            Some(relay) => relay.watch_task(id, on),
            // It may be forgotten whose it was: whoever does not tell of it passes over its end.
            None if !on => {
                for relay in peer.connected() {
                    relay.watch_task(id, false);
                }
            }
            None => {}
        }
    }
}
