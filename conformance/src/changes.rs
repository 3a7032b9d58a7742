//! What changes while the server runs: tools that change its lists, and a resource to watch.

use std::sync::atomic::{AtomicUsize, Ordering};

use polyport::{Cx, Fault, Prompt, PromptReply, Resource, Server, Tool};

/// Adds them.
pub fn add(server: Server) -> Server {
    let (tools, prompts) = (server.handle(), server.handle());
    server
        .add_resource(
            Resource::new("test://watched-resource", "watched-resource", |_cx| async {
                Ok::<_, Fault>("A text that may change.")
            })
            .description("A resource to subscribe to.")
            .mime_type("text/plain"),
        )
        .tool(
            "test_trigger_tool_change",
            "Adds a tool and takes it away again.",
            move |_cx: Cx, (): ()| {
                let handle = tools.clone();
                async move {
                    let name = format!("test_passing_tool_{}", next());
                    let passing = Tool::new(&name, "", |_cx, (): ()| async { Ok("here") });
                    handle.add_tool(passing)?;
                    handle.remove_tool(&name);
                    Ok("The list of tools has changed.")
                }
            },
        )
        .tool(
            "test_trigger_prompt_change",
            "Adds a prompt and takes it away again.",
            move |_cx: Cx, (): ()| {
                let handle = prompts.clone();
                async move {
                    let name = format!("test_passing_prompt_{}", next());
                    let passing = Prompt::new(&name, "", |_cx, (): ()| async {
                        Ok::<_, Fault>(PromptReply::from("here"))
                    });
                    handle.add_prompt(passing)?;
                    handle.remove_prompt(&name);
                    Ok("The list of prompts has changed.")
                }
            },
        )
}

/// Calls may run at once: each has names of its own.
fn next() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
