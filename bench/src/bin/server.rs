//! The server that is measured, as a user would write it: `bench-server stdio` or `bench-server http PORT session|stateless`.

use std::error::Error;

use polyport::http::{Config, Endpoint, bind};
use polyport::schemars::JsonSchema;
use polyport::serde::{Deserialize, Serialize};
use polyport::{Json, Server};

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

async fn http(port: u16, sessions: bool) -> Result<(), Box<dyn Error>> {
    let endpoint = Endpoint::new(
        server().into_service(),
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
        ["http", port, mode @ ("session" | "stateless")] => {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .build()?;
            runtime.block_on(http(port.parse()?, mode == "session"))
        }
        _ => Err("usage: bench-server stdio | http PORT session|stateless".into()),
    }
}
