//! A merged list as it was when it was fetched, and the list of one server in it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use polyport::client::{Link, List, Relay};
use polyport::{ClientError, Code, Handler as _, Raw};
use polyport_model::{CacheScope, Ttl};
use tokio::time::Instant;

use crate::catalogue::{Kind, Merged};

/// How long what a server does not have may be kept: as long as anything.
const NOTHING: Duration = Duration::from_secs(24 * 60 * 60);

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
    /// Until when it may be kept, where the server says so.
    pub(crate) until: Option<Instant>,
    /// For whom.
    pub(crate) scope: CacheScope,
}

impl Fetched {
    /// For how long clients may keep the list, and for whom: what holds for the lists of all servers.
    pub(crate) fn hints(&self) -> (Ttl, CacheScope) {
        let is_public = self
            .parts
            .iter()
            .all(|part| part.scope == CacheScope::Public);
        let scope = if is_public && self.missing.is_empty() {
            CacheScope::Public
        } else {
            CacheScope::Private
        };
        let now = Instant::now();
        let left = |part: &Part| {
            let until = part.until.filter(|_| self.missing.is_empty());
            until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
        };
        let left = self.parts.iter().map(left).min();
        (left.unwrap_or_default().into(), scope)
    }
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
            until: Some(Instant::now() + NOTHING),
            scope: CacheScope::Public,
            ..Part::default()
        });
    };
    let listed = match relay.client().listed(list).await {
        Ok(listed) => listed,
        // Many a server has resources and knows nothing of templates.
        Err(ClientError::Refused(error))
            if kind == Kind::Templates && error.code == Code::MethodNotFound.number() =>
        {
            return Ok(Part {
                of,
                is_told: told(changed),
                ..Part::default()
            });
        }
        Err(error) => return Err(error.to_string()),
    };
    Ok(Part {
        entries: listed.entries.into(),
        of,
        is_told: told(changed),
        until: Some(listed.until).filter(|until| *until > Instant::now()),
        scope: listed.scope,
    })
}
