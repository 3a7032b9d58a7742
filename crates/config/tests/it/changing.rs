//! Changes of our own file: comments and order stay, and nothing is written that could not be read.

use std::fs;
use std::path::Path;

use polyport_config::{Change, Fault, Own};
use serde_json::{Value, json};
use tempfile::TempDir;

const FILE: &str = "# ours, by hand\n\n[servers.one] # the first\ncommand = 'x'\n# why\nargs = [\n  'a', # b\n]\n\n\
    [servers.one.tools]\ndeny = ['d*'] # dangerous\n\n# the second\n[servers.two]\nurl = 'http://two'\nenabled = false # for now\n";

type Act = fn(&Path) -> Result<Change, Fault>;

fn entry() -> Value {
    json!({"command": "y", "args": ["z"], "env": {"A": "b"}})
}

/// What a change makes of a text, or why it does not.
fn made(name: &str, text: Option<&str>, act: Act) -> Result<String, String> {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join(name);
    if let Some(text) = text {
        fs::write(&file, text).unwrap();
    }
    let said = |fault: Fault| {
        let hint = fault.hint.clone().map(|hint| format!("; {hint}"));
        let said = fault.to_string() + &hint.unwrap_or_default();
        said.replace(&format!("{}/", folder.path().display()), "")
    };
    let change = act(&file).map_err(said)?;
    change.make().map_err(said)?;
    let after = fs::read_to_string(&file).unwrap();
    assert_eq!(after, change.after);
    assert_eq!(Own::read(&file).unwrap().faults, [], "{after}");
    let line = after.lines().nth(change.line - 1).unwrap_or_default();
    let stood = change.before.unwrap_or_default();
    let stood = stood.lines().nth(change.line - 1).unwrap_or_default();
    assert!(
        [line, stood]
            .iter()
            .any(|line| line.contains("servers") || line.starts_with("a ="))
            || name.ends_with("json"),
        "{line}"
    );
    Ok(after)
}

#[test]
fn all_else_stays() {
    let added = "\n[servers.new]\ncommand = \"y\"\nargs = [\"z\"]\nenv = { A = \"b\" }\n";
    let add: Act = |file| Change::add(file, "new", &entry(), false);
    let rows: &[(Act, &str, &str)] = &[
        (
            |file| Change::switch(file, "one", false),
            "  'a', # b\n]\n",
            "  'a', # b\n]\nenabled = false\n",
        ),
        (
            |file| Change::switch(file, "two", true),
            "enabled = false # for now",
            "enabled = true # for now",
        ),
        (|file| Change::switch(file, "one", true), "", ""),
        (|file| Change::switch(file, "two", false), "", ""),
        (
            |file| Change::remove(file, "two"),
            "[servers.two]\nurl = 'http://two'\nenabled = false # for now\n",
            "",
        ),
        (
            |file| Change::add(file, "two", &json!({"url": "http://new"}), true),
            "[servers.two]\nurl = 'http://two'\nenabled = false # for now\n",
            "[servers.two]\nurl = \"http://new\"\n",
        ),
    ];
    for (act, from, to) in rows {
        let want = FILE.replacen(from, to, 1);
        assert_eq!(made("polyport.toml", Some(FILE), *act), Ok(want));
    }
    let want = format!("{FILE}{added}");
    assert_eq!(made("polyport.toml", Some(FILE), add), Ok(want.clone()));
    let windows = FILE.replace('\n', "\r\n");
    assert_eq!(
        made("polyport.toml", Some(&windows), add),
        Ok(want.replace('\n', "\r\n"))
    );
    for none in [None, Some("")] {
        assert_eq!(
            made("polyport.toml", none, add),
            Ok(added.trim_start().to_owned())
        );
    }
    // All tables of it go, and what is said there of others stays.
    let left = made("polyport.toml", Some(FILE), |file| {
        Change::remove(file, "one")
    })
    .unwrap();
    assert!(left.starts_with("# ours, by hand\n"), "{left}");
    assert!(left.contains("# the second\n[servers.two]"), "{left}");
    assert!(!left.contains("one") && !left.contains("deny"), "{left}");
    // Other ways to write the same.
    for text in [
        "servers.a.command = 'x'\n",
        "[servers]\na = { command = 'x' } # b\n",
        "[servers.a]\ncommand = 'x'\n[servers.a.env]\nB = 'c'\n",
    ] {
        let off = made("polyport.toml", Some(text), |file| {
            Change::switch(file, "a", false)
        });
        let off = off.unwrap();
        let own = Own::of(Path::new("polyport.toml"), &off).unwrap();
        assert!(!own.get("a").unwrap().unwrap().enabled, "{off}");
        assert_eq!(off.contains("# b"), text.contains("# b"), "{off}");
    }
    let json = r#"{"servers": {"a": {"command": "x"}} /* b */}"#;
    let off = made("polyport.json", Some(json), |file| {
        Change::switch(file, "a", false)
    });
    assert!(off.unwrap().contains("/* b */"));
}

#[test]
fn what_cannot_be_meant_is_not_written() {
    let add: Act = |file| Change::add(file, "one", &entry(), false);
    let rows: &[(&str, Option<&str>, Act, &str)] = &[
        (
            "polyport.toml",
            Some(FILE),
            add,
            "polyport.toml:3: servers.one: is there already",
        ),
        (
            "polyport.toml",
            Some(FILE),
            |file| Change::add(file, "a b", &entry(), false),
            "polyport.toml: \"a b\" is no name of a server; letters, digits, and _ - . after the first, at most 64",
        ),
        (
            "polyport.toml",
            Some(FILE),
            |file| Change::add(file, "new", &json!({"command": ""}), false),
            "polyport.toml:19: servers.new.command: is empty",
        ),
        (
            "polyport.toml",
            Some(FILE),
            |file| Change::remove(file, "oen"),
            "polyport.toml: has no server oen; did you mean one?",
        ),
        (
            "polyport.toml",
            Some(FILE),
            |file| Change::switch(file, "third", true),
            "polyport.toml: has no server third; polyport list says which there are",
        ),
        (
            "polyport.toml",
            Some("[servers.one\n"),
            add,
            "polyport.toml:1: cannot be read: unclosed table, expected `]`",
        ),
        (
            "polyport.toml",
            None,
            |file| Change::remove(file, "one"),
            "polyport.toml: is not there",
        ),
        (
            ".mcp.json",
            Some("{}"),
            add,
            ".mcp.json: is no file of ours; ours is polyport.toml, or another TOML file with servers; polyport install writes into those of AI hosts",
        ),
        (
            "config.toml",
            Some("[mcp_servers.a]\ncommand = 'x'\n"),
            add,
            "config.toml: is no file of ours; ours is polyport.toml, or another TOML file with servers; polyport install writes into those of AI hosts",
        ),
    ];
    for (name, text, act, want) in rows {
        assert_eq!(made(name, *text, *act), Err((*want).to_owned()));
    }
    let codex = "model = 'x'\n";
    let refused = made("config.toml", Some(codex), add).unwrap_err();
    assert!(refused.contains("is no file of ours"), "{refused}");
    // Whoever has written it meanwhile wins.
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("polyport.toml");
    fs::write(&file, FILE).unwrap();
    let change = Change::remove(&file, "one").unwrap();
    fs::write(&file, "# other\n").unwrap();
    let fault = change.make().unwrap_err();
    assert!(fault.why.contains("was changed meanwhile"), "{fault}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "# other\n");
}
