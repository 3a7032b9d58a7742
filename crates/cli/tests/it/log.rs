//! What is logged of calls, and what is not.

use serde_json::{Value, json};

use crate::support::Place;

/// Everything on standard error as JSON, after some calls.
fn logged(words: &[&str]) -> Vec<Value> {
    let place = Place::new();
    let mut program = place.host(&[&["demo", "--log", "json"], words].concat());
    program.call("echo", json!({"text": "secret"}));
    program.call("fail", json!({"message": "secret"}));
    program.refused("tools/call", json!({"name": "none\u{1b}[2J"}));
    program.close_input();
    program.end();
    let said = program.stderr();
    assert!(!said.contains("secret"), "{said}");
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

#[test]
fn by_default_calls_are_not_logged() {
    for words in [&[][..], &["--log-level", "warn"]] {
        assert_eq!(logged(words).len(), 1);
    }
    assert!(about(&logged(&["--log-level", "info"]), "call begins").is_empty());
}
