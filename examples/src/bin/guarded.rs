//! Layers around a server: one of its own that lets only known people change anything, a time-out, and a bound on calls at once.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use polyport::layer::{AtMost, Timeout};
use polyport::{
    BoxFuture, Call, Cx, Layer, Next, Outcome, Raw, RpcError, Server, ToolError, stdio,
};
use serde_json::Value;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let server = Server::new("guarded", "1.0")
        .tool("read", "Reads the notice board.", |_cx, (): ()| async {
            Ok("nothing new")
        })
        .tool(
            "write",
            "Writes to the notice board.",
            |_cx, (): ()| async { Ok("written") },
        )
        .tool("wait", "Waits for news.", wait)
        // The innermost first: a call passes the bound, then the time-out, then the rule.
        .layer(Known { tools: &["write"] })
        .layer(Timeout::new(Duration::from_secs(30)).of_tool("wait", Duration::from_millis(50)))
        .layer(AtMost::calls(100).of_tool("wait", 10));
    stdio::serve(server).await?;
    Ok(())
}

/// Waits until it is told that its time is over.
async fn wait(cx: Cx, (): ()) -> Result<&'static str, ToolError> {
    cx.cancelled().await;
    Ok("no news")
}

/// Some tools are only there for people whom an authorization layer has proved. On stdio nobody is.
struct Known {
    tools: &'static [&'static str],
}

impl Known {
    fn guards(&self, name: &str) -> bool {
        self.tools.contains(&name)
    }

    /// The list as if there were no such tools.
    fn hide(&self, list: Raw) -> Outcome {
        let Ok(mut list) = list.decode::<Value>() else {
            return Outcome::Complete(list);
        };
        if let Some(tools) = list["tools"].as_array_mut() {
            tools.retain(|tool| !self.guards(tool["name"].as_str().unwrap_or_default()));
        }
        Outcome::Complete(Raw::trusted(list.to_string()))
    }
}

impl Layer for Known {
    fn call(self: Arc<Self>, call: Call, next: Next) -> BoxFuture<Outcome> {
        if call.context.envelope().principal().is_some() {
            return next.run(call);
        }
        match call.method {
            "tools/list" => Box::pin(async move {
                match next.run(call).await {
                    Outcome::Complete(list) => self.hide(list),
                    other => other,
                }
            }),
            // The same words as of a tool that does not exist.
            "tools/call" => match call.params.name().filter(|name| self.guards(name)) {
                Some(name) => {
                    let unknown = RpcError::invalid_params(format!("Unknown tool: {name}"));
                    Box::pin(ready(unknown.into()))
                }
                None => next.run(call),
            },
            _ => next.run(call),
        }
    }
}
