//! The tools that go on as tasks, in the form of the extension, for clients that have it.

use std::time::Duration;

use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResponse, CreateTaskResult};
use rmcp::task_manager::{TaskExit, TaskOptions};
use rmcp::{tool, tool_router};
use serde_json::json;
use tokio::time::sleep;

use crate::tools::{Seconds, failed, form, said, text};
use crate::{Context, Demo, made};

fn has_tasks(context: &Context) -> bool {
    let client = context.client_capabilities();
    client.is_some_and(|client| client.supports_tasks())
}

fn options() -> TaskOptions {
    TaskOptions::new().with_poll_interval_ms(50)
}

#[tool_router(router = tasks, vis = "pub(crate)")]
impl Demo {
    #[tool(description = "Brews, as a task for whoever has them")]
    async fn brew(
        &self,
        Parameters(Seconds { seconds }): Parameters<Seconds>,
        context: Context,
    ) -> CallToolResponse {
        let time = Duration::from_secs_f64(seconds);
        if !has_tasks(&context) {
            sleep(time).await;
            return said(&["brewed"]).into();
        }
        let task = self.shared.tasks.spawn(options(), move |going| {
            Box::pin(async move {
                tokio::select! {
                    () = going.cancelled() => Err(TaskExit::Cancelled),
                    () = sleep(time) => Ok(said(&["brewed"])),
                }
            })
        });
        CallToolResponse::Task(CreateTaskResult::new(task))
    }

    #[tool(
        name = "order-later",
        description = "Asks for a drink in the middle of a task"
    )]
    async fn order_later(&self, context: Context) -> CallToolResponse {
        if !has_tasks(&context) {
            return failed("it runs as a task only").into();
        }
        let task = self.shared.tasks.spawn(options(), |going| {
            Box::pin(async move {
                let asked = json!({"method": "elicitation/create", "params": form()});
                let answer = going.request_input("drink", made(asked)).await?;
                let given = &answer["content"];
                Ok(said(&[&format!(
                    "{} x {}",
                    given["cups"],
                    text(&given["drink"])
                )]))
            })
        });
        CallToolResponse::Task(CreateTaskResult::new(task))
    }
}
