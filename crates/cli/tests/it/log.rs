//! What is logged of calls, and what is not.

use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::asking::run;
use crate::support::Place;

/// Everything on standard error as JSON, after some calls whose values are nowhere in it.
fn logged(words: &[&str]) -> Vec<Value> {
    let lines = logged_with(words);
    let said = Value::from(lines.clone()).to_string();
    assert!(!said.contains("secret"), "{said}");
    lines
}

fn logged_with(words: &[&str]) -> Vec<Value> {
    let place = Place::new();
    let mut program = place.host(&[&["demo", "--log", "json"], words].concat());
    program.call("echo", json!({"text": "secret"}));
    program.call("fail", json!({"message": "secret"}));
    program.refused("tools/call", json!({"name": "none\u{1b}[2J"}));
    program.close_input();
    program.end();
    let said = program.stderr();
    said.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")))
        .collect()
}

fn about(lines: &[Value], message: &str) -> Vec<Value> {
    let fields = lines.iter().map(|line| line["fields"].clone());
    fields
        .filter(|fields| fields["message"] == message && fields["method"] == "tools/call")
        .collect()
}

// req: D-24
#[test]
fn d_24_calls_are_logged_without_their_values() {
    let lines = logged(&["--log-level", "debug"]);
    assert!(
        lines[0]["fields"]["message"]
            .as_str()
            .unwrap()
            .contains("polyport")
    );
    let (begun, ended) = (about(&lines, "call begins"), about(&lines, "call ended"));
    assert_eq!((begun.len(), ended.len()), (3, 3), "{lines:?}");
    for (at, (name, outcome, code)) in [
        ("echo", "ok", Value::Null),
        ("fail", "tool error", Value::Null),
        ("none\u{fffd}[2J", "refused", json!(-32602)),
    ]
    .into_iter()
    .enumerate()
    {
        let call = &ended[at];
        assert_eq!(call["call"], begun[at]["call"]);
        assert_eq!(
            (&call["name"], &call["outcome"], &call["code"]),
            (&json!(name), &json!(outcome), &code)
        );
        assert_eq!(call["client"], "testkit/1");
        assert_eq!(call["transport"], "stdio");
        assert!(
            call["ms"].is_number() && call["bytes_in"].is_number() && call["bytes_out"].is_number()
        );
    }
}

// req: D-24
#[test]
fn d_24_values_of_fields_that_the_operator_names() {
    for (fields, shown) in [
        ("text", [json!("{\"text\":\"secret\"}"), Value::Null]),
        (
            "fail.message",
            [Value::Null, json!("{\"message\":\"secret\"}")],
        ),
        ("other,echo.message", [Value::Null, Value::Null]),
    ] {
        let lines = logged_with(&["--log-level", "info", "--log-params", fields]);
        let ended = about(&lines, "call ended");
        assert_eq!(
            [&ended[0]["params"], &ended[1]["params"]],
            [&shown[0], &shown[1]]
        );
        let hash = ended[0]["arguments"].as_str().unwrap();
        assert!(hash.len() == 16 && ended[0]["id"].is_string());
    }
    // Where nobody would read them, that is said.
    let lines = logged_with(&["--log-params", "text"]);
    assert_eq!(lines.len(), 2, "{lines:?}");
    let said = lines[0]["fields"]["message"].as_str().unwrap();
    assert!(said.contains("--log-params does nothing"), "{said}");
}

#[test]
fn by_default_calls_are_not_logged() {
    for words in [&[][..], &["--log-level", "warn"]] {
        assert_eq!(logged(words).len(), 1);
    }
    assert!(about(&logged(&["--log-level", "info"]), "call begins").is_empty());
}

// req: D-24
#[test]
fn d_24_each_transport_has_its_name() {
    let place = Place::new();
    let words = [
        "demo",
        "--log",
        "json",
        "--log-level",
        "info",
        "--listen",
        "0",
    ];
    let mut program = place.listener(&words, Stdio::null());
    let said = program.until_said("/mcp");
    let (_, rest) = said.split_once("http://").unwrap();
    let host = rest.split('/').next().unwrap();
    let addresses = [
        format!("http://{host}/mcp"),
        format!("http://{host}/sse"),
        format!("ws://{host}/ws"),
    ];
    for address in &addresses {
        let (code, _, err) = run(
            &place,
            &["call", "--era", "legacy", address, "echo", "text=hi"],
        );
        assert_eq!(code, 0, "{err}");
    }
    program.signal(Signal::TERM);
    program.end();
    let said = program.stderr();
    let lines: Vec<Value> = said
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let ended = about(&lines, "call ended");
    let transports: Vec<&str> = ended
        .iter()
        .map(|call| call["transport"].as_str().unwrap())
        .collect();
    assert_eq!(transports, ["http", "sse", "websocket"]);
}
