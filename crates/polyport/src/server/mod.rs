//! A server: what it is and knows of itself. Built once, then the same for every client.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use polyport_model::{CacheScope, Implementation};
use polyport_proto::Notice;
use polyport_rt::{Tasks, Watcher};
use polyport_wire::Raw;

pub(crate) mod as_task;
pub(crate) mod blocking;
mod build;
pub(crate) mod catalogue;
pub(crate) mod complete;
pub(crate) mod context;
pub(crate) mod handle;
mod hooks;
mod lists;
mod output;
pub(crate) mod parts;
pub(crate) mod prompts;
mod read;
pub(crate) mod reply;
pub(crate) mod resources;
pub(crate) mod result;
mod running;
mod session;
mod subscribe;
pub(crate) mod tasks;
pub(crate) mod tools;

use catalogue::Catalogue;
use complete::Completer;
use handle::{ServerHandle, Shared};
use hooks::{Hooks, Layers};
use resources::ResourceSource;
use running::Running;
use session::Sessions;
use tasks::Keeping;

/// An MCP server. Serve it with [`stdio::serve`](crate::stdio::serve) or [`http::serve`](crate::http::serve).
///
/// Clients of every revision see the same server. Arguments of tools are checked against their schema before the function is
/// called; what does not fit is told to the model, which can mend it.
pub struct Server {
    facts: Facts,
    hooks: Hooks,
    sessions: Sessions,
    layers: Layers,
}

/// A kind of thing that a server offers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Kind {
    /// Tools.
    Tools,
    /// Prompts.
    Prompts,
    /// Resources and their templates.
    Resources,
}

/// Hears a notification.
type Hear = Box<dyn Fn(&Notice) + Send + Sync>;

/// Which kinds are offered, whether or not there is one of them now.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Declared {
    tools: bool,
    prompts: bool,
    resources: bool,
    completions: bool,
    tasks: bool,
}

impl Declared {
    fn has(self, kind: Kind) -> bool {
        match kind {
            Kind::Tools => self.tools,
            Kind::Prompts => self.prompts,
            Kind::Resources => self.resources,
        }
    }
}

/// What a server knows of itself; shared with the calls under way.
pub(crate) struct Facts {
    /// `serverInfo`, as JSON.
    pub(crate) info: String,
    about: Implementation,
    instructions: Option<String>,
    shared: Arc<Shared>,
    declared: Declared,
    sources: Vec<Arc<dyn ResourceSource>>,
    pub(crate) completers: Vec<Completer>,
    notices: Vec<Hear>,
    page: usize,
    ttl: Duration,
    scope: CacheScope,
    checks_output: bool,
    keeping: Keeping,
    pub(crate) tasks: Option<Tasks>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("about", &self.facts.about.name)
            .field("tools", &self.facts.catalogue().tools.len())
            .finish_non_exhaustive()
    }
}

/// Entries of one page of a list.
const PAGE: usize = 1_000;

impl Server {
    /// A server that offers nothing yet.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        let facts = Facts {
            info: String::new(),
            about: Implementation::new(name, version),
            instructions: None,
            shared: Arc::default(),
            declared: Declared::default(),
            sources: Vec::new(),
            completers: Vec::new(),
            notices: Vec::new(),
            page: PAGE,
            ttl: Duration::ZERO,
            scope: CacheScope::Private,
            checks_output: cfg!(debug_assertions),
            keeping: Keeping::default(),
            tasks: None,
        };
        Self {
            facts,
            hooks: Hooks::default(),
            sessions: Sessions::default(),
            layers: Layers::default(),
        }
    }

    /// Its name and version.
    pub fn about(&self) -> &Implementation {
        &self.facts.about
    }

    /// A handle to it for what happens outside of calls. Whoever takes one promises changes: clients are told that lists may
    /// change and that resources may be subscribed to.
    ///
    /// ```
    /// use polyport::{Kind, Server, Tool};
    ///
    /// let server = Server::new("shop", "1.0.0").offers(Kind::Tools);
    /// let handle = server.handle();
    /// // While the server is served, from any task: who listens hears that the list has changed, and lists anew.
    /// let sale = Tool::new("sale", "What is on sale.", |_cx, (): ()| async { Ok("tea") });
    /// handle.add_tool(sale)?;
    /// // Who subscribed to this resource hears that it has changed, and reads it anew.
    /// handle.resource_updated("shop://prices");
    /// assert!(handle.remove_tool("sale"));
    /// # Ok::<(), polyport::Taken>(())
    /// ```
    pub fn handle(&self) -> ServerHandle {
        ServerHandle::new(self.facts.shared.clone())
    }

    /// Tells this watcher which resources somebody is subscribed to, so that only those need to be looked after.
    /// [`ServerHandle`] has an example.
    ///
    /// # Panics
    /// There is one already: a fault in the program.
    #[must_use]
    pub fn watcher(self, watcher: Arc<dyn Watcher>) -> Self {
        assert!(
            self.facts.shared.bus.set_watcher(watcher),
            "there are two watchers"
        );
        self
    }

    /// How many tools, prompts and fixed resources it has.
    pub fn counts(&self) -> (usize, usize, usize) {
        let catalogue = self.facts.catalogue();
        (
            catalogue.tools.len(),
            catalogue.prompts.len(),
            catalogue.resources.len(),
        )
    }

    /// The definitions of its tools as JSON, as a client reads them.
    pub fn tool_definitions(&self) -> Vec<Raw> {
        let latest = polyport_proto::Revision::LATEST.profile();
        let catalogue = self.facts.catalogue();
        let tools = catalogue.tools.iter();
        tools.map(|tool| tool.listed(latest).clone()).collect()
    }

    /// Ends the building.
    pub(crate) fn finish(mut self) -> Running {
        self.facts.info = serde_json::to_string(&self.facts.about).expect("made of texts");
        let catalogue = self.facts.catalogue();
        let declared = &mut self.facts.declared;
        declared.tools |= !catalogue.tools.is_empty();
        declared.prompts |= !catalogue.prompts.is_empty();
        declared.resources |= !catalogue.resources.is_empty()
            || !catalogue.templates.is_empty()
            || !self.facts.sources.is_empty();
        declared.completions = !self.facts.completers.is_empty() || catalogue.completes();
        declared.tasks = catalogue.has_tasks();
        if declared.tasks {
            let bus = self.facts.shared.bus.clone();
            self.facts.tasks = Some(std::mem::take(&mut self.facts.keeping).tasks(bus));
        }
        let _ = self.facts.shared.declared.set(*declared);
        Running {
            facts: Arc::new(self.facts),
            hooks: self.hooks,
            sessions: self.sessions,
        }
    }

    /// As a service, with the default bounds and revisions.
    pub fn into_service(mut self) -> polyport_rt::Service {
        let layers = std::mem::take(&mut self.layers);
        layers.around(polyport_rt::Service::new(self.finish()))
    }
}

impl Facts {
    /// What is offered now.
    pub(crate) fn catalogue(&self) -> Arc<Catalogue> {
        self.shared.catalogue()
    }
}

impl fmt::Debug for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Facts")
            .field("about", &self.about)
            .finish_non_exhaustive()
    }
}
