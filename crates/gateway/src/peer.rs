//! What one client has of the servers behind the gateway: a connection to each, their lists as one, and what it hears of them.

mod current;
mod resources;
mod room;
mod watching;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use polyport::client::{Link, LinkError, Relay, Shown};
use polyport::{
    Bus, Call, ClientError, ClientFacts, Code, Context, Handler as _, Outcome, Raw, RpcError,
};
use polyport_model::EXTENSION_TASKS;
use polyport_proto::addresses;
use polyport_proto::http::HeaderParam;
use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, timeout, timeout_at};

use crate::catalogue::{Kind, Merged, Route};
use crate::fetched::{Fetched, Kept, Part, changes, part};
use crate::owners::Tasks;
use crate::spelling;
use crate::upstream::Shared;
use current::{Asked, Before};
pub(crate) use current::{Current, key};
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
    current: Arc<Current>,
    client: ClientFacts,
    bus: Bus,
    links: Arc<[Link]>,
    /// The lists, by their kinds.
    kept: [Kept; 4],
    pub(crate) tasks: Tasks,
    /// Whose resources are that were asked for.
    places: Mutex<HashMap<String, Route>>,
    /// Calls that run.
    calls: AtomicUsize,
    /// Told when none runs any more.
    quiet: Notify,
    /// Those that wait for the client's answers.
    asked: Asked,
    /// What the client had before, as long as something of it goes on.
    before: Mutex<Vec<Weak<Self>>>,
    /// Lists of servers that did not come in time: when, and how often the server had been connected to.
    late: Mutex<HashMap<(usize, usize), (Instant, u64)>>,
    begun: Instant,
    used: Mutex<Instant>,
    watching: Mutex<Vec<AbortHandle>>,
}

impl Peer {
    /// Connects a client with all servers.
    pub(crate) fn begin(shared: &Arc<Shared>, bus: Bus, client: &ClientFacts) -> Arc<Self> {
        let current = Arc::new(Current::default());
        bus.set_watcher(Arc::new(Watch(current.clone())));
        Self::made(shared, current, bus, client, None)
    }

    fn made(
        shared: &Arc<Shared>,
        current: Arc<Current>,
        bus: Bus,
        client: &ClientFacts,
        before: Option<Before>,
    ) -> Arc<Self> {
        // A server that comes later than its client is told of.
        let is_first = before.is_none();
        let of_before = |id: u64| before.as_ref().and_then(|before| before.link(id));
        let mut links = Vec::new();
        let mut is_known = Vec::new();
        for (upstream, common) in shared.upstreams.iter().zip(&shared.common) {
            let known = common.as_ref().map(|common| common.link().clone());
            let known = known.or_else(|| of_before(upstream.id));
            is_known.push(is_first || known.is_some());
            links.push(known.unwrap_or_else(|| {
                let connect = upstream.connect.clone().on_behalf_of(client.clone());
                Link::on_bus(
                    &upstream.name,
                    connect,
                    bus.clone(),
                    Some(shown(current.clone(), upstream.id)),
                )
            }));
        }
        let (places, tasks) = match before {
            Some(before) => (before.places, before.tasks),
            None => Default::default(),
        };
        let peer = Arc::new(Self {
            shared: shared.clone(),
            current,
            client: client.clone(),
            links: links.into(),
            bus,
            kept: Default::default(),
            tasks,
            places: Mutex::new(places),
            calls: AtomicUsize::new(0),
            quiet: Notify::new(),
            asked: Asked::default(),
            before: Mutex::default(),
            late: Mutex::default(),
            begun: Instant::now(),
            used: Mutex::new(Instant::now()),
            watching: Mutex::default(),
        });
        peer.current.set(&peer);
        let watching = is_known.into_iter().enumerate().map(|(server, is_known)| {
            let link = peer.links[server].clone();
            let watching = watch(Arc::downgrade(&peer), server, link, is_known);
            tokio::spawn(watching).abort_handle()
        });
        let watching = watching.collect();
        *peer.watching.lock().unwrap_or_else(PoisonError::into_inner) = watching;
        peer
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
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

    /// The connection to a server that there is now.
    pub(crate) fn current(&self, server: usize) -> Option<Arc<Relay>> {
        self.links[server].current()
    }

    /// The arguments of a tool that clients mirror in headers, as the client's last list says.
    pub(crate) fn marked(&self, tool: &str) -> Option<Arc<[HeaderParam]>> {
        self.kept[Kind::Tools as usize].now()?.merged.marked(tool)
    }

    /// Until when a client waits for servers that are not there yet: a while after it has come.
    fn soon(&self) -> Instant {
        (self.begun + READY).max(Instant::now())
    }

    /// One that was connected to since is asked again.
    fn was_late(&self, server: usize, kind: Kind) -> bool {
        let late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
        let known = late.get(&(server, kind as usize));
        known.is_some_and(|(at, connected)| {
            at.elapsed() < LATE && *connected == self.links[server].connected()
        })
    }

    fn note_late(&self, server: usize, kind: Kind, connected: u64) {
        let mut late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
        let now = (Instant::now(), connected);
        late.entry((server, kind as usize))
            .and_modify(|known| {
                if known.0.elapsed() >= LATE || known.1 != connected {
                    *known = now;
                }
            })
            .or_insert(now);
    }

    /// The connections of the client's own that there are now.
    pub(crate) fn connected(&self) -> Vec<Arc<Relay>> {
        let own = self.links.iter().zip(&self.shared.common);
        own.filter_map(|(link, common)| link.current().filter(|_| common.is_none()))
            .collect()
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

    /// One of the lists, as it is now. `goes_on`: as far as is known, since a part of it has been given already.
    pub(crate) async fn list(&self, kind: Kind, goes_on: bool) -> Arc<Fetched> {
        let kept = &self.kept[kind as usize];
        let now = || kept.now().filter(|it| self.is_current(kind, it, !goes_on));
        if let Some(fetched) = now() {
            return fetched;
        }
        let _turn = kept.turn.lock().await;
        if let Some(fetched) = now() {
            return fetched;
        }
        let fetched = Arc::new(self.fetch(kind, kept.now().as_deref()).await);
        *kept.fetched.write().unwrap_or_else(PoisonError::into_inner) = Some(fetched.clone());
        fetched
    }

    /// Is it what the servers would say now? `new`: those that do not say when it changes are asked anew, and those whose word on how
    /// long it may be kept is over.
    fn is_current(&self, kind: Kind, fetched: &Fetched, new: bool) -> bool {
        (0..self.links.len()).all(|server| self.is_current_of(server, kind, fetched, new))
    }

    /// The same of one server.
    fn is_current_of(&self, server: usize, kind: Kind, fetched: &Fetched, new: bool) -> bool {
        let (part, link) = (&fetched.parts[server], &self.links[server]);
        let Some(relay) = link.current() else {
            return part.of.is_none() && !new;
        };
        let now = (link.connected(), changes(kind, &relay));
        let is_fresh = part.is_told && part.until.is_none_or(|until| Instant::now() < until);
        part.of == Some(now) && (is_fresh || !new)
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
            let connected = link.connected();
            fetching.spawn(async move {
                let part = timeout_at(end, part(kind, &link)).await;
                let part = part.unwrap_or_else(|_| Err(NOT_IN_TIME.to_owned()));
                (server, connected, part)
            });
        }
        let mut parts = vec![Part::default(); self.links.len()];
        let mut missing = Vec::new();
        let mut known = vec![Vec::new(); self.links.len()];
        for (server, connected, part) in fetching.join_all().await {
            match part {
                Ok(part) => {
                    self.shared.upstreams[server].hold(kind, &part.entries);
                    parts[server] = part;
                }
                Err(why) => {
                    if why == NOT_IN_TIME {
                        self.note_late(server, kind, connected);
                    }
                    let name = &self.shared.upstreams[server].name;
                    tracing::warn!(server = name, why, "a list is missing");
                    missing.push((server, name.clone()));
                    // The last one that there was stands for it.
                    if let Some(before) = before {
                        parts[server].entries = before.parts[server].entries.clone();
                    }
                    if parts[server].entries.is_empty() {
                        known[server] = self.shared.known(server, kind);
                    }
                }
            }
        }
        missing.sort_unstable();
        let lists: Vec<&[Raw]> = parts.iter().map(|part| &*part.entries).collect();
        let seen: Vec<_> = self
            .shared
            .upstreams
            .iter()
            .map(|it| it.seen(kind))
            .collect();
        let prefix = self.shared.prefix;
        let merged = Merged::of(kind, prefix, &self.names(), &lists, &known, &seen);
        self.shared.keep(kind, &parts, &merged);
        Fetched {
            merged,
            missing: missing.into_iter().map(|(_, name)| name).collect(),
            parts,
        }
    }

    /// Whose something is that is shown under this name.
    pub(crate) async fn route(&self, kind: Kind, shown: &str) -> Option<Route> {
        // What has changed at other servers makes no other name of it.
        if let Some(fetched) = self.kept[kind as usize].now()
            && let Some(route) = fetched.merged.route(shown)
            && self.is_current_of(route.server, kind, &fetched, false)
        {
            return Some(route.clone());
        }
        let list = Box::pin(self.list(kind, false)).await;
        list.merged.route(shown).cloned()
    }

    /// The servers whose list was missing last, in quotes.
    pub(crate) fn missing(&self, kind: Kind) -> Vec<String> {
        let fetched = self.kept[kind as usize].now();
        let missing = fetched.iter().flat_map(|fetched| &fetched.missing);
        missing.map(|name| format!("{name:?}")).collect()
    }

    /// What a client says to a server of which it is not to see everything is what the rules for that were held against.
    ///
    /// # Errors
    /// It may be read as something else.
    pub(crate) fn checked(
        &self,
        server: usize,
        kind: Kind,
        member: &str,
        params: Option<&str>,
    ) -> Result<(), RpcError> {
        if self.shared.upstreams[server].seen(kind).shows_all() {
            return Ok(());
        }
        spelling::is_alone(member, params)
    }

    /// Asks a server, and says its resources as they are seen here.
    pub(crate) async fn pass(&self, server: usize, call: Call) -> Outcome {
        let relay = match self.relay(server).await {
            Ok(relay) => relay,
            Err(error) => {
                if self.shared.upstreams[server].connect.is_full() {
                    call.context.turn_away();
                }
                return Outcome::Failed(error);
            }
        };
        let outcome = relay.call(call).await;
        self.tasks.made(&outcome, server);
        match outcome {
            Outcome::Complete(result) if result.as_str().contains("\"uri\"") => {
                // Which addresses two servers share is known from the lists.
                for kind in [Kind::Resources, Kind::Templates] {
                    if self.kept[kind as usize].now().is_none() {
                        Box::pin(self.list(kind, false)).await;
                    }
                }
                Outcome::Complete(addresses::shown(result, |uri| self.shown(server, uri)))
            }
            other => other,
        }
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
        // Tasks at a connection that all clients share may be others'.
        relays
            .filter_map(|(server, relay)| has_tasks(relay?).then_some(server))
            .filter(|server| self.shared.common[*server].is_none())
            .collect()
    }

    /// Ends all connections of this client, in bounded time.
    pub(crate) async fn close(&self) {
        self.leave();
        self.let_go();
        let mut closing = JoinSet::new();
        for (link, common) in self.links.iter().zip(&self.shared.common) {
            if common.is_none() {
                let link = link.clone();
                closing.spawn(async move { link.close().await });
            }
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

/// What a client has, while a call of it runs.
pub(crate) struct Busy(Arc<Peer>);

impl std::ops::Deref for Busy {
    type Target = Peer;

    fn deref(&self) -> &Peer {
        &self.0
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        if self.0.calls.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.quiet.notify_waiters();
        }
        self.0.touch();
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.leave();
    }
}

/// How a client sees the addresses of a server's resources.
fn shown(current: Arc<Current>, id: u64) -> Shown {
    Arc::new(move |uri| {
        let shown = current.peer().and_then(|peer| {
            let server = peer.shared.position(id)?;
            peer.shown(server, uri)
        });
        shown.unwrap_or_else(|| uri.to_owned())
    })
}

fn down(name: &str, error: &LinkError) -> RpcError {
    tracing::warn!(server = name, %error, "a server behind the gateway is not there");
    let why = match error {
        LinkError::Down { error, .. } if matches!(**error, ClientError::NoRoom(_)) => {
            room::full(name)
        }
        LinkError::Down { error, again } => {
            let left = again.saturating_duration_since(Instant::now()).as_secs() + 1;
            let what = match &**error {
                ClientError::Status(status) => format!("answers with HTTP {} now", status.code),
                _ => "cannot be reached now".to_owned(),
            };
            format!(
                "The server {name:?} behind this gateway {what}; it is tried again in {left} s."
            )
        }
        _ => format!("The server {name:?} behind this gateway is being shut down."),
    };
    RpcError::new(Code::Internal, why)
}
