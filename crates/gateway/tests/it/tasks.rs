//! Tasks of several servers reach whoever has them.

use std::time::Duration;

use polyport::client::{Called, Change, Connect, Wanted};
use polyport::testing::TestPeer;
use polyport::{
    Client, ClientError, Cx, Raw, Revision, Revisions, Server, Service, TaskMode, Tool,
};
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

async fn named(name: &str, service: &Service, revision: Revision) -> Client {
    let connect = Connect::service(service.clone()).named(name, "1");
    let client = connect
        .speaks(Revisions::NONE.with(revision))
        .connect()
        .await;
    client.unwrap()
}

async fn made(client: &Client, tool: &str) -> String {
    let none = Raw::from_static("{}");
    let Called::Task(task) = client.call_tool_as_task(tool, &none, None).await.unwrap() else {
        panic!("{tool}: no task");
    };
    task.id().to_owned()
}

fn tasks<const N: usize>(ids: [&str; N]) -> Wanted {
    Wanted {
        tasks: ids.map(str::to_owned).into(),
        ..Wanted::default()
    }
}

// req: S-GATE-TASK-NEWS
#[tokio::test(start_paused = true)]
async fn who_listens_to_its_tasks_hears_of_them_and_of_no_others() {
    for ours in ERAS {
        let servers = [with_task("a"), with_task("c")];
        let handles = servers.each_ref().map(Server::handle);
        let names = ["one", "two"].into_iter();
        let upstreams = servers.into_iter().zip(names);
        let gateway = Gateway::new(upstreams.map(|(server, name)| upstream(server, name, ours)));
        let service = Service::new(gateway);
        let (ann, bob) = (
            named("ann", &service, ours).await,
            named("bob", &service, ours).await,
        );
        let (first, second) = (made(&ann, "first").await, made(&ann, "second").await);
        let other = made(&bob, "second").await;
        let mut anns = ann
            .changes(tasks([&first, &second, &other, "nobodys"]))
            .await
            .unwrap();
        let mut bobs = bob.changes(tasks([&first, &second])).await.unwrap();
        let is_modern = ours == ERAS[1];
        if is_modern {
            assert_eq!(anns.told().tasks, [&*first, &*second]);
            assert_eq!(bobs.told().tasks, [""; 0]);
            assert_eq!(handles[0].bus().tasks(), [&*first]);
            assert_eq!(handles[1].bus().tasks(), [&*second]);
        }
        let mut heard = Vec::new();
        for _ in 0..2 {
            match anns.next().await.unwrap().unwrap().change {
                Change::Task(id) => heard.push(id),
                other => panic!("{ours}: {other:?}"),
            }
        }
        heard.sort_unstable();
        let mut both = [first, second];
        both.sort_unstable();
        assert_eq!(heard, both, "{ours}");
        let more = tokio::time::timeout(Duration::from_secs(60), bobs.next()).await;
        assert!(more.is_err(), "{ours}: {more:?}");
        drop((anns, bobs));
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(handles.iter().all(|handle| handle.bus().tasks().is_empty()));
    }
}

// req: S-GATE-TASK-NEWS
#[tokio::test(start_paused = true)]
async fn tasks_of_another_form_are_not_listened_to() {
    for (ours, theirs) in [(ERAS[0], ERAS[1]), (ERAS[1], ERAS[0])] {
        let gateway = Gateway::new([
            upstream(with_task("a"), "one", theirs),
            upstream(server("b"), "plain", theirs),
        ]);
        let client = named("ann", &Service::new(gateway), ours).await;
        let none = Raw::from_static("{}");
        let called = client.call_tool_as_task("first", &none, None);
        assert!(matches!(
            called.await,
            Err(ClientError::NotOffered("tasks"))
        ));
        let listens = client.changes(tasks(["x"])).await;
        match listens {
            Err(ClientError::NotOffered(_)) if ours == ERAS[1] => {}
            Ok(changes) if ours == ERAS[0] => assert_eq!(changes.told().tasks, [""; 0]),
            other => panic!("{ours} to {theirs}: {other:?}"),
        }
    }
}

// req: S-GATE-TASK-NEWS
#[tokio::test(start_paused = true)]
async fn who_listens_to_tasks_without_having_declared_them_is_told_so() {
    let modern = ERAS[1];
    let filter = json!({"notifications": {"taskIds": ["x"]}});
    for beside in [None, Some("b")] {
        let others = beside.map(|name| upstream(server(name), "plain", modern));
        let one = upstream(with_task("a"), "one", modern);
        let gateway = Gateway::new(others.into_iter().chain([one]));
        let client = crate::client(gateway, modern).await;
        let refused = client.request("subscriptions/listen", &filter).await;
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("-32021"), "{beside:?}: {refused}");
    }
}
