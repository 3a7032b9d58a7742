//! `cargo xtask fuzz`: libFuzzer over every check of `polyport-fuzz`, on the stable compiler. Owns flags and folders, not the checks.
//!
//! Coverage comes from LLVM's own pass, which stable can be asked for; there is no sanitizer, so nothing needs nightly.
//! libFuzzer is an optional dependency, so ordinary builds know nothing of it.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use crate::args::Args;
use crate::run;
use crate::tally::{Outcome, Tally};
use crate::tree;

/// What a sanitizer-less coverage build needs; one codegen unit, so that counters are not spread over many sections.
const FLAGS: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cllvm-args=-simplifycfg-branch-fold-threshold=0",
    "-Clink-dead-code",
    "-Ccodegen-units=1",
];

const PACKAGE: &str = "polyport-fuzz";
const BINARY: &str = "fuzz";

const BUILD: Duration = Duration::from_secs(1800);

/// Loading the corpus before the clock of libFuzzer counts, and its end after it.
const MARGIN: Duration = Duration::from_secs(120);

/// Builds the driver and gives each target its seconds, as many targets at once as there are cores.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    fuzz(arguments, &tree::root()).unwrap_or_else(Outcome::Broken)
}

fn fuzz(arguments: &[String], root: &Path) -> Result<Outcome, String> {
    let mut args = Args::new(arguments);
    let seconds = args.number("--secs", 60)?;
    let wanted = args.words()?;
    let driver = build(root)?;
    let mut list = run::cargo(root);
    list.args([
        "run",
        "--locked",
        "--quiet",
        "--package",
        PACKAGE,
        "--bin",
        BINARY,
    ]);
    let known = run::output(&mut list)?;
    let known: Vec<String> = known.lines().map(str::to_owned).collect();
    if let Some(unknown) = wanted.iter().find(|name| !known.contains(name)) {
        return Err(format!("`{unknown}` is none of {}", known.join(", ")));
    }
    let targets = if wanted.is_empty() { known } else { wanted };
    let queue = Mutex::new(VecDeque::from(targets));
    let sum = Mutex::new(Tally::default());
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(target) = take(&queue) {
                    let held = run_target(root, &driver, &target, seconds);
                    let mut sum = sum.lock().unwrap_or_else(|dead| dead.into_inner());
                    *sum += Tally::one(held);
                }
            });
        }
    });
    let sum = sum.into_inner().unwrap_or_default();
    println!("fuzz: {sum}");
    Ok(Outcome::Done(sum))
}

fn take(queue: &Mutex<VecDeque<String>>) -> Option<String> {
    let mut queue = queue.lock().unwrap_or_else(|dead| dead.into_inner());
    queue.pop_front()
}

fn build(root: &Path) -> Result<PathBuf, String> {
    let target = run::target(root).join("fuzz");
    let triple = run::host_triple()?;
    let mut command = run::cargo(root);
    command
        .args(["build", "--locked", "--release", "--target", &triple])
        .args(["--package", PACKAGE, "--bin", BINARY])
        .args(["--features", "libfuzzer"])
        .env("CARGO_TARGET_DIR", &target)
        .env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\x1f"))
        // Findings are wanted, small binaries are not.
        .env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true")
        .env("CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS", "true")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only")
        .env("CARGO_PROFILE_RELEASE_LTO", "off");
    let log = root.join("target/ci/fuzz-build.log");
    let built = run::logged(&mut command, &log, BUILD)?;
    if !built.ok {
        return Err(built.complaint("building the fuzzer (it needs a C++ compiler)"));
    }
    Ok(target.join(triple).join("release").join(BINARY))
}

/// Whether a target ran its time without a finding. New inputs go to the build folder, findings to `fuzz/crashes`.
fn run_target(root: &Path, driver: &Path, target: &str, seconds: u64) -> bool {
    let grown = run::target(root).join("fuzz/corpus").join(target);
    let crashes = root.join("fuzz/crashes");
    let seeds = root.join("fuzz/corpus").join(target);
    for folder in [&grown, &crashes] {
        if let Err(error) = fs::create_dir_all(folder) {
            println!("  {target}: cannot make {}: {error}", folder.display());
            return false;
        }
    }
    let mut command = run::command(driver, root);
    command
        .env("FUZZ_TARGET", target)
        .env("RUST_BACKTRACE", "0")
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/{target}-", crashes.display()))
        .args(["-timeout=10", "-rss_limit_mb=2048", "-max_len=65536"])
        .args(["-print_final_stats=1", "-verbosity=1"])
        .arg(&grown);
    if seeds.is_dir() {
        command.arg(&seeds);
    }
    let dictionary = root.join("fuzz/dictionary.txt");
    if dictionary.is_file() {
        command.arg(format!("-dict={}", dictionary.display()));
    }
    let log = root.join("target/ci").join(format!("fuzz-{target}.log"));
    let limit = MARGIN + Duration::from_secs(seconds);
    match run::logged(&mut command, &log, limit) {
        Ok(finished) if finished.ok => {
            println!("  {target}: {}", summary(&finished.output));
            true
        }
        Ok(finished) => {
            println!(
                "  {target}: {} (log: {})",
                finished.how,
                finished.log.display()
            );
            println!("{}", finding(&finished.output));
            println!("  see it again: cargo run -p {PACKAGE} -- {target} FILE");
            false
        }
        Err(reason) => {
            println!("  {target}: {reason}");
            false
        }
    }
}

/// What went wrong and where the input lies, out of a long log.
fn finding(output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    let mut shown = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if line.contains(" panicked at ") {
            shown.extend(lines.iter().skip(at).take(4));
        } else if line.contains("ERROR: libFuzzer") || line.contains("Test unit written to") {
            shown.push(line);
        }
    }
    shown.truncate(20);
    let text: Vec<String> = shown.iter().map(|line| format!("    {line}")).collect();
    text.join("\n")
}

/// `Done N runs in M second(s)` and the coverage before it.
fn summary(output: &str) -> String {
    let find = |mark: &str| output.lines().rev().find(|line| line.contains(mark));
    let seed = find("INFO: Seed: ").and_then(|line| line.rsplit(' ').next());
    let covered = find(" cov: ").and_then(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|word| *word == "cov:")?;
        words.get(at + 1).copied()
    });
    let done = find("Done ").unwrap_or("done");
    format!(
        "{}, coverage {}, seed {}",
        done.trim(),
        covered.unwrap_or("?"),
        seed.unwrap_or("?")
    )
}
