//! `polyport read`: the contents of one resource, as they are.

use std::process::ExitCode;

use clap::Args;
use polyport::model::ReadResourceResult;

use crate::failure::Failure;
use crate::printing::Printing;
use crate::refused::{self, Wanted};
use crate::server::{self, Words};
use crate::{render, ui, verb};

/// Read a resource of a server
#[derive(Debug, Args)]
#[command(
    override_usage = "polyport read [OPTIONS] SERVER URI\n       polyport read [OPTIONS] -- COMMAND... -- URI",
    after_help = "\
Text is written as text, everything else as its bytes, but not to a terminal.

Examples:
  polyport read demo demo://greeting
  polyport read demo demo://logo -o logo.png"
)]
pub(crate) struct Read {
    #[command(flatten)]
    server: Words,
    #[command(flatten)]
    printing: Printing,
}

impl Read {
    /// Reads.
    ///
    /// # Errors
    /// It was not read.
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let is_document = self.printing.is_document()?;
        let mut named = self.server.named("read")?;
        let shown = named.shown.clone();
        let rest = std::mem::take(&mut named.rest);
        let [uri] = &rest[..] else {
            return Err(
                Failure::usage("one resource is read, named by its URI").hint(named.typed.lists())
            );
        };
        let params = serde_json::json!({"uri": uri}).to_string();
        verb::with(named, async |client| {
            let raw = client.request_raw("resources/read", &params, None).await;
            let raw =
                raw.map_err(|error| refused::failure(&error, &shown, Wanted::Resource(uri)))?;
            if is_document {
                server::held(client, &raw, &shown)?;
                self.printing.document(&raw).await?;
                return Ok(ExitCode::SUCCESS);
            }
            let read: ReadResourceResult = server::decoded(client, &raw, &shown)?;
            let contents = render::contents(&read.contents)?;
            let is_shown = ui::width().is_none() || std::str::from_utf8(&contents).is_ok();
            if is_shown || self.printing.is_file() {
                self.printing.bytes(&contents)?;
            } else {
                ui::note(&format!(
                    "note: {} that are no text are not shown on a terminal; -o FILE writes them\n",
                    ui::count(contents.len(), "byte")
                ));
            }
            Ok(ExitCode::SUCCESS)
        })
    }
}
