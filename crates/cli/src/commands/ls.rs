//! `polyport ls`: what a server offers, a line each.

use std::process::ExitCode;

use clap::Args;
use polyport::client::List;
use polyport::model::{Prompt, Resource, ResourceTemplate, Tool};
use polyport::{Client, ClientError, Raw};
use serde_json::Value;

use crate::failure::Failure;
use crate::printing::{self, Document};
use crate::seen::{self, Callable};
use crate::server::{self, Words};
use crate::typed::Typed;
use crate::{ui, verb};

/// List the tools, resources and prompts of a server
#[derive(Debug, Args)]
#[command(
    override_usage = "polyport ls [OPTIONS] SERVER\n       polyport ls [OPTIONS] -- COMMAND...",
    after_help = "\
Examples:
  polyport ls demo
  polyport ls ./notes --json
  polyport ls -- npx -y @modelcontextprotocol/server-everything"
)]
pub(crate) struct Ls {
    #[command(flatten)]
    server: Words,
    #[command(flatten)]
    document: Document,
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
        verb::with(named, async |client| {
            let failed = |error| server::failure(&error, &shown);
            if is_document {
                let all = listed(client).await.map_err(failed)?;
                self.document.print(&all).await?;
            } else {
                let text = list(client, &typed).await.map_err(failed)?;
                printing::out(text.as_bytes())?;
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

async fn list(client: &Client, typed: &Typed) -> Result<String, ClientError> {
    let tools = offered(client.tools().await)?;
    let resources = offered(client.resources().await)?;
    let templates = offered(client.resource_templates().await)?;
    let prompts = offered(client.prompts().await)?;
    keep(typed, &tools, &prompts, &resources, &templates);
    let opened = client.opened();
    let name = opened
        .server
        .as_ref()
        .map_or("a server without a name", |s| s.display_name());
    let mut lines = vec![format!("{name}, {}", opened.revision)];
    let mut part = |what: &str, listed: Vec<(String, Option<String>)>| {
        if listed.is_empty() {
            return;
        }
        lines.push(String::new());
        lines.push(ui::count(listed.len(), what));
        let width = listed.iter().map(|(name, _)| name.chars().count()).max();
        let width = width.unwrap_or_default().min(48);
        for (name, about) in listed {
            let about = about.unwrap_or_default();
            let about = about.lines().next().unwrap_or_default();
            lines.push(format!("  {name:<width$}  {about}").trim_end().to_owned());
        }
    };
    part(
        "tool",
        tools
            .iter()
            .map(|t| (signature(t), t.description.clone()))
            .collect(),
    );
    part(
        "resource",
        resources
            .into_iter()
            .map(|r| (r.uri, r.description.or(r.title).or(Some(r.name))))
            .collect(),
    );
    part(
        "template",
        templates
            .into_iter()
            .map(|t| (t.uri_template, t.description))
            .collect(),
    );
    part(
        "prompt",
        prompts
            .into_iter()
            .map(|p| (p.name, p.description))
            .collect(),
    );
    lines.push(String::new());
    Ok(ui::harmless(&lines.join("\n")).into_owned())
}

/// Remembers it for the completion of command lines.
fn keep(
    typed: &Typed,
    tools: &[Tool],
    prompts: &[Prompt],
    resources: &[Resource],
    templates: &[ResourceTemplate],
) {
    let resource = |r: &Resource| Callable::of_uri(&r.uri, r.title.as_deref().or(Some(&r.name)));
    let template =
        |t: &ResourceTemplate| Callable::of_uri(&t.uri_template, t.description.as_deref());
    for (list, entries) in [
        (List::Tools, tools.iter().map(Callable::from).collect()),
        (List::Prompts, prompts.iter().map(Callable::from).collect()),
        (List::Resources, resources.iter().map(resource).collect()),
        (List::Templates, templates.iter().map(template).collect()),
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

/// `add(a, b, round?)`.
fn signature(tool: &Tool) -> String {
    let schema: Value = serde_json::to_value(&tool.input_schema).unwrap_or_default();
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let properties = schema["properties"].as_object().into_iter().flatten();
    let names: Vec<String> = properties
        .map(|(name, _)| {
            let optional = if required.contains(&name.as_str()) {
                ""
            } else {
                "?"
            };
            format!("{name}{optional}")
        })
        .collect();
    format!("{}({})", tool.name, names.join(", "))
}
