//! `cargo xtask soak`: builds the servers and the clients in release and hands over to the clients. Judges nothing itself.

use std::path::Path;
use std::time::Duration;

use crate::args::Args;
use crate::run;
use crate::tally::{Outcome, Tally};
use crate::tree;

/// Compiling in release.
const BUILD: Duration = Duration::from_secs(1800);
/// Starting, and settling and ending after the last minute.
const MARGIN: Duration = Duration::from_secs(300);

/// Runs hostile clients for some minutes.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    soak(Args::new(arguments)).unwrap_or_else(Outcome::Broken)
}

fn soak(mut args: Args) -> Result<Outcome, String> {
    let minutes = args.number("--minutes", 5)?;
    let seed = args.value("--seed")?;
    let as_is = args.flag("--as-is");
    args.none()?;
    let root = tree::root();
    build(&root)?;
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
    let finished = run::logged(&mut command, &log, limit)?;
    print!("{}", finished.output);
    if finished
        .output
        .lines()
        .any(|line| line.starts_with("soak: ") && line.contains(" calls answered"))
    {
        return Ok(Outcome::Done(Tally::one(finished.ok)));
    }
    Err(finished.how)
}

fn build(root: &Path) -> Result<(), String> {
    let mut command = run::cargo(root);
    command.args(["build", "--locked", "--release"]);
    command.args(["--package", "polyport-cli", "--package", "polyport-bench"]);
    command.args([
        "--bin",
        "polyport",
        "--bin",
        "bench-server",
        "--bin",
        "soak",
    ]);
    let log = root.join("target/ci/soak-build.log");
    let built = run::logged(&mut command, &log, BUILD)?;
    if built.ok {
        Ok(())
    } else {
        Err(built.complaint("building servers and clients"))
    }
}
