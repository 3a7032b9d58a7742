//! Serving over Streamable HTTP, and the older HTTP with SSE beside it.
//!
//! - [`serve`]: the last line of a program that is nothing else, on loopback, until a signal.
//! - [`endpoint`]: a service for the router of an axum application, or of any other of tower's kind.
//! - [`bind`]: other addresses, a stop of your own.
//! - [`Config`]: paths, sessions, which hosts and web pages may call, who asks.
//! - [`Threads`]: for many small calls, a thread for each processor, to which connections stay. It saves the more the more parts a call has:
//!   a call that is passed on to another server costs the processor about a third less than on a runtime of many threads.
//!
//! ```no_run
//! # use polyport::{Server, Stop, http};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let server = Server::new("a", "1");
//! let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! let threads = http::Threads::of_processors()?;
//! runtime.block_on(async {
//!     let endpoint = http::Endpoint::new(server.into_service(), http::Config::default());
//!     let bound = http::bind(endpoint, "127.0.0.1:7400".parse()?, false).await?;
//!     bound.serve_on(Stop::never(), &threads).await;
//!     Ok(())
//! })
//! # }
//! ```

use std::io;
use std::net::SocketAddr;

use polyport_rt::{Ended, StartError};

pub use ::http::HeaderMap;
pub use polyport_http::{
    Access, Authorize, Body, Bound, Challenge, Config, Endpoint, ListenError, Pair, Served, bind,
};
pub use polyport_proto::http::{Guard, HeaderParam, ParamKind};
pub use polyport_rt::Threads;

use crate::server::Server;

/// Starts a server to be mounted beside other routes of an application: its endpoint is a service of `tower`, and so of axum.
///
/// It checks `Host` and `Origin` and answers browsers itself: name in the [`Config`] under which hosts it is reached and which web pages
/// may call, and put no CORS layer around its route. Older clients want two more routes to it, `/sse` and `/messages`.
///
/// ```no_run
/// # use polyport::{Server, http};
/// # async fn app(server: Server) -> Result<(), Box<dyn std::error::Error>> {
/// let config = http::Config::default().allow_host("api.example").allow_origin("https://app.example");
/// let endpoint = http::endpoint(server, config).await?;
/// let app = axum::Router::new()
///     .route("/health", axum::routing::get(|| async { "well" }))
///     .route_service("/mcp", endpoint.clone());
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
/// let stop = async move {
///     let _ = tokio::signal::ctrl_c().await;
///     // Running calls may finish; sessions and their streams end.
///     endpoint.close().await;
/// };
/// axum::serve(listener, app).with_graceful_shutdown(stop).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The server does not start (see [`Server::on_start`]).
pub async fn endpoint(server: Server, config: Config) -> Result<Endpoint, StartError> {
    let endpoint = Endpoint::new(server.into_service(), config);
    endpoint.start().await?;
    Ok(endpoint)
}

/// Serves at `http://ADDRESS/mcp` until SIGTERM or SIGINT comes. The address must be a loopback one; for others see [`bind`].
///
/// # Errors
/// The address is not one, not loopback, or cannot be listened on.
pub async fn serve(server: Server, address: &str) -> io::Result<Ended> {
    let address: SocketAddr = address.parse().map_err(|_| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{address:?} is not an address such as 127.0.0.1:7400"),
        )
    })?;
    let endpoint = Endpoint::new(server.into_service(), Config::default());
    let bound = bind(endpoint, address, false)
        .await
        .map_err(io::Error::other)?;
    #[cfg(unix)]
    let stop = polyport_rt::stdio::signals()?;
    #[cfg(not(unix))]
    let stop = polyport_rt::Stop::never();
    Ok(bound.serve(stop).await)
}
