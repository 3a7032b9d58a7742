//! Tools that run as tasks.

use std::time::Duration;

use polyport::{Cx, Fault, Server, TaskMode, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::sleep;

#[derive(Deserialize, JsonSchema)]
struct Greeted {
    /// Who is greeted.
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Computed {
    /// How long it takes.
    seconds: u64,
    /// What it is for.
    #[serde(default)]
    label: String,
}

#[derive(Deserialize, JsonSchema)]
struct File {
    /// Which file.
    filename: String,
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    /// Shall it be done?
    confirm: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    /// Your name.
    name: String,
}

/// Adds them.
pub fn add(server: Server) -> Server {
    asking(failing(server))
        .tool("greet", "Greets at once.", |_cx, who: Greeted| async move {
            Ok(format!("Hello, {}!", who.name))
        })
        .add_tool(
            Tool::new(
                "slow_compute",
                "Computes for some seconds.",
                |_cx, asked: Computed| async move {
                    sleep(Duration::from_secs(asked.seconds)).await;
                    Ok(format!("{} took {} s.", asked.label, asked.seconds))
                },
            )
            .task(TaskMode::Optional),
        )
}

fn failing(server: Server) -> Server {
    server
        .add_tool(
            Tool::new(
                "failing_job",
                "Fails after a second, so that the model reads why.",
                |_cx, (): ()| async {
                    sleep(Duration::from_secs(1)).await;
                    Err::<String, _>(ToolError::new("This job fails whenever it is run."))
                },
            )
            .task(TaskMode::Required),
        )
        .add_tool(
            Tool::new(
                "protocol_error_job",
                "Ends with an error of the protocol.",
                |_cx, (): ()| async {
                    sleep(Duration::from_millis(100)).await;
                    Err::<String, ToolError>(Fault::internal("this job has a fault").into())
                },
            )
            .task(TaskMode::Optional),
        )
}

fn asking(server: Server) -> Server {
    server
        .add_tool(
            Tool::new(
                "confirm_delete",
                "Asks before it does something.",
                |cx: Cx, file: File| async move {
                    let message = format!("Delete {}?", file.filename);
                    let answer: Confirm = cx.elicit("confirm", message).await?;
                    Ok(if answer.confirm { "Deleted." } else { "Kept." })
                },
            )
            .task(TaskMode::Optional),
        )
        .add_tool(
            Tool::new(
                "multi_input",
                "Asks two things at once.",
                |cx: Cx, (): ()| async move {
                    let asked = (
                        cx.elicit::<Name>("name", "What is your name?"),
                        cx.elicit::<Confirm>("confirm", "Shall it be done?"),
                    );
                    let (who, confirm) = cx.ask_all(asked).await?;
                    Ok(format!("{}: {}", who.name, confirm.confirm))
                },
            )
            .task(TaskMode::Optional),
        )
        .add_tool(
            Tool::new(
                "test_tool_with_task",
                "Asks for a name, and then goes on as a task.",
                |cx: Cx, (): ()| async move {
                    let who: Name = cx.elicit("user_name", "What is your name?").await?;
                    cx.become_task().await;
                    Ok(format!("Hello, {}!", who.name))
                },
            )
            .task(TaskMode::Required)
            .task_later(),
        )
}
