//! Tasks of several servers reach whoever has them.

use std::time::Duration;

use polyport::testing::TestPeer;
use polyport::{Cx, Server, TaskMode, Tool};
use polyport_gateway::Gateway;
use serde_json::{Value, json};

use crate::{ERAS, server, upstream};

/// A server with a tool that becomes a task.
fn with_task(name: &'static str) -> Server {
    let tool = if name == "a" { "first" } else { "second" };
    let slow = Tool::new(tool, "", move |_cx: Cx, (): ()| async move {
        tokio::time::sleep(Duration::from_secs(3)).await;
        Ok(name)
    });
    server(name).add_tool(slow.task(TaskMode::Optional))
}

async fn client() -> TestPeer {
    let gateway = Gateway::new([
        upstream(with_task("a"), "one", ERAS[0]),
        upstream(server("b"), "plain", ERAS[0]),
        upstream(with_task("c"), "two", ERAS[0]),
    ]);
    crate::client(gateway, ERAS[0]).await
}

async fn begin(client: &TestPeer, tool: &str) -> String {
    let call = json!({"name": tool, "task": {"ttl": 60_000}});
    let begun = client.request("tools/call", &call).await.unwrap();
    begun["task"]["taskId"].as_str().unwrap().to_owned()
}

async fn ask(client: &TestPeer, method: &str, id: &str) -> Result<Value, String> {
    let asked = client.request(method, &json!({"taskId": id})).await;
    asked.map_err(|error| error.to_string())
}

// req: S-GATE-TASKS
#[tokio::test(start_paused = true)]
async fn a_task_is_asked_for_where_it_is() {
    let client = client().await;
    let offers = client.opened().unwrap();
    assert!(offers["capabilities"]["tasks"]["requests"]["tools"]["call"].is_object());
    let (first, second) = (
        begin(&client, "first").await,
        begin(&client, "second").await,
    );
    assert_eq!(
        ask(&client, "tasks/get", &second).await.unwrap()["status"],
        "working"
    );
    for (id, want) in [(&first, "a"), (&second, "c")] {
        let result = ask(&client, "tasks/result", id).await.unwrap();
        assert_eq!(result["content"][0]["text"], want);
    }
    let unknown = ask(&client, "tasks/get", "nobodys").await.unwrap_err();
    assert!(unknown.contains("-32602"), "{unknown}");
    // All of all servers, page by page.
    let (mut cursor, mut ids) = (Value::Null, Vec::new());
    loop {
        let params = if cursor.is_null() {
            json!({})
        } else {
            json!({"cursor": cursor})
        };
        let page = client.request("tasks/list", &params).await.unwrap();
        let tasks = page["tasks"].as_array().unwrap().clone();
        ids.extend(
            tasks
                .iter()
                .map(|task| task["taskId"].as_str().unwrap().to_owned()),
        );
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(ids, [first, second]);
    let foreign = client.request("tasks/list", &json!({"cursor": "x"})).await;
    assert!(foreign.unwrap_err().to_string().contains("-32602"));
}

// req: S-GATE-TASKS
#[tokio::test(start_paused = true)]
async fn a_task_that_nobody_remembers_is_found() {
    let client = client().await;
    let mut ids = Vec::new();
    // More than are remembered, of which the first is forgotten here, and kept by its server.
    for n in 0..=1_000 {
        let ttl = if n == 0 { 36_000_000 } else { 10_000 };
        let call = json!({"name": "second", "task": {"ttl": ttl}});
        let begun = client.request("tools/call", &call).await.unwrap();
        ids.push(begun["task"]["taskId"].as_str().unwrap().to_owned());
        let ended = if n == 0 {
            "tasks/cancel"
        } else {
            "tasks/result"
        };
        ask(&client, ended, &ids[n]).await.unwrap();
    }
    let found = ask(&client, "tasks/get", &ids[0]).await.unwrap();
    assert_eq!(found["status"], "cancelled");
}

// req: S-GATE-TASKS
#[tokio::test]
async fn who_has_no_tasks_is_asked_for_none() {
    for ours in ERAS {
        let client = crate::both(ERAS[0], ours).await;
        let asked = client.request("tasks/get", &json!({"taskId": "x"})).await;
        assert!(asked.unwrap_err().to_string().contains("-32601"), "{ours}");
    }
}

// req: S-GATE-TASKS
#[tokio::test]
async fn who_has_not_declared_tasks_is_told_so() {
    let modern = ERAS[1];
    for beside in [None, Some("b")] {
        let others = beside.map(|name| upstream(server(name), "plain", modern));
        let one = upstream(with_task("a"), "one", modern);
        let gateway = Gateway::new(others.into_iter().chain([one]));
        let client = crate::client(gateway, modern).await;
        client.request("tools/list", &json!({})).await.unwrap();
        let refused = ask(&client, "tasks/get", "x").await.unwrap_err();
        assert!(refused.contains("-32021"), "{beside:?}: {refused}");
    }
}
