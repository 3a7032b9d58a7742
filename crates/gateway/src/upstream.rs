//! A server behind the gateway, as it was named; and what all clients have in common.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use polyport::Raw;
use polyport::client::{Connect, ServerKey};

use crate::catalogue::{Kind, Merged};
use crate::common::{All, Common};
use crate::fetched::Part;
use crate::known::{MemoryNames, NameStore, named};
use crate::names::{self, Prefix};
use crate::seen::Seen;
use crate::strays::Stray;

/// A server behind a gateway.
#[derive(Clone, Debug)]
pub struct Upstream {
    /// The same for all clones, and for nothing else.
    pub(crate) id: u64,
    pub(crate) name: String,
    key: Option<ServerKey>,
    pub(crate) connect: Connect,
    pub(crate) is_common: bool,
    tools: Seen,
    prompts: Seen,
    resources: Seen,
}

impl Upstream {
    /// A server under a name, and how it is reached. Each client of the gateway has a connection of its own, which is made when the client
    /// comes.
    pub fn new(name: impl Into<String>, connect: Connect) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            name: name.into(),
            key: connect.key(),
            connect,
            is_common: false,
            tools: Seen::all(),
            prompts: Seen::all(),
            resources: Seen::all(),
        }
    }

    /// Which of its tools clients see. Default: all.
    #[must_use]
    pub fn tools(mut self, seen: Seen) -> Self {
        self.tools = seen;
        self
    }

    /// Which of its prompts clients see. Default: all.
    #[must_use]
    pub fn prompts(mut self, seen: Seen) -> Self {
        self.prompts = seen;
        self
    }

    /// Which of its resources clients see, by their addresses: in lists, and when they are read. A template is listed if its own text is
    /// seen. Default: all.
    #[must_use]
    pub fn resources(mut self, seen: Seen) -> Self {
        self.resources = seen;
        self
    }

    /// All clients share one connection. The server then speaks with the gateway and with no client: it can ask nobody anything, nobody
    /// subscribes to its resources or lists its tasks, and nobody hears what it logs outside a call. Default: each client has its own.
    #[must_use]
    pub fn in_common(mut self) -> Self {
        self.is_common = true;
        self
    }

    pub(crate) fn seen(&self, kind: Kind) -> &Seen {
        match kind {
            Kind::Tools => &self.tools,
            Kind::Prompts => &self.prompts,
            Kind::Resources | Kind::Templates => &self.resources,
        }
    }

    /// Says once which rules name nothing of all that it offers. Of resources no list is whole.
    pub(crate) fn hold(&self, kind: Kind, entries: &[Raw]) {
        let (rules, seen) = match kind {
            Kind::Tools => ("tools", &self.tools),
            Kind::Prompts => ("prompts", &self.prompts),
            Kind::Resources | Kind::Templates => return,
        };
        if !seen.is_new() {
            return;
        }
        let names = entries.iter().filter_map(|entry| kind.name_of(entry));
        let names: Vec<String> = names.collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        for Stray { rule, named, near } in seen.strays(&names) {
            let server = &self.name;
            let rule = format!("{rules}.{rule}");
            let meant = near.map_or_else(String::new, |near| format!("; did you mean {near:?}?"));
            tracing::warn!(
                server,
                rule,
                "the server has no {named:?}, which a rule for it names{meant}"
            );
        }
    }

    /// Under which it is remembered. A server in this process is known by its name.
    fn key(&self) -> String {
        match &self.key {
            Some(key) => key.as_str().to_owned(),
            None => format!("name:{}", self.name),
        }
    }

    /// Is it what it would be without the gateway?
    fn is_plain(&self) -> bool {
        let all = [&self.tools, &self.prompts, &self.resources];
        !self.is_common && all.iter().all(|seen| seen.is_all())
    }
}

/// What all clients have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) upstreams: Vec<Upstream>,
    /// The connections of those that have one for all clients.
    pub(crate) common: Vec<Option<Common>>,
    pub(crate) prefix: Prefix,
    /// What servers were last known to call what they offer.
    pub(crate) names: Arc<dyn NameStore>,
    /// Other servers may come.
    pub(crate) may_change: bool,
}

impl Shared {
    /// Of these servers. What there was before goes on where it is the same.
    pub(crate) fn of(
        upstreams: impl IntoIterator<Item = Upstream>,
        all: &Weak<dyn All>,
        before: Option<&Self>,
    ) -> Self {
        let mut named: Vec<Upstream> = upstreams.into_iter().collect();
        let names = names::distinct(named.iter().map(|upstream| upstream.name.clone()));
        for (upstream, name) in named.iter_mut().zip(names) {
            upstream.name = name;
        }
        let common = |upstream: &Upstream| {
            let kept = || before?.common.get(before?.position(upstream.id)?)?.clone();
            let new = || Common::new(&upstream.name, upstream.connect.clone(), all.clone());
            upstream.is_common.then(|| kept().unwrap_or_else(new))
        };
        Self {
            common: named.iter().map(common).collect(),
            upstreams: named,
            prefix: before.map(|before| before.prefix).unwrap_or_default(),
            names: before.map_or_else(
                || Arc::new(MemoryNames::default()) as _,
                |before| before.names.clone(),
            ),
            may_change: before.is_some_and(|before| before.may_change),
        }
    }

    /// What a server called what it offers when it was last there. One alone shares names with nobody.
    pub(crate) fn known(&self, server: usize, kind: Kind) -> Vec<String> {
        let of = named(kind).filter(|_| self.upstreams.len() > 1);
        let known = of.map(|of| self.names.recall(&self.upstreams[server].key(), of));
        known.unwrap_or_default()
    }

    /// Remembers what the servers that are there call what they offer.
    pub(crate) fn keep(&self, kind: Kind, parts: &[Part], merged: &Merged) {
        let Some(of) = named(kind).filter(|_| self.upstreams.len() > 1) else {
            return;
        };
        let names = merged.own_names(parts.len());
        for ((upstream, part), names) in self.upstreams.iter().zip(parts).zip(names) {
            if part.of.is_some() {
                self.names.keep(&upstream.key(), of, &names);
            }
        }
    }

    /// Has one of the servers as many sessions as it may have?
    pub(crate) fn is_full(&self) -> bool {
        let mut all = self.upstreams.iter();
        all.any(|upstream| upstream.connect.is_full())
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        let each = self.upstreams.iter();
        each.map(|upstream| &*upstream.name).collect()
    }

    pub(crate) fn position(&self, id: u64) -> Option<usize> {
        self.upstreams.iter().position(|upstream| upstream.id == id)
    }

    /// Are some resources not to be seen?
    pub(crate) fn hides_resources(&self) -> bool {
        let mut all = self.upstreams.iter();
        all.any(|upstream| !upstream.resources.shows_all())
    }

    /// Is it one server that passes as it is?
    pub(crate) fn is_transparent(&self) -> bool {
        !self.may_change && matches!(&self.upstreams[..], [only] if only.is_plain())
    }
}
