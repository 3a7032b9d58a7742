//! A server with one tool: on stdio, or over HTTP at the address that it is given.

use polyport::{Cx, Server, ToolError, http, stdio};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Forecast {
    /// Name of the city.
    city: String,
}

async fn forecast(_cx: Cx, asked: Forecast) -> Result<String, ToolError> {
    Ok(format!("{}: 21 °C, a light wind", asked.city))
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let server = Server::new("weather", "1.0").tool("forecast", "Tells the weather.", forecast);
    match std::env::args().nth(1) {
        Some(address) => http::serve(server, &address).await?,
        None => stdio::serve(server).await?,
    };
    Ok(())
}
