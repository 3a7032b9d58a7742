//! `sessions [--over-http N] [--of-commands N] [--parts N] [--patience SECONDS] [--hold N]`: legacy clients come to a gateway, call once and leave in every way, first
//! before a server over HTTP and then before one that is a program, a child for each. Nothing of them may stay. The last line is the
//! verdict. After each part of the clients it is waited until nothing is left of them, with some patience. `--hold`: so many do not
//! leave, to see that it is noticed.
//!
//! - [`guest`]: a client. [`left`]: what is left of them.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "its output is its purpose"
)]

mod guest;
mod left;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use polyport::client::{Connect, Target};
use polyport::http::{Bound, Config, Endpoint, bind};
use polyport::schemars::JsonSchema;
use polyport::serde::Deserialize;
use polyport::{Command, Era, Limits, Revisions, Server, Service, stop};
use polyport_gateway::{Gateway, Upstream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use guest::{Leaves, visit};
use left::Left;

/// Clients that are there at once.
const AT_ONCE: usize = 8;
/// After how long the gateway ends a session whose client is gone. No client takes so long between two requests.
const IDLE: Duration = Duration::from_secs(5);
const USAGE: &str =
    "usage: sessions [--over-http N] [--of-commands N] [--parts N] [--patience SECONDS] [--hold N]";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let ran = Wanted::read(&words).and_then(|wanted| {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| format!("cannot start: {error}"))?;
        let faults = runtime.block_on(all(wanted));
        runtime.shutdown_background();
        faults
    });
    match ran {
        Ok(faults) => {
            faults.iter().for_each(|fault| println!("fault: {fault}"));
            let verdict = if faults.is_empty() { "ok" } else { "FAILED" };
            println!("sessions: {} faults: {verdict}", faults.len());
            ExitCode::from(u8::from(!faults.is_empty()))
        }
        Err(reason) => {
            eprintln!("sessions: {reason}");
            ExitCode::from(2)
        }
    }
}

/// What the command line asks for.
#[derive(Clone, Copy)]
struct Wanted {
    over_http: usize,
    of_commands: usize,
    parts: usize,
    /// How long it may take until nothing is left: longer than twice [`IDLE`], and than a thread without work is kept.
    patience: Duration,
    hold: usize,
}

impl Wanted {
    fn read(words: &[String]) -> Result<Self, String> {
        let mut wanted = Self {
            over_http: 10_000,
            of_commands: 500,
            parts: 10,
            patience: Duration::from_secs(30),
            hold: 0,
        };
        for pair in words.chunks(2) {
            let number = pair.get(1).and_then(|value| value.parse().ok());
            let number = number.ok_or_else(|| format!("{} needs a number", pair[0]))?;
            match pair[0].as_str() {
                "--over-http" => wanted.over_http = number,
                "--of-commands" => wanted.of_commands = number,
                "--parts" if number > 0 => wanted.parts = number,
                "--patience" => wanted.patience = Duration::from_secs(number as u64),
                "--hold" => wanted.hold = number,
                _ => return Err(USAGE.to_owned()),
            }
        }
        Ok(wanted)
    }
}

/// Every way of being behind the gateway; what was wrong.
async fn all(wanted: Wanted) -> Result<Vec<String>, String> {
    let behind = served(echo().into_service(), "the server").await?;
    let target = Target::new(&behind.url).map_err(|error| error.to_string())?;
    let http = Connect::http(target).speaks(Revisions::of(Era::Legacy));
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let program = Command::new(program.with_file_name("bench-server")).arg("stdio");
    let mut faults = Vec::new();
    for (how, connect, sessions) in [
        ("over HTTP", http, wanted.over_http),
        ("of commands", Connect::command(program), wanted.of_commands),
    ] {
        if sessions == 0 {
            continue;
        }
        let crowd = Crowd {
            how,
            sessions,
            wanted,
        };
        let found = crowd.come(connect, &behind.endpoint).await?;
        faults.extend(found.into_iter().map(|fault| format!("{how}: {fault}")));
    }
    behind.end().await?;
    Ok(faults)
}

/// An endpoint that is served.
struct Served {
    endpoint: Endpoint,
    url: String,
    port: u16,
    stopper: stop::Stopper,
    serving: tokio::task::JoinHandle<polyport::Ended>,
}

async fn served(service: Service, what: &str) -> Result<Served, String> {
    let endpoint = Endpoint::new(service, Config::default());
    let bound: Bound = bind(endpoint.clone(), ([127, 0, 0, 1], 0).into(), false)
        .await
        .map_err(|error| format!("{what}: {error}"))?;
    let (url, port) = (bound.url(), bound.address().port());
    let (stopper, stop) = stop::stop();
    let serving = tokio::spawn(bound.serve(stop));
    Ok(Served {
        endpoint,
        url,
        port,
        stopper,
        serving,
    })
}

impl Served {
    async fn end(self) -> Result<(), String> {
        self.stopper.stop();
        self.serving.await.map_err(|error| error.to_string())?;
        Ok(())
    }
}

/// Clients that come to one gateway.
struct Crowd {
    how: &'static str,
    sessions: usize,
    wanted: Wanted,
}

impl Crowd {
    /// Lets them come before a gateway to this server and one more, and go; what was wrong.
    async fn come(&self, connect: Connect, behind: &Endpoint) -> Result<Vec<String>, String> {
        let other = Server::new("other", "1").tool("other", "", |_cx, (): ()| async { Ok("") });
        let gateway = Gateway::new([
            Upstream::new("echo", connect),
            Upstream::new("other", Connect::service(other.into_service())),
        ]);
        let mut limits = Limits::default();
        limits.session_idle = IDLE;
        let gateway = served(Service::new(gateway).limits(limits), "the gateway").await?;
        // What was there before it has gone by then.
        tokio::time::sleep(Duration::from_millis(200)).await;
        let first = Left::now(&gateway.endpoint, behind);
        println!("{}: {first} at first", self.how);
        let (mut faults, mut held, mut readings) = (Vec::new(), Vec::new(), Vec::new());
        let begun = Instant::now();
        let (parts, hold) = (self.wanted.parts, self.wanted.hold);
        for part in 0..parts {
            let numbers = part * self.sessions / parts..(part + 1) * self.sessions / parts;
            let end = numbers.end;
            let room = Arc::new(Semaphore::new(AT_ONCE));
            let mut visits = JoinSet::new();
            for number in numbers {
                let (room, port) = (room.clone(), gateway.port);
                let leaves = if number < hold {
                    Leaves::Never
                } else {
                    Leaves::of(number)
                };
                visits.spawn(async move {
                    let _permit = room.acquire_owned().await;
                    visit(port, number, leaves).await
                });
            }
            while let Some(visited) = visits.join_next().await {
                match visited.map_err(|error| error.to_string())? {
                    Ok(stays) => held.extend(stays),
                    Err(fault) => faults.push(fault),
                }
            }
            let left = self.settled(&gateway, behind, &first).await?;
            println!(
                "{}: {left} after {end} sessions, {:.1} s",
                self.how,
                begun.elapsed().as_secs_f64()
            );
            faults.extend(left.beyond(&first));
            readings.push(left);
            if part + 1 == parts {
                faults.extend(left.growth(&readings[0], &readings[part / 2]));
            }
            if !faults.is_empty() {
                break;
            }
        }
        drop(held);
        gateway.end().await?;
        Ok(faults)
    }

    /// Waits until nothing is left, within bounds. What there is then.
    async fn settled(
        &self,
        gateway: &Served,
        behind: &Endpoint,
        first: &Left,
    ) -> Result<Left, String> {
        let until = Instant::now() + self.wanted.patience;
        loop {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let left = Left::now(&gateway.endpoint, behind);
            if left.beyond(first).is_empty() || Instant::now() > until {
                return Ok(left);
            }
            if left.sessions[0] > 0 {
                // Whoever comes makes it look for those whose time is over.
                visit(gateway.port, 0, Leaves::Farewell).await?;
            }
        }
    }
}

/// What it says.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Echo {
    text: String,
}

fn echo() -> Server {
    Server::new("echo", "1").tool("echo", "Says it again.", |_cx, echo: Echo| async move {
        Ok(echo.text)
    })
}
