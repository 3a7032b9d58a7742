//! Calls that go on as tasks, and how they end.

use serde_json::{Value, json};

use crate::asking::run;
use crate::doctoring::answering;
use crate::support::Place;

/// A server of the legacy era whose calls answer how they were made; so often the answer of a task is lost on the way. Its state says how
/// that is.
fn with_tasks(
    offered: &'static str,
    support: &'static str,
    mut lost: usize,
    status: &'static str,
) -> u16 {
    answering(move |body| {
        let asked: Value = serde_json::from_slice(body).unwrap_or_default();
        let task = json!({"taskId": "t1", "status": "working", "ttl": null, "pollInterval": 1,
            "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z"});
        let text = |text| json!({"content": [{"type": "text", "text": text}]});
        let offered: Value = serde_json::from_str(offered).unwrap();
        let execution: Value = serde_json::from_str(support).unwrap();
        let result = match asked["method"].as_str() {
            Some("initialize") => {
                json!({"protocolVersion": "2025-11-25", "capabilities": offered, "serverInfo": {"name": "s", "version": "1"}})
            }
            Some("tools/list") => {
                json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}, "execution": execution}]})
            }
            Some("tools/call") if asked["params"]["task"].is_object() => json!({ "task": task }),
            Some("tools/call") => text("at once"),
            Some("tasks/result") if lost > 0 => {
                lost -= 1;
                return "HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                    .to_owned();
            }
            Some("tasks/result") if status == "cancelled" => Value::Null,
            Some("tasks/result") if asked["params"]["taskId"] == "t1" => text("as a task"),
            Some("tasks/get") => {
                let mut task = task;
                task["status"] = json!(status);
                task
            }
            _ => {
                return "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                    .to_owned();
            }
        };
        let text = match result {
            Value::Null => {
                json!({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32602, "message": "no result"}})
            }
            result => json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}),
        };
        let text = text.to_string();
        let length = text.len();
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
        )
    })
}

// req: S-SHELL
// req: T-ALLOWED
#[test]
fn a_call_is_a_task_where_that_is_wanted() {
    const TASKS: &str = r#"{"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}}"#;
    const NONE: &str = r#"{"tools": {}}"#;
    let place = Place::new();
    const MAY: &str = r#"{"taskSupport": "optional"}"#;
    const MAY_NOT: &str = r#"{"taskSupport": "forbidden"}"#;
    for (offered, support, lost, flags, code, want) in [
        (TASKS, MAY, 0, &["--task"][..], 0, "as a task\n"),
        (TASKS, MAY, 2, &["--task"], 0, "as a task\n"),
        (TASKS, MAY, 0, &[], 0, "at once\n"),
        (NONE, MAY, 0, &["--task"], 5, ""),
        (TASKS, MAY_NOT, 0, &["--task"], 5, ""),
        (TASKS, "{}", 0, &["--task"], 5, ""),
        (TASKS, "{}", 0, &[], 0, "at once\n"),
        // What its list says is not held to, and what cannot be sent at all is not sent.
        (
            TASKS,
            MAY_NOT,
            0,
            &["--task", "--unchecked"],
            0,
            "as a task\n",
        ),
        (TASKS, "{}", 0, &["--task", "--unchecked"], 0, "as a task\n"),
        (NONE, MAY, 0, &["--task", "--unchecked"], 5, ""),
    ] {
        let port = with_tasks(offered, support, lost, "working");
        let url = format!("http://127.0.0.1:{port}/mcp");
        let words = [
            &["call", "--frames", "--era", "legacy"],
            flags,
            &[&url, "t"],
        ]
        .concat();
        let (got, out, err) = run(&place, &words);
        assert_eq!((got, &*out), (code, want), "{flags:?}: {err}");
        let is_refused = err.contains("t cannot be called as a task: the server does not offer")
            && err.contains("hint: leave out --task")
            && !err.contains("\"task\":{");
        assert_eq!(is_refused, code == 5, "{err}");
    }
    // One that the server has cancelled has not failed, nor has anybody here interrupted it.
    for form in ["--json", "--no-input"] {
        let url = format!(
            "http://127.0.0.1:{}/mcp",
            with_tasks(TASKS, MAY, 0, "cancelled")
        );
        let words = ["call", "--era", "legacy", "--task", form, &url, "t"];
        let (code, out, err) = run(&place, &words);
        assert_eq!((code, &*out), (1, ""), "{err}");
        assert!(err.contains("the task has been cancelled"), "{err}");
    }
}
