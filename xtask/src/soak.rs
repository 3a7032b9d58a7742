//! `cargo xtask soak`: builds the servers and the clients in release and hands over to the clients. Judges nothing itself.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::args::Args;
use crate::run;
use crate::tally::{Outcome, Tally};
use crate::tree;

/// Compiling in release.
const BUILD: Duration = Duration::from_secs(1800);
/// Starting, and settling and ending after the last minute.
const MARGIN: Duration = Duration::from_secs(300);

/// Makes the C library give back what is freed, so that resident memory shows what is held.
const GIVE_BACK: &str = "glibc.malloc.mmap_threshold=131072:glibc.malloc.trim_threshold=131072";
/// Within this a hundred sessions through the gateway come and go, at worst, with what is waited for them.
const A_HUNDRED: Duration = Duration::from_secs(10);

/// Runs hostile clients for some minutes, or so many sessions through a gateway.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    soak(Args::new(arguments)).unwrap_or_else(Outcome::Broken)
}

fn soak(mut args: Args) -> Result<Outcome, String> {
    let minutes = args.number("--minutes", 5)?;
    let seed = args.value("--seed")?;
    let as_is = args.flag("--as-is");
    let sessions = args.number("--sessions", 0)?;
    args.none()?;
    let root = tree::root();
    if sessions > 0 {
        return through_gateway(&root, sessions);
    }
    build(&root, &["polyport", "bench-server", "soak"])?;
    let program = run::target(&root).join("release/soak");
    let mut command = run::command(&program, &root);
    command.args(["--minutes", &minutes.to_string()]);
    if let Some(seed) = &seed {
        command.args(["--seed", seed]);
    }
    if as_is {
        command.arg("--as-is");
    }
    let log = root.join("target/ci/soak.log");
    let limit = MARGIN + Duration::from_secs(minutes * 60);
    println!("soak: {minutes} min; to watch: tail -f {}", log.display());
    judged(&mut command, &log, limit, "soak: ", " calls answered")
}

/// So many sessions before a server over HTTP, and a twentieth of them before one that is a program.
fn through_gateway(root: &Path, sessions: u64) -> Result<Outcome, String> {
    build(root, &["bench-server", "sessions"])?;
    let program = run::target(root).join("release/sessions");
    let mut command = run::command(&program, root);
    command
        .args(["--over-http", &sessions.to_string()])
        .args(["--of-commands", &sessions.div_ceil(20).to_string()])
        .env("GLIBC_TUNABLES", GIVE_BACK);
    let log = root.join("target/ci/sessions.log");
    let hundreds = u32::try_from(sessions.div_ceil(100)).unwrap_or(u32::MAX);
    let limit = MARGIN + A_HUNDRED.saturating_mul(hundreds);
    println!(
        "soak: {sessions} sessions; to watch: tail -f {}",
        log.display()
    );
    judged(&mut command, &log, limit, "sessions: ", " faults: ")
}

/// Runs what judges itself in a line that begins so and has that in it.
fn judged(
    command: &mut Command,
    log: &Path,
    limit: Duration,
    begins: &str,
    has: &str,
) -> Result<Outcome, String> {
    let finished = run::logged(command, log, limit)?;
    print!("{}", finished.output);
    let is_verdict = |line: &str| line.starts_with(begins) && line.contains(has);
    if finished.output.lines().any(is_verdict) {
        return Ok(Outcome::Done(Tally::one(finished.ok)));
    }
    Err(finished.how)
}

fn build(root: &Path, programs: &[&str]) -> Result<(), String> {
    let mut command = run::cargo(root);
    command.args(["build", "--locked", "--release"]);
    command.args(["--package", "polyport-cli", "--package", "polyport-bench"]);
    for program in programs {
        command.args(["--bin", program]);
    }
    let log = root.join("target/ci/soak-build.log");
    let built = run::logged(&mut command, &log, BUILD)?;
    if built.ok {
        Ok(())
    } else {
        Err(built.complaint("building servers and clients"))
    }
}
