//! `polyport prompt`: the messages of one prompt, by role.

use std::process::ExitCode;

use clap::Args;
use polyport::model::{GetPromptResult, Object, Prompt};
use polyport::{Patience, Wait};
use serde_json::{Map, Value, json};

use crate::answers::Answers;
use crate::arguments;
use crate::failure::Failure;
use crate::pieces;
use crate::printing::Printing;
use crate::refused::{self, Wanted};
use crate::render;
use crate::server::{self, Words};
use crate::{ui, verb};

/// Print the messages of a prompt
#[derive(Debug, Args)]
#[command(
    override_usage = "polyport prompt [OPTIONS] SERVER NAME [ARGUMENT]...\n       polyport prompt [OPTIONS] -- COMMAND... -- NAME [ARGUMENT]...",
    after_help = "\
ARGUMENT is key=value, or key=@file; all of them are text, and checked before anything is sent.

Examples:
  polyport prompt demo greet name=Ada
  polyport prompt demo review code=@main.rs language=rust"
)]
pub(crate) struct GetPrompt {
    #[command(flatten)]
    server: Words,
    #[command(flatten)]
    printing: Printing,
    /// An answer to what the server may ask (repeatable)
    #[arg(long = "answer", value_name = "FIELD=VALUE")]
    answers: Vec<String>,
}

impl GetPrompt {
    /// Prints them.
    ///
    /// # Errors
    /// There is no such prompt, the arguments do not fit, or the server cannot be asked.
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let is_document = self.printing.is_document()?;
        let mut named = self.server.named("prompt")?;
        let shown = named.shown.clone();
        let limit = named.limit;
        let mut words = std::mem::take(&mut named.rest).into_iter();
        let name = words.next();
        let words: Vec<String> = words.collect();
        let answers = Answers::new(self.answers);
        verb::with(named.answered_by(&answers), async |client| {
            let failed = |error| server::failure(&error, &shown);
            let prompts = client.prompts().await.map_err(failed)?;
            let prompt = find(name.as_deref(), &prompts, &shown)?;
            let arguments = arguments_of(prompt, &words)?;
            let params = json!({"name": prompt.name, "arguments": arguments}).to_string();
            let asked = client.request_raw("prompts/get", &params, Some(Wait::default()));
            let asked = limit.or(Patience::default().request).within(client, asked);
            let raw = answers
                .during(asked, |error| {
                    refused::failure(error, &shown, Wanted::Prompt(&prompt.name))
                })
                .await?;
            let read: GetPromptResult = server::decoded(client, &raw, &shown)?;
            if is_document {
                self.printing.document(&raw).await?;
            } else {
                self.printing.parts(&render::messages(&read.messages)?)?;
            }
            Ok(ExitCode::SUCCESS)
        })
    }
}

/// The prompt of that name.
///
/// # Errors
/// There is none (exit 5), or none is named (exit 2).
pub(super) fn find<'a>(
    name: Option<&str>,
    prompts: &'a [Prompt],
    server: &str,
) -> Result<&'a Prompt, Failure> {
    let names: Vec<String> = prompts.iter().map(|prompt| prompt.name.clone()).collect();
    let at = super::find("prompt", name, &names, server)?;
    Ok(&prompts[at])
}

/// The arguments of a prompt as a tool would describe them.
pub(super) fn schema(prompt: &Prompt) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for argument in prompt.arguments.iter().flatten() {
        let about = argument.description.as_ref().or(argument.title.as_ref());
        let mut property = json!({"type": "string"});
        if let Some(about) = about {
            property["description"] = json!(about);
        }
        properties.insert(argument.name.clone(), property);
        if argument.required == Some(true) {
            required.push(argument.name.clone());
        }
    }
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn arguments_of(prompt: &Prompt, words: &[String]) -> Result<Object, Failure> {
    let schema = schema(prompt);
    let arguments = arguments::parse(words, &schema)?;
    let missing = arguments::missing(&arguments, &schema);
    if !missing.is_empty() {
        return Err(Failure::usage(format!(
            "{} needs more arguments",
            ui::one_line(&prompt.name)
        ))
        .hint(format!("give also:\n    {}", missing.join("\n    "))));
    }
    let misfit = |(name, value)| (pieces::kind(value) != "string").then_some(name);
    if let Some(name) = arguments.iter().find_map(misfit) {
        let why = format!("{name}: arguments of a prompt are text");
        return Err(Failure::usage(why));
    }
    Ok(arguments)
}
