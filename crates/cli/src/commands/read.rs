//! `polyport read`: the contents of one resource, as they are.

use std::process::ExitCode;

use clap::Args;

use crate::failure::Failure;
use crate::render;
use crate::runtime;
use crate::server::{self, Words};

/// Read a resource of a server
#[derive(Debug, Args)]
#[command(
    override_usage = "polyport read [OPTIONS] SERVER URI\n       polyport read [OPTIONS] -- COMMAND... -- URI",
    after_help = "\
Text is written as text, everything else as its bytes.

Example:
  polyport read demo demo://greeting"
)]
pub(crate) struct Read {
    #[command(flatten)]
    server: Words,
    /// Print the result of the protocol, one JSON document, untouched
    #[arg(long)]
    json: bool,
}

impl Read {
    /// Reads.
    ///
    /// # Errors
    /// It was not read.
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let mut named = self.server.named("read")?;
        let shown = named.shown.clone();
        let rest = std::mem::take(&mut named.rest);
        let [uri] = &rest[..] else {
            return Err(Failure::usage("one resource is read, named by its URI")
                .hint(format!("polyport ls {shown} lists what there is")));
        };
        let uri = uri.clone();
        runtime::run(async move {
            let client = named.connect().await?;
            let params = serde_json::json!({"uri": uri}).to_string();
            let read = client.request_raw("resources/read", &params, None).await;
            client.close().await;
            let raw = read.map_err(|error| server::failure(&error, &shown))?;
            if self.json {
                render::json(&raw)?;
                return Ok(ExitCode::SUCCESS);
            }
            let read: polyport::model::ReadResourceResult = raw.decode().map_err(|error| {
                let error = polyport::ClientError::Unreadable(error.to_string());
                server::failure(&error, &shown)
            })?;
            render::contents(&read.contents)?;
            Ok(ExitCode::SUCCESS)
        })
    }
}
