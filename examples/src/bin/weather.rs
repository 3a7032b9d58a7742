//! A server with one tool: on stdio, or over HTTP at the address that it is given.

use polyport::{Server, http, stdio};

#[derive(schemars::JsonSchema, serde::Deserialize)]
struct Forecast {
    city: String,
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let forecast = |_cx, asked: Forecast| async move { Ok(format!("{}: 21 °C", asked.city)) };
    let server = Server::new("weather", "1.0").tool("forecast", "Tells the weather.", forecast);
    match std::env::args().nth(1) {
        Some(address) => http::serve(server, &address).await?,
        None => stdio::serve(server).await?,
    };
    Ok(())
}
