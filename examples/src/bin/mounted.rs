//! A server inside an axum application, on loopback at the port that it is given: MCP at `/mcp`, beside a page of its own.

use std::io::Error;

use axum::Router;
use axum::routing::get;
use polyport::{Server, http, stdio};
use tokio::net::TcpListener;

#[derive(schemars::JsonSchema, serde::Deserialize)]
struct Add {
    a: f64,
    b: f64,
}

#[allow(clippy::print_stderr, reason = "it says where it is reached")]
#[tokio::main]
async fn main() -> Result<(), Error> {
    let port = std::env::args().nth(1).unwrap_or_else(|| "3000".to_owned());
    let add = |_cx, n: Add| async move { Ok(format!("{}", n.a + n.b)) };
    let server = Server::new("sums", "1.0").tool("add", "Adds two numbers.", add);
    // Pages of this origin may call it from a browser; other pages may not.
    let config = http::Config::default().allow_origin("https://app.example");
    let endpoint = http::endpoint(server, config).await.map_err(Error::other)?;
    let app = Router::new()
        .route("/health", get(|| async { "well" }))
        .route_service("/mcp", endpoint.clone());
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    eprintln!("http://{}/mcp", listener.local_addr()?);
    let mut signals = stdio::signals()?;
    let stop = async move {
        signals.wait().await;
        // Running calls may finish; sessions and their streams end.
        endpoint.close().await;
    };
    axum::serve(listener, app)
        .with_graceful_shutdown(stop)
        .await
}
