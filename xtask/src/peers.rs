//! `cargo xtask peers`: clients of other makers against the binary, and our client against their servers. Owns building and the
//! verdict; `peers/` owns the peers.

use std::time::Duration;

use crate::node::{self, Lack};
use crate::run;
use crate::tally::{Outcome, Tally};
use crate::tree;

const BUILD: Duration = Duration::from_secs(1800);
const RUN: Duration = Duration::from_secs(1800);
const CHECK: Duration = Duration::from_secs(60);

/// Builds both sides and drives every peer against them. Arguments go to `peers/run.py`.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let root = tree::root();
    let script = root.join("peers/run.py");
    if !script.is_file() {
        return Outcome::Skipped("there is no peers/run.py yet".to_owned());
    }
    if run::version("python3", "--version").is_none() {
        return Outcome::Skipped("python3 is not here".to_owned());
    }
    if run::version("npm", "--version").is_none() {
        return Outcome::Skipped("npm is not here".to_owned());
    }
    drive(arguments, &root).unwrap_or_else(Outcome::Broken)
}

/// The search path, with our Node in front: the peers then need none of their own. None: they find out what is missing.
fn with_node(root: &std::path::Path) -> Result<Option<std::ffi::OsString>, String> {
    let node = match node::ensure(root) {
        Ok(node) => node,
        Err(Lack::Missing(_)) => return Ok(None),
        Err(Lack::Failed(reason)) => return Err(reason),
    };
    let Some(folder) = node.parent().filter(|folder| folder.is_absolute()) else {
        return Ok(None);
    };
    let others = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&others));
    let joined = std::env::join_paths(all).map_err(|error| error.to_string())?;
    Ok(Some(joined))
}

fn drive(arguments: &[String], root: &std::path::Path) -> Result<Outcome, String> {
    // Whoever judges is judged first: it has to refuse what it should.
    let mut check = run::command("python3", root);
    check.args("-m unittest discover -s peers/lib -p *_test.py".split(' '));
    check.env("PYTHONDONTWRITEBYTECODE", "1");
    let checked = run::logged(&mut check, &root.join("target/ci/peers-check.log"), CHECK)?;
    if !checked.ok {
        return Err(checked.complaint("checking the judge"));
    }
    let mut build = run::cargo(root);
    build.args("build --locked -p polyport-cli -p polyport-conformance".split(' '));
    build.args("--bin polyport --bin peer-client --bin conformance-server".split(' '));
    let built = run::logged(&mut build, &root.join("target/ci/peers-build.log"), BUILD)?;
    if !built.ok {
        return Err(built.complaint("building both sides"));
    }
    let mut command = run::command("python3", root);
    command.args(["peers/run.py", "--bin"]);
    let built = run::target(root).join("debug");
    command.arg(built.join("polyport")).arg("--client");
    command.arg(built.join("peer-client"));
    command.args(
        "--peers-dir .peers --matrix peers/matrix.toml --servers-matrix peers/servers.toml"
            .split(' '),
    );
    command.args(arguments).env("PYTHONUNBUFFERED", "1");
    if let Some(path) = with_node(root)? {
        command.env("PATH", path);
    }
    let finished = run::logged(&mut command, &root.join("target/ci/peers.log"), RUN)?;
    println!("{}", finished.tail(60));
    match Tally::from_last_line(&finished.output, "peers") {
        Some(tally) if finished.ok == (tally.failed == 0) => Ok(Outcome::Done(tally)),
        _ => Err(format!("peers/run.py: {}", finished.how)),
    }
}
