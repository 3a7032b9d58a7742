//! A server: what it offers, and which request goes to which part of it. Built once, then the same for every client.

use std::collections::BTreeMap;
use std::fmt;
use std::future::{Future, ready};
use std::sync::Arc;
use std::time::Duration;

use polyport_model::{CacheScope, Icon, Implementation};
use polyport_proto::http::HeaderParam;
use polyport_proto::{Notice, Outcome, RpcError};
use polyport_rt::{BoxFuture, Bus, Call, Handler, StartError, Watcher};
use polyport_wire::{Params, Raw};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

pub(crate) mod blocking;
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
mod session;
mod subscribe;
pub(crate) mod tools;

use crate::error::{Fault, ToolError};
use catalogue::{Catalogue, Taken};
use complete::Completer;
use context::Cx;
use handle::{ServerHandle, Shared};
use hooks::{Hooks, Layers};
use prompts::{Prompt, PromptReply};
use reply::{IntoToolResult, fault_outcome};
use resources::{IntoContents, Resource, ResourceSource, Template};
use session::Sessions;
use tools::Tool;

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
        };
        Self {
            facts,
            hooks: Hooks::default(),
            sessions: Sessions::default(),
            layers: Layers::default(),
        }
    }

    /// A name for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.facts.about.title = Some(title.into());
        self
    }

    /// What it is for, in a sentence.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.facts.about.description = Some(description.into());
        self
    }

    /// Where people read about it.
    #[must_use]
    pub fn website(mut self, url: impl Into<String>) -> Self {
        self.facts.about.website_url = Some(url.into());
        self
    }

    /// Pictures for it.
    #[must_use]
    pub fn icons(mut self, icons: Vec<Icon>) -> Self {
        self.facts.about.icons = Some(icons);
        self
    }

    /// How a model should use it.
    #[must_use]
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.facts.instructions = Some(instructions.into());
        self
    }

    /// Entries of one page of a list. Defaults to 1,000: most clients read one page only.
    #[must_use]
    pub fn page_size(mut self, entries: usize) -> Self {
        self.facts.page = entries.max(1);
        self
    }

    /// How long, and by whom, lists may be kept (server/utilities/caching). Defaults to not at all.
    #[must_use]
    pub fn cache(mut self, ttl: Duration, scope: CacheScope) -> Self {
        self.facts.ttl = ttl;
        self.facts.scope = scope;
        self
    }

    /// One more tool, from an async function. For annotations and more see [`Tool`] and [`add_tool`](Self::add_tool).
    #[must_use]
    pub fn tool<A, T, F, Fut>(
        self,
        name: impl Into<String>,
        description: impl Into<String>,
        function: F,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        T: IntoToolResult + 'static,
        F: Fn(Cx, A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, ToolError>> + Send + 'static,
    {
        self.add_tool(Tool::new(name, description, function))
    }

    /// One more tool.
    ///
    /// # Panics
    /// Its name is taken, or its schema is not one: faults in the program, found when it starts.
    #[must_use]
    pub fn add_tool(self, tool: Tool) -> Self {
        let tool = tool.register();
        self.offer(|catalogue| catalogue.add_tool(tool))
    }

    fn offer(self, add: impl FnOnce(&mut Catalogue) -> Result<(), Taken>) -> Self {
        if let Err(taken) = self.facts.shared.change(add) {
            panic!("{taken}");
        }
        self
    }

    /// One more prompt, from an async function whose arguments are a struct of texts.
    #[must_use]
    pub fn prompt<A, R, F, Fut>(
        self,
        name: impl Into<String>,
        description: impl Into<String>,
        function: F,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        R: Into<PromptReply> + 'static,
        F: Fn(Cx, A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, Fault>> + Send + 'static,
    {
        self.add_prompt(Prompt::new(name, description, function))
    }

    /// One more prompt.
    ///
    /// # Panics
    /// Its name is taken.
    #[must_use]
    pub fn add_prompt(self, prompt: Prompt) -> Self {
        self.offer(|catalogue| catalogue.add_prompt(prompt))
    }

    /// One more resource, read by an async function.
    #[must_use]
    pub fn resource<T, F, Fut>(
        self,
        uri: impl Into<String>,
        name: impl Into<String>,
        function: F,
    ) -> Self
    where
        T: IntoContents,
        F: Fn(Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        self.add_resource(Resource::new(uri, name, function))
    }

    /// One more resource.
    ///
    /// # Panics
    /// Its URI is taken.
    #[must_use]
    pub fn add_resource(self, resource: Resource) -> Self {
        self.offer(|catalogue| catalogue.add_resource(resource))
    }

    /// One more template, read by an async function that gets the values of its variables.
    #[must_use]
    pub fn template<T, F, Fut>(
        self,
        uri_template: &str,
        name: impl Into<String>,
        function: F,
    ) -> Self
    where
        T: IntoContents,
        F: Fn(Cx, BTreeMap<String, String>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        self.add_template(Template::new(uri_template, name, function))
    }

    /// One more template.
    ///
    /// # Panics
    /// There is one of the same form.
    #[must_use]
    pub fn add_template(self, template: Template) -> Self {
        self.offer(|catalogue| catalogue.add_template(template))
    }

    /// Resources that are found as one goes.
    #[must_use]
    pub fn resource_source(mut self, source: impl ResourceSource) -> Self {
        self.facts.sources.push(Arc::new(source));
        self
    }

    /// Completion of one argument.
    #[must_use]
    pub fn completer(mut self, completer: Completer) -> Self {
        self.facts.completers.push(completer);
        self
    }

    /// Its name and version.
    pub fn about(&self) -> &Implementation {
        &self.facts.about
    }

    /// Offers a kind even when there is nothing of it yet: a handle may add it later.
    #[must_use]
    pub fn offers(mut self, kind: Kind) -> Self {
        match kind {
            Kind::Tools => self.facts.declared.tools = true,
            Kind::Prompts => self.facts.declared.prompts = true,
            Kind::Resources => self.facts.declared.resources = true,
        }
        self
    }

    /// Hears notifications of clients that belong to no call, such as `notifications/roots/list_changed`, with the legacy session in which
    /// they came. It must not block.
    #[must_use]
    pub fn on_notice(mut self, hear: impl Fn(&Notice) + Send + Sync + 'static) -> Self {
        self.facts.notices.push(Box::new(hear));
        self
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

/// A server as a handler.
#[derive(Debug)]
pub(crate) struct Running {
    facts: Arc<Facts>,
    hooks: Hooks,
    sessions: Sessions,
}

impl fmt::Debug for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Facts")
            .field("about", &self.about)
            .finish_non_exhaustive()
    }
}

impl Running {
    fn call_tool(&self, cx: Cx, params: Params) -> BoxFuture<Outcome> {
        let Some(name) = params.name() else {
            let outcome = fault_outcome(
                "tools/call",
                Fault::invalid_params("tools/call: name is missing or not a text"),
            );
            return Box::pin(ready(outcome));
        };
        match self.facts.catalogue().tool(&name) {
            Some(tool) => (tool.run)(self.facts.clone(), cx, params),
            None => Box::pin(ready(tools::unknown(&name))),
        }
    }

    fn get_prompt(&self, cx: Cx, params: Params) -> BoxFuture<Outcome> {
        let catalogue = self.facts.catalogue();
        let name = params.name();
        match name.as_deref().and_then(|name| catalogue.prompt(name)) {
            Some(prompt) => {
                let prompt = prompt.clone();
                drop(name);
                (prompt.run)(self.facts.clone(), cx, params)
            }
            None => {
                let why = name.map_or_else(
                    || "prompts/get: name is missing or not a text".to_owned(),
                    |name| {
                        format!(
                            "Unknown prompt: {}",
                            polyport_proto::outcome::shorten(&name)
                        )
                    },
                );
                Box::pin(ready(fault_outcome(
                    "prompts/get",
                    Fault::invalid_params(why),
                )))
            }
        }
    }
}

impl Handler for Running {
    async fn call(&self, call: Call) -> Outcome {
        let method = call.method;
        Outcome::Failed(RpcError::method_not_found(method))
    }

    fn call_boxed(self: Arc<Self>, call: Call) -> BoxFuture<Outcome> {
        let (cx, params) = (Cx(call.context), call.params);
        let facts = &self.facts;
        let offers = facts.declared;
        match call.method {
            "tools/call" if offers.tools => self.call_tool(cx, params),
            "server/discover" if self.sessions.opens(&cx) => Box::pin(async move {
                match self.sessions.open(cx.clone()).await {
                    Ok(()) => self.facts.discover(&cx),
                    Err(fault) => fault_outcome("initialize", fault),
                }
            }),
            "server/discover" => Box::pin(ready(facts.discover(&cx))),
            "tools/list" if offers.tools => Box::pin(ready(facts.list_tools(&cx, &params))),
            "prompts/list" if offers.prompts => Box::pin(ready(facts.list_prompts(&cx, &params))),
            "prompts/get" if offers.prompts => self.get_prompt(cx, params),
            "resources/list" if offers.resources => {
                Box::pin(Facts::list_resources(facts.clone(), cx, params))
            }
            "resources/templates/list" if offers.resources => {
                Box::pin(ready(facts.list_templates(&cx, &params)))
            }
            "resources/read" if offers.resources => {
                Box::pin(Facts::read(facts.clone(), cx, params))
            }
            "resources/subscribe" if offers.resources && facts.shared.may_change() => {
                Box::pin(Facts::subscribe(facts.clone(), cx, params))
            }
            "resources/unsubscribe" if offers.resources && facts.shared.may_change() => {
                Box::pin(ready(Outcome::Complete(Raw::from_static("{}"))))
            }
            "subscriptions/listen" if facts.shared.may_change() => {
                Box::pin(Facts::listen(facts.clone(), cx, params))
            }
            "completion/complete" if !facts.completers.is_empty() => {
                Box::pin(complete::complete(facts.clone(), cx, params))
            }
            method => Box::pin(ready(Outcome::Failed(RpcError::method_not_found(method)))),
        }
    }

    fn notice(&self, notice: Notice) {
        self.facts.notices.iter().for_each(|hear| hear(&notice));
    }

    fn bus(&self) -> Option<Bus> {
        Some(self.facts.shared.bus.clone())
    }

    fn result_meta(&self) -> String {
        format!("\"{}\":{}", reply::SERVER_INFO, self.facts.info)
    }

    fn header_params(&self, tool: &str) -> Option<Arc<[HeaderParam]>> {
        self.facts.catalogue().tool(tool)?.header_params.clone()
    }

    async fn start(&self) -> Result<(), StartError> {
        self.hooks.start().await
    }

    async fn shutdown(&self) {
        self.sessions.closed().await;
        self.hooks.shutdown().await;
    }
}
