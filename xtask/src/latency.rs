//! `cargo xtask latency`: builds the program and the clients and hands over to `latency`. Judges nothing itself.

use std::time::Duration;

use crate::args::Args;
use crate::run;
use crate::tally::{Outcome, Tally};
use crate::tree;

/// Compiling everything in the profile of this name, or measuring.
const LIMIT: Duration = Duration::from_secs(1800);
/// The profile and its folder: the code of a release crate by crate, which is built already where instructions are counted. What is shipped
/// is optimized across crates as well, and so is a little quicker.
const PROFILE: &str = "icount";
const BINS: &[&str] = &[
    "latency",
    "bench-client",
    "bench-driver",
    "bench-server",
    "polyport",
];

/// Compares with the committed figures; `--write` writes them there.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    measure(Args::new(arguments)).unwrap_or_else(Outcome::Broken)
}

fn measure(mut args: Args) -> Result<Outcome, String> {
    let write = args.flag("--write");
    args.none()?;
    let root = tree::root();
    let mut build = run::cargo(&root);
    build.args(["build", "--locked", "--profile", PROFILE]);
    build.args(["--package", "polyport-bench", "--package", "polyport-cli"]);
    build.args(BINS.iter().flat_map(|name| ["--bin", name]));
    let log = root.join("target/ci/latency-build.log");
    let built = run::logged(&mut build, &log, LIMIT)?;
    if !built.ok {
        return Err(built.complaint("building what is measured"));
    }
    let folder = run::target(&root).join(PROFILE);
    let mut command = run::command(folder.join("latency"), &root);
    if write {
        command.arg("--write");
    }
    command.arg(folder.join("polyport"));
    let log = root.join("target/ci/latency.log");
    let finished = run::logged(&mut command, &log, LIMIT)?;
    print!("{}", finished.output);
    match Tally::from_last_line(&finished.output, "latency") {
        Some(tally) if finished.ok == (tally.failed == 0) => Ok(Outcome::Done(tally)),
        None if finished.ok => Ok(Outcome::Done(Tally::one(true))),
        _ => Err(finished.how),
    }
}
