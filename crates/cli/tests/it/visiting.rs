//! A call that is refused until its user has visited a page: who agrees is told where, and the call is made once more.

use std::os::fd::OwnedFd;
use std::process::{Child, Command};

use crate::asking::run;
use crate::support::{Place, terminal};

/// A server of 2025-11-25 that wants its user to visit a page first. With `TELLS` it says when that is done, with `ASKS` it asks for a
/// name after it.
const SERVER: &str = r#"
    read opening; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}'
    read initialized
    read list; echo '{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}'
    read call; echo '{"jsonrpc":"2.0","id":3,"error":{"code":-32042,"message":"page first","data":{"elicitations":[{"mode":"url","elicitationId":"a","url":"https://example.test/a","message":"Connect"}]}}}'
    [ "$TELLS" = "" ] || echo '{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"a"}}'
    read call || exit 0
    [ "$ASKS" = "" ] || echo '{"jsonrpc":"2.0","id":"f","method":"elicitation/create","params":{"mode":"form","message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}'
    [ "$ASKS" = "" ] || read answer
    case "$answer" in *Ada*) name=Ada ;; *) name=nobody ;; esac
    echo '{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"connected '$name'"}]}}'
    read rest
"#;

fn words<'a>(options: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["call", "--era", "legacy"];
    words.extend(options);
    words.extend(["--", "sh", "-c", SERVER, "--", "t"]);
    words
}

// req: Q-SENT
#[test]
fn who_agrees_beforehand_is_told_where_and_who_does_not_is_told_why() {
    let place = Place::new();
    let there = "note: the server sends you to https://example.test/a\n";
    let asked = "error: the server asks: Connect";
    let named = "visit first, and then try again:\n    https://example.test/a (Connect)";
    let rows: [(&[&str], i32, &str, &str); 5] = [
        (&["--answer", "url=accept"], 0, "connected nobody\n", there),
        (&["--answer", "url=decline"], 8, "", named),
        (&["--answer", "url=cancel"], 8, "", named),
        (&["--answer", "url=later"], 8, "", asked),
        (
            &[],
            8,
            "",
            "(https://example.test/a)\n  hint: --answer url=accept",
        ),
    ];
    for (options, code, out, err) in rows {
        let options = [&["-e", "TELLS=yes"], options].concat();
        let (status, said, told) = run(&place, &words(&options));
        assert_eq!((status, &*said), (code, out), "{options:?}: {told}");
        assert!(told.contains(err), "{options:?}: {told}");
    }
}

/// A call of the server at a terminal.
fn at_terminal(place: &Place, options: &[&str]) -> (Child, OwnedFd) {
    start(place.command(words(options)))
}

fn start(mut command: Command) -> (Child, OwnedFd) {
    let (ours, theirs) = terminal();
    command.stdin(theirs.try_clone().unwrap()).stderr(theirs);
    (command.spawn().unwrap(), ours)
}

/// Reads what a program shows until it shows this.
fn shown(ours: &OwnedFd, what: &str) {
    let mut text = String::new();
    let mut part = [0; 256];
    while !text.contains(what) {
        let read = rustix::io::read(ours, &mut part).unwrap_or(0);
        assert!(read > 0, "{what:?} is not in {text:?}");
        text.push_str(&String::from_utf8_lossy(&part[..read]));
    }
}

// req: Q-SENT
#[test]
fn a_terminal_agrees_and_says_that_all_is_done() {
    let place = Place::new();
    // The server says nothing, and Enter ends the wait.
    let (child, ours) = at_terminal(&place, &[]);
    shown(&ours, "Go there?");
    rustix::io::write(&ours, b"y\n").unwrap();
    shown(&ours, "Enter asks the server again");
    rustix::io::write(&ours, b"\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.stdout, b"connected nobody\n", "{output:?}");

    // The server says it, and what is typed then answers the next question.
    let (child, ours) = at_terminal(&place, &["-e", "TELLS=yes", "-e", "ASKS=yes"]);
    shown(&ours, "Go there?");
    rustix::io::write(&ours, b"y\n").unwrap();
    shown(&ours, "name");
    rustix::io::write(&ours, b"Ada\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.stdout, b"connected Ada\n", "{output:?}");

    // In the modern era nobody but the user says it, here or beforehand.
    let modern = ["call", "--era", "modern", "demo", "visit"];
    let said = [&modern[..], &["--answer", "url=accept"]].concat();
    let (child, _ours) = start(place.command(said));
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let (child, ours) = start(place.command(modern));
    shown(&ours, "Go there?");
    rustix::io::write(&ours, b"y\n").unwrap();
    shown(&ours, "Enter asks the server again");
    rustix::io::write(&ours, b"\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");

    let (child, ours) = at_terminal(&place, &[]);
    shown(&ours, "Go there?");
    rustix::io::write(&ours, b"n\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(8), "{output:?}");
}

// req: Q-SENT
#[test]
fn nobody_is_sent_to_what_is_no_page() {
    let place = Place::new();
    for url in [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "data:text/html,x",
    ] {
        let server = SERVER.replace("https://example.test/a", url);
        let words = [
            "call",
            "--era",
            "legacy",
            "--answer",
            "url=accept",
            "--",
            "sh",
            "-c",
        ];
        let output = place.command(words.iter().copied().chain([&*server, "--", "t"]));
        let output = { output }.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(8), "{said}");
        assert!(said.contains("names no page to go to"), "{said}");
    }
}
