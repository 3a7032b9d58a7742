//! What a gateway says of itself: what its servers offer together, and how each of them is to be used.

use polyport::{Context, Outcome, Raw};
use polyport_model::{
    EXTENSION_TASKS, ListCapability, Object, ResourcesCapability, ServerCapabilities,
};
use serde_json::json;

use crate::peer::Peer;

/// The answer to `server/discover`. Servers that are not there yet are not waited for long: their lists change when they come.
pub(crate) async fn discover(peer: &Peer, context: &Context) -> Outcome {
    let relays = peer.ready().await;
    let mut all = ServerCapabilities::default();
    let mut instructions = Vec::new();
    // Whoever comes later may have any of them.
    let shared = peer.shared();
    let is_open = shared.may_change || relays.iter().any(Option::is_none);
    for (server, (relay, name)) in relays.iter().zip(peer.names()).enumerate() {
        let Some(relay) = relay else {
            continue;
        };
        let opened = relay.client().opened();
        let mut offers = relay.offers(context);
        if shared.common[server].is_some() {
            for_all(&mut offers);
        }
        add(&mut all, &offers);
        if let Some(text) = &opened.instructions {
            instructions.push(format!("# {name}\n{text}"));
        }
    }
    let changing = || ListCapability {
        list_changed: Some(true),
        ..ListCapability::default()
    };
    if all.tools.is_some() || is_open {
        all.tools = Some(changing());
    }
    if all.prompts.is_some() || is_open {
        all.prompts = Some(changing());
    }
    if all.resources.is_some() || is_open {
        let resources = all.resources.get_or_insert_default();
        resources.list_changed = Some(true);
    }
    if is_open {
        // A legacy client is told once, and its session may outlast all of them.
        all.completions.get_or_insert_default();
        all.logging.get_or_insert_default();
    }
    let mut result = json!({
        "capabilities": all,
        "_meta": {"io.modelcontextprotocol/serverInfo": {
            "name": "polyport", "title": "Polyport", "version": env!("CARGO_PKG_VERSION"),
        }},
    });
    if !instructions.is_empty() {
        result["instructions"] = json!(instructions.join("\n\n"));
    }
    Outcome::Complete(Raw::trusted(result.to_string()))
}

/// What a server offers at a connection that all clients share.
fn for_all(offers: &mut ServerCapabilities) {
    offers.tasks = None;
    if let Some(extensions) = &mut offers.extensions {
        extensions.remove(EXTENSION_TASKS);
    }
    if let Some(resources) = &mut offers.resources {
        resources.subscribe = None;
    }
}

/// What one server offers beside the others.
fn add(all: &mut ServerCapabilities, one: &ServerCapabilities) {
    all.tools = all.tools.take().or_else(|| one.tools.clone());
    all.prompts = all.prompts.take().or_else(|| one.prompts.clone());
    all.completions = all.completions.take().or_else(|| one.completions.clone());
    all.logging = all.logging.take().or_else(|| one.logging.clone());
    if let Some(resources) = &one.resources {
        let ours = all
            .resources
            .get_or_insert_with(ResourcesCapability::default);
        if resources.subscribe == Some(true) {
            ours.subscribe = Some(true);
        }
    }
    if let Some(tasks) = &one.tasks {
        let ours = all.tasks.get_or_insert_default();
        ours.list = ours.list.take().or_else(|| tasks.list.clone());
        ours.cancel = ours.cancel.take().or_else(|| tasks.cancel.clone());
        ours.requests = ours.requests.take().or_else(|| tasks.requests.clone());
    }
    let beside = |all: &mut Option<Object>, one: &Option<Object>| {
        for (name, value) in one.iter().flat_map(Object::iter) {
            let all = all.get_or_insert_default();
            if !all.contains(name) {
                all.insert(name, value.clone());
            }
        }
    };
    beside(&mut all.experimental, &one.experimental);
    beside(&mut all.extensions, &one.extensions);
    for (name, value) in one.extra.iter() {
        if !all.extra.contains(name) {
            all.extra.insert(name, value.clone());
        }
    }
}
