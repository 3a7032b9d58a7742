//! `polyport add`, `remove`, `enable`, `disable` and `list`: what is said, and what the file becomes.

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use crate::support::{BINARY, Place, golden, said};

// req: S-CONFIG-EDIT
#[test]
fn the_file_is_changed_and_nothing_else_in_it() {
    let place = Place::new();
    place.write(
        "theirs.json",
        r#"{"mcpServers": {"shop": {"command": "x", "args": ["${A}"], "cwd": "notes", "disabledTools": ["drop"]}}}"#,
    );
    place.write(
        "opencode.json",
        r#"{"mcp": {"bare": {"type": "remote", "url": "https://a.example/mcp", "headers": {"X": "{env:X}"}}}}"#,
    );
    let mut text = String::new();
    for words in [
        &[
            "add",
            "docs",
            "https://a.example/mcp",
            "--header",
            "Authorization: Bearer ${TOKEN}",
        ][..],
        &[
            "add",
            "github",
            "-e",
            "API_KEY=hush",
            "-e",
            "LEVEL=1",
            "--",
            "npx",
            "-y",
            "srv",
        ],
        &["add", "notes", "./notes"],
        &["add", "shop", "theirs.json:shop"],
        &["add", "bare", "opencode.json:bare", "--dry-run"],
        &["add", "bare", "opencode.json:bare"],
        &["add", "docs", "demo"],
        &["add", "docs", ":7400", "--replace", "--json"],
        &["add", "mine", "demo", "--user"],
        &["list"],
        &["disable", "docs"],
        &["disable", "docs"],
        &["disable", "mine"],
        &["enable", "docs", "--dry-run"],
        &["enable", "docs", "--json"],
        &["remove", "bare"],
        &["remove", "bare"],
        &["remove", "dosc"],
        &["remove", "shop", "--config", "theirs.json"],
        &["add", "a b", "demo"],
        &["add", "x"],
        &["add", "x", "demo", "--", "y"],
        &["add", "x", ":1", "-e", "A=b"],
        &["add", "x", "--header", "A: b", "--", "y"],
        &["add", "x", "nowhere"],
        &["config", "check"],
    ] {
        let mut command = place.command(words);
        let shown = said(&command.env("TOKEN", "t").env("A", "a").output().unwrap());
        assert!(!shown.contains("hush"), "{shown}");
        writeln!(text, "$ polyport {}\n{shown}", words.join(" ")).unwrap();
    }
    let file = fs::read_to_string(place.path("polyport.toml")).unwrap();
    writeln!(text, "$ cat polyport.toml\n{file}").unwrap();
    golden("editing.txt", &place.plain(&text));
}

// req: S-CONFIG-EDIT
#[test]
fn what_is_written_is_what_is_used() {
    let place = Place::new();
    place.write(
        "polyport.toml",
        "# a comment\n\n[servers.one]\ncommand = 'never'\nenabled = false # why\n",
    );
    let run = |words: &[&str]| {
        let output = place.command(words).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    run(&["add", "two", "--", BINARY, "serve", "demo"]);
    assert_eq!(run(&["call", "two", "echo", "text=hi"]), "hi\n");
    let serve = ["call", "--", BINARY, "serve", "--", "echo", "text=hi"];
    assert_eq!(run(&serve), "hi\n");
    let text = fs::read_to_string(place.path("polyport.toml")).unwrap();
    assert!(
        text.starts_with(
            "# a comment\n\n[servers.one]\ncommand = 'never'\nenabled = false # why\n"
        )
    );
    run(&["disable", "two"]);
    let output = place.command(["serve"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("has no servers that are switched on"),
        "{said}"
    );
    run(&["enable", "two"]);
    assert_eq!(run(&serve), "hi\n");
    // A file that cannot be read is left as it is, and named with its line.
    let broken = format!("{text}[servers.two\n");
    place.write("polyport.toml", &broken);
    for verb in ["remove", "enable", "disable"] {
        let output = place.command([verb, "two", "--json"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let error: Value = serde_json::from_slice(&output.stderr).unwrap();
        let message = error["error"]["message"].as_str().unwrap();
        assert!(
            message.contains("polyport.toml:10: cannot be read"),
            "{message}"
        );
    }
    assert_eq!(
        fs::read_to_string(place.path("polyport.toml")).unwrap(),
        broken
    );
}

/// A host starts what it is given by itself: what our file says of a server is held to by us alone.
// req: S-CONFIG-HOLDS
#[test]
fn a_host_gets_a_server_with_what_is_said_of_it() {
    let place = Place::new();
    place.write(
        "polyport.toml",
        "[servers.plain]\ncommand = 'x'\n[servers.ruled]\ncommand = 'x'\ntools.deny = ['drop']\n",
    );
    for (name, want) in [
        ("plain", "\"command\": \"x\""),
        ("ruled", "polyport.toml:ruled"),
    ] {
        let output = place
            .command(["install", "claude-code", name, "--print"])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains(want), "{name}: {text}");
    }
}
