//! What one client has of the servers behind the gateway: a connection to each, their lists as one, and what it hears of them.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use polyport::client::{Link, LinkError, Relay, Shown};
use polyport::uri_template::UriTemplate;
use polyport::{
    Bus, Call, ClientFacts, Code, Context, Handler as _, Outcome, Raw, RpcError, Watcher,
};
use polyport_model::EXTENSION_TASKS;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::catalogue::{Kind, Merged, Route};
use crate::fetched::{Fetched, Kept, Part, changes, part};
use crate::owners::Tasks;
use crate::upstream::Shared;
use crate::{addresses, names};

/// How long a client that comes waits for the servers. Those that need longer are told of when they are there.
const READY: Duration = Duration::from_secs(3);
/// How long a list waits for one of the servers; then its last one stands for it.
const LIST: Duration = Duration::from_secs(10);

pub(crate) struct Peer {
    shared: Arc<Shared>,
    bus: Bus,
    links: Arc<[Link]>,
    /// The lists, by their kinds.
    kept: [Kept; 4],
    pub(crate) tasks: Tasks,
    used: Mutex<Instant>,
    watching: Mutex<Vec<AbortHandle>>,
}

impl Peer {
    /// Connects a client with all servers.
    pub(crate) fn begin(shared: &Arc<Shared>, bus: Bus, client: &ClientFacts) -> Arc<Self> {
        let peer = Arc::new_cyclic(|peer: &Weak<Self>| {
            let link = |(server, upstream): (usize, &crate::Upstream)| {
                let connect = upstream.connect.clone().on_behalf_of(client.clone());
                let peer = peer.clone();
                let shown: Shown = Arc::new(move |uri| {
                    let shown = peer.upgrade().and_then(|peer| peer.shown(server, uri));
                    shown.unwrap_or_else(|| uri.to_owned())
                });
                // One alone is seen as it is.
                let shown = Some(shown).filter(|_| shared.upstreams.len() > 1);
                Link::on_bus(connect, bus.clone(), shown)
            };
            Self {
                shared: shared.clone(),
                links: shared.upstreams.iter().enumerate().map(link).collect(),
                bus,
                kept: Default::default(),
                tasks: Tasks::default(),
                used: Mutex::new(Instant::now()),
                watching: Mutex::default(),
            }
        });
        peer.bus.set_watcher(Arc::new(Watch(Arc::downgrade(&peer))));
        let watching = (0..peer.links.len()).map(|server| {
            let watching = watch(Arc::downgrade(&peer), server, peer.links[server].clone());
            tokio::spawn(watching).abort_handle()
        });
        let watching = watching.collect();
        *peer.watching.lock().unwrap_or_else(PoisonError::into_inner) = watching;
        peer
    }

    pub(crate) fn bus(&self) -> &Bus {
        &self.bus
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.shared.names()
    }

    /// The client does something.
    pub(crate) fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Since when it has done nothing; it may still listen.
    pub(crate) fn used(&self) -> Instant {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection to a server.
    ///
    /// # Errors
    /// There is none now.
    pub(crate) async fn relay(&self, server: usize) -> Result<Arc<Relay>, RpcError> {
        let name = &self.shared.upstreams[server].name;
        let opened = self.links[server].open().await;
        let relay = opened.map_err(|error| down(name, &error))?;
        let started = relay.start().await;
        started.map_err(|error| RpcError::new(Code::Internal, error.to_string()))?;
        Ok(relay)
    }

    /// The connections that there are now.
    pub(crate) fn connected(&self) -> Vec<Arc<Relay>> {
        self.links.iter().filter_map(Link::current).collect()
    }

    /// The connections to all servers, as far as they come about soon.
    pub(crate) async fn ready(&self) -> Vec<Option<Arc<Relay>>> {
        let end = Instant::now() + READY;
        let mut opening = JoinSet::new();
        for (server, link) in self.links.iter().cloned().enumerate() {
            opening.spawn(async move {
                let relay = timeout_at(end, link.open()).await.ok()?.ok()?;
                Some((server, relay))
            });
        }
        let mut relays = vec![None; self.links.len()];
        for (server, relay) in opening.join_all().await.into_iter().flatten() {
            relays[server] = Some(relay);
        }
        relays
    }

    /// One of the lists, as it is now.
    pub(crate) async fn list(&self, kind: Kind) -> Arc<Fetched> {
        let kept = &self.kept[kind as usize];
        if let Some(fetched) = kept
            .now()
            .filter(|fetched| self.is_current(kind, fetched, true))
        {
            return fetched;
        }
        let _turn = kept.turn.lock().await;
        if let Some(fetched) = kept
            .now()
            .filter(|fetched| self.is_current(kind, fetched, true))
        {
            return fetched;
        }
        let fetched = Arc::new(self.fetch(kind, kept.now().as_deref()).await);
        *kept.fetched.write().unwrap_or_else(PoisonError::into_inner) = Some(fetched.clone());
        fetched
    }

    /// Is it what the servers would say now? `new`: those that do not say when it changes are asked anew.
    fn is_current(&self, kind: Kind, fetched: &Fetched, new: bool) -> bool {
        fetched.parts.iter().zip(&*self.links).all(|(part, link)| {
            let Some(relay) = link.current() else {
                return part.of.is_none() && !new;
            };
            let now = (link.connected(), changes(kind, &relay));
            part.of == Some(now) && (part.is_told || !new)
        })
    }

    async fn fetch(&self, kind: Kind, before: Option<&Fetched>) -> Fetched {
        let end = Instant::now() + LIST;
        let mut fetching = JoinSet::new();
        for (server, link) in self.links.iter().cloned().enumerate() {
            fetching.spawn(async move {
                let part = timeout_at(end, part(kind, &link)).await;
                (
                    server,
                    part.unwrap_or_else(|_| Err("no list in time".to_owned())),
                )
            });
        }
        let mut parts = vec![Part::default(); self.links.len()];
        let mut missing = Vec::new();
        for (server, part) in fetching.join_all().await {
            match part {
                Ok(part) => parts[server] = part,
                Err(why) => {
                    let name = &self.shared.upstreams[server].name;
                    tracing::warn!(server = name, why, "a list is missing");
                    missing.push((server, name.clone()));
                    // The last one that there was stands for it.
                    if let Some(before) = before {
                        parts[server].entries = before.parts[server].entries.clone();
                    }
                }
            }
        }
        missing.sort_unstable();
        let lists: Vec<&[Raw]> = parts.iter().map(|part| &*part.entries).collect();
        let merged = Merged::of(kind, self.shared.prefix, &self.names(), &lists);
        Fetched {
            merged,
            missing: missing.into_iter().map(|(_, name)| name).collect(),
            parts,
        }
    }

    /// Whose something is that is shown under this name.
    pub(crate) async fn route(&self, kind: Kind, shown: &str) -> Option<Route> {
        let kept = self.kept[kind as usize].now();
        if let Some(fetched) = kept.filter(|fetched| self.is_current(kind, fetched, false))
            && let Some(route) = fetched.merged.route(shown)
        {
            return Some(route.clone());
        }
        self.list(kind).await.merged.route(shown).cloned()
    }

    /// Whose resource this is, by the lists, by the templates, or by the name of a server before it.
    pub(crate) async fn place(&self, uri: &str) -> Option<Route> {
        if let Some(route) = self.route(Kind::Resources, uri).await {
            return Some(route);
        }
        let names = self.names();
        if let Some((server, uri)) = names::unprefixed(&names, uri) {
            let name = uri.into_owned();
            return Some(Route { server, name });
        }
        let tools = self.kept[Kind::Tools as usize].now();
        if let Some(route) = tools.and_then(|fetched| fetched.merged.page(uri)) {
            return Some(route);
        }
        let templates = self.list(Kind::Templates).await;
        let mut fitting: Vec<_> = templates
            .merged
            .routes()
            .filter(|(_, route)| {
                let template = UriTemplate::parse(&route.name).ok();
                template.is_some_and(|template| template.matches(uri).is_some())
            })
            .map(|(_, route)| route)
            .collect();
        // The most exact one; of two such, that of the first server.
        fitting.sort_by_key(|route| (std::cmp::Reverse(route.name.len()), route.server));
        fitting.first().map(|route| Route {
            server: route.server,
            name: uri.to_owned(),
        })
    }

    /// Asks a server, and says its resources as they are seen here.
    pub(crate) async fn pass(&self, server: usize, call: Call) -> Outcome {
        let relay = match self.relay(server).await {
            Ok(relay) => relay,
            Err(error) => return Outcome::Failed(error),
        };
        let outcome = relay.call(call).await;
        self.tasks.made(&outcome, server);
        let listed = self.kept[Kind::Resources as usize].now();
        let is_plain = listed.is_none_or(|fetched| fetched.merged.is_plain(server));
        match outcome {
            Outcome::Complete(result) if !is_plain => {
                Outcome::Complete(addresses::shown(result, |uri| self.shown(server, uri)))
            }
            other => other,
        }
    }

    /// Servers with which this call shares tasks, as far as they are there soon.
    pub(crate) async fn with_tasks(&self, context: &Context) -> Vec<usize> {
        let relays = self.ready().await.into_iter().enumerate();
        let has_tasks = |relay: Arc<Relay>| {
            let offers = relay.offers(context);
            let extensions = offers.extensions.as_ref();
            offers.tasks.is_some()
                || extensions.is_some_and(|extensions| extensions.contains(EXTENSION_TASKS))
        };
        relays
            .filter_map(|(server, relay)| has_tasks(relay?).then_some(server))
            .collect()
    }

    /// The address under which a resource of a server is seen; none: its own.
    fn shown(&self, server: usize, uri: &str) -> Option<String> {
        let fetched = self.kept[Kind::Resources as usize].now()?;
        fetched.merged.renamed(server, uri).map(str::to_owned)
    }

    /// Servers that have resources.
    pub(crate) async fn offering_resources(&self) -> Vec<usize> {
        let relays = self.ready().await.into_iter().enumerate();
        relays
            .filter_map(|(server, relay)| {
                let offered = relay?.client().opened().capabilities.resources.is_some();
                offered.then_some(server)
            })
            .collect()
    }

    /// Has a server tell of changes of a resource. False: none does.
    pub(crate) async fn subscribe(&self, uri: &str) -> bool {
        let Some(route) = self.place(uri).await else {
            return false;
        };
        match self.relay(route.server).await {
            Ok(relay) => relay.subscribe(&route.name).await.is_ok(),
            Err(_) => false,
        }
    }

    /// What is known of whose resource this is.
    fn known_place(&self, uri: &str) -> Option<Route> {
        let fetched = self.kept[Kind::Resources as usize].now();
        let route = fetched.and_then(|fetched| fetched.merged.route(uri).cloned());
        route.or_else(|| {
            let (server, name) = names::unprefixed(&self.names(), uri)?;
            let name = name.into_owned();
            Some(Route { server, name })
        })
    }

    /// Ends all connections of this client, in bounded time.
    pub(crate) async fn close(&self) {
        self.leave();
        let mut closing = JoinSet::new();
        for link in &*self.links {
            let link = link.clone();
            closing.spawn(async move { link.close().await });
        }
        closing.join_all().await;
    }

    fn leave(&self) {
        let mut watching = self.watching.lock().unwrap_or_else(PoisonError::into_inner);
        for watching in watching.drain(..) {
            watching.abort();
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Connects a client with a server, and again when that has ended: what it was subscribed to it is subscribed to again.
async fn watch(peer: Weak<Peer>, server: usize, link: Link) {
    let mut is_first = true;
    loop {
        match link.open().await {
            Ok(relay) => {
                let begun = relay.start().await;
                if begun.is_ok() && !is_first {
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
        for uri in self.bus.subscriptions() {
            let place = self.known_place(&uri);
            if let Some(route) = place.filter(|route| route.server == server)
                && let Err(error) = relay.subscribe(&route.name).await
            {
                tracing::warn!(%error, "a server that was started again does not take a subscription");
            }
        }
        self.bus.tools_changed();
        self.bus.prompts_changed();
        self.bus.resources_changed();
        self.bus.all_updated();
    }
}

/// Tells a server what of its resources nobody wants to hear of any more.
struct Watch(Weak<Peer>);

impl Watcher for Watch {
    fn watch(&self, uri: &str, on: bool) {
        let Some(peer) = self.0.upgrade() else {
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
}

fn down(name: &str, error: &LinkError) -> RpcError {
    tracing::warn!(server = name, %error, "a server behind the gateway is not there");
    let why = match error {
        LinkError::Down { again, .. } => {
            let left = again.saturating_duration_since(Instant::now()).as_secs() + 1;
            format!(
                "The server {name:?} behind this gateway cannot be reached now; it is tried again in {left} s."
            )
        }
        _ => format!("The server {name:?} behind this gateway is being shut down."),
    };
    RpcError::new(Code::Internal, why)
}
