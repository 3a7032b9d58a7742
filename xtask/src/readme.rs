//! `cargo xtask readme`: the server that README shows compiles, serves stdio and HTTP, and the Inspector lists it.
//!
//! The program is README's own text: its first Rust block with a `main`, and its `[dependencies]`, with `polyport` taken
//! from this tree. For HTTP it is given an address, as README tells its reader to do.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::args::Args;
use crate::conformance::free_port;
use crate::mcp;
use crate::node;
use crate::run::{self, Group};
use crate::tally::{Outcome, Tally};
use crate::tree;

const BUILD: Duration = Duration::from_secs(1800);
const START: Duration = Duration::from_secs(20);
const INSPECTOR: Duration = Duration::from_secs(60);

/// What README shows.
#[derive(Debug, PartialEq, Eq)]
struct Shown {
    program: String,
    dependencies: Option<String>,
}

/// Extracts, builds, and asks the server for its tools.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    if let Err(error) = Args::new(arguments).none() {
        return Outcome::Broken(error);
    }
    let root = tree::root();
    let text = fs::read_to_string(root.join("README.md")).unwrap_or_default();
    match shown(&text) {
        None => Outcome::Skipped("README.md shows no server".to_owned()),
        Some(shown) => try_out(&root, &shown).unwrap_or_else(Outcome::Broken),
    }
}

fn try_out(root: &Path, shown: &Shown) -> Result<Outcome, String> {
    let port = free_port()?;
    let folder = root.join("target/readme");
    let manifest = manifest(root, shown.dependencies.as_deref());
    tree::write(&folder.join("Cargo.toml"), manifest.as_bytes())?;
    tree::write(&folder.join("src/main.rs"), shown.program.as_bytes())?;
    // The same versions as the tree's own, so that nothing is compiled twice.
    tree::copy_if_changed(&root.join("Cargo.lock"), &folder.join("Cargo.lock"))?;
    let mut command = run::cargo(&folder);
    command
        .args(["build", "--bins"])
        .env("CARGO_TARGET_DIR", run::target(root));
    let built = run::logged(&mut command, &root.join("target/ci/readme.log"), BUILD)?;
    if !built.ok {
        return Err(built.complaint("README's server does not compile"));
    }
    let binary = run::target(root).join("debug/readme");
    let mut tally = Tally::one(true);
    let mut step = |name: &str, result: Result<Vec<String>, String>| {
        let result = result.and_then(|tools| match tools.first() {
            Some(_) => Ok(tools.join(", ")),
            None => Err("lists no tool".to_owned()),
        });
        match &result {
            Ok(tools) => println!("  {name}: {tools}"),
            Err(why) => println!("  {name} FAILED: {why}"),
        }
        tally += Tally::one(result.is_ok());
    };
    step("stdio", over_stdio(root, &binary));
    step("http", listen(root, &binary, port));
    match inspector(root) {
        Some(program) => step("inspector", inspect(root, &program, &binary)),
        None => {
            println!("  inspector: skipped, `cargo xtask peers --install-only` installs it");
            tally.skipped += 1;
        }
    }
    println!("readme: {tally}");
    Ok(Outcome::Done(tally))
}

/// The first Rust block with a `main`, and the TOML block with dependencies.
fn shown(readme: &str) -> Option<Shown> {
    let blocks = blocks(readme);
    let program = blocks
        .iter()
        .find(|(kind, text)| kind.starts_with("rust") && text.contains("fn main"))?;
    let dependencies = blocks
        .iter()
        .find(|(kind, text)| kind == "toml" && text.contains("[dependencies]"));
    Some(Shown {
        program: program.1.clone(),
        dependencies: dependencies.map(|(_, text)| text.clone()),
    })
}

/// Fenced blocks: what they say they are, and their text.
fn blocks(markdown: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in markdown.lines() {
        match (line.trim_start().strip_prefix("```"), open.take()) {
            (Some(kind), None) => open = Some((kind.trim().to_owned(), String::new())),
            (Some(_), Some(block)) => found.push(block),
            (None, Some((kind, text))) => open = Some((kind, text + line + "\n")),
            (None, None) => {}
        }
    }
    found
}

/// README's dependencies with `polyport` from this tree; without any, those that its server cannot do without.
fn manifest(root: &Path, dependencies: Option<&str>) -> String {
    let shown = dependencies.and_then(|text| text.parse::<toml::Table>().ok());
    let shown = shown.and_then(|table| table.get("dependencies")?.as_table().cloned());
    let mut dependencies = shown.unwrap_or_default();
    let path = root.join("crates/polyport").display().to_string();
    let own = toml::Table::from_iter([("path".to_owned(), path.into())]);
    dependencies.insert("polyport".to_owned(), own.into());
    let dependencies = toml::Table::from_iter([("dependencies".to_owned(), dependencies.into())]);
    format!(
        "[workspace]\n\n[package]\nname = \"readme\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n{dependencies}"
    )
}

fn over_stdio(root: &Path, binary: &Path) -> Result<Vec<String>, String> {
    let mut command = run::command(binary, root);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut group = Group::spawn(&mut command)?;
    let child = group.child();
    match (child.stdin.take(), child.stdout.take()) {
        (Some(mut stdin), Some(stdout)) => mcp::over_stdio(&mut stdin, stdout, START),
        _ => Err("its pipes are gone".to_owned()),
    }
}

fn listen(root: &Path, binary: &Path, port: u16) -> Result<Vec<String>, String> {
    let mut command = run::command(binary, root);
    let _group = Group::spawn(command.arg(format!("127.0.0.1:{port}")))?;
    let url = format!("http://127.0.0.1:{port}/mcp");
    let until = Instant::now() + START;
    loop {
        let answer = mcp::over_http(&url);
        if answer.is_ok() || Instant::now() >= until {
            return answer;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Its program, when the peers are installed.
fn inspector(root: &Path) -> Option<PathBuf> {
    let package = node::home(root).join("inspector/node_modules/@modelcontextprotocol/inspector");
    let program = package.join("clients/launcher/build/index.js");
    program.is_file().then_some(program)
}

fn inspect(root: &Path, program: &Path, binary: &Path) -> Result<Vec<String>, String> {
    let node = node::ensure(root).map_err(|lack| format!("{lack:?}"))?;
    let mut command = run::command(node, root);
    command.arg(program).arg("--cli").arg(binary);
    command.args(["-q", "--format", "json", "--method", "tools/list"]);
    let log = root.join("target/ci/readme-inspector.log");
    let finished = run::logged(&mut command, &log, INSPECTOR)?;
    if !finished.ok {
        return Err(finished.complaint("the Inspector"));
    }
    let names = finished
        .output
        .match_indices("\"name\":")
        .filter_map(|(at, mark)| {
            let rest = finished.output[at + mark.len()..].trim_start();
            rest.strip_prefix('"')?.split('"').next().map(str::to_owned)
        });
    Ok(names.collect())
}

#[cfg(test)]
mod tests {
    use super::shown;

    const README: &str = "```toml\n[dependencies]\nserde = \"1\"\n```\n```rust,no_run\nfn main() {\n    a().await\n}\n```\n";

    #[test]
    fn the_program_is_taken_word_for_word() {
        let shown = shown(README).expect("README shows a program");
        assert_eq!(shown.program, "fn main() {\n    a().await\n}\n");
        assert_eq!(
            shown.dependencies.as_deref(),
            Some("[dependencies]\nserde = \"1\"\n")
        );
    }
}
