//! `polyport ping`: is a server there, and how long do an opening and a round trip take?

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;

use crate::failure::Failure;
use crate::printing::{self, Document};
use crate::server::{self, Words};
use crate::{render, ui, verb};

/// Between two round trips.
const PAUSE: Duration = Duration::from_millis(100);

/// Measure how long a server takes to open and to answer
#[derive(Debug, Args)]
#[command(
    override_usage = "polyport ping [OPTIONS] SERVER\n       polyport ping [OPTIONS] -- COMMAND...",
    after_help = "\
The opening includes the start of a command, the question about its era, and the handshake. A round trip
is a ping; in the modern era, which has none, server/discover.

Examples:
  polyport ping demo
  polyport ping -n 10 -- npx -y @modelcontextprotocol/server-everything"
)]
pub(crate) struct Ping {
    #[command(flatten)]
    server: Words,
    #[command(flatten)]
    document: Document,
    /// Round trips
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    count: u16,
}

impl Ping {
    /// Measures.
    ///
    /// # Errors
    /// The server is not there, or does not answer.
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let is_document = self.document.is_wanted()?;
        let named = self.server.named("ping")?;
        named.nothing_more()?;
        let shown = named.shown.clone();
        let begun = Instant::now();
        verb::with(named, async |client| {
            let opening = begun.elapsed();
            let opened = client.opened();
            let name = opened.server.as_ref().map(|server| server.display_name());
            if !is_document {
                let name = name.unwrap_or("a server without a name");
                let line = format!(
                    "{}, {}: opened in {}\n",
                    ui::one_line(name),
                    opened.revision,
                    shown_time(opening)
                );
                printing::out(ui::harmless(&line).as_bytes())?;
            }
            let mut times = Vec::new();
            for n in 1..=self.count {
                if n > 1 {
                    tokio::time::sleep(PAUSE).await;
                }
                let begun = Instant::now();
                let answered = client.ping().await;
                answered.map_err(|error| server::failure(&error, &shown))?;
                let time = begun.elapsed();
                if !is_document {
                    printing::out(format!("{n}  {}\n", shown_time(time)).as_bytes())?;
                }
                times.push(time);
            }
            let millis: Vec<f64> = times.iter().copied().map(millis_of).collect();
            times.sort();
            let median = times[times.len() / 2];
            if is_document {
                let document = json!({
                    "server": opened.server, "revision": opened.revision.name(), "openedMs": millis_of(opening),
                    "roundTripsMs": millis, "medianMs": millis_of(median),
                });
                self.document.print(&render::document(&document)).await?;
            } else if times.len() > 1 {
                let line = format!(
                    "fastest {}, median {}, slowest {}\n",
                    shown_time(times[0]),
                    shown_time(median),
                    shown_time(times[times.len() - 1])
                );
                printing::out(line.as_bytes())?;
            }
            Ok(ExitCode::SUCCESS)
        })
    }
}

fn millis_of(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// `12.3 ms`.
fn shown_time(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}
