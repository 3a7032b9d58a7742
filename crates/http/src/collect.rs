//! Reads the body of a request: bounded in bytes and time, without a copy where it comes in one piece.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http_body::Body;
use polyport_proto::{Blame, Limits};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A body up to this length is not counted against the bytes of all: connections bound them.
const FREE: usize = 64 << 10;
/// Room that is made at once for a body that promises to be long; beyond, it grows with what comes.
const AT_ONCE: usize = 1 << 20;
/// What one permit stands for, so that their number fits what a semaphore counts.
const UNIT: usize = 1 << 10;

/// Why a body was not read.
#[derive(Debug)]
pub(crate) enum Unread {
    /// It is too long, or too much is being read at once.
    Refused(Blame),
    /// It did not come in time.
    TimedOut,
    /// The client went away.
    Gone,
}

/// The bytes that bodies may hold at once.
#[derive(Clone, Debug)]
pub(crate) struct Budget(Arc<Semaphore>);

impl Budget {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self(Arc::new(Semaphore::new(
            (limits.bodies_bytes / UNIT).min(Semaphore::MAX_PERMITS),
        )))
    }
}

/// A body, and its part of the budget, which is held as long as this is.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(crate) bytes: Bytes,
    _share: Option<OwnedSemaphorePermit>,
}

/// The whole body.
pub(crate) async fn collect<B>(
    body: B,
    limits: &Limits,
    budget: &Budget,
) -> Result<Collected, Unread>
where
    B: Body<Data = Bytes>,
{
    let read = pieces(body, limits.message_bytes, budget);
    tokio::time::timeout(limits.request_read, read)
        .await
        .unwrap_or(Err(Unread::TimedOut))
}

async fn pieces<B>(body: B, max: usize, budget: &Budget) -> Result<Collected, Unread>
where
    B: Body<Data = Bytes>,
{
    let mut body = pin!(body);
    let hint = usize::try_from(body.size_hint().lower())
        .unwrap_or(usize::MAX)
        .min(max);
    let mut share = None;
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        let Ok(data) = frame.map_err(|_| Unread::Gone)?.into_data() else {
            continue;
        };
        let length = first.len().max(all.len()) + data.len();
        if length > max {
            return Err(Unread::Refused(Blame::TooLong { limit: max }));
        }
        if first.is_empty() && all.is_empty() {
            first = data;
            continue;
        }
        // What has come counts, not what was promised: a few connections that promise much would shut out everybody else.
        claim(&mut share, length, budget)?;
        if all.is_empty() {
            all.reserve(hint.min(AT_ONCE).max(length));
            all.extend_from_slice(&std::mem::take(&mut first));
        }
        all.extend_from_slice(&data);
    }
    let bytes = if all.is_empty() { first } else { all.freeze() };
    Ok(Collected {
        bytes,
        _share: share,
    })
}

/// Makes the share as large as a body of this length needs.
fn claim(
    share: &mut Option<OwnedSemaphorePermit>,
    length: usize,
    budget: &Budget,
) -> Result<(), Unread> {
    let wanted = if length > FREE {
        length.div_ceil(UNIT)
    } else {
        0
    };
    let more = wanted.saturating_sub(share.as_ref().map_or(0, OwnedSemaphorePermit::num_permits));
    let Ok(more) = u32::try_from(more) else {
        return Err(Unread::Refused(Blame::TooManyBytes));
    };
    if more == 0 {
        return Ok(());
    }
    let got = budget
        .0
        .clone()
        .try_acquire_many_owned(more)
        .map_err(|_| Unread::Refused(Blame::TooManyBytes))?;
    match share {
        Some(share) => share.merge(got),
        None => *share = Some(got),
    }
    Ok(())
}
