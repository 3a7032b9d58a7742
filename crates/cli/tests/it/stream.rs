//! Standard output carries messages and nothing else; long lines; what a call costs in system calls.

use std::process::{Command, Stdio};

use polyport::Revision;
use polyport_testkit::Program;
use serde_json::{Value, json};

use crate::support::{BINARY, Place};

/// Every byte is part of a line with one JSON-RPC message, however wild the input (the helper looks at each line).
#[test]
fn standard_output_is_json_rpc_to_the_last_byte() {
    let place = Place::new();
    for level in ["warn", "trace"] {
        let mut program = place.host(&["notes", "demo", "--log-level", level]);
        program.ask("logging/setLevel", json!({"level": "debug"}));
        let junk: [&[u8]; 8] = [
            b"",
            b"   ",
            b"not json",
            b"{\"jsonrpc\":\"2.0\"",
            b"[]",
            b"\xff\xfe",
            b"{\"jsonrpc\":\"2.0\",\"id\":\"crlf\",\"method\":\"ping\"}\r",
            b"{\"jsonrpc\":\"2.0\",\"id\":\"none\",\"method\":\"none\"}",
        ];
        for line in junk {
            program.send_bytes(line);
        }
        let count = json!({"name": "count", "arguments": {"to": 3}});
        program.begin("tools/call", count, "\"progressToken\":7");
        program.begin(
            "tools/call",
            json!({"name": "fail", "arguments": {"message": "no\nnewline"}}),
            "",
        );
        program.begin(
            "tools/call",
            json!({"name": "read_text_file", "arguments": {"path": "b/c.txt"}}),
            "",
        );
        program.close_input();
        let (rest, code) = program.end();
        assert_eq!(code, Some(0));
        for id in [json!("crlf"), json!("none"), json!(3), json!(4), json!(5)] {
            let answers = rest
                .iter()
                .filter(|message| message["id"] == id && message.get("method").is_none());
            assert_eq!(answers.count(), 1, "{id}: {rest:?}");
        }
        let progress = rest
            .iter()
            .filter(|message| message["method"] == "notifications/progress");
        assert_eq!(progress.count(), 3);
    }
}

/// A line over 16 MiB is skipped and answered once; the next one is served.
// req: BR-007
#[test]
fn br_007_lines_are_bounded() {
    let place = Place::new();
    let mut program = place.host(&["demo"]);
    let text = "x".repeat(17 << 20);
    let call = json!({"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": text}}});
    program.send_bytes(call.to_string().as_bytes());
    let answer = program.answer();
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&Value::Null, &json!(-32600)),
        "{answer}"
    );
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("16777216") || message.contains("16 MiB"),
        "{message}"
    );
    let text = "y".repeat(15 << 20);
    let echoed = program.call("echo", json!({"text": text}));
    assert_eq!(
        echoed["content"][0]["text"].as_str().map(str::len),
        Some(15 << 20)
    );
    program.close_input();
    assert_eq!(program.end(), (Vec::new(), Some(0)));
}

/// One call after the other: at most 4 system calls each, whatever the thread.
#[test]
fn a_call_costs_four_system_calls() {
    const FROM: usize = 100;
    const CALLS: usize = 100;
    let place = Place::new();
    let trace = place.path("trace");
    let probe = Command::new("strace")
        .args(["-qq", "-o", "/dev/null", "true"])
        .output();
    match probe {
        Err(_) => return println!("skipped: strace is not installed"),
        Ok(probe) if !probe.status.success() => {
            return println!("skipped: strace may not trace here");
        }
        Ok(_) => {}
    }
    for revision in [Revision::LATEST_LEGACY, Revision::LATEST] {
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-s", "80", "-o"]).arg(&trace);
        command
            .args([BINARY, "serve", "demo"])
            .stdin(Stdio::piped());
        let mut program = Program::start_in(&mut command, revision);
        for _ in 0..FROM + CALLS + 20 {
            program.call("add", json!({"a": 1, "b": 2}));
        }
        program.close_input();
        program.end();
        let text = std::fs::read_to_string(&trace).unwrap();
        let lines: Vec<_> = text
            .lines()
            .filter(|line| !line.contains(" resumed>"))
            .collect();
        let written = |id: usize| {
            let answer = format!("{{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":{id},\\\"result\\\"");
            let found = lines
                .iter()
                .position(|line| line.contains("write(") && line.contains(&answer));
            found.unwrap_or_else(|| panic!("no write of answer {id}"))
        };
        let calls = written(FROM + CALLS) - written(FROM);
        println!(
            "{} system calls for {CALLS} calls in {}",
            calls,
            revision.name()
        );
        assert!(calls <= 4 * CALLS, "{calls} system calls for {CALLS} calls");
    }
}
