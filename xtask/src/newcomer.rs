//! `cargo xtask newcomer`: README's first two commands, word for word, in a fresh clone. Owns no opinion on what they print.
//!
//! The first is run twice: with a pipe for input, where it has to speak MCP on it, and without, where it has to listen on
//! HTTP. The second has to be what `.ci/run` calls, so that the gate does not run itself; `--full` runs it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::args::Args;
use crate::mcp;
use crate::run::{self, Group};
use crate::tally::{Outcome, Tally};
use crate::tree;

/// Compiling everything in release on two cores.
const START: Duration = Duration::from_secs(1800);

/// Twice the drain of a server whose input has ended.
const END: Duration = Duration::from_secs(20);

/// The whole gate, in the clone.
const FULL: Duration = Duration::from_secs(5400);

/// A folder that is removed when this is dropped.
struct Clone {
    folder: PathBuf,
}

impl Drop for Clone {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Clones and runs.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let mut args = Args::new(arguments);
    let full = args.flag("--full");
    if let Err(error) = args.none() {
        return Outcome::Broken(error);
    }
    let root = tree::root();
    if run::output(run::command("git", &root).args(["rev-parse", "--verify", "HEAD"])).is_err() {
        return Outcome::Skipped("there is no commit to clone".to_owned());
    }
    walk(&root, full).unwrap_or_else(Outcome::Broken)
}

fn walk(root: &Path, full: bool) -> Result<Outcome, String> {
    let folder = std::env::temp_dir().join(format!("polyport-newcomer-{}", std::process::id()));
    let clone = Clone { folder };
    let mut git = run::command("git", root);
    git.args(["clone", "--quiet"]).arg(root).arg(&clone.folder);
    run::output(&mut git)?;
    let readme = read(&clone.folder.join("README.md"))?;
    let commands = commands(&readme);
    let [first, second, ..] = commands.as_slice() else {
        return Err("README.md does not open with two commands in fenced blocks".to_owned());
    };
    let mut tally = Tally::default();
    let mut step = |name: &str, result: Result<String, String>| {
        match &result {
            Ok(said) => println!("  {name}: {said}"),
            Err(why) => println!("  {name} FAILED: {why}"),
        }
        tally += Tally::one(result.is_ok());
    };
    step(
        "first command on a pipe",
        speaks_stdio(root, &clone.folder, first),
    );
    step(
        "first command without input",
        speaks_http(root, &clone.folder, first),
    );
    let gate = read(&clone.folder.join(".ci/run"))?;
    step("second command is the gate", is_the_gate(&gate, second));
    if full {
        step("second command", runs(root, &clone.folder, second));
    }
    println!("newcomer: {tally}");
    Ok(Outcome::Done(tally))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// Lines of the fenced shell blocks, without prompts and comments.
fn commands(readme: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in readme.lines() {
        if let Some(kind) = line.trim_start().strip_prefix("```") {
            inside = !inside && matches!(kind.trim(), "sh" | "bash" | "console" | "shell");
        } else if inside {
            let line = line.trim().trim_start_matches("$ ");
            if !line.is_empty() && !line.starts_with('#') {
                found.push(line.to_owned());
            }
        }
    }
    found
}

/// The command as a newcomer's shell runs it, but building where builds are kept.
fn shell(root: &Path, clone: &Path, command: &str) -> std::process::Command {
    let mut shell = run::command("bash", clone);
    shell.args(["-c", command]);
    // Cargo hands its own variables to what it runs; a newcomer has none of them.
    for name in [
        "CARGO",
        "CARGO_MANIFEST_DIR",
        "CARGO_MANIFEST_PATH",
        "RUSTUP_TOOLCHAIN",
    ] {
        shell.env_remove(name);
    }
    shell.env("CARGO_TARGET_DIR", run::target(root));
    shell
}

fn speaks_stdio(root: &Path, clone: &Path, command: &str) -> Result<String, String> {
    let mut shell = shell(root, clone, command);
    let log = root.join("target/ci/newcomer-stdio.log");
    let mut group = start(&mut shell, &log, |shell| {
        shell.stdin(Stdio::piped()).stdout(Stdio::piped());
    })?;
    let child = group.child();
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("its pipes are gone".to_owned());
    };
    let tools = mcp::over_stdio(&mut stdin, stdout, START).map_err(|why| with_log(&why, &log))?;
    drop(stdin);
    let ended = group.wait(END);
    if !ended.is_some_and(|status| status.success()) {
        return Err(with_log(&format!("after its input ended: {ended:?}"), &log));
    }
    listed(&tools)
}

fn speaks_http(root: &Path, clone: &Path, command: &str) -> Result<String, String> {
    let mut shell = shell(root, clone, command);
    let log = root.join("target/ci/newcomer-http.log");
    let mut group = start(&mut shell, &log, |shell| {
        shell.stdout(Stdio::null());
    })?;
    let until = Instant::now() + START;
    let url = loop {
        let said = fs::read_to_string(&log).unwrap_or_default();
        if let Some(url) = said.lines().find_map(loopback_url) {
            break url;
        }
        if group.ended().is_some() || Instant::now() >= until {
            return Err(with_log("names no URL", &log));
        }
        thread::sleep(Duration::from_millis(50));
    };
    let tools = mcp::over_http(&url)?;
    group.signal("TERM");
    if group.wait(END).is_none() {
        return Err("still runs after SIGTERM".to_owned());
    }
    listed(&tools)
}

/// `stderr` goes to the log, the rest is set by `pipes`.
fn start(
    command: &mut std::process::Command,
    log: &Path,
    pipes: impl Fn(&mut std::process::Command),
) -> Result<Group, String> {
    tree::write(log, b"")?;
    let file = fs::File::create(log).map_err(|error| format!("{}: {error}", log.display()))?;
    pipes(command);
    Group::spawn(command.stderr(file))
}

fn with_log(why: &str, log: &Path) -> String {
    let said = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = said.lines().collect();
    let from = lines.len().saturating_sub(20);
    format!("{why}; stderr:\n{}", lines[from..].join("\n"))
}

fn listed(tools: &[String]) -> Result<String, String> {
    match tools.len() {
        0 => Err("lists no tool".to_owned()),
        count => Ok(format!("{count} tools, the first is {}", tools[0])),
    }
}

/// The first `http://127.0.0.1:PORT/…` on a line.
fn loopback_url(line: &str) -> Option<String> {
    let at = line.find("http://127.0.0.1:")?;
    let url = line[at..].split(|c: char| c.is_whitespace() || matches!(c, '"' | ',' | ')'));
    url.into_iter().next().map(str::to_owned)
}

fn is_the_gate(gate: &str, command: &str) -> Result<String, String> {
    let called = gate.lines().find_map(|line| line.strip_prefix("exec "));
    if called == Some(command) {
        Ok(command.to_owned())
    } else {
        Err(format!("README says `{command}`, .ci/run says {called:?}"))
    }
}

fn runs(root: &Path, clone: &Path, command: &str) -> Result<String, String> {
    let mut shell = shell(root, clone, command);
    let log = root.join("target/ci/newcomer-full.log");
    let finished = run::logged(&mut shell, &log, FULL)?;
    if finished.ok {
        Ok(finished.tail(1))
    } else {
        Err(finished.complaint(command))
    }
}

#[cfg(test)]
mod tests {
    use super::{commands, is_the_gate, loopback_url};

    #[test]
    fn commands_are_the_lines_of_shell_blocks() {
        let readme = "# x\n```sh\n# first\ncargo run\n```\ntext\n```console\n$ cargo xtask ci\n```\n```rust\nfn main() {}\n```\n";
        assert_eq!(commands(readme), ["cargo run", "cargo xtask ci"]);
    }

    #[test]
    fn the_gate_is_what_readme_says() {
        let gate = "set -e\nexec cargo xtask ci\n";
        assert!(is_the_gate(gate, "cargo xtask ci").is_ok());
        assert!(is_the_gate(gate, "cargo test").is_err());
    }

    #[test]
    fn the_url_is_read_from_a_line() {
        let line = "  http    http://127.0.0.1:7400/mcp   any revision";
        assert_eq!(
            loopback_url(line).as_deref(),
            Some("http://127.0.0.1:7400/mcp")
        );
        assert_eq!(loopback_url("none"), None);
    }
}
