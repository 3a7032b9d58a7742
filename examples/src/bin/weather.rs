//! A server with two tools: on stdio, or over HTTP at the address that it is given.

use polyport::{Cx, Server, ToolError, http, stdio, tool};

/// Tells the weather of a city.
#[tool(read_only)]
async fn forecast(city: String, #[arg(default = 1, range(max = 14))] days: u8) -> String {
    format!("{city} in {days} days: 21 °C")
}

#[derive(schemars::JsonSchema, serde::Deserialize)]
struct Home {
    city: String,
}

/// Tells the weather where the user is.
#[tool(read_only)]
async fn forecast_here(cx: &Cx) -> Result<String, ToolError> {
    let home: Home = cx.elicit("home", "Which city are you in?").await?;
    Ok(forecast(home.city, 1).await)
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let server = Server::new("weather", "1.0")
        .add_tool(forecast::tool())
        .add_tool(forecast_here::tool());
    match std::env::args().nth(1) {
        Some(address) => http::serve(server, &address).await?,
        None => stdio::serve(server).await?,
    };
    Ok(())
}
