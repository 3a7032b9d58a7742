//! Tools that speak while they run, and tools that fail.

use std::time::Duration;

use polyport::{Cx, Server, ToolError};
use tokio::time::sleep;

/// What the suite expects between two messages.
const PAUSE: Duration = Duration::from_millis(50);

/// When a client is to come back.
const RETRY: Duration = Duration::from_millis(50);

/// Adds them.
pub fn add(server: Server) -> Server {
    server
        .tool(
            "test_tool_with_logging",
            "Sends three log messages.",
            |cx: Cx, (): ()| async move {
                cx.info("begun");
                sleep(PAUSE).await;
                cx.info("half done");
                sleep(PAUSE).await;
                cx.info("done");
                Ok("Three log messages were sent.")
            },
        )
        .tool(
            "test_logging_tool",
            "Sends a log message to whoever asked for it.",
            |cx: Cx, (): ()| async move {
                cx.info("Here is one.");
                sleep(PAUSE).await;
                Ok("A client that named a log level got a message.")
            },
        )
        .tool(
            "test_tool_with_progress",
            "Reports its progress three times.",
            |cx: Cx, (): ()| async move {
                cx.progress_of(0.0, 100.0, "begun");
                sleep(PAUSE).await;
                cx.progress_of(50.0, 100.0, "half done");
                sleep(PAUSE).await;
                cx.progress_of(100.0, 100.0, "done");
                Ok("Progress was reported.")
            },
        )
        .tool(
            "test_streaming_elicitation",
            "Answers on a stream that carries no request.",
            |cx: Cx, (): ()| async move {
                cx.progress(0.0);
                sleep(PAUSE).await;
                Ok("Nothing had to be asked.")
            },
        )
        .tool(
            "test_reconnection",
            "Ends its response before its answer is there: the client comes back for it.",
            |cx: Cx, (): ()| async move {
                let released = cx.release(RETRY);
                sleep(2 * PAUSE).await;
                Ok(if released {
                    "The client came back."
                } else {
                    "The client did not have to come back."
                })
            },
        )
        .tool(
            "test_error_handling",
            "Fails so that the model reads why.",
            |_cx, (): ()| async {
                Err::<String, _>(ToolError::new("This tool fails whenever it is called."))
            },
        )
}
