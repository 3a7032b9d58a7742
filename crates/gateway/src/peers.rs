//! The clients of a gateway: legacy ones by their session, modern ones by who they are and what they say of themselves.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::Duration;

use polyport::{Bus, Envelope, Principal};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{interval, timeout};

use crate::common::All;
use crate::peer::{Busy, Peer};
use crate::upstream::{Shared, Upstream};

/// Modern clients whose connections are kept at once; the one that did nothing for the longest time makes room.
const MAX_CLIENTS: usize = 1_000;
/// For how long the connections of a modern client are kept that does nothing and listens to nothing.
const IDLE: Duration = Duration::from_secs(10 * 60);
/// Between two looks for such.
const LOOK: Duration = Duration::from_secs(60);
/// How long the end of all connections may take at the end.
const CLOSING: Duration = Duration::from_secs(10);

pub(crate) struct Peers {
    bus: Bus,
    shared: RwLock<Arc<Shared>>,
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    clients: Mutex<HashMap<Key, Arc<Peer>>>,
    sessions: Mutex<Vec<Weak<OfSession>>>,
    /// Connections that are being ended.
    closing: Mutex<JoinSet<()>>,
    /// All of them are to be.
    over: watch::Sender<bool>,
}

/// Who a modern client is: two of the same share a connection to each server.
#[derive(Clone, Eq, Hash, PartialEq)]
struct Key {
    principal: Option<Arc<Principal>>,
    info: Option<Vec<u8>>,
    capabilities: Vec<u8>,
}

/// What a session keeps.
struct OfSession(Mutex<Arc<Peer>>);

impl OfSession {
    fn peer(&self) -> MutexGuard<'_, Arc<Peer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Peers {
    pub(crate) fn new(upstreams: impl IntoIterator<Item = Upstream>) -> Self {
        let inner = Arc::<Inner>::default();
        let shared = Shared::of(upstreams, &all(&inner), None);
        Self {
            bus: Bus::default(),
            shared: RwLock::new(Arc::new(shared)),
            inner,
        }
    }

    pub(crate) fn shared(&self) -> Arc<Shared> {
        let shared = self.shared.read();
        shared.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Before any client has come.
    pub(crate) fn set(&self, change: impl FnOnce(Shared) -> Shared) {
        let all = all(&self.inner);
        let mut shared = self.shared.write().unwrap_or_else(PoisonError::into_inner);
        let same = Shared::of(shared.upstreams.clone(), &all, Some(&shared));
        *shared = Arc::new(change(same));
    }

    /// Puts other servers in the place of those that there are. Clients of those that stay keep their connections; calls that run end as
    /// they would have.
    pub(crate) fn replace(&self, upstreams: impl IntoIterator<Item = Upstream>) {
        let (old, new) = {
            let mut shared = self.shared.write().unwrap_or_else(PoisonError::into_inner);
            let new = Arc::new(Shared::of(upstreams, &all(&self.inner), Some(&shared)));
            (std::mem::replace(&mut *shared, new.clone()), new)
        };
        let mut gone = Vec::new();
        let mut succeed = |peer: &mut Arc<Peer>| {
            let next = peer.succeeded(&new);
            gone.push(std::mem::replace(peer, next));
        };
        // Whoever comes now finds the new ones.
        for peer in self.inner.clients().values_mut() {
            succeed(peer);
        }
        let sessions = self.inner.sessions();
        for session in sessions.iter().filter_map(Weak::upgrade) {
            succeed(&mut session.peer());
        }
        drop(sessions);
        let mut closing = self.inner.closing();
        while closing.try_join_next().is_some() {}
        let over = self.inner.over.subscribe();
        closing.spawn(async move {
            let mut retiring = JoinSet::new();
            for peer in gone {
                let (new, over) = (new.clone(), over.clone());
                retiring.spawn(async move { peer.retire(&new, over).await });
            }
            retiring.join_all().await;
            for (upstream, common) in old.upstreams.iter().zip(&old.common) {
                if let (Some(common), None) = (common, new.position(upstream.id)) {
                    common.link().close().await;
                }
            }
        });
    }

    /// What this client has of the servers, while a call of it runs.
    pub(crate) fn busy(&self, envelope: &Envelope) -> Busy {
        self.find(envelope, Peer::busy)
    }

    /// What this client has of the servers; made when it comes.
    pub(crate) fn of(&self, envelope: &Envelope) -> Arc<Peer> {
        self.find(envelope, Arc::clone)
    }

    pub(crate) fn bus(&self) -> &Bus {
        &self.bus
    }

    /// `take`: before other servers can come in the place of those that are found.
    fn find<T>(&self, envelope: &Envelope, take: impl FnOnce(&Arc<Peer>) -> T) -> T {
        let client = envelope.client();
        if let Some(session) = envelope.session().filter(|session| !session.kept.is_over()) {
            let mut sessions = self.inner.sessions();
            if let Some(kept) = session.kept.get::<Arc<OfSession>>() {
                let peer = kept.peer();
                if peer.lacks_room() {
                    self.make_room(&mut self.inner.clients());
                }
                return take(&peer);
            }
            let client = client.passed_on(envelope.profile());
            if self.shared().is_full() {
                self.make_room(&mut self.inner.clients());
            }
            let peer = Peer::begin(&self.shared(), self.bus.child(), &client);
            let taken = take(&peer);
            let of_session = Arc::new(OfSession(Mutex::new(peer)));
            sessions.retain(|session| session.strong_count() > 0);
            sessions.push(Arc::downgrade(&of_session));
            let inner = self.inner.clone();
            let runtime = Handle::current();
            session.kept.keep(of_session, move |kept| {
                let peer = kept.peer().clone();
                inner.end(&runtime, peer);
            });
            return taken;
        }
        let key = Key {
            principal: envelope.principal().cloned(),
            info: client.info.as_ref().map(|info| info.as_bytes().to_vec()),
            capabilities: client.capabilities.as_bytes().to_vec(),
        };
        let mut clients = self.inner.clients();
        if let Some(peer) = clients.get(&key).cloned() {
            peer.touch();
            if peer.lacks_room() {
                self.make_room(&mut clients);
            }
            return take(&peer);
        }
        if clients.len() >= MAX_CLIENTS {
            // Of those that do nothing the oldest; of a thousand that are all busy the oldest, too.
            let oldest = clients
                .iter()
                .min_by_key(|(_, peer)| (!peer.is_idle(), peer.used()));
            let oldest = oldest.map(|(key, _)| key.clone());
            if let Some(peer) = oldest.and_then(|key| clients.remove(&key)) {
                self.inner.end(&Handle::current(), peer);
            }
        }
        if self.shared().is_full() {
            self.make_room(&mut clients);
        }
        let peer = Peer::begin(&self.shared(), self.bus.child(), client);
        let taken = take(&peer);
        clients.insert(key, peer);
        taken
    }

    /// Of the modern clients that have a session where there is none left, the one that did nothing for the longest time gives its own
    /// up.
    fn make_room(&self, clients: &mut HashMap<Key, Arc<Peer>>) {
        let spare = clients.iter().filter(|(_, peer)| peer.is_spare());
        let oldest = spare.min_by_key(|(_, peer)| peer.used());
        let oldest = oldest.map(|(key, _)| key.clone());
        if let Some(peer) = oldest.and_then(|key| clients.remove(&key)) {
            self.inner.end(&Handle::current(), peer);
        }
    }

    /// Ends the connections of clients that are gone, from now on.
    pub(crate) fn watch(&self) {
        let (inner, mut over) = (Arc::downgrade(&self.inner), self.inner.over.subscribe());
        tokio::spawn(async move {
            let mut look = interval(LOOK);
            loop {
                tokio::select! {
                    _ = look.tick() => {}
                    // Told, or nobody is left who could tell.
                    _ = over.wait_for(|over| *over) => return,
                }
                let Some(inner) = inner.upgrade() else {
                    return;
                };
                let runtime = Handle::current();
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
        self.inner.over.send_replace(true);
        let runtime = Handle::current();
        let clients: Vec<_> = self.inner.clients().drain().collect();
        for (_, peer) in clients {
            self.inner.end(&runtime, peer);
        }
        let sessions = std::mem::take(&mut *self.inner.sessions());
        for session in sessions.iter().filter_map(Weak::upgrade) {
            let peer = session.peer().clone();
            self.inner.end(&runtime, peer);
        }
        let mut closing = std::mem::take(&mut *self.inner.closing());
        for common in self.shared().common.iter().flatten() {
            let link = common.link().clone();
            closing.spawn(async move { link.close().await });
        }
        if timeout(CLOSING, closing.join_all()).await.is_err() {
            tracing::warn!("some servers behind the gateway did not end in time");
        }
    }
}

fn all(inner: &Arc<Inner>) -> Weak<dyn All> {
    Arc::downgrade(inner) as Weak<Inner>
}

impl All for Inner {
    fn each(&self, tell: &dyn Fn(&Bus)) {
        self.clients().values().for_each(|peer| tell(peer.bus()));
        let sessions: Vec<_> = self.sessions().iter().filter_map(Weak::upgrade).collect();
        sessions
            .iter()
            .for_each(|session| tell(session.peer().bus()));
    }
}

impl Inner {
    fn end(&self, runtime: &Handle, peer: Arc<Peer>) {
        let mut closing = self.closing();
        while closing.try_join_next().is_some() {}
        closing.spawn_on(async move { peer.close().await }, runtime);
    }

    fn clients(&self) -> MutexGuard<'_, HashMap<Key, Arc<Peer>>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sessions(&self) -> MutexGuard<'_, Vec<Weak<OfSession>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn closing(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.closing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
