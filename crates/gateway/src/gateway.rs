//! Which request goes to which of the servers behind the gateway.

use std::fmt;
use std::sync::Arc;

use polyport::{Bus, Call, Code, Envelope, Handler, Notice, Outcome, Raw, RpcError, StartError};
use polyport_model::SubscriptionFilter;
use polyport_proto::http::HeaderParam;
use polyport_proto::outcome::shorten;
use polyport_rt::listen::{honoured, wished};
use polyport_wire::{Limits, Params, splice, write};

use crate::catalogue::Kind;
use crate::known::NameStore;
use crate::names::Prefix;
use crate::peer::{Peer, key};
use crate::peers::Peers;
use crate::upstream::{Shared, Upstream};
use crate::{addresses, discover, lists, tasks};

/// Many servers as one. One alone is passed through as it is, with its own names and in its own words.
pub struct Gateway {
    peers: Arc<Peers>,
}

/// Changes the servers of a gateway while it runs. Cheap to clone.
#[derive(Clone)]
pub struct GatewayHandle {
    peers: Arc<Peers>,
}

impl GatewayHandle {
    /// Puts these servers in the place of those that there are. An [`Upstream`] that was there before, or a clone of it, keeps the
    /// connections that clients have to it; what else it says, of names and what is seen, holds at once. One that is gone ends when the
    /// calls that run there have ended. All clients hear that their lists have changed.
    ///
    /// # Panics
    /// Outside a Tokio runtime.
    pub fn replace(&self, upstreams: impl IntoIterator<Item = Upstream>) {
        self.peers.replace(upstreams);
    }
}

impl fmt::Debug for GatewayHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shared = self.peers.shared();
        let names = shared.names();
        f.debug_tuple("GatewayHandle").field(&names).finish()
    }
}

impl Gateway {
    /// A gateway to these servers. Two of one name get different ones: the second `name-2`, and so on.
    pub fn new(upstreams: impl IntoIterator<Item = Upstream>) -> Self {
        let peers = Arc::new(Peers::new(upstreams));
        Self { peers }
    }

    /// When the name of a server is put before its tools and prompts. Default: [`Prefix::WhenNeeded`].
    #[must_use]
    pub fn prefix(self, prefix: Prefix) -> Self {
        self.peers.set(|shared| Shared { prefix, ..shared });
        self
    }

    /// Where it is remembered what servers called their tools and prompts when they were last there: while one is missing, those of
    /// others are spelt as if it were not. Default: [`MemoryNames`](crate::MemoryNames) of this gateway, for all its clients.
    #[must_use]
    pub fn names(self, names: Arc<dyn NameStore>) -> Self {
        self.peers.set(|shared| Shared { names, ..shared });
        self
    }

    /// What changes its servers while it runs. Even one server alone is then no longer passed through as it is, and clients are told that
    /// every list may change.
    pub fn handle(&self) -> GatewayHandle {
        self.peers.set(|shared| Shared {
            may_change: true,
            ..shared
        });
        GatewayHandle {
            peers: self.peers.clone(),
        }
    }
}

impl Handler for Gateway {
    async fn call(&self, call: Call) -> Outcome {
        let peer = self.peers.busy(call.context.envelope());
        if !peer.shared().may_change {
            return answer(&peer, call).await;
        }
        let peer = peer.of_call(&call);
        let key = key(&call);
        let outcome = answer(&peer, call).await;
        peer.note(&key, &outcome);
        outcome
    }

    fn notice(&self, notice: Notice) {
        let Some(session) = &notice.session else {
            return;
        };
        let peer = self.peers.of(&Envelope::remembered(session.clone(), None));
        for relay in peer.connected() {
            relay.notice(notice.clone());
        }
    }

    fn bus(&self) -> Option<Bus> {
        Some(self.peers.bus().clone())
    }

    fn bus_of(&self, envelope: &Envelope) -> Option<Bus> {
        Some(self.peers.of(envelope).bus().clone())
    }

    fn header_params(&self, tool: &str, envelope: &Envelope) -> Option<Arc<[HeaderParam]>> {
        let peer = self.peers.of(envelope);
        if peer.shared().is_transparent() {
            return peer.current(0)?.header_params(tool, envelope);
        }
        peer.marked(tool)
    }

    async fn start(&self) -> Result<(), StartError> {
        self.peers.watch();
        Ok(())
    }

    async fn shutdown(&self) {
        self.peers.close().await;
    }
}

/// The answer to a request.
async fn answer(peer: &Peer, call: Call) -> Outcome {
    if peer.shared().is_transparent() {
        return match peer.relay(0).await {
            Ok(relay) => relay.call(call).await,
            Err(error) => Outcome::Failed(error),
        };
    }
    match call.method {
        "tools/call" => named(peer, Kind::Tools, call).await,
        // What is asked less often does not take room in each call.
        _ => Box::pin(answer_other(peer, call)).await,
    }
}

async fn answer_other(peer: &Peer, call: Call) -> Outcome {
    match call.method {
        "server/discover" => discover::discover(peer, &call.context).await,
        "tools/list" => lists::page(peer, Kind::Tools, &call).await,
        "prompts/list" => lists::page(peer, Kind::Prompts, &call).await,
        "resources/list" => lists::page(peer, Kind::Resources, &call).await,
        "resources/templates/list" => lists::page(peer, Kind::Templates, &call).await,
        "prompts/get" => named(peer, Kind::Prompts, call).await,
        "resources/read" | "resources/subscribe" => addressed(peer, call).await,
        // The edge tells the bus, and that the server once nobody is left.
        "resources/unsubscribe" => Outcome::Complete(Raw::from_static("{}")),
        "subscriptions/listen" => listen(peer, &call).await,
        "completion/complete" => complete(peer, call).await,
        "tasks/list" => tasks::list(peer, call).await,
        method if method.starts_with("tasks/") => tasks::about(peer, call).await,
        method => Outcome::Failed(RpcError::method_not_found(method)),
    }
}

/// A call of something that has a name.
async fn named(peer: &Peer, kind: Kind, mut call: Call) -> Outcome {
    let Some(name) = call.params.name() else {
        let why = format!("{}: name is missing or not a text", call.method);
        return Outcome::Failed(RpcError::invalid_params(why));
    };
    let Some(route) = peer.route(kind, &name).await else {
        let what = if kind == Kind::Tools {
            "tool"
        } else {
            "prompt"
        };
        let mut why = format!("Unknown {what}: {}", shorten(&name));
        if let Some(who) = who_may_have_it(peer, kind) {
            why.push_str(&who);
            if peer.full().next().is_some() {
                // It may well be known, to others.
                return Outcome::Failed(RpcError::new(Code::Internal, why));
            }
        }
        return Outcome::Failed(RpcError::invalid_params(why));
    };
    let name = name.into_owned();
    if let Err(error) = peer.checked(route.server, kind, "name", call.params.text()) {
        return Outcome::Failed(error);
    }
    if route.name != name
        && let Err(error) = rename(&mut call, "name", &route.name)
    {
        return Outcome::Failed(error);
    }
    peer.pass(route.server, call).await
}

/// What goes behind a sentence that something is unknown, where servers are not there.
fn who_may_have_it(peer: &Peer, kind: Kind) -> Option<String> {
    let missing = peer.missing(kind);
    let (is, servers) = match &missing[..] {
        [] => return None,
        [_] => ("is", "The server"),
        _ => ("are", "The servers"),
    };
    let mut who = format!(
        ". {servers} {} behind this gateway {is} not there now, and may have it.",
        missing.join(", ")
    );
    for full in peer.full() {
        who.push(' ');
        who.push_str(&full);
    }
    Some(who)
}

/// A request about a resource.
async fn addressed(peer: &Peer, mut call: Call) -> Outcome {
    let Some(uri) = call.params.uri().map(std::borrow::Cow::into_owned) else {
        let why = format!("{}: uri is missing or not a text", call.method);
        return Outcome::Failed(RpcError::invalid_params(why));
    };
    if let Some(route) = peer.place(&uri).await {
        if let Err(error) = peer.checked(route.server, Kind::Resources, "uri", call.params.text()) {
            return Outcome::Failed(error);
        }
        if route.name != uri
            && let Err(error) = rename(&mut call, "uri", &route.name)
        {
            return Outcome::Failed(error);
        }
        let subscribes = call.method == "resources/subscribe";
        if subscribes && peer.shared().common[route.server].is_some() {
            return Outcome::Failed(RpcError::method_not_found(call.method));
        }
        let outcome = peer.pass(route.server, call).await;
        if matches!(outcome, Outcome::Complete(_)) {
            peer.note_place(&uri, route.server, &route.name);
        }
        return alike(peer, route.server, &uri, outcome);
    }
    // No list names it, as it is with resources that come of nothing but a call: the first server that knows it has it.
    let mut missing = RpcError::resource_not_found(&uri);
    let mut is_told = false;
    let subscribes = call.method == "resources/subscribe";
    for server in peer.offering(&uri, subscribes).await {
        if let Err(error) = peer.checked(server, Kind::Resources, "uri", call.params.text()) {
            return Outcome::Failed(error);
        }
        let again = Call {
            method: call.method,
            params: call.params.clone(),
            context: call.context.clone(),
        };
        match peer.pass(server, again).await {
            Outcome::Failed(error) if error.code == Code::ResourceMissing => missing = error,
            // Many a server says so of a resource that it does not know, and one that is down knows none.
            Outcome::Failed(error)
                if matches!(error.code, Code::InvalidParams | Code::Internal) =>
            {
                if missing.code != Code::ResourceMissing || !is_told {
                    is_told = true;
                    missing = error;
                }
            }
            other => {
                peer.note_place(&uri, server, &uri);
                return other;
            }
        }
    }
    if peer.shared().hides_resources() && missing.code == Code::ResourceMissing {
        missing = RpcError::resource_not_found(&uri);
    }
    if matches!(missing.code, Code::ResourceMissing | Code::InvalidParams)
        && let Some(who) = who_may_have_it(peer, Kind::Resources)
    {
        missing = RpcError::resource_error(&uri, format!("Resource not found{who}"));
    }
    Outcome::Failed(missing)
}

/// Where some resources of a server are not to be seen, one that is not there is told in the words for those.
fn alike(peer: &Peer, server: usize, uri: &str, outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Failed(error)
            if error.code == Code::ResourceMissing
                && !peer.shared().upstreams[server]
                    .seen(Kind::Resources)
                    .shows_all() =>
        {
            Outcome::Failed(RpcError::resource_not_found(uri))
        }
        other => other,
    }
}

/// What a client may want to hear of: all lists, which may change when a server comes or goes, and the resources and tasks that servers
/// tell of.
async fn listen(peer: &Peer, call: &Call) -> Outcome {
    let asked = match wished(&call.params) {
        Ok(asked) => asked,
        Err(error) => return Outcome::Failed(error),
    };
    let ids = asked.task_ids.unwrap_or_default();
    let tasks = match tasks::listen(peer, &call.context, ids).await {
        Ok(tasks) => tasks,
        Err(error) => return Outcome::Failed(error),
    };
    let mut taken = Vec::new();
    for uri in asked.resource_subscriptions.iter().flatten() {
        if peer.subscribe(uri).await {
            taken.push(uri.clone());
        }
    }
    honoured(&SubscriptionFilter {
        tools_list_changed: asked.tools_list_changed,
        prompts_list_changed: asked.prompts_list_changed,
        resources_list_changed: asked.resources_list_changed,
        resource_subscriptions: Some(taken).filter(|taken| !taken.is_empty()),
        task_ids: Some(tasks).filter(|tasks| !tasks.is_empty()),
        ..SubscriptionFilter::default()
    })
}

/// Completion of an argument, by the server whose prompt or template it is; nothing, where that completes nothing.
async fn complete(peer: &Peer, mut call: Call) -> Outcome {
    let mut at = None;
    splice::members(call.params.text().unwrap_or("{}"), |key, value| {
        if key == "ref" && value.starts_with('{') {
            at = Some(value.to_owned());
        }
    });
    let (mut kind, mut name, mut uri) = (None, None, None);
    let text = |value: &str| serde_json::from_str::<String>(value).ok();
    splice::members(at.as_deref().unwrap_or("{}"), |key, value| match key {
        "type" => kind = text(value),
        "name" => name = text(value),
        "uri" => uri = text(value),
        _ => {}
    });
    let (route, shown, key, of) = match (kind.as_deref(), name, uri) {
        (Some("ref/prompt"), Some(name), _) => {
            let route = peer.route(Kind::Prompts, &name).await;
            (route, name, "name", Kind::Prompts)
        }
        (Some("ref/resource"), _, Some(uri)) => {
            let of_template = peer.route(Kind::Templates, &uri).await;
            let route = match of_template {
                Some(route) => Some(route),
                None => peer.place(&uri).await,
            };
            (route, uri, "uri", Kind::Resources)
        }
        _ => {
            let why = "completion/complete: ref must name a prompt or a resource";
            return Outcome::Failed(RpcError::invalid_params(why));
        }
    };
    let Some(route) = route else {
        let why = format!(
            "completion/complete: nothing here is named {}",
            shorten(&shown)
        );
        return Outcome::Failed(RpcError::invalid_params(why));
    };
    let at_it = at.as_deref();
    for (member, text) in [("ref", call.params.text()), ("type", at_it), (key, at_it)] {
        if let Err(error) = peer.checked(route.server, of, member, text) {
            return Outcome::Failed(error);
        }
    }
    if route.name != shown
        && let Some(at) = at
    {
        let mut name = Vec::new();
        write::string(&mut name, &route.name);
        let Some(reference) = addresses::exchanged(&at, key, &name) else {
            return Outcome::Failed(RpcError::invalid_params("completion/complete: ref"));
        };
        if let Err(error) = exchange(&mut call, "ref", &reference) {
            return Outcome::Failed(error);
        }
    }
    match peer.pass(route.server, call).await {
        // The gateway completes, though this server does not.
        Outcome::Failed(error) if error.code == Code::MethodNotFound => {
            Outcome::Complete(Raw::from_static("{\"completion\":{\"values\":[]}}"))
        }
        outcome => outcome,
    }
}

/// Says another name in the parameters of a call; everything else stays as it came.
fn rename(call: &mut Call, member: &str, name: &str) -> Result<(), RpcError> {
    let mut text = Vec::new();
    write::string(&mut text, name);
    exchange(call, member, &text)
}

fn exchange(call: &mut Call, member: &str, value: &[u8]) -> Result<(), RpcError> {
    let text = call.params.text();
    let out = text.and_then(|text| addresses::exchanged(text, member, value));
    let params = out.map(|out| Params::parse(out.into(), &Limits::default()));
    match params {
        Some(Ok(params)) => {
            call.params = params;
            Ok(())
        }
        _ => Err(RpcError::invalid_params(format!("{member} is missing"))),
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway")
            .field("upstreams", &self.peers.shared().names())
            .finish_non_exhaustive()
    }
}
