//! The asking side over HTTP: which way a server is spoken to is found out here. What is said is `polyport-rt`'s.

mod coding;
pub(crate) mod connect;
mod head;
mod listen;
mod notes;
mod pair;
mod proxy;
mod resume;
mod streamable;
pub(crate) mod take;
mod target;
#[cfg(feature = "tls")]
mod tls;
mod way;

use polyport_proto::{ClientFacts, Era, Revisions};
use polyport_rt::{CallError, Caller, Opened, Patience};

use connect::Connection;
pub use target::{BadTarget, Target};

/// Connects to the server at an address in the newest revision that both speak: over Streamable HTTP, or over the older HTTP with
/// SSE where there is no such thing.
///
/// # Errors
/// [`CallError`]. [`CallError::Unreachable`] and [`CallError::Status`] say nothing about what the server speaks.
pub async fn open(
    target: Target,
    client: ClientFacts,
    ours: Revisions,
    patience: Patience,
) -> Result<(Caller, Opened), CallError> {
    let is_socket = target.is_socket();
    let connection = Connection::to(target)?;
    #[cfg(feature = "ws")]
    if is_socket {
        return crate::ws::dial::open(&connection, client, ours, patience).await;
    }
    debug_assert!(!is_socket, "there is no such target without the feature");
    let carrier = |inbox| streamable::carry(connection.clone(), inbox);
    let refused = match Caller::open_over(carrier, client.clone(), ours, patience).await {
        Err(CallError::Status(status)) if matches!(status.code, 400 | 404 | 405) => status,
        other => return other,
    };
    let legacy = ours.only(Era::Legacy);
    if legacy == Revisions::NONE {
        return Err(CallError::Status(refused));
    }
    // 2025-03-26, basic/transports, Backwards Compatibility: a server of before answers GET with its endpoint.
    match pair::carry(connection, patience.handshake).await {
        Ok(carrier) => Caller::open_over(carrier, client, legacy, patience).await,
        Err(error @ CallError::Unreachable(_)) => Err(error),
        Err(CallError::Broken(why)) => {
            let code = refused.code;
            Err(CallError::Broken(format!(
                "{why} (before, it refused POST with HTTP status {code})"
            )))
        }
        Err(_) => Err(CallError::Status(refused)),
    }
}
