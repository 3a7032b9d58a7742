//! Tools that run as tasks, in the core's form and in that of the extension. In virtual time.

mod bounds;
mod client;
mod core;
mod extension;
#[cfg(feature = "http-client")]
mod malformed;
mod owners;
mod supports;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use polyport::testing::{TestPeer, connect_to};
use polyport::{CallError, Cx, Fault, NeedInput, Question, Raw, Revision, Server, Service};
use polyport::{TaskMode, Tool, ToolError};
use serde_json::{Value, json};

use crate::questions::{Name, answer};

const S: fn(u64) -> Duration = Duration::from_secs;

/// What ran, and how it ended.
#[derive(Clone, Default)]
struct Seen {
    begun: Arc<AtomicUsize>,
    dropped: Arc<AtomicUsize>,
    told: Arc<AtomicUsize>,
}

struct Ends(Arc<AtomicUsize>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn count(counter: &AtomicUsize) -> usize {
    counter.load(Ordering::SeqCst)
}

/// A server with a tool for each thing that a task may come to.
fn server(seen: &Seen) -> Server {
    let seen = seen.clone();
    asking(Server::new("t", "1"))
        .add_tool(
            Tool::new("slow", "", move |cx: Cx, (): ()| {
                let seen = seen.clone();
                async move {
                    seen.begun.fetch_add(1, Ordering::SeqCst);
                    let _ends = Ends(seen.dropped.clone());
                    tokio::select! {
                        () = tokio::time::sleep(S(10)) => Ok("slept"),
                        _ = cx.cancelled() => {
                            seen.told.fetch_add(1, Ordering::SeqCst);
                            std::future::pending().await
                        }
                    }
                }
            })
            .task(TaskMode::Optional),
        )
        .add_tool(
            Tool::new("must", "", |_cx, (): ()| async { Ok("done") }).task(TaskMode::Required),
        )
        .add_tool(
            Tool::new("fails", "", |_cx, (): ()| async {
                Err::<String, _>(ToolError::new("no luck"))
            })
            .task(TaskMode::Optional),
        )
        .add_tool(
            Tool::new("faulty", "", |_cx, (): ()| async {
                Err::<String, ToolError>(Fault::new(1001, "locked").into())
            })
            .task(TaskMode::Optional),
        )
        .add_tool(
            Tool::new("panics", "", |_cx, (): ()| async {
                if true {
                    panic!("a secret");
                }
                Ok("")
            })
            .task(TaskMode::Optional),
        )
        .tool("plain", "", |_cx, (): ()| async { Ok("plain") })
}

fn asking(server: Server) -> Server {
    server
        .add_tool(
            Tool::new("asks", "", |cx: Cx, (): ()| async move {
                let asked = (
                    cx.elicit::<Name>("a", "A?"),
                    cx.elicit::<Name>("b", "B?"),
                );
                let (a, b) = cx.ask_all(asked).await?;
                Ok(format!("{} {}", a.name, b.name))
            })
            .task(TaskMode::Optional),
        )
        .add_tool(
            Tool::new("later", "", |cx: Cx, (): ()| async move {
                let who: Name = cx.elicit("a", "A?").await?;
                let is_task = cx.become_task().await;
                tokio::time::sleep(S(1)).await;
                Ok(format!("{} {is_task}", who.name))
            })
            .task(TaskMode::Optional)
            .task_later(),
        )
        .add_tool(
            Tool::new("again", "", |cx: Cx, (): ()| async move {
                let given = cx.answered("a").map(|raw| raw.as_str().to_owned());
                let done = given.as_ref().is_some_and(|text| text.contains("Grace"));
                if done {
                    return Ok("enough");
                }
                let params = json!({"message": "A?", "requestedSchema": {"type": "object", "properties": {}}});
                Err(Fault::need_input(NeedInput {
                    questions: vec![Question {
                        key: "a".to_owned(),
                        method: polyport::model::method::ELICITATION_CREATE,
                        params: Raw::encode(&params).ok(),
is_passed_on: false,
                    }],
                    ..NeedInput::default()
                })
                .into())
            })
            .task(TaskMode::Optional),
        )
}

/// What a client can that knows tasks.
fn able() -> Value {
    json!({
        "elicitation": {"form": {}},
        "extensions": {"io.modelcontextprotocol/tasks": {}},
    })
}

async fn modern(service: &Service) -> TestPeer {
    let connected = connect_to(service.clone(), Revision::V2026_07_28, &able()).await;
    connected.unwrap()
}

async fn legacy(service: &Service) -> TestPeer {
    let connected = connect_to(service.clone(), Revision::V2025_11_25, &able()).await;
    connected.unwrap()
}

async fn ask(peer: &TestPeer, method: &str, params: Value) -> Value {
    match peer.request(method, &params).await {
        Ok(result) => result,
        Err(CallError::Refused(error)) => {
            json!({"error": serde_json::from_str::<Value>(error.as_str()).unwrap()})
        }
        Err(error) => panic!("{method}: {error:?}"),
    }
}

/// Calls a tool as a client of the extension does: the id of its task.
async fn begin(peer: &TestPeer, tool: &str) -> String {
    let begun = ask(peer, "tools/call", json!({"name": tool})).await;
    assert_eq!(begun["resultType"], "task", "{tool}: {begun}");
    begun["taskId"].as_str().unwrap().to_owned()
}

/// The same in the core's form.
async fn begin_core(peer: &TestPeer, tool: &str) -> String {
    let begun = ask(peer, "tools/call", json!({"name": tool, "task": {}})).await;
    let id = begun["task"]["taskId"].as_str();
    id.unwrap_or_else(|| panic!("{tool}: {begun}")).to_owned()
}

async fn look(peer: &TestPeer, id: &str) -> Value {
    ask(peer, "tasks/get", json!({"taskId": id})).await
}

/// Looks until the task stands there.
async fn until(peer: &TestPeer, id: &str, status: &str) -> Value {
    let mut task = Value::Null;
    for _ in 0..200 {
        task = look(peer, id).await;
        if task["status"] == status {
            return task;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("never {status}: {task}");
}
