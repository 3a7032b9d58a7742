//! Everything that a client says, in each revision: against the schema of the specification where that is at hand, and never `null` where
//! there is nothing to say.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use polyport::client::{Connect, Wanted};
use polyport::model::{CompleteParams, Level, Object};
use polyport::{Client, Cx, Raw, Revision, Revisions, Server, Speaker, Wait};
use serde_json::{Value, json};

use crate::conforms::{Spec, whole};
use crate::questions::Name;
use crate::square::features::answering;

/// One that asks whatever it can.
fn server() -> Server {
    let mut server = whole();
    server = server.tool("form", "", |cx: Cx, (): ()| async move {
        let who: Name = cx.elicit("who", "Who?").await?;
        Ok(who.name)
    });
    server = server.tool("page", "", |cx: Cx, (): ()| async move {
        cx.elicit_url("pay", "Pay", "https://pay.example/1").await?;
        Ok("paid")
    });
    server = server.tool("model", "", |cx: Cx, (): ()| async move {
        Ok(cx.sample_text("m", "The capital of France?", 10).await?)
    });
    server = server.tool("roots", "", |cx: Cx, (): ()| async move {
        Ok(cx.roots("r").await?.len().to_string())
    });
    server.tool("slow", "", |cx: Cx, (): ()| async move {
        cx.cancelled().await;
        Ok("")
    })
}

/// What was said, in order.
type Said = Arc<Mutex<Vec<(Speaker, Value)>>>;

async fn connected(revision: Revision, said: &Said) -> Client {
    let said = said.clone();
    let server = server();
    // Whoever has this may change what it offers.
    let _handle = server.handle();
    let connect = Connect::service(server.into_service()).tap(move |who, text| {
        let message = serde_json::from_slice(text).unwrap();
        said.lock().unwrap().push((who, message));
    });
    let connect = answering(connect, Revisions::NONE.with(revision));
    connect.connect().await.unwrap()
}

/// All that there is to say.
async fn conversation(client: &Client, revision: Revision) {
    let nothing = Raw::from_static("{}");
    client.tools().await.unwrap();
    client.prompts().await.unwrap();
    client.resources().await.unwrap();
    client.resource_templates().await.unwrap();
    client.read("x://text").await.unwrap();
    let mut word = Object::new();
    word.insert("word", "w".to_owned());
    client.prompt("ask", word).await.unwrap();
    let completing = json!({"ref": {"type": "ref/prompt", "name": "ask"}, "argument": {"name": "word", "value": "w"}});
    let completing: CompleteParams = serde_json::from_value(completing).unwrap();
    client.complete(&completing).await.unwrap();
    client.ping().await.unwrap();
    for tool in ["list", "form", "page", "model", "roots"] {
        // Some of it does not exist in some revisions.
        let _ = client.call_tool(tool, &nothing).await;
    }
    let wait = Wait {
        progress: Some(Arc::new(|_| {})),
        logs: Some(Level::Info),
        total: Some(Duration::from_secs(60)),
        ..Wait::default()
    };
    let slow = client.request_raw("tools/call", "{\"name\":\"slow\"}", Some(wait));
    let given_up = tokio::time::timeout(Duration::from_millis(20), slow).await;
    assert!(given_up.is_err(), "{revision}");
    let wanted = Wanted {
        lists: true,
        resources: vec!["x://text".to_owned()],
        logs: Some(Level::Info),
        others: true,
        ..Wanted::default()
    };
    let mut changes = client.changes(wanted).await.unwrap();
    changes.add("x://blob".to_owned()).await.unwrap();
    changes.leave("x://text").await.unwrap();
    changes.end().await.unwrap();
}

/// The definition of a message of this method.
fn definition(method: &str) -> String {
    let name = match method {
        "logging/setLevel" => "SetLevelRequest",
        "completion/complete" => "CompleteRequest",
        "elicitation/create" => "ElicitResult",
        "sampling/createMessage" => "CreateMessageResult",
        "roots/list" => "ListRootsResult",
        "ping" => "PingRequest",
        "initialize" => "InitializeRequest",
        "server/discover" => "DiscoverRequest",
        "subscriptions/listen" => "SubscriptionsListenRequest",
        "resources/templates/list" => "ListResourceTemplatesRequest",
        "resources/subscribe" => "SubscribeRequest",
        "resources/unsubscribe" => "UnsubscribeRequest",
        "notifications/initialized" => "InitializedNotification",
        "notifications/cancelled" => "CancelledNotification",
        "notifications/roots/list_changed" => "RootsListChangedNotification",
        other => {
            let (of, verb) = other.split_once('/').unwrap();
            return match (of, verb) {
                (of, "list") => format!("List{}{}Request", &of[..1].to_uppercase(), &of[1..]),
                ("tools", "call") => "CallToolRequest".to_owned(),
                ("prompts", "get") => "GetPromptRequest".to_owned(),
                ("resources", "read") => "ReadResourceRequest".to_owned(),
                _ => panic!("{other} is new here"),
            };
        }
    };
    name.to_owned()
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(members) => members.values().any(has_null),
        _ => false,
    }
}

// req: BR-036, BR-131
#[tokio::test]
#[allow(clippy::print_stdout)]
async fn br_036_br_131_whatever_a_client_says_fits_the_schema_of_its_revision() {
    for revision in Revision::ALL {
        let said = Said::default();
        let client = connected(revision, &said).await;
        conversation(&client, revision).await;
        client.close().await;
        let spec = Spec::of(revision);
        if spec.is_none() {
            println!("not held to the schema: MCP_SPEC_DIR is not set");
        }
        let mut asked = HashMap::new();
        let mut heard = 0;
        for (who, message) in said.lock().unwrap().iter() {
            let method = message["method"].as_str().map(str::to_owned);
            if *who == Speaker::Server {
                asked.extend(method.map(|method| (message["id"].to_string(), method)));
                continue;
            }
            heard += 1;
            assert!(!has_null(message), "{revision} {message}");
            let Some(spec) = &spec else { continue };
            match method {
                Some(method) => spec.check_message(&definition(&method), message),
                None if message.get("error").is_some() => {
                    spec.check("JSONRPCErrorResponse", message);
                }
                None => {
                    let method = &asked[&message["id"].to_string()];
                    if method != "ping" {
                        spec.check(&definition(method), &message["result"]);
                    }
                }
            }
        }
        assert!(heard > 20, "{revision}: {heard}");
    }
}
