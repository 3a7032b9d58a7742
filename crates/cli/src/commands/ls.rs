//! `polyport ls`: what a server offers, a line each.

use std::process::ExitCode;

use clap::Args;
use polyport::client::List;
use polyport::model::{Resource, ResourceTemplate};
use polyport::{Client, ClientError, Raw};

use super::listing::{self, All};
use crate::answers::Answers;
use crate::failure::Failure;
use crate::pager::Paging;
use crate::printing::Document;
use crate::seen::{self, Callable};
use crate::server::{self, Words};
use crate::typed::Typed;
use crate::verb;

/// List the tools, resources and prompts of a server
#[derive(Debug, Args)]
#[command(
    override_usage = "polyport ls [OPTIONS] SERVER\n       polyport ls [OPTIONS] -- COMMAND...",
    after_help = "\
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
        let (long, tokens) = (self.long, self.tokens);
        // Servers hide from a client what it says that it cannot answer.
        let named = named.answered_by(&Answers::default());
        verb::with(named, async |client| {
            let failed = |error| server::failure(&error, &shown);
            if is_document {
                let all = listed(client).await.map_err(failed)?;
                self.document.print(&all).await?;
            } else {
                let all = all(client).await.map_err(failed)?;
                keep(&typed, &all);
                let text = listing::text(&all, client.opened(), listing::Form { long, tokens });
                self.paging.print(&text)?;
            }
            Ok(ExitCode::SUCCESS)
        })
    }
}

/// Everything as it came, in one object.
async fn listed(client: &Client) -> Result<Raw, ClientError> {
    let mut members = Vec::new();
    for (name, list) in [
        ("tools", List::Tools),
        ("resources", List::Resources),
        ("resourceTemplates", List::Templates),
        ("prompts", List::Prompts),
    ] {
        let entries = offered(client.entries(list).await)?;
        let entries: Vec<&str> = entries.iter().map(Raw::as_str).collect();
        members.push(format!("\"{name}\":[{}]", entries.join(",")));
    }
    Ok(Raw::trusted(format!("{{{}}}", members.join(","))))
}

async fn all(client: &Client) -> Result<All, ClientError> {
    Ok(All {
        tools: offered(client.tools().await)?,
        resources: offered(client.resources().await)?,
        templates: offered(client.resource_templates().await)?,
        prompts: offered(client.prompts().await)?,
    })
}

/// Remembers it for the completion of command lines.
fn keep(typed: &Typed, all: &All) {
    let resource = |r: &Resource| Callable::of_uri(&r.uri, r.title.as_deref().or(Some(&r.name)));
    let template =
        |t: &ResourceTemplate| Callable::of_uri(&t.uri_template, t.description.as_deref());
    for (list, entries) in [
        (List::Tools, all.tools.iter().map(Callable::from).collect()),
        (
            List::Prompts,
            all.prompts.iter().map(Callable::from).collect(),
        ),
        (
            List::Resources,
            all.resources.iter().map(resource).collect(),
        ),
        (
            List::Templates,
            all.templates.iter().map(template).collect(),
        ),
    ] {
        seen::keep(typed, list, entries);
    }
}

/// What is not offered is an empty list here.
fn offered<T>(listed: Result<Vec<T>, ClientError>) -> Result<Vec<T>, ClientError> {
    match listed {
        Err(ClientError::NotOffered(_)) => Ok(Vec::new()),
        other => other,
    }
}
