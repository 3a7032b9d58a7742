//! What one client has of the servers behind the gateway: a connection to each, their lists as one, and what it hears of them.

mod watching;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use polyport::client::{Link, LinkError, Relay, Shown};
use polyport::uri_template::UriTemplate;
use polyport::{Bus, Call, ClientFacts, Code, Context, Handler as _, Outcome, Raw, RpcError};
use polyport_model::EXTENSION_TASKS;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, timeout, timeout_at};

use crate::catalogue::{Kind, Merged, Route};
use crate::fetched::{Fetched, Kept, Part, changes, part};
use crate::owners::Tasks;
use crate::upstream::Shared;
use crate::{addresses, names};
use watching::{Watch, watch};

/// How long a client that comes waits for the servers. Those that need longer are told of when they are there.
const READY: Duration = Duration::from_secs(3);
/// How long a list waits for one of the servers; then its last one stands for it.
const LIST: Duration = Duration::from_secs(10);
/// How long a list is taken for missing that did not come in time.
const LATE: Duration = Duration::from_secs(30);
/// How long a call waits for the connection to its server.
const OPEN: Duration = Duration::from_secs(30);
/// Resources of one client whose server is remembered.
const MAX_PLACES: usize = 10_000;
const NOT_IN_TIME: &str = "it did not come in time";

pub(crate) struct Peer {
    shared: Arc<Shared>,
    bus: Bus,
    links: Arc<[Link]>,
    /// The lists, by their kinds.
    kept: [Kept; 4],
    pub(crate) tasks: Tasks,
    /// Whose resources are that were asked for.
    places: Mutex<HashMap<String, Route>>,
    /// Calls that run.
    calls: AtomicUsize,
    /// Lists of servers that did not come in time, and when.
    late: Mutex<HashMap<(usize, usize), Instant>>,
    begun: Instant,
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
                places: Mutex::default(),
                calls: AtomicUsize::new(0),
                late: Mutex::default(),
                begun: Instant::now(),
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
        let Ok(opened) = timeout(OPEN, self.links[server].open()).await else {
            let why = format!("The server {name:?} behind this gateway does not answer.");
            return Err(RpcError::new(Code::Internal, why));
        };
        let relay = opened.map_err(|error| down(name, &error))?;
        let started = relay.start().await;
        started.map_err(|error| RpcError::new(Code::Internal, error.to_string()))?;
        Ok(relay)
    }

    /// Until when a client waits for servers that are not there yet: a while after it has come.
    fn soon(&self) -> Instant {
        (self.begun + READY).max(Instant::now())
    }

    fn was_late(&self, server: usize, kind: Kind) -> bool {
        let late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
        let at = late.get(&(server, kind as usize));
        at.is_some_and(|at| at.elapsed() < LATE)
    }

    fn note_late(&self, server: usize, kind: Kind) {
        let mut late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
        late.entry((server, kind as usize))
            .and_modify(|at| {
                if at.elapsed() >= LATE {
                    *at = Instant::now();
                }
            })
            .or_insert_with(Instant::now);
    }

    /// The connections that there are now.
    pub(crate) fn connected(&self) -> Vec<Arc<Relay>> {
        self.links.iter().filter_map(Link::current).collect()
    }

    /// The connections to all servers, as far as they come about soon.
    pub(crate) async fn ready(&self) -> Vec<Option<Arc<Relay>>> {
        let end = self.soon();
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
        let soon = self.soon();
        let mut fetching = JoinSet::new();
        for (server, link) in self.links.iter().cloned().enumerate() {
            // One that is not there yet, or was late before, holds nobody up; it is told of when it is there.
            let end = if self.was_late(server, kind) {
                Instant::now()
            } else if link.current().is_none() {
                soon
            } else {
                end
            };
            fetching.spawn(async move {
                let part = timeout_at(end, part(kind, &link)).await;
                (server, part.unwrap_or_else(|_| Err(NOT_IN_TIME.to_owned())))
            });
        }
        let mut parts = vec![Part::default(); self.links.len()];
        let mut missing = Vec::new();
        for (server, part) in fetching.join_all().await {
            match part {
                Ok(part) => parts[server] = part,
                Err(why) => {
                    if why == NOT_IN_TIME {
                        self.note_late(server, kind);
                    }
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
        let prefixed = names::unprefixed(&names, uri).map(|(server, uri)| Route {
            server,
            name: uri.into_owned(),
        });
        // It may also be an address of somebody's own that looks so.
        if let Some(route) = prefixed.clone()
            && self.shown(route.server, &route.name).as_deref() == Some(uri)
        {
            return Some(route);
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
        let fitting = fitting.first().map(|route| Route {
            server: route.server,
            name: uri.to_owned(),
        });
        fitting.or(prefixed)
    }

    /// Asks a server, and says its resources as they are seen here.
    pub(crate) async fn pass(&self, server: usize, call: Call) -> Outcome {
        let relay = match self.relay(server).await {
            Ok(relay) => relay,
            Err(error) => return Outcome::Failed(error),
        };
        let outcome = relay.call(call).await;
        self.tasks.made(&outcome, server);
        match outcome {
            Outcome::Complete(result) if result.as_str().contains("\"uri\"") => {
                // Which addresses two servers share is known from the lists.
                for kind in [Kind::Resources, Kind::Templates] {
                    if self.kept[kind as usize].now().is_none() {
                        self.list(kind).await;
                    }
                }
                Outcome::Complete(addresses::shown(result, |uri| self.shown(server, uri)))
            }
            other => other,
        }
    }

    /// Notes whose a resource is that somebody may subscribe to.
    pub(crate) fn note_place(&self, uri: &str, server: usize, name: &str) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if places.len() >= MAX_PLACES {
            places.clear();
        }
        let name = name.to_owned();
        places.insert(uri.to_owned(), Route { server, name });
    }

    /// A call of the client runs until this is dropped.
    pub(crate) fn busy(self: &Arc<Self>) -> Busy {
        self.calls.fetch_add(1, Ordering::AcqRel);
        Busy(self.clone())
    }

    /// Does nobody need it now: neither a call nor somebody who listens?
    pub(crate) fn is_idle(&self) -> bool {
        self.calls.load(Ordering::Acquire) == 0 && self.bus.listeners() == 0
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
        let listed = self.kept[Kind::Resources as usize].now();
        if let Some(fetched) = &listed {
            if let Some(shown) = fetched.merged.renamed(server, uri) {
                return Some(shown.to_owned());
            }
            if fetched
                .merged
                .route(uri)
                .is_some_and(|route| route.server == server)
            {
                return None;
            }
        }
        // One of a template that two servers have.
        let templates = self.kept[Kind::Templates as usize].now()?;
        let is_of = |template: &str| {
            let template = UriTemplate::parse(template).ok();
            template.is_some_and(|template| template.matches(uri).is_some())
        };
        let mut shared = templates.merged.all_renamed(server);
        shared
            .any(is_of)
            .then(|| names::prefixed_uri(self.names()[server], uri))
    }

    /// Servers that have resources.
    pub(crate) async fn offering_resources(&self, subscribes: bool) -> Vec<usize> {
        let relays = self.ready().await.into_iter().enumerate();
        relays
            .filter_map(|(server, relay)| {
                let relay = relay?;
                let offers = &relay.client().opened().capabilities;
                let offered = offers.resources.is_some()
                    && (!subscribes || offers.has_resource_subscriptions());
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
            Ok(relay) => {
                let taken = relay.subscribe(&route.name).await.is_ok();
                if taken {
                    self.note_place(uri, route.server, &route.name);
                }
                taken
            }
            Err(_) => false,
        }
    }

    /// What is known of whose resource this is.
    fn known_place(&self, uri: &str) -> Option<Route> {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(route) = places.get(uri) {
            return Some(route.clone());
        }
        drop(places);
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

/// A call of a client that runs.
pub(crate) struct Busy(Arc<Peer>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::AcqRel);
        self.0.touch();
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.leave();
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
