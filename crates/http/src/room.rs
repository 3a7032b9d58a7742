//! Answers over HTTP/2 to whose bytes their client grants no room: they end after a time. Whether it takes what is on its
//! connection is for `patient` to see.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use hyper::rt::Executor;
use tokio::time::{Sleep, sleep};

/// Bytes of an answer that are handed on at once, so that it shows when some of it is taken.
const PIECE: usize = 16 << 10;

tokio::task_local! {
    static TURN: Arc<Turn>;
}

/// Who is to do something next about one answer: we, or the client.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    is_clients: AtomicBool,
    /// Pieces that were handed on.
    pieces: AtomicU64,
}

impl Turn {
    /// That of the request which is served here; none over HTTP/1.1.
    pub(crate) fn current() -> Option<Arc<Self>> {
        TURN.try_with(Arc::clone).ok()
    }

    /// The body was asked for more.
    pub(crate) fn note(&self, next: &Poll<Option<Bytes>>) {
        self.is_clients.store(next.is_ready(), Ordering::Relaxed);
        if next.is_ready() {
            self.pieces.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The next piece of an answer that is there already. The last one is a byte, which goes only when all before it has gone.
    pub(crate) fn piece(whole: &mut Option<Bytes>) -> Option<Bytes> {
        match whole {
            Some(bytes) if bytes.len() > 1 => {
                let size = PIECE.min(bytes.len() - 1);
                Some(bytes.split_to(size))
            }
            _ => whole.take(),
        }
    }

    /// How many pieces the client has made room for, while it is to make room for more.
    fn waits_for_client(&self) -> Option<u64> {
        let pieces = self.pieces.load(Ordering::Relaxed);
        self.is_clients.load(Ordering::Relaxed).then_some(pieces)
    }
}

/// Runs what serves the requests of HTTP/2 connections, each for as long as its client makes room for its answer now and then.
#[derive(Clone, Debug)]
pub(crate) struct Roomy(pub(crate) Duration);

impl<F> Executor<F> for Roomy
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, serving: F) {
        tokio::spawn(bounded(serving, self.0));
    }
}

async fn bounded(serving: impl Future<Output = ()>, patience: Duration) {
    let turn = Arc::new(Turn::default());
    let mut serving = pin!(TURN.scope(turn.clone(), serving));
    let mut waiting: Option<(u64, Pin<Box<Sleep>>)> = None;
    poll_fn(|cx| {
        if serving.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        let Some(pieces) = turn.waits_for_client() else {
            waiting = None;
            return Poll::Pending;
        };
        let (_, over) = match waiting.take() {
            Some(same) if same.0 == pieces => waiting.insert(same),
            _ => waiting.insert((pieces, Box::pin(sleep(patience)))),
        };
        // Dropped, the stream is reset.
        over.as_mut().poll(cx)
    })
    .await;
}
