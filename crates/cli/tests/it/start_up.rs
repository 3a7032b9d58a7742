//! The block of text when serving begins, and which transport is chosen.

use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use polyport_testkit::Program;
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Place, golden, terminal, unnumbered};

/// What is said on stdio until the input ends.
fn on_stdio(place: &Place, words: &[&str]) -> String {
    let mut program = place.listener(words, Stdio::piped());
    program.close_input();
    assert_eq!(program.end(), (Vec::new(), Some(0)));
    program.stderr()
}

/// What is said over HTTP until a signal comes.
fn on_http(place: &Place, words: &[&str], stdin: impl Into<Stdio>) -> String {
    let mut program = place.listener(words, stdin);
    program.until_said("\"url\":");
    program.signal(Signal::TERM);
    assert_eq!(program.end(), (Vec::new(), Some(0)));
    program.stderr()
}

/// The words after `polyport serve` that the blocks of text are made for.
fn blocks(deep: &str) -> Vec<Vec<&str>> {
    let blocks: &[&[&str]] = &[
        &["notes"],
        &["notes", "./notes/", "notes/../notes"],
        &["demo"],
        &["./demo"],
        &["notes", "--era", "modern", "--path", "x"],
        &["full"],
        &["notes", "--listen", "0"],
        &[
            "notes",
            "--listen",
            "localhost:0",
            "--path",
            "a/b/",
            "-t",
            "http",
        ],
        &[
            "notes",
            "other/notes",
            "demo",
            "many/1/one",
            "many/2/one",
            "many/3/a name with blanks (and more)",
            deep,
            "--listen",
            "0",
        ],
        &["--write", "notes"],
        &["--write", "notes", "other/notes", "demo", "--listen", "0"],
        &["--write", "demo"],
        &["--write", deep],
        &["notes", "--listen", "0.0.0.0:0", "--insecure-listen"],
        &[
            "notes",
            "--write",
            "--listen",
            "0.0.0.0:0",
            "--insecure-listen",
        ],
        &[
            "notes",
            "--listen",
            "0.0.0.0:0",
            "--insecure-listen",
            "--allow-host",
            "box.example",
        ],
    ];
    blocks.iter().map(|words| words.to_vec()).collect()
}

// req: D-41
#[test]
fn d_41_the_blocks() {
    let place = Place::new();
    place.write("demo/x", "");
    for folder in [
        "many/1/one",
        "many/2/one",
        "many/3/a name with blanks (and more)",
    ] {
        place.write(&format!("{folder}/x"), "");
    }
    let deep = "deep/".repeat(40);
    place.write(&format!("{deep}x"), "");
    for at in 0..502 {
        place.write(&format!("full/{at}"), "");
    }
    let blocks = blocks(&deep);
    let mut text = String::new();
    for words in &blocks {
        let said = if words.contains(&"--listen") {
            on_http(&place, words, Stdio::null())
        } else {
            on_stdio(&place, words)
        };
        for line in said.lines().filter(|line| !line.starts_with('{')) {
            assert!(line.chars().count() <= 100, "{line}");
        }
        text += &format!(
            "$ polyport serve {}\n{said}\n",
            words.join(" ").replace(&deep, "…/")
        );
    }
    let mut text = place.plain(&text);
    for host in ["127.0.0.1:", "0.0.0.0:", "box.example:"] {
        text = unnumbered(&text, host, "<port>");
    }
    golden("blocks.txt", &unnumbered(&text, "~", "<n>"));
}

/// The entry starts the same server from any folder.
#[test]
fn the_entry_can_be_pasted() {
    let place = Place::new();
    place.write("my notes/x.txt", "x");
    let mut program = place.host(&["my notes", "demo", "--write", "--era", "legacy"]);
    program.close_input();
    program.end();
    let said = program.stderr();
    let entry = said.lines().find(|line| line.starts_with('{')).unwrap();
    let entry: Value = serde_json::from_str(entry).unwrap();
    let server = &entry["mcpServers"]["my-notes"];
    let words = server["args"].as_array().unwrap();
    let mut command = std::process::Command::new(server["command"].as_str().unwrap());
    command
        .args(words.iter().map(|word| word.as_str().unwrap()))
        .current_dir("/");
    let mut program = Program::start(&mut command);
    let listed = program.call("list_directory", serde_json::json!({}));
    assert!(listed.to_string().contains("x.txt"), "{listed}");
    program.call("whoami", serde_json::json!({}));
    let written = serde_json::json!({"path": "y.txt", "content": "y"});
    program.call("write_file", written);
    assert_eq!(
        std::fs::read_to_string(place.path("my notes/y.txt")).unwrap(),
        "y"
    );
}

/// A program that is on the search path is named as it is found there, not by what it links to.
#[test]
fn the_entry_keeps_links() {
    let place = Place::new();
    std::fs::create_dir(place.path("bin")).unwrap();
    std::os::unix::fs::symlink(crate::support::BINARY, place.path("bin/polyport")).unwrap();
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", "polyport serve notes"])
        .current_dir(place.path(""));
    command.env("PATH", place.path("bin"));
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", place.path("bin").display()));
    let mut program = Program::start(&mut command);
    program.close_input();
    program.end();
    let want = format!("\"command\":\"{}\"", place.path("bin/polyport").display());
    assert!(program.stderr().contains(&want), "{}", program.stderr());
}

#[test]
fn standard_input_decides() {
    let place = Place::new();
    let (_ours, theirs) = terminal();
    let file = std::fs::File::open(place.path("file.txt")).unwrap();
    for (stdin, why) in [
        (Stdio::null(), "standard input is no pipe"),
        (theirs.into(), "standard input is a terminal"),
        (file.into(), "standard input is a file"),
    ] {
        let said = on_http(&place, &["notes"], stdin);
        assert!(said.contains(&format!("/mcp  ({why})\n")), "{said}");
    }
    let said = on_http(&place, &["notes", "-t", "http"], Stdio::piped());
    assert!(said.contains("/mcp  (-t says so)\n"), "{said}");
    let said = on_http(&place, &["notes", "--listen", "0"], Stdio::piped());
    assert!(said.contains("/mcp  (--listen says so)\n"), "{said}");
    let said = on_stdio(&place, &["notes"]);
    assert!(
        said.contains("  stdio   (standard input is a pipe)\n"),
        "{said}"
    );
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut program = place.listener(&["notes"], OwnedFd::from(theirs));
    program.set_input(ours);
    program.open();
    program.close_input();
    assert_eq!(program.end(), (Vec::new(), Some(0)));
    let said = program.stderr();
    assert!(
        said.contains("  stdio   (standard input is a socket)\n"),
        "{said}"
    );
}

/// `polyport serve notes -t stdio <messages >answers`
#[test]
fn files_are_read_and_written_to_their_end() {
    let place = Place::new();
    let messages = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_text_file","arguments":{"path":"a.md"}}}"#,
    );
    place.write("messages", messages);
    let answers = std::fs::File::create(place.path("answers")).unwrap();
    let mut command = place.command(["serve", "notes", "-t", "stdio"]);
    command.stdin(std::fs::File::open(place.path("messages")).unwrap());
    let output = command.stdout(answers).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let answers = std::fs::read_to_string(place.path("answers")).unwrap();
    let ids: Vec<Value> = answers
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].clone())
        .collect();
    assert_eq!(ids, [1, 2]);
    assert!(answers.contains("alpha"), "{answers}");
}

// req: D-36
#[test]
fn d_36_ports() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let output = place
        .command(["serve", "notes", "--listen", &port.to_string()])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let want = format!(
        "error: port {port} is in use on 127.0.0.1
  hint: stop what listens there, or name another port; 0 takes any free one
"
    );
    assert_eq!(String::from_utf8_lossy(&output.stderr), want);
    // Where we cannot hold the default port, somebody else has it, perhaps not for long.
    let held = TcpListener::bind("127.0.0.1:7400");
    let mut program = place.listener(&["notes"], Stdio::null());
    let said = program.until_said("\"url\":");
    let note = said.lines().next().unwrap();
    let next = note.strip_prefix("note: port 7400 is in use; it is ");
    assert!(next.is_some() || held.is_err(), "{said}");
    let port = next.unwrap_or("7400");
    assert!(
        said.contains(&format!("http://127.0.0.1:{port}/mcp")),
        "{said}"
    );
}
