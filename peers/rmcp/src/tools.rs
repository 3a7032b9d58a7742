//! The tools.

use std::sync::atomic::Ordering;
use std::time::Duration;

use rmcp::handler::server::tool::InputResponses;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResponse, CallToolResult, InputRequiredResult};
use rmcp::service::SubscriptionSink;
use rmcp::{ErrorData, Json, schemars, tool, tool_router};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{Answer, Context, Demo, is_modern, made};

pub(crate) const LOGO: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const SOUND: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

#[derive(Deserialize, JsonSchema, Serialize)]
struct Echo {
    text: String,
    #[serde(default = "once")]
    times: u8,
    tags: Option<Vec<String>>,
    nested: Option<Nested>,
}

#[derive(Deserialize, JsonSchema, Serialize)]
struct Nested {
    deep: bool,
}

fn once() -> u8 {
    1
}

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: f64,
    b: f64,
}

#[derive(JsonSchema, Serialize)]
struct Sum {
    sum: f64,
}

#[derive(Deserialize, JsonSchema)]
struct Message {
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct Count {
    to: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Haiku {
    about: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Seconds {
    pub(crate) seconds: f64,
}

#[derive(Deserialize, JsonSchema)]
struct Door {
    open: bool,
}

pub(crate) fn said(texts: &[&str]) -> CallToolResult {
    let content: Vec<Value> = texts
        .iter()
        .map(|text| json!({"type": "text", "text": text}))
        .collect();
    made(json!({"content": content}))
}

pub(crate) fn failed(text: &str) -> CallToolResult {
    made(json!({"content": [{"type": "text", "text": text}], "isError": true}))
}

fn broken(error: impl ToString) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

/// The client's answer: asked for in the middle of a legacy call, or by the result of a modern one, which is then called again.
async fn ask(
    context: &Context,
    answers: InputResponses,
    method: &str,
    params: Value,
) -> Answer<Result<Value, CallToolResponse>> {
    if is_modern(context) {
        let given = answers.0.as_ref().and_then(|answers| answers.get("it"));
        if let Some(answer) = given {
            return Ok(Ok(json!(answer)));
        }
        let question = json!({"method": method, "params": params});
        let needed = json!({"resultType": "input_required", "inputRequests": {"it": question}});
        let needed: InputRequiredResult = made(needed);
        return Ok(Err(needed.into()));
    }
    let peer = &context.peer;
    let answer = match method {
        "elicitation/create" => peer
            .create_elicitation(made(params))
            .await
            .map(|answer| json!(answer)),
        "sampling/createMessage" => peer
            .create_message(made(params))
            .await
            .map(|answer| json!(answer)),
        _ => peer.list_roots().await.map(|answer| json!(answer)),
    };
    Ok(Ok(answer.map_err(broken)?))
}

/// What is asked of who orders.
pub(crate) fn form() -> Value {
    let properties = json!({
        "drink": {"type": "string", "enum": ["coffee", "tea"]},
        "cups": {"type": "integer", "minimum": 1, "maximum": 12},
    });
    let schema = json!({"type": "object", "properties": properties, "required": ["drink", "cups"]});
    json!({"mode": "form", "message": "What may it be?", "requestedSchema": schema})
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[tool_router(router = tools, vis = "pub(crate)")]
impl Demo {
    #[tool(description = "Says what it is given")]
    async fn echo(&self, Parameters(given): Parameters<Echo>) -> CallToolResult {
        said(&[
            &given.text.repeat(given.times.into()),
            &json!(given).to_string(),
        ])
    }

    #[tool(description = "Adds")]
    async fn add(&self, Parameters(Add { a, b }): Parameters<Add>) -> Json<Sum> {
        Json(Sum { sum: a + b })
    }

    #[tool(description = "Fails")]
    async fn fail(&self, Parameters(given): Parameters<Message>) -> CallToolResult {
        failed(&given.message)
    }

    #[tool(description = "Shows all kinds of content")]
    async fn media(&self) -> CallToolResult {
        made(json!({"content": [
            {"type": "image", "mimeType": "image/png", "data": LOGO},
            {"type": "audio", "mimeType": "audio/wav", "data": SOUND},
            {"type": "resource_link", "uri": "demo://greeting", "name": "greeting"},
            {"type": "resource", "resource": {"uri": "demo://greeting", "mimeType": "text/plain", "text": "Hello!"}},
        ]}))
    }

    #[tool(description = "Counts, and says so")]
    async fn count(
        &self,
        Parameters(Count { to }): Parameters<Count>,
        context: Context,
    ) -> Answer<CallToolResult> {
        for at in 1..=to {
            let message = format!("at {at}");
            if let Some(token) = context.meta.get_progress_token() {
                let told = json!({"progressToken": token, "progress": at, "total": to, "message": message});
                context
                    .peer
                    .notify_progress(made(told))
                    .await
                    .map_err(broken)?;
            }
            let log = json!({"level": "info", "logger": "count", "data": message});
            // A modern client that has asked for no log gets none.
            let _ = context.peer.notify_logging_message(made(log)).await;
            sleep(Duration::from_millis(50)).await;
        }
        Ok(said(&[&format!("counted to {to}")]))
    }

    #[tool(description = "Asks for a drink")]
    async fn order(&self, answers: InputResponses, context: Context) -> Answer<CallToolResponse> {
        Ok(
            match ask(&context, answers, "elicitation/create", form()).await? {
                Err(needed) => needed,
                Ok(answer) if answer["action"] == "accept" => {
                    let (cups, drink) = (
                        &answer["content"]["cups"],
                        text(&answer["content"]["drink"]),
                    );
                    said(&[&format!("{cups} x {drink}")]).into()
                }
                Ok(answer) => failed(&format!("the user said {}", text(&answer["action"]))).into(),
            },
        )
    }

    #[tool(description = "Sends the user to a page")]
    async fn visit(&self, answers: InputResponses, context: Context) -> Answer<CallToolResponse> {
        let mut page =
            json!({"mode": "url", "message": "Go there?", "url": "https://example.com/"});
        if !is_modern(&context) {
            page["elicitationId"] = json!("visit");
        }
        Ok(
            match ask(&context, answers, "elicitation/create", page).await? {
                Err(needed) => needed,
                Ok(answer) => said(&[text(&answer["action"])]).into(),
            },
        )
    }

    #[tool(description = "Has the client's model write")]
    async fn haiku(
        &self,
        Parameters(Haiku { about }): Parameters<Haiku>,
        answers: InputResponses,
        context: Context,
    ) -> Answer<CallToolResponse> {
        let content = json!({"type": "text", "text": format!("Write a haiku about {about}.")});
        let asked = json!({"messages": [{"role": "user", "content": content}], "maxTokens": 100});
        Ok(
            match ask(&context, answers, "sampling/createMessage", asked).await? {
                Err(needed) => needed,
                Ok(answer) => said(&[text(&answer["content"]["text"])]).into(),
            },
        )
    }

    #[tool(description = "Names the client's folders")]
    async fn folders(&self, answers: InputResponses, context: Context) -> Answer<CallToolResponse> {
        Ok(
            match ask(&context, answers, "roots/list", json!({})).await? {
                Err(needed) => needed,
                Ok(answer) => {
                    let roots = answer["roots"].as_array().cloned().unwrap_or_default();
                    let uris: Vec<_> = roots.iter().map(|root| text(&root["uri"])).collect();
                    said(&[&uris.join("\n")]).into()
                }
            },
        )
    }

    #[tool(description = "Waits")]
    async fn wait(
        &self,
        Parameters(Seconds { seconds }): Parameters<Seconds>,
        context: Context,
    ) -> CallToolResult {
        tokio::select! {
            () = context.ct.cancelled() => {
                self.shared.cancelled.fetch_add(1, Ordering::Relaxed);
                failed("cancelled")
            }
            () = sleep(Duration::from_secs_f64(seconds)) => said(&["waited"]),
        }
    }

    #[tool(description = "Says how many calls have been cancelled")]
    async fn cancelled(&self) -> CallToolResult {
        said(&[&self.shared.cancelled.load(Ordering::Relaxed).to_string()])
    }

    #[tool(description = "Is there while the door is open")]
    async fn treasure(&self) -> CallToolResult {
        said(&["gold"])
    }

    #[tool(description = "Opens and shuts the door")]
    async fn door(
        &self,
        Parameters(Door { open }): Parameters<Door>,
        context: Context,
    ) -> Answer<CallToolResult> {
        self.shared.is_open.store(open, Ordering::Relaxed);
        if is_modern(&context) {
            for sink in self.listening().await {
                // Who listens to something else hears nothing of it.
                let _ = sink.notify_tool_list_changed().await;
            }
        } else {
            context
                .peer
                .notify_tool_list_changed()
                .await
                .map_err(broken)?;
        }
        Ok(said(&[if open { "open" } else { "shut" }]))
    }

    #[tool(description = "Changes the counter")]
    async fn tick(&self, context: Context) -> Answer<CallToolResult> {
        let uri = "demo://counter";
        let is_subscribed = self
            .subscribed
            .lock()
            .expect("nobody panics under it")
            .contains(uri);
        if is_modern(&context) {
            for sink in self.listening().await {
                let _ = sink.notify_resource_updated(uri).await;
            }
        } else if is_subscribed {
            context
                .peer
                .notify_resource_updated(made(json!({"uri": uri})))
                .await
                .map_err(broken)?;
        }
        Ok(said(&["ticked"]))
    }

    #[tool(description = "Ends the server")]
    async fn die(&self) -> CallToolResult {
        eprintln!("it dies now");
        sleep(Duration::from_millis(20)).await;
        std::process::exit(3)
    }

    /// Who listens. The SDK tells a client that its stream is open before it calls `listen`: a moment is left for that.
    async fn listening(&self) -> Vec<SubscriptionSink> {
        for _ in 0..20 {
            let all = self
                .shared
                .listening
                .lock()
                .expect("nobody panics under it")
                .clone();
            if !all.is_empty() {
                return all;
            }
            sleep(Duration::from_millis(10)).await;
        }
        Vec::new()
    }
}
