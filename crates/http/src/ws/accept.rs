//! The serving side: the handshake, and the connections that came of it until they end.

use std::sync::{Arc, Mutex, PoisonError};

use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Response, header};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use polyport_proto::Principal;
use polyport_rt::{Service, Stop, Stopper, driver, stop};
use tokio::io::AsyncWriteExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::PROTOCOL;
use super::stream::Lines;
use crate::body::Body;
use crate::respond;

const WEBSOCKET: HeaderValue = HeaderValue::from_static("websocket");
const UPGRADE: HeaderValue = HeaderValue::from_static("Upgrade");

/// The WebSockets of an endpoint.
#[derive(Debug)]
pub(crate) struct Sockets {
    room: Arc<Semaphore>,
    open: Mutex<JoinSet<()>>,
    stopper: Stopper,
    stop: Stop,
}

impl Sockets {
    /// At most so many at once.
    pub(crate) fn new(most: usize) -> Self {
        let (stopper, stop) = stop::stop();
        Self {
            room: Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))),
            open: Mutex::default(),
            stopper,
            stop,
        }
    }

    /// Tells all of them that it ends, and gives them to whoever waits for that.
    pub(crate) fn leave(&self) -> JoinSet<()> {
        self.stopper.stop();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *open)
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        while open.try_join_next().is_some() {}
        open.spawn(task);
    }
}

/// Does a request want to become a WebSocket?
pub(crate) fn is_upgrade(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::GET && has(headers, header::UPGRADE, "websocket")
}

/// Answers a handshake from somebody who may connect, and serves what comes of it.
pub(crate) fn accept(
    sockets: &Sockets,
    service: &Service,
    head: &mut Parts,
    principal: Option<Arc<Principal>>,
) -> Response<Body> {
    let headers = &head.headers;
    let key = headers.get(header::SEC_WEBSOCKET_KEY);
    let key = key.filter(|key| is_key(key.as_bytes()));
    let version = headers.get(header::SEC_WEBSOCKET_VERSION);
    if version.is_none_or(|version| version.as_bytes() != b"13") {
        let mut response = respond::empty(426);
        let ours = response.headers_mut();
        ours.insert(
            header::SEC_WEBSOCKET_VERSION,
            HeaderValue::from_static("13"),
        );
        return response;
    }
    let (Some(key), true) = (key, has(headers, header::CONNECTION, "upgrade")) else {
        return respond::empty(400);
    };
    let accepted = HeaderValue::from_str(&derive_accept_key(key.as_bytes()));
    let is_offered = has(headers, header::SEC_WEBSOCKET_PROTOCOL, PROTOCOL);
    let Some(upgrade) = head.extensions.remove::<OnUpgrade>() else {
        // Over HTTP/2, or inside a server that upgrades nothing.
        return respond::empty(501);
    };
    let Ok(permit) = sockets.room.clone().try_acquire_owned() else {
        return respond::empty(503);
    };
    sockets.spawn(serve(
        upgrade,
        service.clone(),
        sockets.stop.clone(),
        principal,
        permit,
    ));
    let mut response = respond::empty(101);
    let ours = response.headers_mut();
    ours.insert(header::UPGRADE, WEBSOCKET);
    ours.insert(header::CONNECTION, UPGRADE);
    if let Ok(accepted) = accepted {
        ours.insert(header::SEC_WEBSOCKET_ACCEPT, accepted);
    }
    if is_offered {
        ours.insert(
            header::SEC_WEBSOCKET_PROTOCOL,
            HeaderValue::from_static(PROTOCOL),
        );
    }
    response
}

async fn serve(
    upgrade: OnUpgrade,
    service: Service,
    stop: Stop,
    principal: Option<Arc<Principal>>,
    _permit: OwnedSemaphorePermit,
) {
    let limits = service.limits.clone();
    let upgraded = match timeout(limits.request_read, upgrade).await {
        Ok(Ok(upgraded)) => upgraded,
        Ok(Err(error)) => return tracing::debug!(%error, "a WebSocket did not come about"),
        Err(_) => return tracing::debug!("a WebSocket did not come about in time"),
    };
    let io = TokioIo::new(upgraded);
    let lines = Lines::new(io, Role::Server, limits.message_bytes, limits.keep_alive).await;
    let (mut reader, mut writer) = tokio::io::split(lines);
    let stopped = stop.clone();
    driver::drive_over(
        &service,
        "websocket",
        principal,
        &mut reader,
        &mut writer,
        stop,
    )
    .await;
    let mut lines = reader.unsplit(writer);
    if stopped.is_stopped() {
        lines.close_as(CloseCode::Away, "the server stops");
    }
    lines.close_as(CloseCode::Normal, "");
    // A peer that does not close in turn is not waited for.
    let _ = timeout(limits.cancel_grace, lines.shutdown()).await;
}

/// Is a word among those of a header, which is a list?
pub(super) fn has(headers: &HeaderMap, name: header::HeaderName, word: &str) -> bool {
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|part| part.trim().eq_ignore_ascii_case(word))
}

/// 16 bytes in base64 (RFC 6455, 4.2.1).
fn is_key(key: &[u8]) -> bool {
    key.len() == 24
        && key.ends_with(b"==")
        && key[..22]
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}
