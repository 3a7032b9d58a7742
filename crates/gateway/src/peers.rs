//! The clients of a gateway: legacy ones by their session, modern ones by who they are and what they say of themselves.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use polyport::{Bus, Envelope, Principal};
use tokio::task::JoinSet;
use tokio::time::{interval, timeout};

use crate::peer::Peer;
use crate::upstream::Shared;

/// Modern clients whose connections are kept at once; the one that did nothing for the longest time makes room.
const MAX_CLIENTS: usize = 1_000;
/// For how long the connections of a modern client are kept that does nothing and listens to nothing.
const IDLE: Duration = Duration::from_secs(10 * 60);
/// Between two looks for such.
const LOOK: Duration = Duration::from_secs(60);
/// How long the end of all connections may take at the end.
const CLOSING: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(crate) struct Peers {
    bus: Bus,
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    clients: Mutex<HashMap<Key, Arc<Peer>>>,
    sessions: Mutex<Vec<Weak<Peer>>>,
    /// Connections that are being ended.
    closing: Mutex<JoinSet<()>>,
}

/// Who a modern client is: two of the same share a connection to each server.
#[derive(Clone, Eq, Hash, PartialEq)]
struct Key {
    principal: Option<Arc<Principal>>,
    info: Option<Vec<u8>>,
    capabilities: Vec<u8>,
}

/// What a session keeps.
struct OfSession(Arc<Peer>);

impl Peers {
    pub(crate) fn bus(&self) -> &Bus {
        &self.bus
    }

    /// What this client has of the servers; made when it comes.
    pub(crate) fn of(&self, shared: &Arc<Shared>, envelope: &Envelope) -> Arc<Peer> {
        let client = envelope.client();
        if let Some(session) = envelope.session().filter(|session| !session.kept.is_over()) {
            let mut sessions = self.inner.sessions();
            if let Some(kept) = session.kept.get::<OfSession>() {
                return kept.0.clone();
            }
            let peer = Peer::begin(shared, self.bus.child(), client);
            sessions.retain(|peer| peer.strong_count() > 0);
            sessions.push(Arc::downgrade(&peer));
            drop(sessions);
            let inner = self.inner.clone();
            let runtime = tokio::runtime::Handle::current();
            session.kept.keep(OfSession(peer.clone()), move |kept| {
                inner.end(&runtime, kept.0.clone());
            });
            return peer;
        }
        let key = Key {
            principal: envelope.principal().cloned(),
            info: client.info.as_ref().map(|info| info.as_bytes().to_vec()),
            capabilities: client.capabilities.as_bytes().to_vec(),
        };
        let mut clients = self.inner.clients();
        if let Some(peer) = clients.get(&key) {
            peer.touch();
            return peer.clone();
        }
        if clients.len() >= MAX_CLIENTS {
            // Of those that do nothing the oldest; of a thousand that are all busy the oldest, too.
            let oldest = clients
                .iter()
                .min_by_key(|(_, peer)| (!peer.is_idle(), peer.used()));
            let oldest = oldest.map(|(key, _)| key.clone());
            if let Some(peer) = oldest.and_then(|key| clients.remove(&key)) {
                self.inner.end(&tokio::runtime::Handle::current(), peer);
            }
        }
        let peer = Peer::begin(shared, self.bus.child(), client);
        clients.insert(key, peer.clone());
        peer
    }

    /// Ends the connections of clients that are gone, from now on.
    pub(crate) fn watch(&self) {
        let inner = Arc::downgrade(&self.inner);
        tokio::spawn(async move {
            let mut look = interval(LOOK);
            loop {
                look.tick().await;
                let Some(inner) = inner.upgrade() else {
                    return;
                };
                let runtime = tokio::runtime::Handle::current();
                let gone: Vec<_> = {
                    let mut clients = inner.clients();
                    let is_gone =
                        |peer: &Arc<Peer>| peer.used().elapsed() >= IDLE && peer.is_idle();
                    clients.extract_if(|_, peer| is_gone(peer)).collect()
                };
                for (_, peer) in gone {
                    inner.end(&runtime, peer);
                }
            }
        });
    }

    /// Ends all connections, in bounded time.
    pub(crate) async fn close(&self) {
        let runtime = tokio::runtime::Handle::current();
        let clients: Vec<_> = self.inner.clients().drain().collect();
        for (_, peer) in clients {
            self.inner.end(&runtime, peer);
        }
        let sessions = std::mem::take(&mut *self.inner.sessions());
        for peer in sessions.iter().filter_map(Weak::upgrade) {
            self.inner.end(&runtime, peer);
        }
        let closing = std::mem::take(&mut *self.inner.closing());
        if timeout(CLOSING, closing.join_all()).await.is_err() {
            tracing::warn!("some servers behind the gateway did not end in time");
        }
    }
}

impl Inner {
    fn end(&self, runtime: &tokio::runtime::Handle, peer: Arc<Peer>) {
        let mut closing = self.closing();
        while closing.try_join_next().is_some() {}
        closing.spawn_on(async move { peer.close().await }, runtime);
    }

    fn clients(&self) -> MutexGuard<'_, HashMap<Key, Arc<Peer>>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sessions(&self) -> MutexGuard<'_, Vec<Weak<Peer>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn closing(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.closing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
