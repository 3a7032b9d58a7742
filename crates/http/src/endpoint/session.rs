//! One legacy session: a conversation, the calls that run in it, and the streams that its client holds open.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use polyport_proto::Peer;
use polyport_proto::http::Occupied;
use polyport_rt::{CancelReason, Context};

use crate::exchange::Exchange;

/// What is kept of a running call: how to cancel it, and whose answer it is part of.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) context: Context,
    pub(crate) exchange: Arc<Exchange>,
}

/// A session.
#[derive(Debug)]
pub(crate) struct Session {
    peer: Mutex<Peer<Running>>,
    streams: Mutex<Vec<Weak<Exchange>>>,
}

impl Session {
    pub(crate) fn new(peer: Peer<Running>) -> Self {
        Self {
            peer: Mutex::new(peer),
            streams: Mutex::default(),
        }
    }

    pub(crate) fn peer(&self) -> MutexGuard<'_, Peer<Running>> {
        self.peer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn streams(&self) -> MutexGuard<'_, Vec<Weak<Exchange>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in one more stream; false: there are as many as there may be.
    pub(crate) fn add_stream(&self, exchange: &Arc<Exchange>, max: usize) -> bool {
        let mut streams = self.streams();
        streams.retain(|stream| stream.strong_count() > 0);
        let room = streams.len() < max;
        if room {
            streams.push(Arc::downgrade(exchange));
        }
        room
    }

    /// Ends the streams; calls may go on.
    pub(crate) fn close_streams(&self) {
        for stream in self.streams().drain(..) {
            if let Some(exchange) = stream.upgrade() {
                exchange.close();
            }
        }
    }

    /// Ends all of it; gives back how many calls were cut.
    pub(crate) fn end(&self, reason: CancelReason) -> usize {
        self.close_streams();
        let mut peer = self.peer();
        let calls = peer.abandon();
        // Under the lock: whoever ends a call looks there whether it was cancelled.
        calls.iter().for_each(|call| call.context.cancel(reason));
        calls.len()
    }
}

impl Occupied for Session {
    fn is_occupied(&self) -> bool {
        self.peer().in_flight() > 0
            || self
                .streams()
                .iter()
                .any(|stream| stream.strong_count() > 0)
    }
}
