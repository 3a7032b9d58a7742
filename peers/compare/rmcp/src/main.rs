//! The official Rust SDK, set up as its documentation shows it: stdio, or HTTP when an address is given.
use rmcp::{
    Peer, RoleServer, ServiceExt, elicit_safe,
    handler::server::wrapper::Parameters,
    schemars, tool, tool_router,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use serde::Deserialize;

#[derive(Deserialize, schemars::JsonSchema)]
struct Echo {
    text: String,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Pick {
    #[schemars(range(min = 1, max = 3))]
    count: u8,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}
elicit_safe!(Name);

#[derive(Clone)]
struct Compared;

#[tool_router(server_handler)]
impl Compared {
    #[tool(description = "Says the text again")]
    async fn echo(&self, Parameters(echo): Parameters<Echo>) -> String {
        echo.text
    }

    #[tool(description = "Picks one to three")]
    async fn pick(&self, Parameters(pick): Parameters<Pick>) -> String {
        pick.count.to_string()
    }

    #[tool(description = "Fails unexpectedly")]
    async fn boom(&self) -> String {
        panic!("boom")
    }

    #[tool(description = "Asks the user for a name")]
    async fn ask(&self, peer: Peer<RoleServer>) -> Result<String, String> {
        match peer.elicit::<Name>("Your name?").await {
            Ok(Some(name)) => Ok(format!("hello {}", name.name)),
            Ok(None) => Ok("hello".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(address) = std::env::args().nth(1) else {
        Compared
            .serve(rmcp::transport::stdio())
            .await?
            .waiting()
            .await?;
        return Ok(());
    };
    let service = StreamableHttpService::new(
        || Ok(Compared),
        LocalSessionManager::default().into(),
        StreamableHttpServerConfig::default(),
    );
    let app = axum::Router::new().nest_service("/mcp", service);
    axum::serve(tokio::net::TcpListener::bind(address).await?, app).await?;
    Ok(())
}
