//! `peer-client JOB`: does the steps of a job against a server of another maker, and prints a line of JSON for each: what it saw.
//! Judging that is the work of `peers/run.py`, which writes the jobs.

mod heard;
mod steps;

use std::env;
use std::error::Error;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use polyport::ClientError;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use steps::Peer;

/// What is to be done, and with whom.
#[derive(Deserialize)]
struct Job {
    /// The server's program and its arguments; or else `url`.
    command: Option<Vec<String>>,
    url: Option<String>,
    /// The one revision that is offered. None: all, and what the server speaks is found out.
    speaks: Option<String>,
    steps: Vec<Value>,
    step_seconds: u64,
}

/// Why a step has nothing to show.
enum Fault {
    Client(ClientError),
    Other(String),
}

type Seen = Result<Value, Fault>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let job = env::args().nth(1).unwrap_or_default();
    let done = match serde_json::from_str::<Job>(&job) {
        Ok(job) => run(job).await,
        Err(error) => Err(format!("usage: peer-client JOB ({error})").into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody may be reading.
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(job: Job) -> Result<(), Box<dyn Error>> {
    let limit = Duration::from_secs(job.step_seconds);
    let steps = job.steps.clone();
    let mut peer = Peer::new(job);
    for step in &steps {
        let started = Instant::now();
        let seen = match timeout(limit, peer.step(step)).await {
            Ok(seen) => seen,
            Err(_) => Err(Fault::Other(format!("not done within {limit:?}"))),
        };
        let is_lost = seen.is_err() && step["do"] == "connect";
        let mut line = match seen {
            Ok(got) => json!({"step": step["name"], "got": got}),
            Err(Fault::Client(ClientError::Refused(error))) => {
                let error = json!({"code": error.code, "message": error.message});
                json!({"step": step["name"], "error": error})
            }
            Err(Fault::Client(error)) => json!({"step": step["name"], "thrown": told(&error)}),
            Err(Fault::Other(why)) => json!({"step": step["name"], "thrown": why}),
        };
        line["ms"] = json!(started.elapsed().as_millis());
        print(&line)?;
        if is_lost {
            break;
        }
    }
    Ok(())
}

/// One line; `step` stands first, as the reader of it expects.
fn print(line: &Value) -> io::Result<()> {
    let mut text = format!("{{\"step\":{}", line["step"]);
    for (key, value) in line.as_object().into_iter().flatten() {
        if key != "step" {
            text.push_str(&format!(",{}:{value}", json!(key)));
        }
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{text}}}")?;
    out.flush()
}

/// The kind of an error and its sentence; of a server that has ended also its last words.
fn told(error: &ClientError) -> String {
    let kind = format!("{error:?}");
    let kind: String = kind.chars().take_while(char::is_ascii_alphabetic).collect();
    match error {
        ClientError::Gone { said, .. } => format!("{kind}: {error}; it said: {}", said.join(" | ")),
        _ => format!("{kind}: {error}"),
    }
}

impl From<ClientError> for Fault {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Self {
        Self::Other(error.to_string())
    }
}

impl From<String> for Fault {
    fn from(why: String) -> Self {
        Self::Other(why)
    }
}
