//! WebSocket, both sides: one text message is one JSON-RPC message, and what holds on stdio holds here. No revision defines it; it is
//! a custom transport as each of them allows (basic/transports).

mod accept;
#[cfg(feature = "client")]
pub(crate) mod dial;
pub(crate) mod stream;

pub(crate) use accept::{Sockets, accept, is_upgrade};

/// The sub-protocol that is offered and echoed.
const PROTOCOL: &str = "mcp";
