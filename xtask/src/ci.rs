//! `cargo xtask ci`: the whole gate. Owns the order of the stages and the counted last line; each stage is a command or a verb.
//!
//! Every stage runs even when one before it failed. Where `CI` is set, or with `--strict`, a stage that was skipped because
//! something is not installed fails: a machine that judges has to have everything.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::args::Args;
use crate::run;
use crate::tally::{Outcome, Tally};
use crate::{conformance, icount, newcomer, peers, readme, tidy, tree};

/// One stage may take this long at most.
const LIMIT: Duration = Duration::from_secs(2400);

/// A stage: its name, and what runs it.
type Stage = (&'static str, fn(&Path) -> Outcome);

const STAGES: &[Stage] = &[
    ("prerequisites", prerequisites),
    ("fmt", |root| {
        cargo(
            root,
            "fmt",
            &["fmt", "--all", "--check", "--", "--color", "never"],
        )
    }),
    ("clippy", clippy),
    ("tests", tests),
    ("doc tests", |root| {
        counted(
            root,
            "doc-tests",
            // The examples of the attributes need the face crate, and are run with it.
            &[
                "test",
                "--locked",
                "--workspace",
                "--doc",
                "--exclude",
                "polyport-macros",
            ],
        )
    }),
    ("tidy", |_| tidy::run(&[])),
    ("peers", |_| peers::run(&[])),
    ("conformance", |_| conformance::run(&[])),
    ("icount", |_| icount::run(&[])),
    ("newcomer", |_| newcomer::run(&[])),
    ("readme", |_| readme::run(&[])),
];

/// Runs the stages and prints `ci: N passed, M failed, K skipped` last.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let mut args = Args::new(arguments);
    let strict = args.flag("--strict") || std::env::var("CI").is_ok_and(|value| value == "true");
    let only = args.value("--only").and_then(|only| {
        args.none()?;
        Ok(only)
    });
    let only = match only {
        Ok(only) => only,
        Err(error) => return Outcome::Broken(error),
    };
    let wanted = |name: &str| {
        only.as_ref()
            .is_none_or(|only| only.split(',').any(|one| one == name))
    };
    let known = |one: &str| STAGES.iter().any(|(name, _)| *name == one);
    if let Some(unknown) = only
        .as_ref()
        .and_then(|only| only.split(',').find(|one| !known(one)))
    {
        let names: Vec<&str> = STAGES.iter().map(|(name, _)| *name).collect();
        return Outcome::Broken(format!("`{unknown}` is none of {}", names.join(", ")));
    }
    let root = tree::root();
    let begin = Instant::now();
    let mut sum = Tally::default();
    let mut report = Vec::new();
    for (name, stage) in STAGES {
        if !wanted(name) {
            continue;
        }
        println!("== {name}");
        let start = Instant::now();
        let tally = judge(name, stage(&root), strict);
        let seconds = start.elapsed().as_secs_f64();
        let line = format!("{name:<14} {seconds:>7.1} s   {tally}");
        println!("-- {line}\n");
        report.push(line);
        sum += tally;
    }
    println!("== all stages, {:.1} s", begin.elapsed().as_secs_f64());
    for line in report {
        println!("   {line}");
    }
    println!("ci: {sum}");
    Outcome::Done(sum)
}

fn judge(name: &str, outcome: Outcome, strict: bool) -> Tally {
    match outcome {
        Outcome::Done(tally) => tally,
        Outcome::Broken(reason) => {
            println!("{name}: {reason}");
            Tally::one(false)
        }
        Outcome::Skipped(reason) if strict => {
            println!("{name}: cannot be skipped here: {reason}");
            Tally::one(false)
        }
        Outcome::Skipped(reason) => {
            println!("{name}: skipped: {reason}");
            Tally {
                skipped: 1,
                ..Tally::default()
            }
        }
    }
}

/// A cargo command that passes or fails as a whole.
fn cargo(root: &Path, name: &str, arguments: &[&str]) -> Outcome {
    let log = root.join("target/ci").join(format!("{name}.log"));
    match run::logged(run::cargo(root).args(arguments), &log, LIMIT) {
        Err(reason) => Outcome::Broken(reason),
        Ok(finished) => {
            if !finished.ok {
                println!("{}", finished.complaint(name));
            }
            Outcome::Done(Tally::one(finished.ok))
        }
    }
}

fn clippy(root: &Path) -> Outcome {
    let what = ["clippy", "--locked", "--workspace", "--all-targets"];
    let lints = ["--", "--deny", "warnings"];
    cargo(root, "clippy", &[what.as_slice(), &lints].concat())
}

fn tests(root: &Path) -> Outcome {
    let nextest = run::output(run::cargo(root).args(["nextest", "--version"])).is_ok();
    let what = ["--locked", "--workspace", "--no-fail-fast"];
    if nextest {
        let how = ["nextest", "run", "--success-output", "final"];
        counted(root, "tests", &[how.as_slice(), &what].concat())
    } else {
        let kinds = ["--tests", "--", "--show-output"];
        counted(
            root,
            "tests",
            &[["test"].as_slice(), &what, &kinds].concat(),
        )
    }
}

/// A cargo command whose closing lines are counted.
fn counted(root: &Path, name: &str, arguments: &[&str]) -> Outcome {
    let log = root.join("target/ci").join(format!("{name}.log"));
    let mut command = run::cargo(root);
    command.args(arguments).env("RUST_BACKTRACE", "0");
    match run::logged(&mut command, &log, LIMIT) {
        Err(reason) => Outcome::Broken(reason),
        Ok(finished) => {
            let mut tally = Tally::from_test_output(&finished.output).unwrap_or_default();
            if !finished.ok {
                println!("{}", failures(&finished.output));
                println!("{}", finished.complaint(name));
                // What did not compile has no count of its own.
                tally.failed = tally.failed.max(1);
            }
            Outcome::Done(tally)
        }
    }
}

/// Names and messages of failed tests out of a long log.
fn failures(output: &str) -> String {
    let mut shown = Vec::new();
    for (at, line) in output.lines().enumerate() {
        let is_failure = line.starts_with("test ") && line.ends_with(" FAILED")
            || line.trim_start().starts_with("FAIL [")
            || line.contains(" panicked at ")
            || line.starts_with("error");
        if is_failure {
            shown.push(line);
            shown.extend(output.lines().skip(at + 1).take(3));
        }
        if shown.len() > 120 {
            break;
        }
    }
    shown.join("\n")
}

/// What the stages need. On a machine that judges, what Debian has is installed if we may.
fn prerequisites(root: &Path) -> Outcome {
    let mut tally = Tally::default();
    let wanted: &[(&str, &[&str], &str)] = &[
        ("git", &["git", "--version"], "git"),
        ("node", &["node", "--version"], "nodejs"),
        ("npm", &["npm", "--version"], "npm"),
        ("python3", &["python3", "--version"], "python3"),
        (
            "python3 venv",
            &["python3", "-c", "import venv, ensurepip; print('there')"],
            "python3-venv",
        ),
        ("valgrind", &["valgrind", "--version"], "valgrind"),
        ("c++", &["c++", "--version"], "g++"),
    ];
    let judges = std::env::var("CI").is_ok_and(|value| value == "true");
    for (name, probe, package) in wanted {
        let mut found = first_line(root, probe);
        if found.is_none() && judges {
            install(root, package);
            found = first_line(root, probe);
        }
        match found {
            Some(version) => {
                println!("  {name:<13} {version}");
                tally.passed += 1;
            }
            None => {
                println!("  {name:<13} not here (Debian: apt-get install {package})");
                tally.skipped += 1;
            }
        }
    }
    match std::env::var("MCP_SPEC_DIR") {
        Ok(folder) => println!("  MCP_SPEC_DIR  {folder}"),
        Err(_) => println!(
            "  MCP_SPEC_DIR  not set: golden tests over the specification's files are skipped"
        ),
    }
    Outcome::Done(tally)
}

fn first_line(root: &Path, words: &[&str]) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    let text = run::output(run::command(program, root).args(arguments)).ok()?;
    text.lines().next().map(|line| line.trim().to_owned())
}

fn install(root: &Path, package: &str) {
    let log = root.join("target/ci/apt.log");
    for arguments in [
        &["update"][..],
        &["install", "--yes", "--no-install-recommends", package],
    ] {
        let mut command = run::command("apt-get", root);
        command
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive");
        if let Err(reason) = run::logged(&mut command, &log, Duration::from_secs(300)) {
            println!("  {reason}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::judge;
    use crate::tally::Outcome;

    #[test]
    fn a_skip_is_a_failure_where_everything_has_to_be_there() {
        let skip = Outcome::Skipped("no npm".to_owned());
        assert_eq!(judge("x", skip.clone(), false).skipped, 1);
        assert_eq!(judge("x", skip, true).failed, 1);
        assert_eq!(judge("x", Outcome::Broken("b".to_owned()), false).failed, 1);
    }
}
