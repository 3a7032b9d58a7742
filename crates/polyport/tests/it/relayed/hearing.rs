//! What a server behind a relay says outside of calls, and tasks that pass through.

use std::time::Duration;

use polyport::client::{Called, Change, Connect, Wanted};
use polyport::{
    Client, ClientError, ClientFacts, Cx, Level, Raw, Resource, Revision, Revisions, Server,
    ServerHandle, Service, TaskMode, Tool,
};
use serde_json::{Value, json};

const PAIRS: [(Revision, Revision); 4] = [
    (Revision::V2025_11_25, Revision::V2025_11_25),
    (Revision::V2025_11_25, Revision::V2026_07_28),
    (Revision::V2026_07_28, Revision::V2025_11_25),
    (Revision::V2026_07_28, Revision::V2026_07_28),
];

async fn behind(theirs: Revision, ours: Revision) -> (Client, ServerHandle) {
    let slow = Tool::new("slow", "", |_cx, (): ()| async move {
        tokio::time::sleep(Duration::from_secs(3)).await;
        Ok("slept")
    });
    let server = Server::new("s", "1")
        .add_tool(slow.task(TaskMode::Optional))
        .tool("logs", "", |cx: Cx, (): ()| async move {
            cx.log(Level::Warning, "at work");
            Ok("logged")
        })
        .add_resource(Resource::new("s://a", "a", |_cx| async { Ok("a") }))
        .add_resource(Resource::new("s://b", "b", |_cx| async { Ok("b") }));
    let handle = server.handle();
    let facts = ClientFacts {
        info: None,
        capabilities: Raw::from_static(r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#),
    };
    let client = Connect::service(server.into_service())
        .speaks(Revisions::NONE.with(theirs))
        .on_behalf_of(facts);
    let relay = client.connect().await.unwrap().into_handler();
    let outer = Connect::service(Service::new(relay)).speaks(Revisions::NONE.with(ours));
    (outer.connect().await.unwrap(), handle)
}

async fn until(what: impl Fn() -> bool) {
    while !what() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

// req: S-RELAY-CHANGES
#[tokio::test(start_paused = true)]
async fn subscriptions_reach_the_server_behind_and_end_there() {
    for (ours, theirs) in PAIRS {
        let (client, handle) = behind(theirs, ours).await;
        let wanted = Wanted {
            resources: vec!["s://a".to_owned()],
            ..Wanted::default()
        };
        let mut changes = client.changes(wanted).await.unwrap();
        assert_eq!(changes.told().resources, ["s://a"], "{ours} to {theirs}");
        assert_eq!(handle.bus().watched(), 1, "{ours} to {theirs}");
        changes.add("s://b".to_owned()).await.unwrap();
        assert_eq!(handle.bus().watched(), 2, "{ours} to {theirs}");
        for uri in ["s://b", "s://a"] {
            handle.resource_updated(uri);
            let heard = changes.next().await.unwrap().unwrap();
            assert_eq!(heard.change, Change::Updated(uri.to_owned()));
        }
        // Nobody is subscribed to it: it may be a part of what somebody is.
        handle.bus().updated_or_part("s://a/part");
        let heard = changes.next().await.unwrap().unwrap();
        assert_eq!(heard.change, Change::Updated("s://a/part".to_owned()));
        changes.leave("s://a").await.unwrap();
        until(|| handle.bus().watched() == 1).await;
        drop(changes);
        client.close().await;
        until(|| handle.bus().watched() == 0).await;
    }
}

// req: S-RELAY-CHANGES
#[tokio::test(start_paused = true)]
async fn a_resource_that_is_not_there_is_not_promised() {
    for (ours, theirs) in PAIRS {
        let (client, _handle) = behind(theirs, ours).await;
        let wanted = Wanted {
            resources: vec!["s://nothing".to_owned()],
            ..Wanted::default()
        };
        match client.changes(wanted).await {
            Ok(changes) => assert!(changes.told().resources.is_empty(), "{ours} to {theirs}"),
            Err(ClientError::Refused(_)) => {}
            Err(other) => panic!("{ours} to {theirs}: {other:?}"),
        }
    }
}

// req: S-RELAY-CHANGES
#[tokio::test(start_paused = true)]
async fn logs_reach_who_asked_for_them() {
    for (ours, theirs) in PAIRS {
        let (client, _handle) = behind(theirs, ours).await;
        if ours == Revision::V2025_11_25 {
            let level = json!({"level": "info"}).to_string();
            client
                .request_raw("logging/setLevel", &level, None)
                .await
                .unwrap();
        }
        let wait = polyport::Wait {
            logs: Some(Level::Info),
            ..polyport::Wait::default()
        };
        let call = json!({"name": "logs"}).to_string();
        client
            .request_raw("tools/call", &call, Some(wait))
            .await
            .unwrap();
        let note = tokio::time::timeout(Duration::from_secs(5), client.notification()).await;
        let note = note
            .unwrap_or_else(|_| panic!("{ours} to {theirs}: no log"))
            .unwrap();
        assert!(
            note.as_str().contains("at work"),
            "{ours} to {theirs}: {note:?}"
        );
    }
}

// req: S-RELAY-TASKS
#[tokio::test(start_paused = true)]
async fn tasks_pass_in_the_form_that_both_have() {
    for (ours, theirs) in PAIRS {
        let (client, _handle) = behind(theirs, ours).await;
        let none = Raw::from_static("{}");
        let called = client.call_tool_as_task("slow", &none, None).await;
        if ours == theirs {
            let Ok(Called::Task(task)) = called else {
                panic!("{ours} to {theirs}: {called:?}");
            };
            let state = task.look().await.unwrap();
            assert!(!state.status.is_final());
            let result = task.result(None).await.unwrap();
            assert_eq!(result.content.len(), 1);
        } else {
            assert!(
                matches!(called, Err(ClientError::NotOffered("tasks"))),
                "{called:?}"
            );
            let result = client.call_tool("slow", &none).await.unwrap();
            assert_eq!(result.content.len(), 1, "{ours} to {theirs}");
        }
    }
}

/// Begins a task, and listens to it as the client's form has that.
async fn listened(client: &Client) -> (String, polyport::client::Changes<'_>) {
    let none = Raw::from_static("{}");
    let Called::Task(task) = client.call_tool_as_task("slow", &none, None).await.unwrap() else {
        panic!("no task");
    };
    let id = task.id().to_owned();
    let wanted = Wanted {
        tasks: vec![id.clone(), "nobodys".to_owned()],
        ..Wanted::default()
    };
    let changes = client.changes(wanted).await.unwrap();
    (id, changes)
}

// req: S-RELAY-TASK-NEWS
#[tokio::test(start_paused = true)]
async fn who_listens_to_a_task_hears_of_it_in_the_form_that_both_have() {
    for (ours, theirs) in PAIRS {
        let (client, handle) = behind(theirs, ours).await;
        if ours != theirs {
            continue;
        }
        let (id, mut changes) = listened(&client).await;
        let is_modern = ours == Revision::V2026_07_28;
        if is_modern {
            assert_eq!(changes.told().tasks, [&*id]);
            assert_eq!(handle.bus().tasks(), [&*id]);
        }
        let heard = changes.next().await.unwrap().unwrap();
        assert_eq!(heard.change, Change::Task(id.clone()), "{ours}");
        let said: Value = heard.message.unwrap().decode().unwrap();
        assert_eq!(said["params"]["status"], "completed", "{said}");
        if is_modern {
            assert_eq!(said["method"], "notifications/tasks");
            assert_eq!(said["params"]["result"]["content"][0]["text"], "slept");
            // Of our own subscription, and of none behind.
            let meta = said["params"]["_meta"].as_object().unwrap();
            assert_eq!(meta.len(), 1, "{said}");
        } else {
            assert_eq!(said["method"], "notifications/tasks/status");
        }
        drop(changes);
        until(|| handle.bus().tasks().is_empty()).await;
    }
}

// req: S-RELAY-TASK-NEWS
#[tokio::test(start_paused = true)]
async fn what_a_task_came_to_while_its_server_did_not_tell_is_told() {
    let modern = Revision::V2026_07_28;
    let (client, handle) = behind(modern, modern).await;
    let (id, mut changes) = listened(&client).await;
    // It is over before the stream is opened again.
    handle.bus().end();
    let heard = changes.next().await.unwrap().unwrap();
    assert_eq!(heard.change, Change::Task(id));
    let said: Value = heard.message.unwrap().decode().unwrap();
    assert_eq!(said["params"]["result"]["content"][0]["text"], "slept");
    assert!(said["params"].get("resultType").is_none(), "{said}");
}

// req: S-RELAY-TASK-NEWS
#[tokio::test(start_paused = true)]
async fn a_task_that_cannot_be_shared_is_not_promised() {
    for (ours, theirs) in PAIRS {
        if ours != Revision::V2026_07_28 {
            continue;
        }
        let (client, handle) = behind(theirs, ours).await;
        let filter = json!({"notifications": {"taskIds": ["nobodys"], "toolsListChanged": true}});
        let params = filter.to_string();
        let mut listening = Box::pin(client.request_raw("subscriptions/listen", &params, None));
        let said = tokio::select! {
            ended = &mut listening => panic!("{theirs}: {ended:?}"),
            note = client.notification() => note.unwrap(),
        };
        let said: Value = said.decode().unwrap();
        assert_eq!(said["method"], "notifications/subscriptions/acknowledged");
        let taken = &said["params"]["notifications"];
        assert!(taken.get("taskIds").is_none(), "{theirs}: {said}");
        assert_eq!(taken["toolsListChanged"], true);
        assert!(handle.bus().tasks().is_empty());
    }
}
