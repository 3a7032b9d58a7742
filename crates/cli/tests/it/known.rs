//! `polyport servers` and `polyport config`: what is known, shown without secrets, and what is wrong with it.

use std::fmt::Write as _;

use serde_json::Value;

use crate::support::{Place, golden, said};

fn place() -> Place {
    let place = Place::new();
    for (file, text) in [
        (
            "polyport.toml",
            "# ours\n[servers.github]\ncommand = 'npx'\nargs = ['-y', 'srv', '--token', '${TOKEN}']\ncwd = 'notes'\n\
             [servers.github.env]\nGITHUB_TOKEN = '${TOKEN}'\nLEVEL = '${LEVEL:-debug}'\nAPI_KEY = 's3cret'\n\n\
             [servers.far]\nurl = 'https://${HOST:-mcp.example.com}/mcp?key=s3cret'\nheaders = { Authorization = 'Bearer s3cret' }\n\n\
             [servers.notes]\ncommand = 'x'\nenabled = false\n",
        ),
        (
            ".mcp.json",
            r#"{"mcpServers": {"github": {"command": "other"}, "shop": {"command": "polyport", "args": ["serve", "my notes"]}}}"#,
        ),
        (
            "home/.config/polyport/polyport.toml",
            "[servers.user]\ncommand = 'mine'\n[servers.github]\ncommand = 'hidden'\n[servers.bad]\ncommand = 1\n",
        ),
        (
            "home/.claude.json",
            r#"{"numStartups": 3, "mcpServers": {"everywhere": {"type": "http", "url": "https://a.example/mcp", "headers": {"X": "s3cret"}}}}"#,
        ),
        ("home/.config/Code/User/mcp.json", "{\n  \"servers\": {\n"),
        (
            "home/.config/zed/settings.json",
            "// only a theme\n{\"theme\": \"One\"}",
        ),
        (
            "home/.codex/config.toml",
            "[mcp_servers.coded]\ncommand = 'npx'\nargs = ['--api-key=s3cret']\nenabled = false\n",
        ),
        (
            "home/.gemini/settings.json",
            r#"{"mcpServers": {"odd": {"settings": 1}, "near": {"httpUrl": "http://127.0.0.1:7400/mcp"}}}"#,
        ),
    ] {
        place.write(file, text);
    }
    place
}

// req: S-SHELL
#[test]
fn what_is_known_is_listed_without_secrets() {
    let place = place();
    let mut text = String::new();
    for words in [
        &["servers"][..],
        &["servers", "--discover"],
        &["servers", "--discover", "--json"],
        &["servers", "--config", "polyport.toml"],
        &["servers", "--config", "nothing.toml"],
        &["config", "path"],
        &["config", "show"],
        &["config", "show", "--json", "--config", "polyport.toml"],
        &["config", "check"],
        &["config", "check", "polyport.toml"],
        &["config", "check", ".mcp.json"],
        &["config", "check", "home/.gemini/settings.json"],
        &["config", "check", "home/.config/Code/User/mcp.json"],
        &["config", "check", "home/.config/zed/settings.json"],
    ] {
        let mut command = place.command(words);
        command.env("TOKEN", "s3cret").env_remove("LEVEL");
        let shown = said(&command.output().unwrap());
        assert!(!shown.contains("s3cret"), "{shown}");
        writeln!(text, "$ polyport {}\n{shown}", words.join(" ")).unwrap();
    }
    golden("known.txt", &place.plain(&text));
}

#[test]
fn nothing_is_known() {
    let place = Place::new();
    for (words, code, out) in [
        (&["servers"][..], 0, ""),
        (
            &["servers", "--json"],
            0,
            "{\"servers\":[],\"problems\":[]}\n",
        ),
        (&["config", "path"], 1, ""),
        (&["config", "show"], 1, ""),
        (
            &["config", "show", "--json"],
            0,
            "{\"files\":[],\"problems\":[]}\n",
        ),
        (&["config", "check"], 1, ""),
    ] {
        let output = place.command(words).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(
            (output.status.code(), &*text),
            (Some(code), out),
            "{words:?}"
        );
    }
}

/// Every word that is listed names its server.
#[test]
fn what_is_listed_can_be_named() {
    let place = place();
    let output = place
        .command(["servers", "--discover", "--json"])
        .output()
        .unwrap();
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let servers = listed["servers"].as_array().unwrap();
    assert!(servers.len() > 6);
    for server in servers.iter().filter(|server| server.get("url").is_none()) {
        let word = server["server"].as_str().unwrap();
        let mut command = place.command(["ls", word]);
        // No program of any of them is there.
        let output = command
            .env("PATH", "/nowhere")
            .env("TOKEN", "x")
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let started = format!("cannot start {}", server["command"].as_str().unwrap());
        assert!(said.contains(&started), "{word}: {said}");
    }
}

/// Names that a configuration has are proposed, except those that a shell would take for more.
#[test]
fn names_are_completed() {
    let place = place();
    place.write(
        ".vscode/mcp.json",
        r#"{"servers": {"plain-1": {"command": "x"}, "a;b": {"command": "x"}, "$(x)": {"command": "x"}}}"#,
    );
    let output = place
        .command(["__complete", "zsh", "call", ""])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let names: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split('\t').next())
        .collect();
    let want = [
        "demo", "github", "far", "notes", "user", "bad", "shop", "plain-1",
    ];
    assert_eq!(names, want);
}

#[test]
fn the_schema_is_printed_as_it_is() {
    let output = Place::new().command(["config", "schema"]).output().unwrap();
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(schema["title"], "polyport.toml");
}
