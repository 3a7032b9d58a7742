//! A merged list as it was when it was fetched, and the list of one server in it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};

use polyport::client::{Link, List, Relay};
use polyport::{ClientError, Code, Handler as _, Raw};

use crate::catalogue::{Kind, Merged};

#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) fetched: RwLock<Option<Arc<Fetched>>>,
    /// Held by whoever fetches.
    pub(crate) turn: tokio::sync::Mutex<()>,
}

/// A list as it was when it was fetched.
#[derive(Debug, Default)]
pub(crate) struct Fetched {
    pub(crate) merged: Merged,
    /// Servers whose list is missing, or an older one.
    pub(crate) missing: Vec<String>,
    pub(crate) parts: Vec<Part>,
}

/// The list of one server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    pub(crate) entries: Arc<[Raw]>,
    /// Of which connection, and after how many changes; none: it could not be had.
    pub(crate) of: Option<(u64, u64)>,
    /// The server says when it changes.
    pub(crate) is_told: bool,
}

impl Kept {
    pub(crate) fn now(&self) -> Option<Arc<Fetched>> {
        let fetched = self.fetched.read();
        fetched.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// How often a list of a server has changed.
pub(crate) fn changes(kind: Kind, relay: &Relay) -> u64 {
    let changed = relay.changed();
    let count = match kind {
        Kind::Tools => &changed.tools,
        Kind::Prompts => &changed.prompts,
        Kind::Resources | Kind::Templates => &changed.resources,
    };
    count.load(Ordering::Acquire)
}

/// The list of one server.
pub(crate) async fn part(kind: Kind, link: &Link) -> Result<Part, String> {
    let relay = link.open().await.map_err(|error| error.to_string())?;
    relay.start().await.map_err(|error| error.to_string())?;
    // Before it is asked: what changes meanwhile makes it old.
    let of = Some((link.connected(), changes(kind, &relay)));
    let offered = &relay.client().opened().capabilities;
    let told = |told: Option<bool>| told == Some(true);
    let (list, offered) = match kind {
        Kind::Tools => (List::Tools, offered.tools.as_ref().map(|o| o.list_changed)),
        Kind::Prompts => (
            List::Prompts,
            offered.prompts.as_ref().map(|o| o.list_changed),
        ),
        Kind::Resources => (
            List::Resources,
            offered.resources.as_ref().map(|o| o.list_changed),
        ),
        Kind::Templates => (
            List::Templates,
            offered.resources.as_ref().map(|o| o.list_changed),
        ),
    };
    let Some(changed) = offered else {
        return Ok(Part {
            of,
            is_told: true,
            ..Part::default()
        });
    };
    let entries = match relay.client().entries(list).await {
        Ok(entries) => entries,
        // Many a server has resources and knows nothing of templates.
        Err(ClientError::Refused(error))
            if kind == Kind::Templates && error.code == Code::MethodNotFound.number() =>
        {
            Vec::new()
        }
        Err(error) => return Err(error.to_string()),
    };
    Ok(Part {
        entries: entries.into(),
        of,
        is_told: told(changed),
    })
}
