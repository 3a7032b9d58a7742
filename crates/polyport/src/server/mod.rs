//! A server: what it offers, and which request goes to which part of it. Built once, then the same for every client.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::fmt;
use std::future::{Future, ready};
use std::sync::Arc;
use std::time::Duration;

use polyport_model::{CacheScope, Icon, Implementation};
use polyport_proto::http::HeaderParam;
use polyport_proto::{Outcome, RpcError};
use polyport_rt::{BoxFuture, Call, Handler};
use polyport_wire::{Params, Raw};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

mod blocking;
pub(crate) mod complete;
pub(crate) mod context;
mod lists;
pub(crate) mod prompts;
mod read;
pub(crate) mod reply;
pub(crate) mod resources;
pub(crate) mod result;
pub(crate) mod tools;

use crate::error::{Fault, ToolError};
use complete::Completer;
use context::Cx;
use prompts::{Prompt, PromptReply};
use reply::{IntoToolResult, fault_outcome};
use resources::{IntoContents, Resource, ResourceSource, Template};
use tools::{Registered, Tool};

/// An MCP server. Serve it with [`stdio::serve`](crate::stdio::serve) or [`http::serve`](crate::http::serve).
///
/// Clients of every revision see the same server. Arguments of tools are checked against their schema before the function is
/// called; what does not fit is told to the model, which can mend it.
pub struct Server {
    facts: Facts,
    routes: HashMap<String, usize>,
    tools: Vec<Registered>,
}

/// What a server knows of itself; shared with the calls under way.
pub(crate) struct Facts {
    /// `serverInfo`, as JSON.
    pub(crate) info: String,
    about: Implementation,
    instructions: Option<String>,
    prompts: Vec<Prompt>,
    resources: Vec<Resource>,
    templates: Vec<Template>,
    sources: Vec<Arc<dyn ResourceSource>>,
    pub(crate) completers: Vec<Completer>,
    page: usize,
    ttl: Duration,
    scope: CacheScope,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("about", &self.facts.about.name)
            .field("tools", &self.tools.len())
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
            prompts: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            sources: Vec::new(),
            completers: Vec::new(),
            page: PAGE,
            ttl: Duration::ZERO,
            scope: CacheScope::Private,
        };
        Self {
            facts,
            routes: HashMap::new(),
            tools: Vec::new(),
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
    pub fn add_tool(mut self, tool: Tool) -> Self {
        let tool = tool.register();
        let taken = self.routes.insert(tool.name.clone(), self.tools.len());
        assert!(taken.is_none(), "there are two tools named {:?}", tool.name);
        self.tools.push(tool);
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
    pub fn add_prompt(mut self, prompt: Prompt) -> Self {
        assert!(
            !self.facts.has_prompt(prompt.name()),
            "there are two prompts named {:?}",
            prompt.name()
        );
        self.facts.prompts.push(prompt);
        self
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
    pub fn add_resource(mut self, resource: Resource) -> Self {
        let uri = &resource.listed.uri;
        assert!(
            !self.facts.has_resource(uri),
            "there are two resources of {uri:?}"
        );
        self.facts.resources.push(resource);
        self
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
    pub fn add_template(mut self, template: Template) -> Self {
        let form = template.template.as_str();
        assert!(
            !self.facts.has_resource(form),
            "there are two templates of {form:?}"
        );
        self.facts.templates.push(template);
        self
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

    /// How many tools, prompts and fixed resources it has.
    pub fn counts(&self) -> (usize, usize, usize) {
        (
            self.tools.len(),
            self.facts.prompts.len(),
            self.facts.resources.len(),
        )
    }

    /// The definitions of its tools as JSON, as a client reads them.
    pub fn tool_definitions(&self) -> impl Iterator<Item = &Raw> {
        self.tools
            .iter()
            .map(|tool| tool.listed(polyport_proto::Revision::LATEST.profile()))
    }

    /// Ends the building.
    pub(crate) fn finish(mut self) -> Running {
        self.facts.info = serde_json::to_string(&self.facts.about).expect("made of texts");
        Running {
            facts: Arc::new(self.facts),
            routes: self.routes,
            tools: self.tools,
        }
    }

    /// As a service, with the default bounds and revisions.
    pub fn into_service(self) -> polyport_rt::Service {
        polyport_rt::Service::new(self.finish())
    }
}

impl Facts {
    pub(crate) fn has_prompt(&self, name: &str) -> bool {
        self.prompts.iter().any(|p| p.name() == name)
    }

    pub(crate) fn has_resource(&self, uri: &str) -> bool {
        self.templates.iter().any(|t| t.template.as_str() == uri)
            || self.resources.iter().any(|r| r.listed.uri == uri)
    }
}

/// A server as a handler.
#[derive(Debug)]
pub(crate) struct Running {
    facts: Arc<Facts>,
    routes: HashMap<String, usize>,
    tools: Vec<Registered>,
}

impl fmt::Debug for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Facts")
            .field("about", &self.about)
            .finish_non_exhaustive()
    }
}

impl Running {
    fn tool(&self, name: &str) -> Option<&Registered> {
        self.routes.get(name).map(|at| &self.tools[*at])
    }

    fn call_tool(&self, cx: Cx, params: Params) -> BoxFuture<Outcome> {
        let Some(name) = params.name() else {
            let outcome = fault_outcome(
                "tools/call",
                Fault::invalid_params("tools/call: name is missing or not a text"),
            );
            return Box::pin(ready(outcome));
        };
        match self.tool(&name) {
            Some(tool) => (tool.run)(self.facts.clone(), cx, params),
            None => Box::pin(ready(tools::unknown(&name))),
        }
    }

    fn get_prompt(&self, cx: Cx, params: Params) -> BoxFuture<Outcome> {
        let found = params
            .name()
            .and_then(|name| self.facts.prompts.iter().find(|p| p.name() == name));
        match found {
            Some(prompt) => (prompt.run)(self.facts.clone(), cx, params),
            None => {
                let why = params.name().map_or_else(
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
        match call.method {
            "tools/call" if !self.tools.is_empty() => self.call_tool(cx, params),
            "server/discover" => Box::pin(ready(self.discover(&cx))),
            "tools/list" if !self.tools.is_empty() => {
                Box::pin(ready(self.list_tools(&cx, &params)))
            }
            "prompts/list" if !facts.prompts.is_empty() => {
                Box::pin(ready(facts.list_prompts(&cx, &params)))
            }
            "prompts/get" if !facts.prompts.is_empty() => self.get_prompt(cx, params),
            "resources/list" if facts.offers_resources() => {
                Box::pin(Facts::list_resources(facts.clone(), cx, params))
            }
            "resources/templates/list" if facts.offers_resources() => {
                Box::pin(ready(facts.list_templates(&cx, &params)))
            }
            "resources/read" if facts.offers_resources() => {
                Box::pin(Facts::read(facts.clone(), cx, params))
            }
            "completion/complete" if !facts.completers.is_empty() => {
                Box::pin(complete::complete(facts.clone(), cx, params))
            }
            method => Box::pin(ready(Outcome::Failed(RpcError::method_not_found(method)))),
        }
    }

    fn header_params(&self, tool: &str) -> Option<Arc<[HeaderParam]>> {
        self.tool(tool)?.header_params.clone()
    }
}
