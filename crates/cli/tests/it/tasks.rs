//! Calls that go on as tasks, and how they end.

use serde_json::{Value, json};

use crate::asking::run;
use crate::doctoring::answering;
use crate::support::Place;

/// A server of the legacy era whose calls answer how they were made; so often the answer of a task is lost on the way. Its state says how
/// that is.
fn with_tasks(offered: &'static str, mut lost: usize, status: &'static str) -> u16 {
    answering(move |body| {
        let asked: Value = serde_json::from_slice(body).unwrap_or_default();
        let task = json!({"taskId": "t1", "status": "working", "ttl": null, "pollInterval": 1,
            "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z"});
        let text = |text| json!({"content": [{"type": "text", "text": text}]});
        let offered: Value = serde_json::from_str(offered).unwrap();
        let result = match asked["method"].as_str() {
            Some("initialize") => {
                json!({"protocolVersion": "2025-11-25", "capabilities": offered, "serverInfo": {"name": "s", "version": "1"}})
            }
            Some("tools/list") => {
                json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "optional"}}]})
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
#[test]
fn a_call_is_a_task_where_that_is_wanted() {
    const TASKS: &str = r#"{"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}}"#;
    const NONE: &str = r#"{"tools": {}}"#;
    let place = Place::new();
    for (offered, lost, flags, code, want) in [
        (TASKS, 0, &["--task"][..], 0, "as a task\n"),
        (TASKS, 2, &["--task"], 0, "as a task\n"),
        (TASKS, 0, &[], 0, "at once\n"),
        (NONE, 0, &["--task"], 5, ""),
    ] {
        let url = format!(
            "http://127.0.0.1:{}/mcp",
            with_tasks(offered, lost, "working")
        );
        let words = [&["call", "--era", "legacy"], flags, &[&url, "t"]].concat();
        let (got, out, err) = run(&place, &words);
        assert_eq!((got, &*out), (code, want), "{flags:?}: {err}");
        assert_eq!(err.contains("tasks"), code == 5, "{err}");
    }
    // One that the server has cancelled has not failed, nor has anybody here interrupted it.
    for form in ["--json", "--no-input"] {
        let url = format!("http://127.0.0.1:{}/mcp", with_tasks(TASKS, 0, "cancelled"));
        let words = ["call", "--era", "legacy", "--task", form, &url, "t"];
        let (code, out, err) = run(&place, &words);
        assert_eq!((code, &*out), (1, ""), "{err}");
        assert!(err.contains("the task has been cancelled"), "{err}");
    }
}
