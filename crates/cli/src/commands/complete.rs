//! `polyport complete`: what a server proposes for an argument of a prompt or of a template.

use std::process::ExitCode;

use clap::Args;
use polyport::ClientError;
use polyport::model::{CompleteParams, CompleteResult, CompletionContext, Object, Reference};

use crate::failure::Failure;
use crate::printing::{self, Document};
use crate::server::{self, Words};
use crate::{ui, verb};

/// Ask a server what may stand for an argument
#[derive(Debug, Args)]
#[command(
    override_usage = "polyport complete [OPTIONS] SERVER REF ARGUMENT PREFIX [KEY=VALUE]...\n       polyport complete [OPTIONS] -- COMMAND... -- REF ARGUMENT PREFIX [KEY=VALUE]...",
    after_help = "\
REF is the name of a prompt, or the template of a resource. KEY=VALUE is an argument that has its value
already. Each proposal is a line.

Examples:
  polyport complete demo review language ja
  polyport complete demo 'demo://greeting/{name}' name ''"
)]
pub(crate) struct AskCompletion {
    #[command(flatten)]
    server: Words,
    #[command(flatten)]
    document: Document,
}

impl AskCompletion {
    /// Asks.
    ///
    /// # Errors
    /// There is nothing of that name, or the server cannot be asked.
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let is_document = self.document.is_wanted()?;
        let mut named = self.server.named("complete")?;
        let shown = named.shown.clone();
        let rest = std::mem::take(&mut named.rest);
        let [reference, argument, prefix, settled @ ..] = &rest[..] else {
            return Err(Failure::usage(
                "what is completed is named by three words: REF ARGUMENT PREFIX",
            )
            .hint("an empty prefix is '': polyport complete demo review language ''"));
        };
        let mut known = Object::new();
        for word in settled {
            let (name, value) = word
                .split_once('=')
                .ok_or_else(|| Failure::usage(format!("{word:?} is no argument: there is no =")))?;
            known.insert(name.to_owned(), value.to_owned());
        }
        verb::with(named, async |client| {
            let failed = |error| server::failure(&error, &shown);
            let (of, arguments) = if reference.contains("://") || reference.contains('{') {
                let templates = match client.resource_templates().await {
                    Err(ClientError::NotOffered(_)) => Vec::new(),
                    other => other.map_err(failed)?,
                };
                let names: Vec<String> = templates.into_iter().map(|t| t.uri_template).collect();
                super::find("template", Some(reference), &names, &shown)?;
                (Reference::resource(reference), None)
            } else {
                let prompts = match client.prompts().await {
                    Err(ClientError::NotOffered(_)) => Vec::new(),
                    other => other.map_err(failed)?,
                };
                let prompt = super::prompt::find(Some(reference), &prompts, &shown)?;
                let arguments = prompt.arguments.iter().flatten();
                let names: Vec<String> = arguments.map(|a| a.name.clone()).collect();
                (Reference::prompt(reference), Some(names))
            };
            if let Some(names) = arguments.filter(|names| !names.contains(argument)) {
                return Err(Failure::usage(ui::one_line(&format!(
                    "{reference} has no argument {argument}"
                )))
                .hint(super::instead(argument, &names)));
            }
            let mut params = CompleteParams::new(of, argument, prefix);
            if !known.is_empty() {
                params.context = Some(CompletionContext {
                    arguments: Some(known),
                    extra: Object::new(),
                });
            }
            if is_document {
                let text = serde_json::to_string(&params).map_err(Failure::unexpected)?;
                let raw = client.request_raw("completion/complete", &text, None).await;
                let raw = raw.map_err(failed)?;
                server::held(client, &raw, &shown)?;
                self.document.print(&raw).await?;
                return Ok(ExitCode::SUCCESS);
            }
            let found = client.complete(&params).await.map_err(failed)?;
            print(&found)?;
            Ok(ExitCode::SUCCESS)
        })
    }
}

fn print(found: &CompleteResult) -> Result<(), Failure> {
    let mut text = String::new();
    for value in &found.completion.values {
        text.push_str(&ui::one_line(value));
        text.push('\n');
    }
    printing::out(text.as_bytes())?;
    if found.completion.has_more == Some(true) {
        let of = found.completion.total.map(|total| format!(" of {total}"));
        ui::note(&format!(
            "note: these are {}{}; a longer prefix shows others\n",
            found.completion.values.len(),
            of.unwrap_or_default()
        ));
    }
    Ok(())
}
