//! What is read of strangers and is nowhere to be had alone, for the checks of `fuzz`. Nobody else may count on it.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, Uri, header};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::client::coding::{Coding, STEP};
use crate::client::target;
use crate::ws::stream::Lines;

/// A body as it was before it was compressed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unpacked {
    /// What it was.
    pub text: Vec<u8>,
    /// All has come that was to come.
    pub is_whole: bool,
}

/// Takes the pieces of a body apart that is compressed in the way of this name, as the client does. None: it is not. What `each` is told is
/// how much came out of one step.
pub fn unpack<'a>(
    name: &'static str,
    pieces: impl Iterator<Item = &'a [u8]>,
    mut each: impl FnMut(usize),
) -> Option<Unpacked> {
    let name = HeaderValue::from_static(name);
    let headers = HeaderMap::from_iter([(header::CONTENT_ENCODING, name)]);
    let mut coding = Coding::of(&headers).ok()?;
    let mut text = Vec::new();
    for step in pieces.flat_map(|piece| piece.chunks(STEP)) {
        let made = coding.unpack(step)?;
        each(made.len());
        text.extend(made);
    }
    let is_whole = coding.is_whole();
    Some(Unpacked { text, is_whole })
}

/// The address that a server names of itself, whose own one is `base`.
///
/// # Errors
/// It is none, or somebody else's.
pub fn same_origin(base: &Uri, named: &str) -> Result<Uri, String> {
    target::same_origin(base, named)
}

/// Scheme, host and port, in one spelling.
pub fn origin(uri: &Uri) -> String {
    target::origin(uri)
}

/// A WebSocket after its handshake, as lines. Messages are no longer than `most`.
pub async fn socket<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    is_client: bool,
    most: usize,
) -> impl AsyncRead + AsyncWrite + Unpin {
    let role = if is_client {
        Role::Client
    } else {
        Role::Server
    };
    Lines::new(stream, role, most, Duration::from_secs(60)).await
}
