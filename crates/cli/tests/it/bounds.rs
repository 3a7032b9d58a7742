//! Servers that never have enough: each call ends, whoever answers, and `--timeout` holds for all of it but for what a person types.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use polyport::Revision;
use polyport_testkit::child::scripted;
use serde_json::{Value, json};

use crate::asking::run;
use crate::doctoring::answering;
use crate::support::{Place, terminal, with_script};

/// Long enough for a slow machine, and shorter than any patience.
const SOON: Duration = Duration::from_secs(25);

/// Asks again, whatever it is answered.
const INSATIABLE: &str = r#"
ask() { say "\"id\":\"q\",\"method\":\"elicitation/create\",\"params\":{\"message\":\"More?\",\"requestedSchema\":{\"type\":\"object\",\"required\":[\"n\"],\"properties\":{\"n\":{\"type\":\"string\"}}}}"; }
called() { ask; return 1; }
answered() { ask; }
"#;

/// Asks once, and says nothing more.
const SULKING: &str = r#"
called() { say "\"id\":\"q\",\"method\":\"elicitation/create\",\"params\":{\"message\":\"More?\",\"requestedSchema\":{\"type\":\"object\",\"required\":[\"n\"],\"properties\":{\"n\":{\"type\":\"string\"}}}}"; return 1; }
"#;

// req: S-ASKS-ON
#[test]
fn a_legacy_server_that_asks_on_is_given_up() {
    let place = Place::new();
    for (script, answer, code, want) in [
        (INSATIABLE, &[][..], 8, "error: the server asks: More?"),
        (SULKING, &[], 8, "error: the server asks: More?"),
        (
            INSATIABLE,
            &["--answer", "n=x"],
            6,
            "error: sh: the server has asked 1000 times, and asks on\n",
        ),
    ] {
        let script = scripted(script);
        let verb = [&["call", "--era", "legacy"], answer].concat();
        let begun = Instant::now();
        let (got, _, err) = run(&place, &with_script(&verb, &script, &["t"]));
        assert_eq!(got, code, "{err}");
        assert!(err.starts_with(want), "{err}");
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    }
}

/// A modern server whose calls become what `call` says, and whose tasks wait for ever for an answer.
fn modern(call: Value) -> u16 {
    let question = json!({"method": "elicitation/create", "params": {"message": "More?",
        "requestedSchema": {"type": "object", "required": ["n"], "properties": {"n": {"type": "string"}}}}});
    answering(move |body| {
        let asked: Value = serde_json::from_slice(body).unwrap_or_default();
        let mut result = match asked["method"].as_str() {
            Some("tools/call") => call.clone(),
            Some("tasks/get") => json!({"resultType": "complete", "status": "input_required"}),
            _ => {
                json!({"resultType": "complete", "tools": [{"name": "t", "inputSchema": {"type": "object"}}],
                "supportedVersions": [Revision::LATEST.name()], "ttlMs": 0, "cacheScope": "private",
                "capabilities": {"tools": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}})
            }
        };
        if result.get("status").is_some() {
            for (name, value) in [
                ("taskId", json!("t")),
                ("createdAt", json!("2026-01-01T00:00:00Z")),
                ("lastUpdatedAt", json!("2026-01-01T00:00:00Z")),
                ("ttlMs", Value::Null),
                ("pollIntervalMs", json!(1)),
            ] {
                result[name] = value;
            }
        }
        if result["status"] == "input_required" || result["resultType"] == "input_required" {
            result["inputRequests"] = json!({"k": question});
        }
        let text = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string();
        let length = text.len();
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
        )
    })
}

// req: S-ASKS-ON
#[test]
fn a_modern_server_that_asks_on_is_given_up() {
    let place = Place::new();
    let rounds = json!({"resultType": "input_required", "requestState": "s"});
    let task = json!({"resultType": "task", "status": "working"});
    let asks = "error: the server asks: More?";
    for (call, answer, code, want) in [
        (&rounds, &[][..], 8, asks),
        (&task, &[], 8, asks),
        (
            &rounds,
            &["--answer", "n=x"],
            6,
            "the server has asked 16 times, and asks on\n",
        ),
        (
            &task,
            &["--answer", "n=x", "--timeout", "1"],
            7,
            "no answer after 1.0 s; last heard: an answer, ",
        ),
    ] {
        let port = modern(call.clone());
        let url = format!(":{port}");
        let words = [&["call", "--era", "modern"], answer, &[&*url, "t"]].concat();
        let begun = Instant::now();
        let (got, _, err) = run(&place, &words);
        assert_eq!(got, code, "{words:?}: {err}");
        assert!(err.contains(want), "{words:?}: {err}");
        assert!(begun.elapsed() < SOON, "{words:?}: {:?}", begun.elapsed());
    }
}

// req: S-ODD
#[test]
fn who_waits_in_vain_is_told_what_came() {
    let place = Place::new();
    for (answer, want) in [
        (
            r#"{"jsonrpc":"2.0","id":77,"result":{}}"#,
            "; the server answered id 77, which nothing waits for; last heard: an answer, ",
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}"#,
            "; the server answered with an error that has no id: no",
        ),
        (
            r#"\357\273\277{"jsonrpc":"2.0","id":3,"result":{}}"#,
            "; the server began a line with a byte order mark, which no message may; last heard: something that is no message, ",
        ),
    ] {
        let called = format!("called() {{ printf '{answer}\\n'; return 1; }}");
        let script = scripted(&called);
        let verb = ["call", "--era", "legacy", "--timeout", "0.5"];
        let (code, _, err) = run(&place, &with_script(&verb, &script, &["t"]));
        assert_eq!(code, 7, "{err}");
        assert!(err.contains(want) && err.contains("--frames"), "{err}");
    }
}

// req: S-TOTAL
#[test]
fn what_a_person_types_takes_what_time_it_takes() {
    let place = Place::new();
    for era in ["modern", "legacy"] {
        let (ours, theirs) = terminal();
        let words = ["call", "--era", era, "--timeout", "0.5", "demo", "order"];
        let mut command = place.command(words);
        command.stdin(theirs.try_clone().unwrap()).stderr(theirs);
        let child = command.spawn().unwrap();
        drop(command);
        let mut ours = File::from(ours);
        let mut shown = Vec::new();
        for answer in ["tea\n", "2\n", "\n"] {
            while !shown.ends_with(b": ") {
                let mut byte = [0];
                ours.read_exact(&mut byte).unwrap();
                shown.extend(byte);
            }
            shown.clear();
            // Longer than all of the call may take.
            std::thread::sleep(Duration::from_millis(700));
            ours.write_all(answer.as_bytes()).unwrap();
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{era}: {output:?}");
    }
}
