//! `polyport watch`: what changes at a server, a line for each change, until Ctrl-C.

use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use polyport::client::{Change, Connect, Heard, Wanted};
use polyport::{Client, ClientError, Level, Speaker};

use crate::failure::Failure;
use crate::limit::Limit;
use crate::reach::{Manner, Reached};
use crate::runtime::{self, unless_interrupted};
use crate::server::{self, Words};
use crate::typed::Typed;
use crate::{frames, logs, printing, render, ui};

/// Before a server that has gone is looked for again; twice as long after each try, up to the longest.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(16);
/// Tries in a row that nothing answers.
const TRIES: u32 = 5;
/// After a connection that lived this long the pauses begin anew.
const GOOD: Duration = Duration::from_secs(10);
/// How long a server at an address may say nothing before it is asked whether it is there.
const QUIET: Duration = Duration::from_secs(10);

/// Print what changes at a server, until Ctrl-C
#[derive(Debug, Args)]
#[command(
    mut_arg("timeout", |timeout| timeout.help("Give up reaching the server after so long")),
    override_usage = "polyport watch [OPTIONS] SERVER [URI]...\n       polyport watch [OPTIONS] -- COMMAND... -- [URI]...",
    after_help = "\
Printed are changes of the lists of tools, prompts and resources, as far as the server tells them,
updates of the resources that are named, and with --level log messages. A server at an address that
goes away is looked for again, until five tries in a row find nobody. Exit codes: 130 on Ctrl-C,
0 after --for or --count, 4 when it is gone, 7 when it was not reached in time.

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
        let (mut aimed, mut manner) = self.server.aimed("watch")?;
        let shown = std::mem::take(&mut aimed.shown);
        let wanted = Wanted {
            lists: true,
            resources: std::mem::take(&mut aimed.rest),
            logs: self.level,
            ..Wanted::default()
        };
        let frames = manner.frames.take();
        let frames = frames.map(|file| frames::to(&file)).transpose()?;
        let way = ToServer {
            reached: aimed.reached?,
            manner,
            frames: frames.map(Arc::new),
        };
        // Options that are wrong are so before anything begins.
        let first = way.connect()?;
        let mut watch = Watching {
            way,
            wanted,
            shown: shown.clone(),
            typed: aimed.typed,
            json: self.json,
            left: self.count,
            begun: Instant::now(),
            time: self.time,
        };
        let ended = runtime::run(async move {
            let end = watch.time.map(|time| tokio::time::Instant::now() + time);
            watch.watch(first, end).await?;
            Ok(ExitCode::SUCCESS)
        });
        ended.map_err(|failure| failure.at(&shown))
    }
}

/// The way to a server, as often as it is gone.
struct ToServer<F> {
    reached: Reached,
    manner: Manner,
    frames: Option<Arc<F>>,
}

impl<F: Fn(Speaker, &[u8]) + Send + Sync + 'static> ToServer<F> {
    fn connect(&self) -> Result<Connect, Failure> {
        let connect = self.manner.on(self.reached.clone().connect()?)?;
        Ok(match self.frames.clone() {
            Some(write) => connect.tap(move |speaker, text| write(speaker, text)),
            None => connect,
        })
    }

    /// Can it be there again after it has gone? A program that has ended has.
    fn may_return(&self) -> bool {
        matches!(self.reached, Reached::Remote(_))
    }
}

struct Watching<F> {
    way: ToServer<F>,
    wanted: Wanted,
    shown: String,
    typed: Typed,
    json: bool,
    /// Changes after which it ends.
    left: Option<u32>,
    begun: Instant,
    /// After that long it ends.
    time: Option<Duration>,
}

/// Tries to reach a server again.
#[derive(Default)]
struct Again {
    /// Those in a row that nothing answered.
    unanswered: u32,
    /// The pause before the last one; nothing: there was none.
    pause: Duration,
}

impl Again {
    /// What is waited before the next one, after a server that answered and then stayed so long, or did not answer at all; nothing: there
    /// were enough. One that answers and falls over at once is looked for without end, but ever less often.
    fn after(&mut self, answered: Option<Duration>) -> Option<Duration> {
        match answered {
            Some(lived) => {
                self.unanswered = 0;
                if lived >= GOOD {
                    self.pause = Duration::ZERO;
                }
            }
            None => self.unanswered += 1,
        }
        if self.unanswered == TRIES {
            return None;
        }
        self.pause = (self.pause * 2).clamp(PAUSE, LONGEST);
        Some(self.pause)
    }

    /// Is the next one the first?
    fn is_first(&self) -> bool {
        self.pause.is_zero()
    }
}

/// How one connection ended.
enum Ended {
    /// All that was wanted has been heard.
    Enough,
    /// The server is gone, and was there.
    Gone(Failure),
}

impl<F: Fn(Speaker, &[u8]) + Send + Sync + 'static> Watching<F> {
    /// Watches until there is enough, or to the `end`, over one connection after the other.
    async fn watch(&mut self, first: Connect, end: Option<Time>) -> Result<(), Failure> {
        let mut next = Some(first);
        let mut again = Again::default();
        loop {
            let connect = match next.take() {
                Some(connect) => connect,
                None => self.way.connect()?,
            };
            let timeout = self.way.manner.timeout;
            let (timeout, reached_by) = match again.is_first() {
                // One that was never reached was not watched either: that is told.
                true => (timeout.into_iter().chain(self.time).min(), None),
                false => (timeout, end),
            };
            let connected = Limit::begin(timeout).holds(None, connect.connect());
            let connected = async { Ok(connected.await.and_then(|connected| connected)) };
            let Some(connected) = until(reached_by, connected).await? else {
                return Ok(());
            };
            let (gone, lived) = match connected {
                Ok(client) => {
                    let answered = Instant::now();
                    let ended = until(end, self.over(&client, !again.is_first())).await;
                    unless_interrupted(client.close()).await?;
                    match ended? {
                        None | Some(Ended::Enough) => return Ok(()),
                        Some(Ended::Gone(failure)) => (failure, Some(answered.elapsed())),
                    }
                }
                Err(error) if !again.is_first() && may_pass(&error) => {
                    (server::failure(&error, &self.shown), None)
                }
                Err(error) => return Err(self.unreached(&error, timeout)),
            };
            let pause = again.after(lived);
            let Some(pause) = pause.filter(|_| self.way.may_return()) else {
                return Err(gone);
            };
            ui::note(&format!(
                "note: {}; trying again in {} s\n",
                gone.message(),
                pause.as_secs()
            ));
            let slept = async {
                tokio::time::sleep(pause).await;
                Ok(())
            };
            if until(end, slept).await?.is_none() {
                return Ok(());
            }
        }
    }

    async fn over(&mut self, client: &Client, is_again: bool) -> Result<Ended, Failure> {
        let shown = self.shown.clone();
        let failed = |error: &ClientError| server::failure(error, &shown);
        let mut changes = match client.changes(self.wanted.clone()).await {
            Ok(changes) => changes,
            Err(error) if may_pass(&error) => return Ok(Ended::Gone(failed(&error))),
            Err(ClientError::NotOffered(_)) => {
                let first = self.wanted.resources.first();
                return Err(self.untold(first.map_or("anything", String::as_str)));
            }
            Err(error) => return Err(failed(&error)),
        };
        if is_again {
            ui::note(&format!(
                "note: {shown} is there again; what happened meanwhile is not known\n"
            ));
        } else {
            self.begin(changes.told())?;
        }
        loop {
            let heard = match self.way.may_return() {
                true => heard_or_gone(client, changes.next()).await,
                false => changes.next().await,
            };
            match heard {
                Ok(Some(heard)) => {
                    if self.print(&heard)? && self.has_enough() {
                        return Ok(Ended::Enough);
                    }
                }
                Ok(None) => {
                    let why = format!("{shown} has ended the stream of its changes");
                    return Ok(Ended::Gone(Failure::unexpected(why).code(4)));
                }
                Err(error) if may_pass(&error) => return Ok(Ended::Gone(failed(&error))),
                Err(error) => return Err(failed(&error)),
            }
        }
    }

    /// Says what is watched.
    fn begin(&self, told: &Wanted) -> Result<(), Failure> {
        let (shown, wanted) = (&self.shown, &self.wanted);
        let is_untold = |uri: &&String| !told.resources.contains(uri);
        if let Some(uri) = wanted.resources.iter().find(is_untold) {
            return Err(self.untold(uri));
        }
        if wanted.logs.is_some() && told.logs.is_none() {
            ui::note(&format!(
                "note: {shown} sends no log messages outside of calls\n"
            ));
        }
        if told.lists || !told.resources.is_empty() || told.logs.is_some() {
            ui::note(&format!("note: watching {shown}; Ctrl-C ends it\n"));
        } else {
            return Err(self.untold("anything"));
        }
        Ok(())
    }

    /// It was not reached at all, in so long.
    fn unreached(&self, error: &ClientError, timeout: Option<Duration>) -> Failure {
        let failure = server::failure(error, &self.shown);
        let is_ours = matches!(error, ClientError::TimedOut(_)) && timeout == self.time;
        match failure.remedy().filter(|_| is_ours) {
            Some(remedy) => {
                let remedy = remedy.replace(server::LONGER, "--for SECONDS watches longer");
                failure.hint(remedy)
            }
            None => failure,
        }
    }

    /// The server does not say that it tells of these.
    fn untold(&self, what: &str) -> Failure {
        let shown = &self.shown;
        Failure::unexpected(format!("{shown} does not tell of changes of {what}"))
            .code(5)
            .hint(self.typed.lists())
    }

    fn has_enough(&mut self) -> bool {
        let Some(left) = &mut self.left else {
            return false;
        };
        *left = left.saturating_sub(1);
        *left == 0
    }

    /// False: it was no message of the server.
    fn print(&self, heard: &Heard) -> Result<bool, Failure> {
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
                    self.begun.elapsed().as_secs_f64(),
                    ui::one_line(&sentence(&heard.change))
                );
                printing::out(ui::harmless(&line).as_bytes())?;
            }
        }
        Ok(true)
    }
}

type Time = tokio::time::Instant;

/// Waits for something as long as there is time; nothing, once there is none.
///
/// # Errors
/// Its own, or interrupted.
async fn until<T>(
    end: Option<Time>,
    what: impl Future<Output = Result<T, Failure>>,
) -> Result<Option<T>, Failure> {
    let what = unless_interrupted(what);
    match end {
        None => what.await?.map(Some),
        Some(end) => match tokio::time::timeout_at(end, what).await {
            Ok(done) => done?.map(Some),
            Err(_) => Ok(None),
        },
    }
}

/// Waits for the next change; where nothing is heard, the server is asked whether it is there at all. The stream of a legacy session
/// over HTTP is opened again without a word of it, as often as it breaks.
async fn heard_or_gone<T>(
    client: &Client,
    next: impl Future<Output = Result<T, ClientError>>,
) -> Result<T, ClientError> {
    let mut next = pin!(next);
    loop {
        tokio::select! {
            biased;
            heard = &mut next => return heard,
            () = tokio::time::sleep(QUIET) => {}
        }
        match client.ping().await {
            Err(error) if may_pass(&error) => return Err(error),
            // Whatever else it says, it is there.
            _ => {}
        }
    }
}

/// May it be otherwise a little later?
fn may_pass(error: &ClientError) -> bool {
    matches!(
        error,
        ClientError::Closed
            | ClientError::Gone { .. }
            | ClientError::Broken(_)
            | ClientError::Unreachable(_)
            | ClientError::TimedOut(_)
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    // req: S-CHANGES
    #[test]
    fn tries_have_an_end_and_pauses_a_bound() {
        let short = Some(Duration::from_millis(1));
        let good = Some(GOOD);
        let none = None;
        for (tries, want) in [
            // It is gone, and stays so.
            (
                &[short, none, none, none, none, none][..],
                &[1, 2, 4, 8, 16][..],
            ),
            // Any answer begins the count anew, and one that stays the pauses.
            (
                &[short, none, none, none, none, short, none, none],
                &[1, 2, 4, 8, 16, 16, 16, 16],
            ),
            (&[short, none, good, none, short], &[1, 2, 1, 2, 4]),
            (&[short; 9], &[1, 2, 4, 8, 16, 16, 16, 16, 16]),
            (&[good, good, none], &[1, 1, 2]),
        ] {
            let mut again = Again::default();
            let pauses = tries.iter().map_while(|answered| again.after(*answered));
            let pauses: Vec<u64> = pauses.map(|pause| pause.as_secs()).collect();
            assert_eq!(pauses, want, "{tries:?}");
        }
    }
}
