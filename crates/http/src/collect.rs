//! Reads the body of a request: bounded in bytes and time, without a copy where it comes in one piece.

use bytes::{Bytes, BytesMut};
use http_body::Body;
use std::future::poll_fn;
use std::pin::Pin;

use polyport_proto::{Blame, Limits};

/// Why a body was not read.
#[derive(Debug)]
pub(crate) enum Unread {
    /// It is too long.
    TooLong(Blame),
    /// It did not come in time.
    TimedOut,
    /// The client went away.
    Gone,
}

/// The whole body.
pub(crate) async fn collect<B>(body: B, limits: &Limits) -> Result<Bytes, Unread>
where
    B: Body<Data = Bytes> + Unpin,
{
    let Some(first) = tokio::time::timeout(limits.request_read, pieces(body, limits.message_bytes))
        .await
        .ok()
    else {
        return Err(Unread::TimedOut);
    };
    first
}

async fn pieces<B>(mut body: B, max: usize) -> Result<Bytes, Unread>
where
    B: Body<Data = Bytes> + Unpin,
{
    let hint = usize::try_from(body.size_hint().lower())
        .unwrap_or(usize::MAX)
        .min(max);
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let Ok(data) = frame.map_err(|_| Unread::Gone)?.into_data() else {
            continue;
        };
        if first.len().max(all.len()) + data.len() > max {
            return Err(Unread::TooLong(Blame::TooLong { limit: max }));
        }
        if first.is_empty() && all.is_empty() {
            first = data;
            continue;
        }
        if all.is_empty() {
            all.reserve(hint.max(first.len() + data.len()));
            all.extend_from_slice(&std::mem::take(&mut first));
        }
        all.extend_from_slice(&data);
    }
    Ok(if all.is_empty() { first } else { all.freeze() })
}
