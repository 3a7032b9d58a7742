//! Serving over Streamable HTTP, and the older HTTP with SSE beside it.

use std::io;
use std::net::SocketAddr;

use polyport_rt::Ended;

pub use ::http::HeaderMap;
pub use polyport_http::{Authorize, Bound, Challenge, Config, Endpoint, ListenError, Pair, bind};
pub use polyport_proto::http::{Guard, HeaderParam, ParamKind};

use crate::server::Server;

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
