//! `polyport watch`: what changes at a server, a line for each change, until Ctrl-C.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use polyport::client::{Change, Heard, Wanted};
use polyport::{Client, Level};

use crate::failure::Failure;
use crate::logs;
use crate::printing;
use crate::server::{self, Words};
use crate::{render, ui, verb};

/// Print what changes at a server, until Ctrl-C
#[derive(Debug, Args)]
#[command(
    override_usage = "polyport watch [OPTIONS] SERVER [URI]...\n       polyport watch [OPTIONS] -- COMMAND... -- [URI]...",
    after_help = "\
Printed are changes of the lists of tools, prompts and resources, as far as the server tells them, updates
of the resources that are named, and with --level log messages. Exit codes: 130 on Ctrl-C, 0 after --for or
--count, 4 when the server has ended.

Examples:
  polyport watch ./notes
  polyport watch --json --for 60 -- npx -y @modelcontextprotocol/server-everything"
)]
pub(crate) struct Watch {
    #[command(flatten)]
    server: Words,
    /// Print each notification as it came, a JSON document on each line
    #[arg(long)]
    json: bool,
    /// Print log messages of this level and above, such as info
    #[arg(long, value_name = "LEVEL", value_parser = logs::level)]
    level: Option<Level>,
    /// End after that long
    #[arg(long = "for", value_name = "SECONDS", value_parser = crate::values::seconds)]
    time: Option<Duration>,
    /// End after that many changes
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    count: Option<u32>,
}

impl Watch {
    /// Watches.
    ///
    /// # Errors
    /// The server ends, or does not tell what is wanted.
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let mut named = self.server.named("watch")?;
        let shown = named.shown.clone();
        let wanted = Wanted {
            lists: true,
            resources: std::mem::take(&mut named.rest),
            logs: self.level,
        };
        let printed = Printed {
            json: self.json,
            count: self.count,
        };
        verb::with(named, async |client| {
            let watched = printed.watch(client, wanted, &shown);
            match self.time {
                None => watched.await?,
                Some(time) => {
                    let watched = tokio::time::timeout(time, watched).await;
                    watched.unwrap_or(Ok(()))?;
                }
            }
            Ok(ExitCode::SUCCESS)
        })
    }
}

struct Printed {
    json: bool,
    count: Option<u32>,
}

impl Printed {
    async fn watch(&self, client: &Client, wanted: Wanted, shown: &str) -> Result<(), Failure> {
        let begun = Instant::now();
        let failed = |error| server::failure(&error, shown);
        let mut changes = client.changes(wanted.clone()).await.map_err(failed)?;
        let told = changes.told();
        let is_untold = |uri: &&String| !told.resources.contains(uri);
        if let Some(uri) = wanted.resources.iter().find(is_untold) {
            return Err(
                Failure::unexpected(format!("{shown} does not tell of changes of {uri}"))
                    .code(5)
                    .hint(format!("polyport ls {shown} lists what there is")),
            );
        }
        if wanted.logs.is_some() && told.logs.is_none() {
            ui::note(&format!(
                "note: {shown} sends no log messages outside of calls\n"
            ));
        }
        if told.lists || !told.resources.is_empty() || told.logs.is_some() {
            ui::note(&format!("note: watching {shown}; Ctrl-C ends it\n"));
        } else {
            ui::note(&format!(
                "note: {shown} does not say that it tells of anything\n"
            ));
        }
        let mut heard = 0;
        while let Some(next) = changes.next().await.map_err(failed)? {
            if !self.print(&next, begun.elapsed())? {
                continue;
            }
            heard += 1;
            if self.count.is_some_and(|count| heard >= count) {
                return Ok(());
            }
        }
        Err(Failure::unexpected(format!("{shown} has ended the stream of its changes")).code(4))
    }

    /// False: it was no message of the server.
    fn print(&self, heard: &Heard, elapsed: Duration) -> Result<bool, Failure> {
        match (&heard.message, self.json) {
            (Some(message), true) => {
                printing::out(&[message.as_bytes(), b"\n"].concat())?;
            }
            (None, _) => {
                ui::note(
                    "note: the stream broke and is open again; what happened meanwhile is not known\n",
                );
                return Ok(false);
            }
            (Some(_), false) => {
                let line = format!(
                    "{:8.1} s  {}\n",
                    elapsed.as_secs_f64(),
                    sentence(&heard.change)
                );
                printing::out(ui::harmless(&line).as_bytes())?;
            }
        }
        Ok(true)
    }
}

fn sentence(change: &Change) -> String {
    match change {
        Change::Tools => "tools: the list has changed".to_owned(),
        Change::Prompts => "prompts: the list has changed".to_owned(),
        Change::Resources => "resources: the list has changed".to_owned(),
        Change::Updated(uri) => format!("updated: {uri}"),
        Change::Log(log) => render::log(log),
        _ => "something else".to_owned(),
    }
}
