//! A server with the official Rust SDK: `peer-rmcp stdio`, or `peer-rmcp http PORT`; and its client, `peer-rmcp drive JOB`.
// Sampling, roots and logging are deprecated in the newest revision; they are what is tested here.
#![allow(deprecated)]

mod drive;
mod tasks;
mod tools;

use std::collections::HashSet;
use std::error::Error;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::model::*;
use rmcp::service::{RequestContext, SubscriptionContext, SubscriptionSink};
use rmcp::task_manager::TaskManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

type Answer<T> = Result<T, ErrorData>;
type Context = RequestContext<RoleServer>;

/// What all conversations share.
#[derive(Default)]
struct Shared {
    cancelled: AtomicUsize,
    is_open: AtomicBool,
    listening: Mutex<Vec<SubscriptionSink>>,
    tasks: TaskManager,
}

/// One conversation.
#[derive(Clone)]
struct Demo {
    shared: Arc<Shared>,
    subscribed: Arc<Mutex<HashSet<String>>>,
    tools: ToolRouter<Self>,
}

/// The types of the SDK, written as they travel.
fn made<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("what is written here fits its type")
}

fn is_modern(context: &Context) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version.as_str() >= "2026")
}

impl ServerHandler for Demo {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(made(json!({
            "tools": {"listChanged": true}, "prompts": {}, "logging": {}, "completions": {},
            "resources": {"subscribe": true, "listChanged": true},
            "extensions": {(TASKS_EXTENSION_ID): {}},
        })));
        info.server_info = made(json!({"name": "served-rmcp", "version": "1.0.0"}));
        info.instructions = Some("Ask away.".to_owned());
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Answer<ListToolsResult> {
        let mut tools = self.tools.list_all();
        tools.retain(|tool| tool.name != "treasure" || self.shared.is_open.load(Ordering::Relaxed));
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Answer<CallToolResponse> {
        self.tools
            .call(ToolCallContext::new(self, request, context))
            .await
    }

    async fn get_task(&self, request: GetTaskParams, _: Context) -> Answer<GetTaskResult> {
        Ok(GetTaskResult::new(
            self.shared.tasks.get_task(&request.task_id)?,
        ))
    }

    async fn update_task(&self, request: UpdateTaskParams, _: Context) -> Answer<()> {
        let tasks = &self.shared.tasks;
        tasks.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(&self, request: CancelTaskParams, _: Context) -> Answer<()> {
        self.shared.tasks.cancel_task(&request.task_id)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Answer<ListResourcesResult> {
        Ok(made(json!({"resources": [
            {"uri": "demo://greeting", "name": "greeting", "mimeType": "text/plain"},
            {"uri": "demo://counter", "name": "counter"},
            {"uri": "demo://logo", "name": "logo", "mimeType": "image/png"},
        ]})))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Answer<ListResourceTemplatesResult> {
        let template = json!({"uriTemplate": "demo://greeting/{name}", "name": "greeting to"});
        Ok(made(json!({"resourceTemplates": [template]})))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: Context,
    ) -> Answer<ReadResourceResponse> {
        let uri = request.uri.as_str();
        let contents = match (uri, uri.strip_prefix("demo://greeting/")) {
            ("demo://greeting", _) => {
                json!({"uri": uri, "mimeType": "text/plain", "text": "Hello!"})
            }
            ("demo://counter", _) => json!({"uri": uri, "text": "0"}),
            ("demo://logo", _) => json!({"uri": uri, "mimeType": "image/png", "blob": tools::LOGO}),
            (_, Some(name)) => json!({"uri": uri, "text": format!("Hello, {name}!")}),
            _ => {
                return Err(ErrorData::resource_not_found(
                    "there is no such resource",
                    None,
                ));
            }
        };
        let result: ReadResourceResult = made(json!({"contents": [contents]}));
        Ok(result.into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Answer<ListPromptsResult> {
        let arguments =
            json!([{"name": "code", "required": true}, {"name": "language", "required": true}]);
        Ok(made(
            json!({"prompts": [{"name": "review", "arguments": arguments}]}),
        ))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: Context,
    ) -> Answer<GetPromptResponse> {
        let given = json!(request.arguments);
        let (language, code) = (given["language"].as_str(), given["code"].as_str());
        let text = format!(
            "Review this {}: {}",
            language.unwrap_or_default(),
            code.unwrap_or_default()
        );
        let message = json!({"role": "user", "content": {"type": "text", "text": text}});
        let result: GetPromptResult = made(json!({"messages": [message]}));
        Ok(result.into())
    }

    async fn complete(&self, request: CompleteRequestParams, _: Context) -> Answer<CompleteResult> {
        let words = match request.argument.name.as_str() {
            "name" => ["Ada", "Alan", "Grace"],
            _ => ["rust", "ruby", "go"],
        };
        let begun = request.argument.value.as_str();
        let values: Vec<_> = words
            .into_iter()
            .filter(|word| word.starts_with(begun))
            .collect();
        Ok(made(json!({"completion": {"values": values}})))
    }

    async fn set_level(&self, _: SetLevelRequestParams, _: Context) -> Answer<()> {
        Ok(())
    }

    async fn subscribe(&self, request: SubscribeRequestParams, _: Context) -> Answer<()> {
        self.subscribed
            .lock()
            .expect("nobody panics under it")
            .insert(request.uri);
        Ok(())
    }

    async fn unsubscribe(&self, request: UnsubscribeRequestParams, _: Context) -> Answer<()> {
        self.subscribed
            .lock()
            .expect("nobody panics under it")
            .remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Answer<()> {
        let listening = || {
            self.shared
                .listening
                .lock()
                .expect("nobody panics under it")
        };
        listening().push(context.sink().clone());
        context.cancelled().await;
        listening().retain(|sink| sink.id() != context.sink().id());
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [verb, job] = &words[..]
        && verb == "drive"
    {
        return drive::drive(job).await;
    }
    let shared = Arc::new(Shared::default());
    let demo = move || Demo {
        shared: shared.clone(),
        subscribed: Arc::default(),
        tools: Demo::tools() + Demo::tasks(),
    };
    let Some(port) = words.get(1) else {
        demo()
            .serve(rmcp::transport::stdio())
            .await?
            .waiting()
            .await?;
        return Ok(());
    };
    let config = StreamableHttpServerConfig::default();
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.sse_retry = Some(Duration::from_millis(100));
    let service = StreamableHttpService::new(move || Ok(demo()), sessions.into(), config);
    let app = axum::Router::new().nest_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port.parse()?)).await?;
    axum::serve(listener, app).await?;
    Ok(())
}
