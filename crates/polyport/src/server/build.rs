//! What a server is made of, named one after the other by its author.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use polyport_model::{CacheScope, Icon};
use polyport_proto::Notice;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::catalogue::{Catalogue, Taken};
use super::complete::Completer;
use super::context::Cx;
use super::prompts::{Prompt, PromptReply};
use super::reply::IntoToolResult;
use super::resources::{IntoContents, Resource, ResourceSource, Template};
use super::tools::Tool;
use super::{Kind, Server};
use crate::error::{Fault, ToolError};

impl Server {
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

    /// Completion of one argument. What a prompt or a template brings along for it goes first.
    #[must_use]
    pub fn completer(mut self, completer: Completer) -> Self {
        self.facts.completers.push(completer);
        self
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
}
