//! `cargo xtask isolation`: builds the clients and their server in release and hands over to them. Judges nothing itself.

use std::time::Duration;

use crate::args::Args;
use crate::run;
use crate::tally::{Outcome, Tally};
use crate::tree;

/// Compiling in release.
const BUILD: Duration = Duration::from_secs(1800);
/// Starting and ending.
const MARGIN: Duration = Duration::from_secs(120);

/// Runs clients that look for each other's secrets for some minutes.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    isolate(Args::new(arguments)).unwrap_or_else(Outcome::Broken)
}

fn isolate(mut args: Args) -> Result<Outcome, String> {
    let minutes = args.number("--minutes", 10)?;
    let seed = args.value("--seed")?;
    args.none()?;
    let root = tree::root();
    let mut build = run::cargo(&root);
    build.args(["build", "--locked", "--release"]);
    build.args(["--package", "polyport-bench", "--bin", "isolation"]);
    let built = run::logged(
        &mut build,
        &root.join("target/ci/isolation-build.log"),
        BUILD,
    )?;
    if !built.ok {
        return Err(built.complaint("building the clients"));
    }
    let program = run::target(&root).join("release/isolation");
    let mut command = run::command(&program, &root);
    command.args(["--minutes", &minutes.to_string()]);
    if let Some(seed) = &seed {
        command.args(["--seed", seed]);
    }
    println!("isolation: {minutes} min");
    let log = root.join("target/ci/isolation.log");
    let limit = MARGIN + Duration::from_secs(minutes * 60);
    let finished = run::logged(&mut command, &log, limit)?;
    print!("{}", finished.output);
    let judged = |line: &str| line.starts_with("isolation: ") && line.contains(" calls answered");
    if finished.output.lines().any(judged) {
        return Ok(Outcome::Done(Tally::one(finished.ok)));
    }
    Err(finished.how)
}
