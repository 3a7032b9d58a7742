//! The asking side: the handshake over a connection of ours, and the caller that speaks over what comes of it.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use hyper_util::rt::TokioIo;
use polyport_proto::ClientFacts;
use polyport_rt::{CallError, Caller, MAX_ANSWER, Offer, Opened, Patience};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::PROTOCOL;
use super::accept::has;
use super::stream::Lines;
use crate::client::connect::Connection;
use crate::client::take;

/// How often a server is asked whether it is there.
const ALIVE: Duration = Duration::from_secs(20);

/// Connects and opens the conversation.
///
/// # Errors
/// [`CallError`].
pub(crate) async fn open(
    connection: &Connection,
    client: ClientFacts,
    offer: Offer,
    patience: Patience,
) -> Result<(Caller, Opened), CallError> {
    let shaking = handshake(connection);
    let upgraded = timeout(patience.handshake, shaking).await;
    let upgraded = upgraded.map_err(|_| CallError::TimedOut(patience.handshake.into()))??;
    let io = TokioIo::new(upgraded);
    let lines = Lines::new(io, Role::Client, MAX_ANSWER, ALIVE).await;
    let (reader, writer) = tokio::io::split(lines);
    Caller::open(reader, writer, client, offer, patience).await
}

async fn handshake(connection: &Connection) -> Result<hyper::upgrade::Upgraded, CallError> {
    let key = generate_key();
    let mut headers = HeaderMap::new();
    let wanted = [
        (header::CONNECTION, "Upgrade"),
        (header::UPGRADE, "websocket"),
        (header::SEC_WEBSOCKET_VERSION, "13"),
        (header::SEC_WEBSOCKET_PROTOCOL, PROTOCOL),
        (header::SEC_WEBSOCKET_KEY, &key),
    ];
    for (name, value) in wanted {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    }
    let uri = connection.uri();
    let asked = connection.request(Method::GET, uri, || headers.clone(), Bytes::new());
    let response = asked.await?;
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        let status = take::status(response).await;
        if status.code == 200 {
            let why = "it answers the handshake of a WebSocket as a page".to_owned();
            return Err(CallError::Unreadable(why));
        }
        return Err(CallError::Status(Box::new(status)));
    }
    check(response.headers(), &key).map_err(CallError::Unreadable)?;
    let upgraded = hyper::upgrade::on(response).await;
    upgraded.map_err(|error| CallError::Broken(error.to_string()))
}

/// Is this how a server agrees to what was asked, and to no more (RFC 6455, 4.1)?
fn check(headers: &HeaderMap, key: &str) -> Result<(), String> {
    let accepted = headers.get(header::SEC_WEBSOCKET_ACCEPT);
    let is_ours = |accepted: &HeaderValue| {
        accepted.as_bytes() == derive_accept_key(key.as_bytes()).as_bytes()
    };
    let is_switched =
        has(headers, header::UPGRADE, "websocket") && has(headers, header::CONNECTION, "upgrade");
    if !is_switched || !accepted.is_some_and(is_ours) {
        return Err("its handshake of a WebSocket is not an answer to ours".to_owned());
    }
    // Its messages would be packed in a way that we cannot unpack.
    if let Some(extensions) = said(headers, header::SEC_WEBSOCKET_EXTENSIONS) {
        return Err(format!(
            "its WebSocket has an extension that was not offered: {extensions}"
        ));
    }
    match said(headers, header::SEC_WEBSOCKET_PROTOCOL) {
        Some(chosen) if chosen == PROTOCOL => {}
        Some(chosen) => {
            return Err(format!(
                "its WebSocket speaks a sub-protocol that was not offered: {chosen}"
            ));
        }
        // D-20.
        None => {
            tracing::warn!("the server does not say that it speaks MCP over this WebSocket");
        }
    }
    Ok(())
}

/// What a header says, however often it comes; None: nothing.
fn said(headers: &HeaderMap, name: header::HeaderName) -> Option<String> {
    let values = headers.get_all(name);
    let values = values.iter().map(|value| take::shown(value.as_bytes()));
    let said: Vec<String> = values.filter(|value| !value.is_empty()).collect();
    (!said.is_empty()).then(|| said.join(", "))
}
