//! Streamable HTTP on hyper, the serving side: bodies, sessions in flight, the listener. What is decided is in `polyport-proto`.
//!
//! # Layout
//! - [`endpoint`]: one request in, one response out; its `legacy` half holds the sessions.
//! - `exchange`: what one POST or GET still has to say; `body`: that as an HTTP body.
//! - [`serve`]: listener, connections, drain.
//! - [`authorize`]: the hook that says who asks.

pub mod authorize;
mod body;
mod collect;
pub mod endpoint;
mod exchange;
mod patient;
mod respond;
pub mod serve;

pub use authorize::{Authorize, Challenge};
pub use body::Body;
pub use endpoint::{Config, Endpoint};
pub use serve::{Bound, ListenError, bind};
