//! Our SDK, set up as its documentation shows it: stdio, or HTTP when an address is given.

use polyport::{Cx, Server, ToolError, http, stdio, tool};

#[derive(schemars::JsonSchema, serde::Deserialize)]
struct Name {
    name: String,
}

/// Says the text again.
#[tool]
async fn echo(text: String) -> String {
    text
}

/// Picks one to three.
#[tool]
async fn pick(#[arg(range(min = 1, max = 3))] count: u8) -> String {
    count.to_string()
}

/// Fails unexpectedly.
#[tool]
async fn boom() -> String {
    panic!("boom")
}

/// Asks the user for a name.
#[tool]
async fn ask(cx: &Cx) -> Result<String, ToolError> {
    let who: Name = cx.elicit("who", "Your name?").await?;
    Ok(format!("hello {}", who.name))
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let server = Server::new("compared", "1")
        .add_tool(echo::tool())
        .add_tool(pick::tool())
        .add_tool(boom::tool())
        .add_tool(ask::tool());
    match std::env::args().nth(1) {
        Some(address) => http::serve(server, &address).await?,
        None => stdio::serve(server).await?,
    };
    Ok(())
}
