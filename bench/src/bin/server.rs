//! The server that is measured, as a user would write it: `bench-server stdio` or `bench-server http PORT session|stateless|asks`;
//! the last one also asks its users and changes, for the soak.

use std::error::Error;
use std::time::Duration;

use polyport::http::{Config, Endpoint, bind};
use polyport::schemars::JsonSchema;
use polyport::serde::{Deserialize, Serialize};
use polyport::{Cx, Fault, Json, Server};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Echo {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Add {
    a: f64,
    b: f64,
}

#[derive(Serialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Sum {
    sum: f64,
}

fn server() -> Server {
    Server::new("bench", "1")
        .tool(
            "echo",
            "Echo the text",
            |_cx, e: Echo| async move { Ok(e.text) },
        )
        .tool("add", "Add two numbers", |_cx, n: Add| async move {
            Ok(Json(Sum { sum: n.a + n.b }))
        })
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Who {
    name: String,
}

/// A server that asks who it prints a badge for, and whose resource changes twenty times a second.
fn asking() -> Server {
    let server = server()
        .tool("badge", "Print a badge", |cx: Cx, e: Echo| async move {
            let who: Who = cx.elicit("who", "Whose badge is it?").await?;
            Ok(format!("{} {}", e.text, who.name))
        })
        .resource(CLOCK, "clock", |_cx| async { Ok::<_, Fault>("it ticks") });
    let handle = server.handle();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_millis(50)).await;
            handle.resource_updated(CLOCK);
        }
    });
    server
}

const CLOCK: &str = "soak://clock";

async fn http(port: u16, mode: &str) -> Result<(), Box<dyn Error>> {
    let sessions = mode != "stateless";
    let server = if mode == "asks" { asking() } else { server() };
    let endpoint = Endpoint::new(
        server.into_service(),
        Config {
            sessions,
            ..Config::default()
        },
    );
    let bound = bind(endpoint, ([127, 0, 0, 1], port).into(), false).await?;
    bound.serve(polyport::stdio::signals()?).await;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["stdio"] => {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(polyport::stdio::serve(server()))?;
            runtime.shutdown_background();
            Ok(())
        }
        ["http", port, mode @ ("session" | "stateless" | "asks")] => {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .build()?;
            runtime.block_on(http(port.parse()?, mode))
        }
        _ => Err("usage: bench-server stdio | http PORT session|stateless|asks".into()),
    }
}
