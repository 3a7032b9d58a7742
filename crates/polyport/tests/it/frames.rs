//! What a server says of its own accord, as it stands on the line: questions, changes and ends, against the schema of each revision.

use std::collections::BTreeSet;
use std::time::Duration;

use polyport::{Cx, Kind, Prompt, Resource, Revision, Server, Tool};
use polyport_testkit::Script;
use serde_json::{Value, json};

use crate::conforms::Spec;
use crate::questions::{Name, answer};

fn server() -> Server {
    Server::new("s", "1")
        .offers(Kind::Prompts)
        .tool("form", "", |cx: Cx, (): ()| async move {
            let who: Name = cx.elicit("who", "Who?").await?;
            Ok(who.name)
        })
        .tool("page", "", |cx: Cx, (): ()| async move {
            cx.elicit_url("pay", "Pay", "https://pay.example/1").await?;
            cx.elicitation_complete("pay");
            Ok("paid")
        })
        .tool("model", "", |cx: Cx, (): ()| async move {
            Ok(cx.sample_text("m", "The capital of France?", 10).await?)
        })
        .tool("roots", "", |cx: Cx, (): ()| async move {
            Ok(cx.roots("r").await?.len().to_string())
        })
        .tool("impatient", "", |cx: Cx, (): ()| async move {
            let asked = tokio::time::timeout(Duration::from_secs(5), cx.roots("r")).await;
            Ok(asked.is_ok().to_string())
        })
        .resource("a:/1", "a", |_cx| async { Ok("a") })
}

/// What the revision lets a client declare.
fn capabilities(revision: Revision) -> Value {
    match revision {
        Revision::V2024_11_05 | Revision::V2025_03_26 => json!({"roots": {}, "sampling": {}}),
        Revision::V2025_06_18 => json!({"roots": {}, "sampling": {}, "elicitation": {}}),
        _ => {
            json!({"roots": {}, "sampling": {"tools": {}}, "elicitation": {"form": {}, "url": {}}})
        }
    }
}

fn definition(method: &str) -> &'static str {
    match method {
        "elicitation/create" => "ElicitRequest",
        "sampling/createMessage" => "CreateMessageRequest",
        "roots/list" => "ListRootsRequest",
        "notifications/cancelled" => "CancelledNotification",
        "notifications/elicitation/complete" => "ElicitationCompleteNotification",
        "notifications/tools/list_changed" => "ToolListChangedNotification",
        "notifications/prompts/list_changed" => "PromptListChangedNotification",
        "notifications/resources/list_changed" => "ResourceListChangedNotification",
        "notifications/resources/updated" => "ResourceUpdatedNotification",
        "notifications/subscriptions/acknowledged" => "SubscriptionsAcknowledgedNotification",
        other => panic!("{other}"),
    }
}

struct Line {
    peer: Script,
    spec: Spec,
    revision: Revision,
    seen: BTreeSet<&'static str>,
}

impl Line {
    fn meta(&self) -> Value {
        if self.revision != Revision::LATEST {
            return json!({});
        }
        json!({
            "io.modelcontextprotocol/protocolVersion": self.revision.name(),
            "io.modelcontextprotocol/clientCapabilities": capabilities(self.revision),
        })
    }

    async fn say(&mut self, id: u32, method: &str, mut params: Value) {
        params["_meta"] = self.meta();
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.peer.send(&message.to_string()).await;
    }

    /// The next message; what has a method is looked at.
    async fn next(&mut self) -> Value {
        let got = self.peer.receive().await.unwrap();
        assert_eq!(got["jsonrpc"], "2.0");
        if let Some(method) = got["method"].as_str() {
            let definition = definition(method);
            self.spec.check_message(definition, &got);
            self.seen.insert(definition);
        }
        got
    }

    async fn handshake(&mut self) {
        if self.revision == Revision::LATEST {
            return;
        }
        let hello = json!({
            "protocolVersion": self.revision.name(),
            "capabilities": capabilities(self.revision),
            "clientInfo": {"name": "t", "version": "1"},
        });
        self.say(0, "initialize", hello).await;
        let opened = self.next().await;
        assert_eq!(opened["result"]["protocolVersion"], self.revision.name());
        let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        self.peer.send(ready).await;
    }

    /// Calls a tool that asks, and answers where the question is a request.
    async fn ask(&mut self, tool: &str) {
        self.say(1, "tools/call", json!({"name": tool})).await;
        loop {
            let got = self.next().await;
            let (method, id) = (got["method"].as_str(), got["id"].as_u64());
            match (method, id) {
                (Some(method), Some(id)) if tool != "impatient" => {
                    let result = answer(method, &got["params"]);
                    let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
                    self.peer.send(&answer.to_string()).await;
                }
                (Some(_), _) => {}
                (None, _) => return self.end(&got["result"]),
            }
        }
    }

    fn end(&mut self, result: &Value) {
        if result["resultType"] == "input_required" {
            self.spec.check("InputRequiredResult", result);
            for question in result["inputRequests"].as_object().unwrap().values() {
                let definition = definition(question["method"].as_str().unwrap());
                self.spec.check(definition, question);
                self.seen.insert(definition);
            }
            self.seen.insert("InputRequiredResult");
        } else {
            self.spec.check("CallToolResult", result);
        }
    }
}

// req: BR-131
#[tokio::test(start_paused = true)]
#[allow(clippy::print_stdout)]
async fn br_131_whatever_is_said_unasked_fits_the_schema_of_its_revision() {
    for revision in Revision::ALL {
        let Some(spec) = Spec::of(revision) else {
            println!("skipped: MCP_SPEC_DIR is not set");
            return;
        };
        let modern = revision == Revision::LATEST;
        let server = server();
        let handle = server.handle();
        let mut line = Line {
            peer: Script::connect(server.into_service()),
            spec,
            revision,
            seen: BTreeSet::new(),
        };
        line.handshake().await;
        for tool in ["form", "page", "model", "roots", "impatient"] {
            line.ask(tool).await;
        }
        if modern {
            let all = json!({"notifications": {"toolsListChanged": true, "promptsListChanged": true,
                "resourcesListChanged": true, "resourceSubscriptions": ["a:/1"]}});
            line.say(2, "subscriptions/listen", all).await;
        } else {
            line.say(2, "resources/subscribe", json!({"uri": "a:/1"}))
                .await;
        }
        line.next().await;
        handle
            .add_tool(Tool::new("t", "", |_cx, (): ()| async { Ok("") }))
            .unwrap();
        handle
            .add_prompt(Prompt::new("p", "", |_cx, (): ()| async { Ok("") }))
            .unwrap();
        handle
            .add_resource(Resource::new("a:/2", "b", |_cx| async { Ok("") }))
            .unwrap();
        handle.resource_updated("a:/1");
        for _ in 0..4 {
            line.next().await;
        }
        if modern {
            line.peer.stop();
            let ended = line.next().await;
            line.spec
                .check("SubscriptionsListenResult", &ended["result"]);
            line.next().await;
        }
        let mut want = BTreeSet::from([
            "CancelledNotification",
            "CreateMessageRequest",
            "ListRootsRequest",
            "PromptListChangedNotification",
            "ResourceListChangedNotification",
            "ResourceUpdatedNotification",
            "ToolListChangedNotification",
        ]);
        if capabilities(revision).get("elicitation").is_some() {
            want.insert("ElicitRequest");
        }
        if revision == Revision::V2025_11_25 {
            want.insert("ElicitationCompleteNotification");
        }
        if modern {
            want.extend([
                "InputRequiredResult",
                "SubscriptionsAcknowledgedNotification",
            ]);
        }
        assert_eq!(line.seen, want, "{revision}");
    }
}
