//! Servers of others behind `polyport serve`: named on the command line in every way, over both transports.

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{BINARY, Place};

fn place() -> Place {
    let place = Place::new();
    let servers = json!({"mcpServers": {
        "theirs": {"command": BINARY, "args": ["serve", "demo"]},
        "my notes": {"command": BINARY, "args": ["serve", "notes"]},
        "off": {"command": "never", "disabled": true},
    }});
    place.write(".mcp.json", &servers.to_string());
    place
}

/// What `polyport call` prints.
fn called(place: &Place, words: &[&str]) -> String {
    let output = place.command(["call"].iter().chain(words)).output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{words:?}: {said}");
    String::from_utf8(output.stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}

/// The names of the tools that a `polyport serve` with these words offers.
fn tools(place: &Place, words: &[&str]) -> Vec<String> {
    let words = [&["ls", "--json", "--", BINARY, "serve"], words, &["--"]].concat();
    let output = place.command(&words).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{words:?}: {said}");
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let tools = listed["tools"].as_array().unwrap();
    let names = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned());
    names.collect()
}

// req: S-GATE-SHELL
#[test]
fn servers_are_named_in_every_way() {
    let place = place();
    let mut http = place.listener(&["demo", "--listen", "0"], Stdio::null());
    http.until_said("\"url\":");
    let said = http.stderr();
    let url = said
        .split_whitespace()
        .find(|word| word.starts_with("http://"))
        .unwrap();
    let named = format!("web:={url}");
    let theirs = ".mcp.json:theirs";
    for (words, has, has_not) in [
        // One alone keeps its names.
        (&[theirs][..], &["add"][..], &["theirs__add"][..]),
        (&[url], &["add"], &[]),
        (&["theirs", "./notes"], &["add", "read_text_file"], &[]),
        (&["--config", ".mcp.json"], &["add", "read_text_file"], &[]),
        (
            &["theirs", &named, "notes"],
            &["theirs__add", "web__add", "read_text_file"],
            &["add"],
        ),
        (
            &["x:=.mcp.json:my notes", "demo", "notes"],
            &["x__read_text_file", "files__read_text_file"],
            &[],
        ),
    ] {
        let tools = tools(&place, words);
        for name in has {
            assert!(
                tools.iter().any(|tool| tool == name),
                "{words:?}: no {name} in {tools:?}"
            );
        }
        for name in has_not {
            assert!(
                !tools.iter().any(|tool| tool == name),
                "{words:?}: {name} in {tools:?}"
            );
        }
    }
    http.signal(Signal::TERM);
    assert_eq!(http.end().1, Some(0));
}

// req: S-GATE-SHELL
#[test]
fn calls_reach_the_server_whose_tool_it_is() {
    let place = place();
    let mut http = place.listener(
        &["--config", ".mcp.json", "demo", "--listen", "0"],
        Stdio::null(),
    );
    http.until_said("\"url\":");
    let said = http.stderr();
    let url = said
        .split_whitespace()
        .find(|word| word.starts_with("http://"))
        .unwrap();
    for era in ["modern", "legacy"] {
        let how = ["--era", era, url];
        assert_eq!(
            called(&place, &[&how[..], &["add", "a=2", "b=3"]].concat()),
            r#"{"sum":5.0}"#
        );
    }
    http.signal(Signal::TERM);
    assert_eq!(http.end().1, Some(0));
}

// req: S-GATE-SHELL, S-GATE-LIFE
#[test]
fn one_that_is_not_there_is_named_and_hides_nothing() {
    let place = place();
    let words = [
        "call",
        "--",
        BINARY,
        "serve",
        "gone:=http://127.0.0.1:1/mcp",
        "demo",
        "--",
        "add",
        "a=1",
        "b=1",
    ];
    let output = place.command(words).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// What `polyport serve` is told, and what stands in the entry for it.
const ENTRIES: &[(&[&str], &[&str])] = &[
    (
        &["theirs", "x:=.mcp.json:my notes", "notes"],
        &[
            "serve",
            "<here>/.mcp.json:theirs",
            "x:=<here>/.mcp.json:my notes",
            "<here>/notes",
        ],
    ),
    (
        &["--config", ".mcp.json"],
        &["serve", "--config", "<here>/.mcp.json"],
    ),
    (
        &["theirs", "--expand", "file", "--env-file", ".env"],
        &[
            "serve",
            "<here>/.mcp.json:theirs",
            "--expand",
            "file",
            "--env-file",
            "<here>/.env",
        ],
    ),
    (
        &[
            "https://mcp.example.com/mcp",
            "--header",
            "Authorization: Bearer hush",
        ],
        &[
            "serve",
            "https://mcp.example.com/mcp",
            "--header",
            "Authorization: …",
        ],
    ),
    (
        &[
            "demo", "-e", "KEY=hush", "--era", "legacy", "--", "./run", "-x",
        ],
        &[
            "serve",
            "demo",
            "--era",
            "legacy",
            "-e",
            "KEY=…",
            "--",
            "<here>/run",
            "-x",
        ],
    ),
    (
        &[
            "x:=https://mcp.example.com/mcp?api_key=hush",
            "--",
            "./run",
            "--api-key",
            "hush",
            "--token=hush",
        ],
        &[
            "serve",
            "x:=https://mcp.example.com/mcp?api_key=****",
            "--",
            "<here>/run",
            "--api-key",
            "****",
            "--token=****",
        ],
    ),
];

// req: S-GATE-SHELL
#[test]
fn the_entry_names_the_same_from_any_folder() {
    let place = place();
    place.write(".env", "");
    let here = place.path("").display().to_string();
    let here = here.trim_end_matches('/');
    for (words, want) in ENTRIES {
        let mut program = place.listener(words, Stdio::piped());
        program.until_said("{\"mcpServers\"");
        program.close_input();
        program.end();
        let said = program.stderr();
        assert!(!said.contains("hush"), "{said}");
        let entry = said.lines().find(|line| line.starts_with('{')).unwrap();
        let entry: Value = serde_json::from_str(&entry.replace(here, "<here>")).unwrap();
        let servers = entry["mcpServers"].as_object().unwrap();
        let server = servers.values().next().unwrap();
        assert_eq!(server["args"], json!(want), "{words:?}");
    }
}

// req: S-GATE-SHELL
#[test]
fn a_command_is_spoken_to_over_stdio() {
    let place = place();
    let mut host = place.host(&["--", BINARY, "serve", "demo"]);
    assert_eq!(
        host.call("add", json!({"a": 2, "b": 3}))["structuredContent"]["sum"],
        5.0
    );
    host.close_input();
    assert_eq!(host.end().1, Some(0));
}

// req: S-GATE-SHELL
#[test]
fn nothing_is_left_of_a_server_that_listens_to_nobody() {
    let place = place();
    let stub = "trap '' TERM INT HUP\nsleep 300 &\necho $$ $! > pids\nwhile :; do sleep 1; done\n";
    place.write("stub.sh", stub);
    let mut http = place.listener(&["--listen", "0", "--", "sh", "stub.sh"], Stdio::null());
    http.until_said("\"url\":");
    let said = http.stderr();
    let url = said
        .split_whitespace()
        .find(|word| word.starts_with("http://"));
    let mut client = place.command(["ls", url.unwrap()]).spawn().unwrap();
    let pids = loop {
        let pids = fs::read_to_string(place.path("pids")).unwrap_or_default();
        if pids.ends_with('\n') {
            break pids;
        }
        thread::sleep(Duration::from_millis(20));
    };
    // The first signal lets it finish, the second one does not wait.
    http.signal(Signal::TERM);
    http.signal(Signal::HUP);
    http.end();
    client.wait().unwrap();
    for pid in pids.split_whitespace() {
        let is_there = || {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit(')')
                .next()
                .is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
        };
        let begun = Instant::now();
        while is_there() {
            assert!(begun.elapsed() < Duration::from_secs(20), "{pid} is left");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Programs that have this in their command line.
fn running(word: &str) -> usize {
    let programs = fs::read_dir("/proc").unwrap().flatten();
    let lines = programs.filter_map(|it| fs::read(it.path().join("cmdline")).ok());
    lines
        .filter(|line| String::from_utf8_lossy(line).contains(word))
        .count()
}

// req: S-GATE-ITSELF
#[test]
fn a_configuration_that_names_the_program_that_reads_it_has_an_end() {
    let place = Place::new();
    let file = place.path("itself.json");
    let file = file.to_str().unwrap();
    let itself = json!({"command": BINARY, "args": ["serve", "--config", file]});
    place.write(
        "itself.json",
        &json!({"mcpServers": {"itself": itself}}).to_string(),
    );
    let words = [
        "ls",
        "--timeout",
        "20",
        "--",
        BINARY,
        "serve",
        "--config",
        file,
    ];
    let mut program = place.command(words).stderr(Stdio::piped()).spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    let mut most = 0;
    while program.try_wait().unwrap().is_none() {
        most = most.max(running(file));
        assert!(Instant::now() < end, "it does not end");
        thread::sleep(Duration::from_millis(20));
    }
    // With the one that lists.
    assert!((2..=6).contains(&most), "{most} programs");
    while running(file) > 0 {
        assert!(Instant::now() < end, "{} programs are left", running(file));
        thread::sleep(Duration::from_millis(20));
    }
}
