//! What a server offers, as lines for people: a line for each thing, or all that is said of it.

use polyport::Opened;
use polyport::model::{Prompt, Resource, ResourceTemplate, Tool};
use serde_json::Value;

use crate::places::Reading;
use crate::table::wrap;
use crate::{form, ui};

/// Columns of names, at most.
const NAMES: usize = 48;
/// Columns of text where that is no terminal.
const WIDTH: usize = 100;

/// All that a server offers.
pub(super) struct All {
    pub(super) tools: Vec<Tool>,
    pub(super) resources: Vec<Resource>,
    pub(super) templates: Vec<ResourceTemplate>,
    pub(super) prompts: Vec<Prompt>,
}

/// How much is shown.
#[derive(Clone, Copy)]
pub(super) struct Form {
    /// Whole descriptions, and arguments with their types.
    pub(super) long: bool,
    /// What definitions of tools cost.
    pub(super) tokens: bool,
}

/// One thing.
struct Line {
    name: String,
    about: String,
    /// What else there is to say, in the long form.
    more: String,
    /// Bytes of its definition, where they cost something.
    bytes: Option<usize>,
}

/// The text.
pub(super) fn text(all: &All, opened: &Opened, form: Form) -> String {
    let name = opened.server.as_ref();
    let name = name.map_or("a server without a name", |server| server.display_name());
    let mut lines = vec![format!("{}, {}", ui::one_line(name), opened.revision)];
    let line = |name: &str, about: Option<&str>| Line {
        name: ui::one_line(name).into_owned(),
        about: about.unwrap_or_default().to_owned(),
        more: String::new(),
        bytes: None,
    };
    let tools = all.tools.iter().map(|tool| tool_line(tool, form));
    part(&mut lines, "tool", tools.collect(), form);
    let resources = all.resources.iter().map(|it| {
        let name = ui::one_line(it.title.as_deref().unwrap_or(&it.name));
        line(&it.uri, it.description.as_deref().or(Some(&name)))
    });
    part(&mut lines, "resource", resources.collect(), form);
    let templates = all.templates.iter();
    let templates = templates.map(|it| line(&it.uri_template, it.description.as_deref()));
    part(&mut lines, "template", templates.collect(), form);
    let prompts = all.prompts.iter();
    let prompts = prompts.map(|it| line(&it.name, it.description.as_deref()));
    part(&mut lines, "prompt", prompts.collect(), form);
    lines.push(String::new());
    lines.join("\n")
}

fn part(lines: &mut Vec<String>, what: &str, listed: Vec<Line>, form: Form) {
    if listed.is_empty() {
        return;
    }
    lines.push(String::new());
    let all: Option<usize> = listed.iter().map(|line| line.bytes).sum();
    let cost = all.map(|bytes| format!(", {} of definitions", tokens(bytes)));
    let count = ui::count(listed.len(), what);
    lines.push(format!("{count}{}", cost.unwrap_or_default()));
    let widths = listed.iter().map(|line| line.name.chars().count());
    let width = widths.max().unwrap_or_default().min(NAMES);
    let most = ui::width();
    for line in listed {
        if form.long {
            lines.push(format!("  {}", line.name));
            let columns = most.unwrap_or(WIDTH).min(WIDTH).saturating_sub(6).max(20);
            for text in [&line.about, &line.more] {
                lines.extend(
                    text.lines()
                        .flat_map(|text| wrap(text, columns))
                        .map(|text| format!("      {text}").trim_end().to_owned()),
                );
            }
            if let Some(bytes) = line.bytes {
                lines.push(format!("      {}", tokens(bytes)));
            }
            continue;
        }
        let cost = line.bytes.map(|bytes| format!("{:>13}  ", tokens(bytes)));
        let about = line.about.lines().next().unwrap_or_default();
        let text = format!(
            "  {:<width$}  {}{about}",
            line.name,
            cost.unwrap_or_default()
        );
        let text = text.trim_end();
        lines.push(most.map_or_else(|| text.to_owned(), |most| ui::cut(text, most.max(20))));
    }
}

fn tool_line(tool: &Tool, form: Form) -> Line {
    let schema: Value = serde_json::to_value(&tool.input_schema).unwrap_or_default();
    let reading = Reading::of(&schema);
    let required = reading.required(&reading.whole());
    let properties = reading.names(&reading.whole()).into_iter();
    let names: Vec<String> = properties
        .map(|name| match required.contains(&name) {
            true => name.to_owned(),
            false => format!("{name}?"),
        })
        .collect();
    let mut more = String::new();
    if form.long && !names.is_empty() {
        more = ui::one_line(&form::short(&schema)).into_owned();
    }
    let definition = serde_json::to_string(tool).unwrap_or_default();
    Line {
        name: ui::one_line(&format!("{}({})", tool.name, names.join(", "))).into_owned(),
        about: tool.description.clone().unwrap_or_default(),
        more,
        bytes: form.tokens.then_some(definition.len()),
    }
}

/// D-41: an estimate.
fn tokens(bytes: usize) -> String {
    format!("~{} tokens", ui::thousands(bytes / 4))
}
