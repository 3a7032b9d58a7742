//! `polyport show`: one thing that a server offers, in full, with a line that calls it.

use std::process::ExitCode;

use clap::Args;
use polyport::client::List;
use polyport::model::{
    CompleteParams, CompletionContext, Object, Prompt, Reference, Resource, ResourceTemplate, Tool,
};
use polyport::schema::Validator;
use polyport::{Client, Raw};
use serde_json::{Map, Value};

use super::lists::Asking;
use super::prompt;
use crate::answers::Answers;
use crate::failure::Failure;
use crate::form;
use crate::nearest::nearest;
use crate::pager::Paging;
use crate::pieces;
use crate::printing::Document;
use crate::seen::{self, Callable};
use crate::server::Words;
use crate::table::wrap;
use crate::typed::Typed;
use crate::written::Written;
use crate::{ui, verb};

/// Characters on a line of text where that is no terminal, and at most.
const WIDTH: usize = 100;
/// Arguments of a prompt for which the server is asked what they may be.
const PROPOSED: usize = 8;

/// Show a tool, prompt or resource in full
#[derive(Debug, Args)]
#[command(
    override_usage = "polyport show [OPTIONS] SERVER NAME\n       polyport show [OPTIONS] -- COMMAND... -- NAME",
    after_help = "\
NAME is that of a tool or a prompt, or the URI of a resource or of a template.

Examples:
  polyport show demo add
  polyport show demo 'demo://greeting/{name}'
  polyport show demo add --jq .inputSchema"
)]
pub(crate) struct Show {
    #[command(flatten)]
    server: Words,
    #[command(flatten)]
    document: Document,
    #[command(flatten)]
    paging: Paging,
}

/// What a name stands for.
enum Found {
    Tool(Box<Tool>),
    Prompt(Prompt),
    Resource(Resource),
    Template(ResourceTemplate),
}

impl Show {
    /// Shows it.
    ///
    /// # Errors
    /// There is no such thing, or the server cannot be asked.
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let is_document = self.document.is_wanted()?;
        let mut named = self.server.named("show")?;
        let shown = named.shown.clone();
        let rest = std::mem::take(&mut named.rest);
        let [name] = &rest[..] else {
            return Err(Failure::usage("one thing is shown, by its name").hint(named.typed.lists()));
        };
        let typed = named.typed.clone();
        let limit = named.limit;
        // Servers hide from a client what it says that it cannot answer.
        let named = named.answered_by(&Answers::default());
        verb::with(named, async |client| {
            let asking = Asking::of(client, &shown, limit);
            let (raw, found) = find(asking, name, &shown, &typed).await?;
            if is_document {
                self.document.print(&raw).await?;
            } else {
                let text = found.text(client, &typed).await;
                self.paging.print(&text)?;
            }
            Ok(ExitCode::SUCCESS)
        })
    }
}

/// Looks for it in one list after the other.
async fn find(
    mut asking: Asking<'_>,
    name: &str,
    server: &str,
    typed: &Typed,
) -> Result<(Raw, Found), Failure> {
    let mut names = Vec::new();
    for list in [List::Tools, List::Prompts, List::Resources, List::Templates] {
        let Some(entries) = asking.list(list, asking.client.entries(list)).await else {
            continue;
        };
        let mut wanted = None;
        let mut kept = Vec::new();
        for raw in entries {
            let Some((called, found)) = read(list, &raw) else {
                continue;
            };
            kept.push(found.callable());
            if called == name {
                wanted = Some((raw, found));
            }
            names.push(called);
        }
        seen::keep(typed, list, kept);
        if let Some(wanted) = wanted {
            asking.warn();
            return Ok(wanted);
        }
    }
    // It may stand in a list that failed.
    asking.fails()?;
    let failure = Failure::unexpected(format!("{server} has no {name}")).code(5);
    Err(match nearest(name, &names) {
        Some(near) => failure.hint(format!("did you mean {}?", ui::one_line(near))),
        None => failure.hint(typed.lists()),
    })
}

fn read(list: List, raw: &Raw) -> Option<(String, Found)> {
    Some(match list {
        List::Tools => {
            let tool: Tool = raw.decode().ok()?;
            (tool.name.clone(), Found::Tool(Box::new(tool)))
        }
        List::Prompts => {
            let prompt: Prompt = raw.decode().ok()?;
            (prompt.name.clone(), Found::Prompt(prompt))
        }
        List::Resources => {
            let resource: Resource = raw.decode().ok()?;
            (resource.uri.clone(), Found::Resource(resource))
        }
        List::Templates => {
            let template: ResourceTemplate = raw.decode().ok()?;
            (template.uri_template.clone(), Found::Template(template))
        }
    })
}

impl Found {
    fn callable(&self) -> Callable {
        match self {
            Self::Tool(tool) => Callable::from(&**tool),
            Self::Prompt(prompt) => Callable::from(prompt),
            Self::Resource(r) => Callable::of_uri(&r.uri, r.title.as_deref().or(Some(&r.name))),
            Self::Template(t) => Callable::of_uri(&t.uri_template, t.description.as_deref()),
        }
    }

    async fn text(&self, client: &Client, typed: &Typed) -> String {
        match self {
            Self::Tool(tool) => of_tool(tool, typed),
            Self::Prompt(prompt) => of_prompt(client, prompt, typed).await,
            Self::Resource(resource) => {
                let mut text = head(
                    "resource",
                    &resource.uri,
                    resource.title.as_deref().or(Some(&resource.name)),
                );
                text += &paragraphs(resource.description.as_deref());
                let size = resource
                    .size
                    .map(|size| ui::count(usize::try_from(size).unwrap_or(0), "byte"));
                let facts: Vec<String> = [resource.mime_type.clone(), size]
                    .into_iter()
                    .flatten()
                    .collect();
                if !facts.is_empty() {
                    text += &format!("  {}\n\n", ui::one_line(&facts.join(", ")));
                }
                text + &line(typed, "read", &[], &[ui::word(&resource.uri)])
            }
            Self::Template(template) => {
                let mut text = head(
                    "template",
                    &template.uri_template,
                    template.title.as_deref().or(Some(&template.name)),
                );
                text += &paragraphs(template.description.as_deref());
                if let Some(kind) = &template.mime_type {
                    text += &format!("  {}\n\n", ui::one_line(kind));
                }
                text + &line(typed, "read", &[], &[ui::word(&template.uri_template)])
                    + "  (with a value in place of each {…})\n"
            }
        }
    }
}

fn of_tool(tool: &Tool, typed: &Typed) -> String {
    let mut text = head("tool", &tool.name, Some(tool.display_name()));
    text += &paragraphs(tool.description.as_deref());
    if let Some(words) = hints(tool) {
        text += &format!("  {words}\n\n");
    }
    let schema: Value = serde_json::to_value(&tool.input_schema).unwrap_or_default();
    let written = Written::new(tool.input_schema.as_raw());
    let form = form::table(&schema, &written);
    if form.len() == 0 {
        text += "  It takes no arguments.\n\n";
    } else {
        text += &form.without_empty().wrapped(ui::width(), "  ");
        text.push('\n');
    }
    if let Some(output) = &tool.output_schema {
        let output: Value = serde_json::to_value(output).unwrap_or_default();
        let short = form::short(&output);
        text += &format!("  It answers {}\n\n", ui::one_line(&short));
    }
    let example = form::example(&schema);
    let words = form::words(&example, &schema);
    let name = ui::word(&tool.name);
    text += &match &words[..] {
        [option, _] if option == "--args" => line(typed, "call", &words, &[name]),
        words => line(typed, "call", &[], &[&[name], words].concat()),
    };
    let fits = Validator::new(&schema)
        .is_ok_and(|validator| validator.check(&Value::Object(example).to_string()).is_ok());
    if !fits {
        text +=
            "  (the values are to be filled in: the schema asks for more than an example shows)\n";
    }
    text
}

async fn of_prompt(client: &Client, prompt: &Prompt, typed: &Typed) -> String {
    let mut text = head("prompt", &prompt.name, Some(prompt.display_name()));
    text += &paragraphs(prompt.description.as_deref());
    let schema = prompt::schema(prompt);
    let form = form::table(&schema, &Written::new(&pieces::value(&schema)));
    if form.len() > 0 {
        text += &form.without_empty().wrapped(ui::width(), "  ");
        text.push('\n');
    }
    let example = proposed(client, prompt, form::example(&schema)).await;
    let words = form::words(&example, &schema);
    let name = ui::word(&prompt.name);
    text + &line(typed, "prompt", &[], &[&[name], &words[..]].concat())
}

/// Arguments of a prompt are texts without a schema: what the server proposes for them is better than a guess.
async fn proposed(
    client: &Client,
    prompt: &Prompt,
    mut example: Map<String, Value>,
) -> Map<String, Value> {
    let names: Vec<String> = example.keys().take(PROPOSED).cloned().collect();
    let mut settled = Object::new();
    for name in names {
        let reference = Reference::prompt(&prompt.name);
        let mut params = CompleteParams::new(reference, &name, "");
        params.context = Some(CompletionContext {
            arguments: Some(settled.clone()),
            extra: Object::new(),
        });
        let Ok(found) = client.complete(&params).await else {
            continue;
        };
        if let Some(value) = found.completion.values.into_iter().find(|v| !v.is_empty()) {
            settled.insert(name.clone(), value.clone());
            example.insert(name, Value::String(value));
        }
    }
    example
}

fn line(typed: &Typed, verb: &str, options: &[String], words: &[String]) -> String {
    format!("  {}\n", ui::one_line(&typed.line(verb, options, words)))
}

/// `tool add: Adds`.
fn head(what: &str, name: &str, title: Option<&str>) -> String {
    let title = title.filter(|title| *title != name);
    let title = title.map(|title| format!(": {title}")).unwrap_or_default();
    format!("{what} {}\n\n", ui::one_line(&format!("{name}{title}")))
}

/// A description, indented; its own lines stay lines.
fn paragraphs(text: Option<&str>) -> String {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
        return String::new();
    };
    let room = ui::width().unwrap_or(WIDTH).min(WIDTH).saturating_sub(2);
    let lines = text.trim().lines().flat_map(|line| wrap(line, room));
    let lines: Vec<String> = lines
        .map(|line| format!("  {line}").trim_end().to_owned())
        .collect();
    format!("{}\n\n", lines.join("\n"))
}

/// What a tool says that it does to the world, in words.
fn hints(tool: &Tool) -> Option<String> {
    let hints = tool.annotations.as_ref()?;
    let word = |hint: Option<bool>, yes: &'static str, no: &'static str| {
        hint.map(|hint| if hint { yes } else { no })
    };
    let destroys = hints.destructive_hint.filter(|_| !hints.is_read_only());
    let words: Vec<&str> = [
        word(hints.read_only_hint, "read-only", "changes things"),
        word(destroys, "may destroy", "only adds"),
        word(
            hints.idempotent_hint,
            "the same when repeated",
            "adds when repeated",
        ),
        word(hints.open_world_hint, "reaches outside", "stays inside"),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!words.is_empty()).then(|| format!("It says of itself: {}.", words.join(", ")))
}
