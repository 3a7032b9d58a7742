//! `polyport doctor`: what is wrong with a server, and what to do about it. The checks themselves are in `doctor`.

use std::process::ExitCode;

use clap::Args;

use crate::doctor::{self, Report, Ways};
use crate::failure::Failure;
use crate::printing::{self, Document};
use crate::runtime::{self, unless_interrupted};
use crate::server::{self, Words};
use crate::{exit, ui};

/// Find out what is wrong with a server
#[derive(Debug, Args)]
#[command(
    mut_arg("timeout", |timeout| timeout.help("Give all of it up after so long")),
    override_usage = "polyport doctor [OPTIONS] SERVER\n       polyport doctor [OPTIONS] -- COMMAND...\n       polyport doctor [OPTIONS] --through [SERVER...]",
    after_help = "\
Checks stand in their order, each with what to do where it fails; what needs one that failed is skipped.
A warning is no failure. The exit code is that of the first failure (polyport help exit-codes).
No tool is called. Of a host's server it says where that host keeps its logs. --through looks at any
number of servers as polyport serve would join them; without one, at all of the configuration.

Examples:
  polyport doctor -- npx -y @modelcontextprotocol/server-everything
  polyport doctor https://mcp.example.com/mcp --header \"Authorization: Bearer $TOKEN\"
  polyport doctor claude-desktop:github
  polyport doctor --through :3000 .mcp.json:github"
)]
pub(crate) struct Doctor {
    #[command(flatten)]
    server: Words,
    /// Say what of servers reaches clients of each revision through polyport serve
    #[arg(long)]
    through: bool,
    #[command(flatten)]
    document: Document,
}

impl Doctor {
    /// Looks at the server.
    ///
    /// # Errors
    /// The command line is wrong; with `--json`, a check fails.
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let is_document = self.document.is_wanted()?;
        if self.through {
            return self.through(is_document);
        }
        let host = self.server.of_host();
        let (aimed, manner) = self.server.aimed("doctor")?;
        server::nothing_more(&aimed.rest)?;
        let shown = aimed.shown.clone();
        let ended = runtime::run(async move {
            let mut report = Report::new(!is_document);
            unless_interrupted(doctor::examine(&mut report, aimed, &manner, host)).await??;
            if is_document {
                self.document.print(&report.document()).await?;
            }
            let failure = report.failure();
            if failure
                .as_ref()
                .is_some_and(|f| f.exit() == exit::TIMED_OUT)
            {
                runtime::none_left_soon().await;
            }
            match failure {
                None => Ok(ExitCode::SUCCESS),
                Some(failure) if ui::is_document() => Err(failure),
                Some(failure) => Ok(ExitCode::from(failure.exit())),
            }
        });
        ended.map_err(|failure| failure.at(&shown))
    }

    fn through(self, is_document: bool) -> Result<ExitCode, Failure> {
        let (aims, manner) = self.server.all("doctor --through")?;
        runtime::run(async move {
            let ways = unless_interrupted(Ways::of(aims, &manner)).await?;
            if is_document {
                self.document.print(&ways.document()).await?;
            } else {
                printing::out(ways.text().as_bytes())?;
            }
            match ways.failure() {
                None => Ok(ExitCode::SUCCESS),
                Some(failure) => Err(failure),
            }
        })
    }
}
