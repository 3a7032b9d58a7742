//! Streamable HTTP on hyper, both sides: bodies, sessions in flight, the listener. What is decided is in `polyport-proto`.
//!
//! # Layout
//! - [`endpoint`]: one request in, one response out; its `legacy` half holds the sessions.
//! - `exchange`: what one stream still has to say; `outlet`: how calls speak into it; `reader`: who takes it; `body`: that as an HTTP body; `store`: what is kept.
//! - `routes`: what an endpoint answers on; `cors`: what pages in a browser may send and read there.
//! - [`serve`]: listener, connections. `mount`: the same endpoint inside another server, and the end of both.
//! - [`authorize`]: the hook that says who asks.
//! - `ws` (feature): WebSocket, both sides.
//! - `client` (feature): the asking side, over Streamable HTTP and over the older HTTP with SSE.

pub mod authorize;
mod body;
#[cfg(feature = "client")]
pub mod client;
mod collect;
mod cors;
pub mod endpoint;
mod exchange;
mod framing;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod mount;
mod outlet;
mod patient;
mod reader;
mod respond;
#[cfg(feature = "http2")]
mod room;
mod routes;
pub mod serve;
mod store;
#[cfg(feature = "ws")]
mod ws;

pub use authorize::{Authorize, Challenge};
pub use body::Body;
pub use endpoint::{Config, Endpoint};
pub use routes::{Access, Pair, Served};
pub use serve::{Bound, ListenError, bind};
