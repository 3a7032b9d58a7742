//! The client of the SDK, as far as it goes on with tasks: `peer-rmcp drive JOB` does the steps of a scenario, prints what it saw, a JSON
//! line each, and judges nothing.

use std::error::Error;
use std::time::{Duration, Instant};

use rmcp::RoleClient;
use rmcp::model::*;
use rmcp::service::{
    ClientLifecycleMode, RunningService, ServiceError, serve_client_with_lifecycle,
};
use rmcp::transport::StreamableHttpClientTransport;
use serde_json::{Map, Value, json};
use tokio::time::{sleep, timeout};

use crate::made;

/// How often a task is looked at.
const LOOK: Duration = Duration::from_millis(50);

type Client = RunningService<RoleClient, ClientConfig>;

pub(crate) async fn drive(job: &str) -> Result<(), Box<dyn Error>> {
    let job: Value = serde_json::from_str(job)?;
    let seconds = Duration::from_secs_f64(job["step_seconds"].as_f64().unwrap_or(10.0));
    let mut client = None;
    for step in job["steps"].as_array().into_iter().flatten() {
        let started = Instant::now();
        let done = timeout(seconds, run(&job, step, &mut client)).await;
        let mut seen = match done {
            Ok(Ok(got)) => json!({"got": got}),
            Ok(Err(ServiceError::McpError(error))) => {
                json!({"error": {"code": error.code.0, "message": error.message}})
            }
            Ok(Err(error)) => json!({"thrown": error.to_string()}),
            Err(_) => json!({"thrown": "it took too long"}),
        };
        seen["ms"] = json!(started.elapsed().as_millis());
        // The one who reads looks for this at the beginning of a line.
        let rest = seen.to_string();
        println!("{{\"step\":{},{}", step["name"], &rest[1..]);
        if client.is_none() {
            break;
        }
    }
    Ok(())
}

async fn run(
    job: &Value,
    step: &Value,
    client: &mut Option<Client>,
) -> Result<Value, ServiceError> {
    if step["do"] == "connect" {
        return connect(job, client).await;
    }
    if step["do"] == "close" {
        if let Some(client) = client.as_mut() {
            let _ = client.close().await;
        }
        return Ok(json!({}));
    }
    let client = client.as_ref().ok_or(ServiceError::TransportClosed)?;
    match step["do"].as_str() {
        Some("list") => Ok(json!({"items": client.list_all_tools().await?})),
        Some("task") => task(client, step).await,
        other => Ok(json!({"unknown": other})),
    }
}

async fn connect(job: &Value, client: &mut Option<Client>) -> Result<Value, ServiceError> {
    let capabilities = ClientCapabilities::builder()
        .enable_tasks()
        .enable_elicitation()
        .build();
    let info = ClientConfig::new(
        capabilities,
        made(json!({"name": "peer-rmcp", "version": "1.0.0"})),
    );
    let transport =
        StreamableHttpClientTransport::from_uri(job["url"].as_str().unwrap_or_default());
    let modern = ClientLifecycleMode::Discover {
        preferred_versions: vec![made(json!("2026-07-28"))],
    };
    let connected = serve_client_with_lifecycle(info, transport, modern).await;
    let connected = connected.map_err(|error| {
        ServiceError::McpError(ErrorData::internal_error(error.to_string(), None))
    })?;
    let theirs = connected.peer_info();
    let seen = json!({
        "revision": theirs.as_ref().map(|theirs| &theirs.protocol_version),
        "capabilities": theirs.as_ref().map(|theirs| &theirs.capabilities),
    });
    *client = Some(connected);
    Ok(seen)
}

/// A call that the server goes on with by itself, and that is given up if the step says so: what it came to and what it asked.
async fn task(client: &Client, step: &Value) -> Result<Value, ServiceError> {
    let arguments = step["arguments"].as_object().cloned().unwrap_or_default();
    let tool = step["tool"].as_str().unwrap_or_default().to_owned();
    let called = CallToolRequestParams::new(tool).with_arguments(arguments);
    let begun = match client.call_tool_once(called).await? {
        CallToolResponse::Task(begun) => begun.task,
        other => return Ok(json!({"no_task": format!("{other:?}")})),
    };
    let id = begun.task_id;
    let mut statuses = vec![json!(begun.status)];
    let mut asked = Vec::new();
    if step["cancel"] == true {
        client
            .peer()
            .cancel_task(CancelTaskParams::new(id.clone()))
            .await?;
    }
    loop {
        let state = json!(
            client
                .peer()
                .get_task(GetTaskParams::new(id.clone()))
                .await?
        );
        if statuses.last() != Some(&state["status"]) {
            statuses.push(state["status"].clone());
        }
        match state["status"].as_str() {
            Some("working") => sleep(LOOK).await,
            Some("input_required") => {
                let mut answers = Map::new();
                for (key, question) in state["inputRequests"].as_object().into_iter().flatten() {
                    let method = question["method"].as_str().unwrap_or_default();
                    answers.insert(key.clone(), step["answers"][method].clone());
                    asked.push(json!({"ask": method, "params": question["params"]}));
                }
                let answers = json!({"taskId": id, "inputResponses": answers});
                client.peer().update_task(made(answers)).await?;
            }
            _ => {
                let content = &state["result"]["content"];
                let failure = &state["error"];
                return Ok(
                    json!({"statuses": statuses, "content": content, "failure": failure, "asked": asked}),
                );
            }
        }
    }
}
