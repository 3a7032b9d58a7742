//! Servers of which some lists fail: the others are shown, the failure is named, and the exit code is its own.

use polyport::Revision;
use serde_json::{Value, json};

use crate::asking::run;
use crate::doctoring::answering;
use crate::support::Place;

const LISTS: [(&str, &str, &str); 4] = [
    ("tools/list", "tools", "a-tool"),
    ("resources/list", "resources", "x://resource"),
    (
        "resources/templates/list",
        "resourceTemplates",
        "x://{template}",
    ),
    ("prompts/list", "prompts", "a-prompt"),
];

/// How a list fails, what is said of that, and the exit code.
const WAYS: [(&str, &str, i32); 4] = [
    ("refuses", "the server refused: ", 6),
    ("fails", "HTTP status 500", 6),
    ("babbles", "cannot be read", 6),
    ("asks who it is", "HTTP status 401", 3),
];

/// A server whose lists of these methods fail that way.
fn failing(methods: &[&'static str], way: &'static str) -> u16 {
    let methods = methods.to_vec();
    answering(move |body| {
        let asked: Value = serde_json::from_slice(body).unwrap_or_default();
        let (id, method) = (&asked["id"], asked["method"].as_str().unwrap_or_default());
        let result = json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private",
            "supportedVersions": [Revision::LATEST.name()], "capabilities": {"tools": {}, "prompts": {}, "resources": {}},
            "tools": [{"name": "a-tool", "inputSchema": {"type": "object"}}], "prompts": [{"name": "a-prompt"}],
            "resources": [{"uri": "x://resource", "name": "r"}], "resourceTemplates": [{"uriTemplate": "x://{template}", "name": "t"}]});
        let (status, message) = match way {
            _ if !methods.contains(&method) => (200, json!({"id": id, "result": result})),
            "refuses" => (
                200,
                json!({"id": id, "error": {"code": -32603, "message": "no"}}),
            ),
            "has none" => (
                200,
                json!({"id": id, "error": {"code": -32601, "message": "no"}}),
            ),
            "babbles" => (
                200,
                json!({"id": id, "result": {"resultType": "complete", "tools": 1, "resources": 1, "prompts": 1, "resourceTemplates": 1}}),
            ),
            "fails" => (500, json!({})),
            _ => (401, json!({})),
        };
        let mut message = message;
        message["jsonrpc"] = json!("2.0");
        let text = message.to_string();
        format!(
            "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
            text.len()
        )
    })
}

// req: S-PARTIAL
#[test]
fn lists_that_fail_are_named_and_the_others_shown() {
    let place = Place::new();
    for (way, why, want) in WAYS {
        for (method, member, _) in LISTS {
            let server = format!(":{}", failing(&[method], way));
            let (code, out, err) = run(&place, &["ls", "--era", "modern", &server]);
            assert_eq!(code, want, "{method} {way}: {err}");
            for (_, of, name) in LISTS {
                assert_eq!(out.contains(name), of != member, "{method} {way}: {out}");
            }
            let named = format!("warning: {method} of {server}: ");
            assert!(err.starts_with(&named) && err.contains(why), "{err}");
            let (code, out, err) = run(&place, &["ls", "--era", "modern", "--json", &server]);
            assert_eq!(code, want, "{method} {way}: {err}");
            let all: Value = serde_json::from_str(&out).unwrap();
            for (_, of, _) in LISTS {
                assert_eq!(all.get(of).is_some(), of != member, "{method} {way}: {out}");
            }
            let said: Value = serde_json::from_str(&err).unwrap();
            let message = said["error"]["message"].as_str().unwrap();
            assert!(
                message.starts_with(&format!("{method} of {server}: ")),
                "{message}"
            );
        }
    }
}

// req: S-PARTIAL
#[test]
fn where_no_list_is_answered_that_is_all() {
    let place = Place::new();
    let all = LISTS.map(|(method, ..)| method);
    for option in ["--no-input", "--json"] {
        let server = format!(":{}", failing(&all, "refuses"));
        let (code, out, err) = run(&place, &["ls", "--era", "modern", option, &server]);
        assert_eq!((code, &*out), (6, ""), "{err}");
        assert!(
            err.contains("tools/list of ") && !err.contains("warning"),
            "{err}"
        );
    }
    // Two of them are both named.
    let server = format!(":{}", failing(&all[..2], "refuses"));
    let (_, _, err) = run(&place, &["ls", "--era", "modern", &server]);
    let named = err.lines().filter(|line| line.starts_with("warning: "));
    assert_eq!(named.count(), 2, "{err}");
    // To have never heard of templates is no failure.
    let server = format!(":{}", failing(&[all[2]], "has none"));
    let (code, out, err) = run(&place, &["ls", "--era", "modern", &server]);
    assert_eq!((code, &*err), (0, ""), "{out}");
}

// req: S-PARTIAL
#[test]
fn what_stands_in_another_list_is_shown() {
    let place = Place::new();
    for (method, _, name) in LISTS {
        for (_, _, other) in LISTS {
            let server = format!(":{}", failing(&[method], "refuses"));
            let (code, out, err) = run(&place, &["show", "--era", "modern", &server, other]);
            assert_eq!(code == 0, name != other, "{method} {other}: {err}");
            assert_eq!(
                out.contains(other),
                name != other,
                "{method} {other}: {out}"
            );
            assert!(
                name != other || err.contains(&format!("error: {method} of ")),
                "{err}"
            );
        }
    }
}
