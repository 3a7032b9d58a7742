//! `cargo xtask icount`: builds the counting programs of the bench crate and hands over to them. Counts nothing itself.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::args::Args;
use crate::run;
use crate::tally::{Outcome, Tally};
use crate::tree;

/// Compiling everything in the profile of this name, or counting.
const LIMIT: Duration = Duration::from_secs(1200);
/// The profile; its folder below the build folder has the same name.
const PROFILE: &str = "icount";

/// Counts instructions and allocations and holds them to `bench/icount.toml`, or writes them there.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let mut args = Args::new(arguments);
    let write = args.flag("--write");
    if let Err(error) = args.none() {
        return Outcome::Broken(error);
    }
    if !cfg!(target_arch = "x86_64") {
        return Outcome::Skipped("the committed figures are those of x86-64".to_owned());
    }
    if run::version("valgrind", "--version").is_none() {
        let reason = "valgrind is not here (Debian: apt-get install valgrind)";
        return Outcome::Skipped(reason.to_owned());
    }
    let root = tree::root();
    count(&root, write).unwrap_or_else(Outcome::Broken)
}

fn count(root: &Path, write: bool) -> Result<Outcome, String> {
    let program = build(root)?;
    let mut command = run::command(&program, root);
    if write {
        command.arg("--write");
    }
    let log = root.join("target/ci/icount.log");
    let finished = run::logged(&mut command, &log, LIMIT)?;
    print!("{}", finished.output);
    match Tally::from_last_line(&finished.output, "icount") {
        Some(tally) if finished.ok == (tally.failed == 0) => Ok(Outcome::Done(tally)),
        None if finished.ok => Ok(Outcome::Done(Tally::one(true))),
        _ => Err(finished.how),
    }
}

fn build(root: &Path) -> Result<PathBuf, String> {
    let mut command = run::cargo(root);
    command.args(["build", "--locked", "--profile", PROFILE]);
    command.args([
        "--package",
        "polyport-bench",
        "--bin",
        "icount",
        "--bin",
        "paths",
    ]);
    let log = root.join("target/ci/icount-build.log");
    let built = run::logged(&mut command, &log, LIMIT)?;
    if !built.ok {
        return Err(built.complaint("building the counters"));
    }
    Ok(run::target(root).join(PROFILE).join("icount"))
}
