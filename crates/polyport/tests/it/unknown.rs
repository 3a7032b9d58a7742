//! Results of types that no client has agreed to: whoever asks in types is told, and whoever asks in text can ask.

use std::sync::{Arc, Mutex};

use polyport::client::{Called, Connect, Target};
use polyport::model::{CompleteParams, Object, Reference};
use polyport::{Client, ClientError, Era, Raw, Revision, Revisions};
use polyport_testkit::Web;
use polyport_testkit::web::{Asked, Reply};
use serde_json::{Value, json};

/// What a server answers that has everything, but for the type.
fn plain(method: &str) -> Value {
    let task = json!({"taskId": "t", "status": "completed", "createdAt": "2026-01-01T00:00:00Z",
        "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttlMs": null, "result": {"content": []}});
    match method {
        "tools/call" => json!({"content": []}),
        "prompts/get" => json!({"messages": []}),
        "resources/read" => json!({"contents": [], "ttlMs": 0, "cacheScope": "private"}),
        "completion/complete" => json!({"completion": {"values": []}}),
        "tasks/get" => task,
        _ => {
            json!({"tools": [], "prompts": [], "resources": [], "resourceTemplates": [], "ttlMs": 0, "cacheScope": "private",
            "supportedVersions": [Revision::LATEST.name()], "protocolVersion": Revision::LATEST_LEGACY.name(),
            "serverInfo": {"name": "s", "version": "1"},
            "capabilities": {"tools": {}, "resources": {}, "prompts": {}, "completions": {},
                "extensions": {"io.modelcontextprotocol/tasks": {}}}})
        }
    }
}

/// A server whose results say that they are of this type, once it is there.
async fn serves(kind: &Arc<Mutex<Option<Value>>>) -> Web {
    let kind = kind.clone();
    Web::serve(move |asked: &Asked| {
        let message = asked.message();
        let Some(method) = message["method"].as_str() else {
            return Reply::empty("405 Method Not Allowed");
        };
        if method.starts_with("notifications/") {
            return Reply::empty("202 Accepted");
        }
        let mut result = plain(method);
        match kind.lock().unwrap().clone() {
            Some(kind) => result["resultType"] = kind,
            None if method == "initialize" => {}
            None => result["resultType"] = json!("complete"),
        }
        Reply::json(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
    })
    .await
}

/// Everything that is asked in types.
async fn asked(client: &Client) -> Vec<(&'static str, Result<(), ClientError>)> {
    let nothing = Raw::from_static("{}");
    let complete = CompleteParams::new(Reference::prompt("p"), "a", "");
    let task = client.task("t");
    vec![
        ("tools", client.tools().await.map(drop)),
        ("prompts", client.prompts().await.map(drop)),
        ("resources", client.resources().await.map(drop)),
        ("templates", client.resource_templates().await.map(drop)),
        ("call", client.call_tool("t", &nothing).await.map(drop)),
        ("read", client.read("x:y").await.map(drop)),
        ("prompt", client.prompt("p", Object::new()).await.map(drop)),
        ("complete", client.complete(&complete).await.map(drop)),
        ("ping", client.ping().await),
        ("look", task.look().await.map(drop)),
        ("cancel", task.cancel().await),
        (
            "as a task",
            match client.call_tool_as_task("t", &nothing, None).await {
                Ok(Called::Done(_)) => Ok(()),
                Ok(other) => panic!("{other:?}"),
                Err(error) => Err(error),
            },
        ),
    ]
}

// req: M-RESULT
#[tokio::test]
async fn a_result_of_an_unknown_type_is_none() {
    let kind = Arc::new(Mutex::new(None));
    let web = serves(&kind).await;
    for (era, is_held) in [(Era::Modern, true), (Era::Legacy, false)] {
        *kind.lock().unwrap() = None;
        let connect = Connect::http(Target::new(&web.url("/mcp")).unwrap());
        let client = connect.speaks(Revisions::of(era)).connect().await.unwrap();
        for (said, shown) in [
            (json!("vendor/odd"), "\"vendor/odd\""),
            (json!("Complete"), "\"Complete\""),
            (json!(""), "\"\""),
            (json!(7), "7"),
            (Value::Null, "null"),
            (json!(["complete"]), "[\"complete\"]"),
        ] {
            *kind.lock().unwrap() = Some(said);
            for (what, result) in asked(&client).await {
                match result {
                    Err(ClientError::UnknownResult(kind)) if is_held => {
                        assert_eq!(kind, shown, "{what}");
                    }
                    // Tasks of the older era are another matter.
                    Ok(()) if !is_held => {}
                    Err(_) if !is_held && ["look", "cancel", "as a task"].contains(&what) => {}
                    // No such type is known to what the older era reads in types.
                    Err(ClientError::Unreadable(_)) if !is_held => {}
                    other => panic!("{era:?}: {what}, {shown}: {other:?}"),
                }
            }
            // As text it is what it is; whether it is a result can be asked.
            let raw = client.request_raw("tools/call", r#"{"name":"t"}"#, None);
            let raw = raw.await.unwrap();
            assert_eq!(client.check_result(&raw).is_err(), is_held, "{shown}");
        }
        // Elsewhere the word means nothing.
        *kind.lock().unwrap() = None;
        let within = Raw::from_static(r#"{"structuredContent":{"resultType":"odd"},"content":[]}"#);
        client.check_result(&within).unwrap();
        for (what, result) in asked(&client).await {
            let is_task = ["look", "cancel", "as a task"].contains(&what);
            assert!(result.is_ok() || is_task, "{era:?}: {what}: {result:?}");
        }
        client.close().await;
    }
}
