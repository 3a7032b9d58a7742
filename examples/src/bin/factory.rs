//! Work that takes its time: progress and log messages on the way, cancellation, and work that blocks its thread.

use std::time::Duration;

use polyport::{Cx, Json, Server, Tool, ToolError, stdio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
struct Order {
    /// How many to make.
    #[schemars(range(min = 1, max = 1000))]
    pieces: u32,
    /// How long each takes, in milliseconds.
    #[serde(default)]
    #[schemars(range(max = 60_000))]
    each_ms: u64,
}

#[derive(Deserialize, JsonSchema)]
struct Range {
    /// Where to stop.
    #[schemars(range(max = 100_000_000))]
    below: u64,
}

#[derive(Serialize, JsonSchema)]
struct Primes {
    /// How many there are.
    count: u64,
    /// The largest one.
    largest: Option<u64>,
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let server = Server::new("factory", "1.0")
        .add_tool(Tool::new("make", "Makes pieces, one after the other.", make).destructive(false))
        // What computes or waits in its own thread holds up nobody else there.
        .add_tool(
            Tool::blocking("primes", "Counts prime numbers.", |cx, range: Range| {
                primes(&cx, range.below).map(Json)
            })
            .read_only(),
        );
    stdio::serve(server).await?;
    Ok(())
}

async fn make(cx: Cx, order: Order) -> Result<String, ToolError> {
    for piece in 1..=order.pieces {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(order.each_ms)) => {}
            // The client no longer waits: leave things tidy. After two seconds the call is dropped.
            _ = cx.cancelled() => return Err(ToolError::new(format!("stopped before piece {piece}"))),
        }
        cx.info(format!("piece {piece} is ready"));
        cx.progress_of(piece.into(), order.pieces.into(), "making pieces");
    }
    Ok(format!("{} pieces are ready", order.pieces))
}

fn primes(cx: &Cx, below: u64) -> Result<Primes, ToolError> {
    let mut found = Primes {
        count: 0,
        largest: None,
    };
    for n in 2..below {
        if n % 4_096 == 0 {
            if cx.is_cancelled() {
                return Err(ToolError::new("stopped"));
            }
            cx.progress_of(n as f64, below as f64, "");
        }
        if (2..).take_while(|d| d * d <= n).all(|d| n % d != 0) {
            found.count += 1;
            found.largest = Some(n);
        }
    }
    Ok(found)
}
