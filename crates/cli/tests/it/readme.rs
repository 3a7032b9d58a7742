//! README shows what is really printed and listed.

use std::path::Path;
use std::process::{Command, Stdio};

use polyport::Revision;
use polyport_testkit::Program;
use rustix::process::Signal;
use serde_json::json;

use crate::doctoring::timeless;
use crate::support::{BINARY, Place, terminal};

const README: &str = include_str!("../../../../README.md");

/// The root of the repository.
fn root() -> std::path::PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::canonicalize(root).unwrap()
}

/// The fenced block after this text.
fn block<'a>(after: &str, kind: &str) -> &'a str {
    let (_, rest) = README.split_once(after).unwrap();
    let (_, rest) = rest.split_once(&format!("```{kind}\n")).unwrap();
    rest.split_once("```").unwrap().0
}

#[test]
fn the_block_is_what_the_first_command_prints() {
    let command = block("# Polyport", "sh").trim();
    let words = command.strip_prefix("cargo run --release -- ").unwrap();
    let (_ours, theirs) = terminal();
    let mut command = Command::new(BINARY);
    command.args(words.split(' ')).current_dir(root());
    command.stdin(theirs).stdout(Stdio::piped());
    let mut program = Program::spawn(&mut command, Revision::LATEST_LEGACY, |child| {
        Box::new(child.stdout.take().unwrap())
    });
    program.until_said("\"url\":");
    program.signal(Signal::INT);
    assert_eq!(program.end(), (Vec::new(), Some(0)));
    let said = program.stderr();
    // Another port where the usual one is busy, and the paths of the reader.
    let (_, block_said) = said.split_once("polyport ").unwrap();
    let port = block_said
        .split("127.0.0.1:")
        .nth(1)
        .unwrap()
        .split('/')
        .next()
        .unwrap();
    let said = format!("polyport {block_said}")
        .replace(&format!("127.0.0.1:{port}/"), "127.0.0.1:7400/")
        .replace(BINARY, "/path/to/polyport/target/release/polyport")
        .replace(root().to_str().unwrap(), "/path/to/polyport");
    assert_eq!(said, block("says so on standard error:", "text"));
}

#[test]
fn the_table_is_what_is_listed() {
    let place = Place::new();
    let mut program = place.host(&["notes", "--write"]);
    let listed = program.ask("tools/list", json!({}));
    let mut table = String::from("| tool | what it does | read-only |\n|---|---|---|\n");
    for tool in listed["tools"].as_array().unwrap() {
        let text = |pointer: &str| {
            tool.pointer(pointer)
                .and_then(|text| text.as_str())
                .unwrap()
        };
        let is_read_only = tool["annotations"]["readOnlyHint"] == true;
        let said = if is_read_only { "yes" } else { "no" };
        table += &format!(
            "| `{}` | {} | {said} |\n",
            text("/name"),
            text("/description")
        );
    }
    assert!(
        README.contains(&table),
        "README's table should be:\n{table}"
    );
}

/// The words of README's shell examples are words that are known.
#[test]
fn options_that_readme_names_exist() {
    let mut help = String::new();
    for verb in [
        "serve", "ls", "show", "call", "read", "prompt", "complete", "watch", "ping", "doctor",
        "servers", "install",
    ] {
        let output = Place::new().command(["help", verb]).output().unwrap();
        help += &String::from_utf8(output.stdout).unwrap();
    }
    let named = README.split('`').filter(|code| code.starts_with("--"));
    for option in named.filter_map(|code| code.split([' ', '=']).next()) {
        assert!(help.contains(option), "{option}");
    }
}

// req: S-SHELL
#[test]
fn the_console_shows_what_is_printed() {
    let folder = Path::new(BINARY).parent().unwrap();
    let path = std::env::join_paths(
        std::iter::once(folder.to_owned())
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let path = path.unwrap();
    let console = block("## Use any server from the shell", "console");
    let mut ran = 0;
    for step in console.split("$ polyport ").filter(|step| !step.is_empty()) {
        let (words, want) = step.split_once('\n').unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", &format!("polyport {words}")]);
        command.current_dir(root()).env("PATH", &path);
        let output = command.stdin(Stdio::null()).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said).unwrap();
        let said = timeless(&said).replace(root().to_str().unwrap(), "/path/to/polyport");
        assert_eq!(said.trim_end(), timeless(want).trim_end(), "{words}");
        ran += 1;
    }
    assert_eq!(ran, 13);
}
