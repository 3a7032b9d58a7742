//! The part of the demo that changes while it is served: a resource to subscribe to, and a tool that comes and goes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use polyport::schemars::JsonSchema;
use polyport::serde::Deserialize;
use polyport::{Resource, Server, Tool};

const COUNTER: &str = "demo://counter";
const BEHIND_THE_DOOR: &str = "treasure";

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Door {
    /// Whether to open it, or to shut it.
    open: bool,
}

pub(super) fn add(server: Server) -> Server {
    let count = Arc::new(AtomicU64::new(0));
    let (told, opened) = (server.handle(), server.handle());
    let shown = count.clone();
    server
        .add_resource(
            Resource::new(COUNTER, "counter", move |_cx| {
                let count = shown.load(Ordering::Relaxed);
                async move { Ok(count.to_string()) }
            })
            .title("Counter")
            .description("A number that the tool tick makes grow.")
            .mime_type("text/plain"),
        )
        .add_tool(
            Tool::new(
                "tick",
                "Adds one to the resource demo://counter, and tells who subscribed to it.",
                move |_cx, (): ()| {
                    let now = count.fetch_add(1, Ordering::Relaxed) + 1;
                    told.resource_updated(COUNTER);
                    async move { Ok(now.to_string()) }
                },
            )
            .destructive(false)
            .open_world(false),
        )
        .add_tool(
            Tool::new(
                "door",
                "Opens or shuts a door: there is one tool more as long as it is open.",
                move |_cx, door: Door| {
                    // Open already, or shut: then it stays as it is.
                    let changed = if door.open {
                        opened.add_tool(treasure()).is_ok()
                    } else {
                        opened.remove_tool(BEHIND_THE_DOOR)
                    };
                    let now = if door.open { "open" } else { "shut" };
                    let already = if changed { "" } else { " already" };
                    async move { Ok(format!("The door is {now}{already}.")) }
                },
            )
            .destructive(false)
            .idempotent()
            .open_world(false),
        )
}

fn treasure() -> Tool {
    Tool::new(
        BEHIND_THE_DOOR,
        "Shows what is behind the door.",
        |_cx, (): ()| async { Ok("a pot of gold") },
    )
    .read_only()
}
