//! `polyport ls`: what a server offers, a line each.

use std::process::ExitCode;

use clap::Args;
use polyport::Raw;
use polyport::client::List;
use polyport::model::{Prompt, Resource, ResourceTemplate, Tool};

use super::listing::{self, All};
use super::lists::Asking;
use crate::answers::Answers;
use crate::failure::Failure;
use crate::pager::Paging;
use crate::printing::Document;
use crate::seen::{self, Callable};
use crate::server::Words;
use crate::typed::Typed;
use crate::verb;

/// List the tools, resources and prompts of a server
#[derive(Debug, Args)]
#[command(
    override_usage = "polyport ls [OPTIONS] SERVER\n       polyport ls [OPTIONS] -- COMMAND...",
    after_help = "\
A list that fails is named on standard error and left out, also with --json; the others are printed,
and the exit code is that of the failure. Where none is answered, that is all.

Examples:
  polyport ls demo
  polyport ls ./notes --json
  polyport ls demo --tokens
  polyport ls -- npx -y @modelcontextprotocol/server-everything"
)]
pub(crate) struct Ls {
    #[command(flatten)]
    server: Words,
    #[command(flatten)]
    document: Document,
    /// Print whole descriptions, and the arguments of each tool with their types
    #[arg(short, long, conflicts_with_all = ["json", "jq"])]
    long: bool,
    /// Print what the definition of each tool costs a model, as an estimate
    #[arg(long, conflicts_with_all = ["json", "jq"])]
    tokens: bool,
    #[command(flatten)]
    paging: Paging,
}

impl Ls {
    /// Lists.
    ///
    /// # Errors
    /// The server cannot be asked.
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let is_document = self.document.is_wanted()?;
        let named = self.server.named("ls")?;
        named.nothing_more()?;
        let shown = named.shown.clone();
        let typed = named.typed.clone();
        let limit = named.limit;
        let (long, tokens) = (self.long, self.tokens);
        // Servers hide from a client what it says that it cannot answer.
        let named = named.answered_by(&Answers::default());
        verb::with(named, async |client| {
            let mut asking = Asking::of(client, &shown, limit);
            if is_document {
                let all = listed(&mut asking).await;
                asking.has_any()?;
                self.document.print(&all).await?;
            } else {
                let all = all(&mut asking, &typed).await;
                asking.has_any()?;
                let text = listing::text(&all, client.opened(), listing::Form { long, tokens });
                self.paging.print(&text)?;
            }
            asking.verdict(is_document)
        })
    }
}

/// Everything as it came, in one object, without the lists that failed.
async fn listed(asking: &mut Asking<'_>) -> Raw {
    let mut members = Vec::new();
    for (name, list) in [
        ("tools", List::Tools),
        ("resources", List::Resources),
        ("resourceTemplates", List::Templates),
        ("prompts", List::Prompts),
    ] {
        let entries = asking.client.entries(list);
        if let Some(entries) = asking.list(list, entries).await {
            let entries: Vec<&str> = entries.iter().map(Raw::as_str).collect();
            members.push(format!("\"{name}\":[{}]", entries.join(",")));
        }
    }
    Raw::trusted(format!("{{{}}}", members.join(",")))
}

/// The same for people. What was listed is remembered for the completion of command lines.
async fn all(asking: &mut Asking<'_>, typed: &Typed) -> All {
    let client = asking.client;
    let tools = asking.list(List::Tools, client.tools()).await;
    let resources = asking.list(List::Resources, client.resources()).await;
    let templates = asking
        .list(List::Templates, client.resource_templates())
        .await;
    let prompts = asking.list(List::Prompts, client.prompts()).await;
    let tool = |tool: &Tool| Callable::from(tool);
    let prompt = |prompt: &Prompt| Callable::from(prompt);
    let resource = |r: &Resource| Callable::of_uri(&r.uri, r.title.as_deref().or(Some(&r.name)));
    let template =
        |t: &ResourceTemplate| Callable::of_uri(&t.uri_template, t.description.as_deref());
    for (list, listed) in [
        (List::Tools, tools.as_deref().map(named(tool))),
        (List::Prompts, prompts.as_deref().map(named(prompt))),
        (List::Resources, resources.as_deref().map(named(resource))),
        (List::Templates, templates.as_deref().map(named(template))),
    ] {
        if let Some(listed) = listed {
            seen::keep(typed, list, listed);
        }
    }
    All {
        tools: tools.unwrap_or_default(),
        resources: resources.unwrap_or_default(),
        templates: templates.unwrap_or_default(),
        prompts: prompts.unwrap_or_default(),
    }
}

fn named<T>(one: impl Fn(&T) -> Callable) -> impl FnOnce(&[T]) -> Vec<Callable> {
    move |entries| entries.iter().map(one).collect()
}
