//! `polyport install` and `uninstall` as people see them: what is shown, asked and written. What becomes of each host's file is
//! tested in the crate that changes it.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::asking::run;
use crate::support::{BINARY, Place, golden, said, terminal};
use crate::web::listen;

const HOSTS: &[&str] = &[
    "claude-code",
    "claude-desktop",
    "cursor",
    "vscode",
    "codex",
    "gemini",
    "windsurf",
    "zed",
    "opencode",
    "inspector",
    "mcp-json",
];

fn all(place: &Place, lines: &[&[&str]]) -> String {
    let mut text = String::new();
    for words in lines {
        let shown = said(&place.command(*words).output().unwrap());
        let line: String = words.iter().map(|word| format!(" {word}")).collect();
        writeln!(text, "$ polyport{line}\n{shown}").unwrap();
    }
    place.plain(&text)
}

// req: BR-217
#[test]
fn br_217_every_host_gets_absolute_paths() {
    let place = Place::new();
    let mut text = String::new();
    for host in HOSTS {
        text += &all(&place, &[&["install", host, "./notes", "other", "--print"]]);
        let output = place
            .command(["install", host, "./notes", "--print"])
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        for path in [BINARY, place.path("notes").to_str().unwrap()] {
            assert!(
                printed.contains(&format!("\"{path}\"")),
                "{host}: {printed}"
            );
        }
    }
    assert!(!place.path("home").exists(), "nothing is written");
    golden("install-print.txt", &text);
}

/// Command lines, one after the other in one place.
const LINES: &[&[&str]] = &[
    &["install", "claude-code", "./notes", "--dry-run"],
    &["install", "claude-code", "./notes"],
    &["install", "claude-code", "./notes", "--yes"],
    &["install", "claude-code", "./notes", "--yes"],
    &[
        "install",
        "claude-code",
        "./notes",
        "--write",
        "--yes",
        "--json",
    ],
    &["uninstall", "claude-code", "notse"],
    &["uninstall", "claude-code", "notes"],
    &["uninstall", "claude-code", "notes", "--dry-run"],
    &["uninstall", "claude-code", "notes", "--yes"],
    &["uninstall", "claude-code", "notes", "--yes"],
    &[
        "install",
        "claude-code",
        "demo",
        "--scope",
        "local",
        "--yes",
    ],
    &["install", "claude-code", "demo", "--scope", "user", "--yes"],
    &["uninstall", "claude-code", "demo", "--yes"],
    &[
        "uninstall",
        "claude-code",
        "demo",
        "--scope",
        "user",
        "--yes",
    ],
    &["uninstall", "claude-code", "demo", "--yes"],
    &["install", "claude-desktop", "demo", "--dry-run"],
    &["install", "zed", "demo", "--scope", "project", "--dry-run"],
    &["install", "cursor", "demo", "--scope", "user", "--yes"],
    &["install", "cursor", "demo", "--scope", "planet"],
    &["install", "cursr", "demo"],
    &["install", "emacs", "demo"],
    &["install", "cursor"],
    &["install", "cursor", "nothing"],
    &["install", "cursor", "./nothing"],
    &["install", "cursor", "sqlite:shop.db"],
    &["install", "cursor", "notes", "far"],
    &["install", "cursor", "mine", "--print"],
    &["install", "vscode", "far", "--print"],
    &["install", "cursor", "here", "--print"],
    &["install", "claude-desktop", "far", "--print"],
    &["install", "codex", ":7400", "--header", "X: 1", "--print"],
    &[
        "install",
        "codex",
        "-e",
        "TOKEN=x",
        "--print",
        "--",
        "npx",
        "-y",
        "@scope/server-x@1.2",
    ],
    &["install", "codex", "notes", "--", "npx"],
    &["install", "claude-code", "theirs.json:s", "--print"],
    &["install", "gemini", "theirs.json:s", "--print"],
    &["install", "codex", "theirs.json:s"],
    &["install", "vscode", "wss://a.example/mcp"],
    &["install", "zed", "ws://a.example/", "--header", "X: 1"],
    &["install", "codex", "demo", "--name", "a.b"],
    &["install", "codex", "theirs.json:a.b", "--print"],
    &["install", "cursor", "demo", "--name", "a.b", "--print"],
    &["install"],
    &["uninstall", "zed"],
    &["uninstall", "cursor", "both"],
];

#[test]
fn what_is_shown_and_said() {
    let place = Place::new();
    place.write(
        ".mcp.json",
        "{\n  \"mcpServers\": {\n    \"github\": {\n      \"command\": \"npx\",\n      \"env\": { \"GITHUB_TOKEN\": \"s3cret\" }\n    }\n  }\n}\n",
    );
    place.write(
        "home/.cursor/mcp.json",
        "{ \"mcpServers\": { \"both\": {} }",
    );
    place.write(
        "theirs.json",
        r#"{"mcpServers": {"s": {"type": "sse", "url": "http://127.0.0.1:9/sse"}, "a.b": {"command": "x"}}}"#,
    );
    place.write("polyport.toml", "[servers.mine]\ncommand = 'npx'\nargs = ['${X}']\ncwd = 'notes'\nenv_file = '.env'\n[servers.far]\nurl = 'https://a.example/mcp'\n[servers.here]\ncommand = './run'\n");
    let text = all(&place, LINES);
    assert!(!text.contains("s3cret"), "{text}");
    golden("install.txt", &text);
}

/// Files as people keep them, each with a secret, or with letters that are more than one byte.
const FILES: &[(&str, &str, &str)] = &[
    (
        "codex",
        "home/.codex/config.toml",
        "# clé = \"valeur\"\nmodel = \"o\"\n",
    ),
    (
        "codex",
        "home/.codex/config.toml",
        "\u{feff}model = \"o\"\n[mcp_servers.a]\ncommand = \"x\" # größe = \"x\"\n",
    ),
    (
        "codex",
        "home/.codex/config.toml",
        "[mcp_servers.a]\ncommand = \"x\"\nargs = [\n  \"--token\",\n  \"hunter2\",\n]\n",
    ),
    (
        "codex",
        "home/.codex/config.toml",
        "[mcp_servers.a]\ncommand = \"x\"\nenv.KEY = \"\"\"\nhunter2\nhunter2\"\"\"\n",
    ),
    (
        "claude-code",
        ".mcp.json",
        "{\n  // größe = \"x\"\n  \"mcpServers\": {}\n}\n",
    ),
    (
        "claude-code",
        ".mcp.json",
        "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"x\",\n      \"args\": [\n        \"--api-key\",\n        \"hunter2\"\n      ]\n    }\n  }\n}\n",
    ),
    (
        "claude-code",
        ".mcp.json",
        "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"x\",\n      \"env\": {\n        \"API_KEY\":\n          \"hunter2\"\n      }\n    }\n  }\n}\n",
    ),
];

// req: S-SHOWN
#[test]
fn no_secret_of_a_file_is_shown_whatever_changes_in_it() {
    let place = Place::new();
    let mut shown = 0;
    for (host, file, text) in FILES {
        place.write(file, text);
        for words in [
            &["install", host, "demo", "--dry-run"][..],
            &["install", host, "demo", "--name", "a", "--dry-run"],
            &["uninstall", host, "a", "--dry-run"],
        ] {
            let output = place.command(words).output().unwrap();
            let said = said(&output);
            let has = text.contains("a]") || text.contains("\"a\"");
            let want = if has || words[0] == "install" { 0 } else { 2 };
            assert_eq!(output.status.code(), Some(want), "{said}");
            assert!(!said.contains("hunter2"), "{said}");
            shown += usize::from(said.contains("****"));
        }
    }
    assert!(shown > 4, "their lines are shown: {shown}");
}

/// A name goes into files, and from there into shells and URLs of others.
// req: V-207
#[test]
fn v_207_names_that_mean_something_elsewhere_are_refused() {
    let place = Place::new();
    for name in [
        "a&b",
        "a|b",
        "a;b",
        "$(a)",
        "a\"b",
        "a'b",
        "a\nb",
        "a b",
        "",
        "-a",
        "../a",
        "a\u{202e}b",
        &"a".repeat(65),
    ] {
        let output = place
            .command(["install", "cursor", "demo", "--yes", "--name", name])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{name:?}: {output:?}");
    }
    assert!(!place.path(".cursor").exists());
    // Those that are made are plain.
    fs::create_dir(place.path("My; Notes & $x")).unwrap();
    let output = place
        .command(["install", "cursor", "My; Notes & $x", "--print"])
        .output()
        .unwrap();
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(
        printed["mcpServers"].get("My-Notes-x").is_some(),
        "{printed}"
    );
}

/// Says `answer` at the terminal, and gives what was said there.
fn at_terminal(place: &Place, words: &[&str], answer: &str) -> (String, Option<i32>) {
    let (ours, theirs) = terminal();
    let mut command = place.command(words);
    command.stdin(Stdio::from(theirs.try_clone().unwrap()));
    command.stderr(Stdio::from(theirs));
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut ours = File::from(ours);
    ours.write_all(answer.as_bytes()).unwrap();
    let code = child.wait().unwrap().code();
    let mut said = Vec::new();
    // A terminal whose other end is gone ends with an error.
    let mut piece = [0; 4096];
    while let Ok(n) = ours.read(&mut piece) {
        if n == 0 {
            break;
        }
        said.extend_from_slice(&piece[..n]);
    }
    (String::from_utf8_lossy(&said).replace("\r\n", "\n"), code)
}

/// What somebody agrees to is what is written: each word by itself, and nothing in it hidden.
// req: V-207b
#[test]
fn v_207b_every_word_is_shown_before_somebody_agrees() {
    let place = Place::new();
    let words = [
        "install",
        "cursor",
        "--name",
        "x",
        "--",
        "npx",
        "--flag",
        "a\u{202e}b\u{200b}",
        "two\nlines",
        "",
    ];
    let (said, code) = at_terminal(&place, &words, "n\n");
    assert_eq!(code, Some(1), "{said}");
    let list = "will start:\n  npx\n  --flag\n  a\\u{202e}b\\u{200b}\n  two\\nlines\n  ''\n";
    assert!(said.contains(list), "{said}");
    assert!(!said.contains(['\u{202e}', '\u{200b}']), "{said}");
    assert!(!place.path(".cursor").exists());
    let (said, code) = at_terminal(&place, &words, "\n");
    assert_eq!(code, Some(0), "{said}");
    let text = fs::read_to_string(place.path(".cursor/mcp.json")).unwrap();
    let written: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(written["mcpServers"]["x"]["args"][1], "a\u{202e}b\u{200b}");
}

/// What is installed is found under the host's name and runs.
#[test]
fn what_is_installed_can_be_called() {
    let place = Place::new();
    for host in HOSTS.iter().filter(|host| **host != "mcp-json") {
        let run = |words: &[&str]| place.command(words).output().unwrap();
        let output = run(&["install", host, "demo", "--yes"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let output = run(&["call", &format!("{host}:demo"), "add", "a=2", "b=3"]);
        assert_eq!(output.stdout, b"{\"sum\":5.0}\n", "{output:?}");
        let output = run(&["uninstall", host, "demo", "--yes"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let mut left: Vec<_> = fs::read_dir(place.path(""))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "cache" && name != "home")
            .collect();
        left.sort();
        assert_eq!(left, ["file.txt", "notes", "other"], "{host}");
    }
}

/// One document of what was done, or one object of why not.
// req: BR-217
#[test]
fn br_217_what_was_done_is_a_document() {
    let place = Place::new();
    let run = |words: &[&str]| {
        let output = place.command(words).output().unwrap();
        let read = |bytes: &[u8]| serde_json::from_slice(bytes).unwrap_or(Value::Null);
        (
            output.status.code().unwrap(),
            read(&output.stdout),
            read(&output.stderr),
        )
    };
    let install = ["install", "claude-code", "./notes", "--yes", "--json"];
    let uninstall = ["uninstall", "claude-code", "notes", "--yes", "--json"];
    for (words, changes) in [(&install[..], true), (&install, false), (&uninstall, true)] {
        let (code, done, failed) = run(words);
        assert_eq!((code, &failed), (0, &Value::Null), "{words:?}");
        assert_eq!(done["host"], "claude-code");
        assert_eq!(done["scope"], "project");
        assert_eq!(
            (&done["changes"], &done["written"]),
            (&changes.into(), &changes.into()),
            "{words:?}"
        );
        assert_eq!(done["file"], place.path(".mcp.json").to_str().unwrap());
    }
    assert!(!place.path(".mcp.json").exists());
    let (code, done, failed) = run(&uninstall);
    assert_eq!(
        (code, done, failed["error"]["code"].as_str()),
        (2, Value::Null, Some("usage"))
    );
}

/// A server of the older HTTP with SSE goes from host to host, also through such as write no type of an address, and is reached by the
/// entry of each.
// req: S-INSTALL-SSE
#[test]
fn a_server_of_the_older_http_stays_one_from_host_to_host() {
    let place = Place::new();
    let (_serving, host, _) = listen(&place, &["demo", "--listen", "127.0.0.1:0"]);
    let entry =
        json!({"mcpServers": {"shop": {"type": "sse", "url": format!("http://{host}/sse")}}});
    place.write("theirs.json", &entry.to_string());
    let mut from = "theirs.json:shop".to_owned();
    let hosts = [
        "cursor",
        "claude-code",
        "windsurf",
        "vscode",
        "opencode",
        "gemini",
    ];
    for to in hosts {
        let mut install = place.command(["install", "--yes", "--name", "shop", to, &from]);
        let installed = said(&install.output().unwrap());
        from = format!("{to}:shop");
        let (code, out, err) = run(&place, &["call", &from, "add", "a=2", "b=3"]);
        assert!(
            code == 0 && out.contains("5.0"),
            "{to}: {out}{err}\n{installed}"
        );
    }
    for (file, kind) in [(".mcp.json", "sse"), (".vscode/mcp.json", "sse")] {
        let text = fs::read_to_string(place.path(file)).unwrap();
        assert!(
            text.contains(&format!("\"type\": \"{kind}\"")),
            "{file}: {text}"
        );
    }
}
