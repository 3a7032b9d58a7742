//! What a server behind a relay says to clients of older revisions, in every pair of revisions.

use std::sync::{Arc, Mutex};

use polyport::model::{Content, ResourceLink};
use polyport::{Cx, Json, Revision, Server, ToolError};
use serde_json::{Value, json};

use super::asking::behind;
use crate::questions::text;

fn server() -> Server {
    let link = || ResourceLink {
        uri: "x://y".to_owned(),
        name: "why".to_owned(),
        ..ResourceLink::default()
    };
    Server::new("newer", "1")
        .tool("blocks", "", move |_cx, (): ()| async move {
            Ok(vec![
                Content::audio("aQ==", "audio/wav"),
                Content::ResourceLink(link()),
            ])
        })
        .tool("list", "", |_cx, (): ()| async { Ok(Json(vec![1, 2])) })
        .tool("choose", "", |cx: Cx, (): ()| async move {
            let field =
                json!({"type": "string", "oneOf": [{"const": "x", "title": "X"}], "default": "x"});
            let form = json!({"type": "object", "properties": {"a": field}});
            let asked = cx.elicit_schema("which", "Which?", form).answer().await?;
            Ok::<_, ToolError>(format!("{asked:?}"))
        })
        .tool("several", "", |cx: Cx, (): ()| async move {
            let field = json!({"type": "array", "items": {"type": "string", "enum": ["x", "y"]}});
            let form = json!({"type": "object", "properties": {"a": field}});
            let asked = cx.elicit_schema("which", "Which?", form).answer().await?;
            Ok::<_, ToolError>(format!("{asked:?}"))
        })
}

/// Is one before the other?
fn is_before(one: Revision, other: Revision) -> bool {
    let at = |revision| Revision::ALL.iter().position(|it| *it == revision);
    at(one) < at(other)
}

// req: S-OLDER
#[tokio::test(start_paused = true)]
async fn results_are_said_in_words_that_the_client_has() {
    for theirs in Revision::ALL {
        for ours in Revision::ALL {
            let way = format!("{ours} to {theirs}");
            let peer = behind(server(), theirs, ours, &json!({})).await;
            let got = peer.call("blocks", &json!({})).await.unwrap();
            let oldest = if is_before(theirs, ours) {
                theirs
            } else {
                ours
            };
            let audio = if is_before(oldest, Revision::V2025_03_26) {
                json!({"type": "resource", "resource": {"uri": "polyport:audio/1", "mimeType": "audio/wav", "blob": "aQ=="}})
            } else {
                json!({"type": "audio", "data": "aQ==", "mimeType": "audio/wav"})
            };
            let link = if is_before(oldest, Revision::V2025_06_18) {
                json!({"type": "text", "text": "why: x://y"})
            } else {
                json!({"type": "resource_link", "uri": "x://y", "name": "why"})
            };
            assert_eq!(got["content"], json!([audio, link]), "{way}");
            let got = peer.call("list", &json!({})).await.unwrap();
            let has_lists = oldest == Revision::LATEST;
            let structured = got.get("structuredContent");
            assert_eq!(structured, has_lists.then_some(&json!([1, 2])), "{way}");
            let said: Value = serde_json::from_str(text(&got)).unwrap();
            assert_eq!(said, json!([1, 2]), "{way}");
            let list = peer.request("tools/list", &json!({})).await.unwrap();
            let tools = list["tools"].as_array().unwrap();
            let tool = tools.iter().find(|tool| tool["name"] == "list").unwrap();
            assert_eq!(tool.get("outputSchema").is_some(), has_lists, "{way}");
        }
    }
}

// req: S-OLDER
#[tokio::test(start_paused = true)]
async fn forms_are_asked_in_words_that_the_client_has() {
    let able = json!({"elicitation": {}});
    let asking = &Revision::ALL[2..];
    for theirs in asking {
        for ours in asking {
            let way = format!("{ours} to {theirs}");
            let peer = behind(server(), *theirs, *ours, &able).await;
            let asked = Arc::new(Mutex::new(String::new()));
            let heard = asked.clone();
            let peer = peer.answering(move |_, params: &Value| {
                let field = &params["requestedSchema"]["properties"]["a"];
                *heard.lock().unwrap() = field.to_string();
                let chosen = if field["type"] == "array" {
                    json!(["x"])
                } else {
                    json!("x")
                };
                json!({"action": "accept", "content": {"a": chosen}})
            });
            let got = peer.call("choose", &json!({})).await.unwrap();
            let is_new = !is_before(*ours, Revision::V2025_11_25)
                && !is_before(*theirs, Revision::V2025_11_25);
            assert_ne!(got.get("isError"), Some(&json!(true)), "{way}: {got}");
            let asked = asked.lock().unwrap().clone();
            assert_eq!(asked.contains("oneOf"), is_new, "{way}: {asked}");
            assert_eq!(asked.contains("enumNames"), !is_new, "{way}: {asked}");
            let got = peer.call("several", &json!({})).await;
            let said = format!("{got:?}");
            let is_done = got.is_ok_and(|got| got["isError"] != true);
            assert_eq!(is_done, is_new, "{way}: {said}");
            // Else the server knew it itself.
            if !is_new && !is_before(*theirs, Revision::V2025_11_25) {
                assert!(said.contains("several choices"), "{way}: {said}");
            }
        }
    }
}
