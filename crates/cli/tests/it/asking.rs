//! The client side: what stands on standard output and on standard error, and the exit codes.

use std::process::Output;

use serde_json::Value;

use crate::support::{BINARY, Place, terminal};

pub(crate) fn run(place: &Place, words: &[&str]) -> (i32, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = place.command(words).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

/// A command line, its exit code, and how standard output and standard error begin.
type Case = (&'static [&'static str], i32, &'static str, &'static str);

const CASES: &[Case] = &[
    (
        &["call", "demo", "add", "a=2", "b=3"],
        0,
        "{\"sum\":5.0}\n",
        "",
    ),
    (&["call", "demo", "echo", "text=hello"], 0, "hello\n", ""),
    (&["call", "demo", "echo", "text=012"], 0, "012\n", ""),
    (
        &["call", "demo", "echo", "text=@long.txt"],
        0,
        "from a file\n",
        "",
    ),
    (
        &["call", "demo", "add", "--args", "@args.json"],
        0,
        "{\"sum\":2.0}\n",
        "",
    ),
    (
        &["call", "demo", "add", "a:=1e1", "b:=1"],
        0,
        "{\"sum\":11.0}\n",
        "",
    ),
    (
        &["call", "demo", "fail", "message=bad luck"],
        5,
        "bad luck\n",
        "",
    ),
    (&["call", "notes", "list_directory"], 0, "", ""),
    (
        &["call", "demo", "add", "a=2"],
        2,
        "",
        "error: add needs more arguments\n  hint: give also:\n    b (number): Second number.\n",
    ),
    (
        &["call", "demo", "add", "a=x", "b=1"],
        2,
        "",
        "error: a: \"x\" is no number\n",
    ),
    (
        &["call", "demo", "add", "a=1", "c=1"],
        2,
        "",
        "error: there is no argument c\n",
    ),
    (
        &["call", "demo", "ad"],
        5,
        "",
        "error: demo has no tool ad\n  hint: did you mean add?\n",
    ),
    (&["call", "demo"], 2, "", "error: no tool is named\n"),
    (&["call"], 2, "", "error: no server is named\n"),
    (
        &["call", "nowhere", "x"],
        2,
        "",
        "error: there is no folder and no server nowhere\n",
    ),
    (
        &["call", "demo", "order"],
        8,
        "",
        "error: the server asks: What may it be? (drink (coffee or tea): What to drink., cups (integer): How many cups.)\n",
    ),
    (
        &[
            "call",
            "demo",
            "order",
            "--answer",
            "drink=tea",
            "--answer",
            "cups=2",
        ],
        0,
        "2 x tea\n",
        "",
    ),
    (
        &[
            "call",
            "--era",
            "legacy",
            "demo",
            "order",
            "--answer",
            "drink=tea",
            "--answer",
            "cups=2",
        ],
        0,
        "2 x tea\n",
        "",
    ),
    (
        &[
            "call",
            "demo",
            "order",
            "--answer",
            "drink=tea",
            "--answer",
            "cups=two",
        ],
        8,
        "",
        "error: the server asks: What may it be?; --answer does not fit: cups: \"two\" is no integer\n",
    ),
    (
        &["call", "demo", "haiku", "about=rain"],
        8,
        "",
        "error: demo: the server refused: Missing required client capability",
    ),
    (
        &["call", "demo", "visit"],
        8,
        "",
        "error: the server asks: Read about the protocol? (https://modelcontextprotocol.io/)\n",
    ),
    (
        &["call", "--", "/nowhere/server", "--", "x"],
        4,
        "",
        "error: /nowhere/server: cannot start /nowhere/server: No such file or directory",
    ),
    (
        &["call", "--", "sh", "-c", "echo why >&2; exit 3", "--", "x"],
        4,
        "",
        "error: sh: the server has ended (exit status: 3)\n  hint: it said last:\n    why\n",
    ),
    (
        &["call", "--timeout", "0.3", "--", "sleep", "1000", "--", "x"],
        7,
        "",
        "error: sleep: no answer after 0.3 s; it has run for ",
    ),
    (
        &["call", "--timeout", "0.3", "demo", "wait", "seconds=600"],
        7,
        "",
        "error: demo: no answer to tools/call after 0.3 s; last heard: ",
    ),
    (&["read", "demo", "demo://greeting"], 0, "", ""),
    (
        &["read", "demo", "demo://nothing"],
        5,
        "",
        "error: demo: the server refused: ",
    ),
    (
        &["read", "demo"],
        2,
        "",
        "error: one resource is read, named by its URI\n",
    ),
    (
        &["ls", "demo", "more"],
        2,
        "",
        "error: \"more\" is one word too many\n",
    ),
];

// req: S-SHELL
#[test]
fn calls_and_their_exit_codes() {
    let place = Place::new();
    place.write("args.json", "{\"a\": 1, \"b\": 1}");
    place.write("long.txt", "from a file\n");
    for (words, code, out, err) in CASES {
        let (status, stdout, stderr) = run(&place, words);
        assert_eq!(status, *code, "{words:?}\n{stdout}\n{stderr}");
        assert!(stdout.starts_with(out), "{words:?}: {stdout}");
        assert!(
            *code == 0 || *code == 5 || stdout.is_empty(),
            "{words:?}: {stdout}"
        );
        assert!(stderr.starts_with(err), "{words:?}: {stderr}");
        assert!(*code == 0 || *code == 5 || !stderr.is_empty(), "{words:?}");
    }
}

/// With `--json` the only thing on standard error is one JSON object that names the same code.
// req: S-SHELL
#[test]
fn failures_are_one_json_object() {
    let place = Place::new();
    place.write("args.json", "{\"a\": 1, \"b\": 1}");
    place.write("long.txt", "from a file\n");
    let names = [
        (2, "usage"),
        (4, "unreachable"),
        (5, "tool"),
        (6, "protocol"),
        (7, "timed-out"),
        (8, "needs-person"),
    ];
    for (words, code, _, err) in CASES {
        let words = [&words[..1], &["--json"], &words[1..]].concat();
        let (status, stdout, stderr) = run(&place, &words);
        assert_eq!(status, *code, "{words:?}\n{stdout}\n{stderr}");
        if *code == 0 {
            assert_eq!(stderr, "", "{words:?}");
            continue;
        }
        let said: Value = serde_json::from_str(&stderr)
            .unwrap_or_else(|error| panic!("{words:?}: {error}: {stderr}"));
        let name = names.iter().find(|(known, _)| known == code).unwrap().1;
        assert_eq!(said["error"]["code"], name, "{words:?}: {stderr}");
        let message = said["error"]["message"].as_str().unwrap();
        let first = err.split('\n').next().unwrap();
        assert!(
            first.starts_with("error: cups") || format!("error: {message}").starts_with(first),
            "{words:?}: {stderr}"
        );
    }
}

// req: S-SHELL
#[test]
fn the_same_in_this_process_and_in_a_child_in_both_eras() {
    let place = Place::new();
    let near = run(&place, &["call", "demo", "add", "a=2", "b=3"]);
    for era in ["modern", "legacy"] {
        let words = [
            "call", "--era", era, "--", BINARY, "serve", "demo", "--", "add", "a=2", "b=3",
        ];
        assert_eq!(run(&place, &words), near, "{era}");
        let words = ["ls", "--era", era, "--", BINARY, "serve", "demo"];
        let (code, out, _) = run(&place, &words);
        assert_eq!(code, 0);
        let (_, direct, _) = run(&place, &["ls", "--era", era, "demo"]);
        assert_eq!(out, direct, "{era}");
        assert!(out.contains("  add(a, b) "), "{out}");
    }
}

// req: S-SHELL
#[test]
fn json_is_one_document_as_it_came() {
    let place = Place::new();
    for (words, pointer) in [
        (
            &["call", "demo", "add", "a=2", "b=3", "--json"][..],
            "/structuredContent/sum",
        ),
        (&["call", "demo", "fail", "message=x", "--json"], "/isError"),
        (
            &["read", "demo", "demo://greeting", "--json"],
            "/contents/0/text",
        ),
        (&["ls", "demo", "--json"], "/tools/0/inputSchema"),
    ] {
        let (_, out, _) = run(&place, words);
        let document: Value =
            serde_json::from_str(&out).unwrap_or_else(|e| panic!("{words:?}: {e}: {out}"));
        assert!(document.pointer(pointer).is_some(), "{words:?}: {out}");
    }
}

// req: S-SHELL
#[test]
fn bytes_are_bytes() {
    let output = Place::new()
        .command(["read", "demo", "demo://logo"])
        .output()
        .unwrap();
    assert!(output.stdout.starts_with(b"\x89PNG"), "{output:?}");
}

// req: S-SHELL
// req: BR-206
#[test]
fn br_206_a_reader_that_is_gone_is_no_failure() {
    let place = Place::new();
    for words in [
        &["call", "demo", "big", "bytes=4000000"][..],
        &["call", "demo", "fail", "message=x"],
        &["ls", "demo"],
        &["show", "demo", "add"],
        &["read", "demo", "demo://greeting"],
        &["prompt", "demo", "greet", "name=Ada"],
        &["complete", "demo", "review", "language", ""],
        &["ping", "demo"],
        &["doctor", "demo"],
        &["help", "args"],
        &["completion", "bash"],
        &["man"],
    ] {
        let (ours, theirs) = std::io::pipe().unwrap();
        drop(ours);
        let output = place.command(words).stdout(theirs).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}: {output:?}");
        assert!(output.stderr.is_empty(), "{words:?}: {output:?}");
    }
}

/// A server of the legacy era as a shell script: it opens `called` when the call has come, and writes down what comes after it.
const SERVER: &str = r#"
    read opening; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}'
    read initialized
    read list; echo '{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}'
    read call; echo > called
    while read line; do echo "$line" >> after; done
"#;

// req: S-SHELL
// req: S-CANCEL
#[test]
fn a_signal_tells_the_server_and_ends_it() {
    use rustix::process::{Pid, Signal, kill_process};
    for (signal, code, said) in [
        (Signal::INT, 130, "interrupted"),
        (Signal::TERM, 143, "terminated"),
    ] {
        let place = Place::new();
        let made = std::process::Command::new("mkfifo")
            .arg(place.path("called"))
            .status();
        assert!(made.unwrap().success());
        let words = [
            "call", "--era", "legacy", "--", "sh", "-c", SERVER, "--", "t",
        ];
        let child = place
            .command(words)
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::fs::read(place.path("called")).unwrap();
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert_eq!(output.stdout, b"");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(stderr, format!("error: {said}\n"));
        let after = std::fs::read_to_string(place.path("after")).unwrap();
        let cancel: Value = serde_json::from_str(after.trim_end()).unwrap();
        assert_eq!(cancel["method"], "notifications/cancelled");
        assert_eq!(cancel["params"]["requestId"], 3);
    }
}

// req: S-SHELL
#[test]
fn a_pipe_that_nobody_reads_is_refused_and_not_waited_for() {
    let place = Place::new();
    let made = std::process::Command::new("mkfifo")
        .arg(place.path("pipe"))
        .status();
    assert!(made.unwrap().success());
    for flag in ["-o=pipe", "--frames=pipe"] {
        let words = ["call", flag, "demo", "echo", "text=hi"];
        let (code, out, err) = run(&place, &words);
        assert_eq!((code, &*out), (2, ""), "{err}");
        assert!(err.contains("it is a pipe that nobody reads"), "{err}");
    }
}

// req: S-SHELL
// req: S-CANCEL
#[test]
fn a_call_is_cancelled_after_the_time_that_was_said() {
    let place = Place::new();
    let words = ["call", "--era", "legacy", "--cancel-after", "0.3", "--"];
    let words = [&words[..], &["sh", "-c", SERVER, "--", "t"]].concat();
    let (code, out, err) = run(&place, &words);
    let said = "error: cancelled after 300ms, as --cancel-after says\n";
    assert_eq!((code, &*out, &*err), (130, "", said));
    let after = std::fs::read_to_string(place.path("after")).unwrap();
    let cancel: Value = serde_json::from_str(after.trim_end()).unwrap();
    assert_eq!(cancel["method"], "notifications/cancelled");
    assert_eq!(cancel["params"]["requestId"], 3);
}

// req: S-SHELL
#[test]
fn a_terminal_is_asked() {
    let place = Place::new();
    for era in ["modern", "legacy"] {
        let (ours, theirs) = terminal();
        let mut command =
            place.command(["call", "--era", era, "demo", "order", "--answer", "cups=3"]);
        command.stdin(theirs.try_clone().unwrap()).stderr(theirs);
        let child = command.spawn().unwrap();
        drop(command);
        // Too hot, then as it should be; the rest is not wanted.
        rustix::io::write(&ours, b"chocolate\ntea\n\n\n").unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{era}: {output:?}");
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            "3 x tea\n",
            "{era}"
        );
    }
}
