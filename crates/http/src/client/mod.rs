//! The asking side over HTTP: which way a server is spoken to is found out here. What is said is `polyport-rt`'s.

pub(crate) mod coding;
pub(crate) mod connect;
mod dial;
mod direct;
mod head;
mod listen;
mod notes;
mod pair;
mod proxy;
mod resume;
mod sends;
mod streamable;
pub(crate) mod take;
pub(crate) mod target;
#[cfg(feature = "tls")]
mod tls;
mod way;
mod words;

use std::sync::Arc;

use polyport_proto::{ClientFacts, Era, Revisions};
use polyport_rt::{CallError, Caller, Carrier, Inbox, Offer, Opened, Patience};

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
    offer: impl Into<Offer>,
    patience: Patience,
) -> Result<(Caller, Opened), CallError> {
    let offer = offer.into();
    let (is_socket, is_sse) = (target.is_socket(), target.is_sse());
    let connection = Connection::to(target)?;
    #[cfg(feature = "ws")]
    if is_socket {
        return crate::ws::dial::open(&connection, client, offer, patience).await;
    }
    debug_assert!(!is_socket, "there is no such target without the feature");
    let legacy = offer.ours().only(Era::Legacy);
    if is_sse && legacy != Revisions::NONE {
        match pair::carry(connection.clone(), patience.handshake).await {
            Ok(carrier) => return older(carrier, client, offer, patience).await,
            // What it refuses may be a type that its configuration has kept from before.
            Err(CallError::Status(_)) => {}
            Err(error) => return Err(error),
        }
    }
    let refused = match streamable(&connection, client.clone(), offer, patience).await {
        Err(CallError::Status(status)) if matches!(status.code, 400 | 404 | 405) => status,
        other => return other,
    };
    if legacy == Revisions::NONE {
        return Err(CallError::Status(refused));
    }
    // 2025-03-26, basic/transports, Backwards Compatibility: a server of before answers GET with its endpoint.
    match pair::carry(connection.clone(), patience.handshake).await {
        Ok(carrier) => older(carrier, client, offer, patience).await,
        Err(error @ CallError::Unreachable(_)) => Err(error),
        // Of one that says nothing at all, what it has refused is more.
        Err(CallError::TimedOut(late)) if late.odd.is_some() => Err(CallError::TimedOut(late)),
        // Nothing of what was known of it holds.
        Err(_) if offer.known().is_some() => {
            streamable(&connection, client, offer.knowing(None), patience).await
        }
        Err(CallError::Broken(why)) => {
            let code = refused.code;
            Err(CallError::Broken(format!(
                "{why} (before, it refused POST with HTTP status {code})"
            )))
        }
        Err(_) => Err(CallError::Status(refused)),
    }
}

async fn older(
    carrier: impl FnOnce(Inbox) -> Arc<dyn Carrier>,
    client: ClientFacts,
    offer: Offer,
    patience: Patience,
) -> Result<(Caller, Opened), CallError> {
    let legacy = offer.ours().only(Era::Legacy);
    let (caller, mut opened) = Caller::open_over(carrier, client, legacy, patience).await?;
    opened.verdict = offer.is_both().then_some(opened.revision);
    Ok((caller, opened))
}

async fn streamable(
    connection: &Connection,
    client: ClientFacts,
    offer: Offer,
    patience: Patience,
) -> Result<(Caller, Opened), CallError> {
    let carrier = |inbox| streamable::carry(connection.clone(), inbox);
    Caller::open_over(carrier, client, offer, patience).await
}
