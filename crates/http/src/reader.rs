//! Who empties a stream: one reader at a time, and the newest one has it. A reader that comes back gets what followed the last
//! event that it has seen.

use std::future::poll_fn;
use std::sync::{Arc, MutexGuard};
use std::task::{Context, Poll};

use bytes::Bytes;
use polyport_proto::Blame;
use polyport_proto::http::EventId;
use polyport_wire::sse;

use crate::exchange::{Answer, Exchange, Seat, State};

/// What a request waits for before its response begins.
pub(crate) enum First {
    /// All calls have ended without a word before.
    Answer(Answer),
    /// Something is said before the end.
    Stream,
}

/// The right to read a stream, until another reader takes it.
#[derive(Debug)]
pub(crate) struct Reader {
    exchange: Arc<Exchange>,
    turn: u64,
    /// The event after which it began.
    after: u64,
}

impl Reader {
    /// Reads from the beginning.
    pub(crate) fn new(exchange: Arc<Exchange>) -> Self {
        let turn = sit(exchange.lock());
        Self {
            exchange,
            turn,
            after: 0,
        }
    }

    /// Reads what followed an event. A connection that still has the stream loses it: who comes back says that it is dead.
    /// None: the stream has ended, and nothing followed.
    ///
    /// # Errors
    /// There was no such event, or what followed it is no longer there.
    pub(crate) fn after(exchange: Arc<Exchange>, event: u64) -> Result<Option<Self>, Blame> {
        let mut state = exchange.lock();
        state.log.rewind(event)?;
        if state.is_over() {
            return Ok(None);
        }
        let turn = sit(state);
        Ok(Some(Self {
            exchange,
            turn,
            after: event,
        }))
    }

    pub(crate) fn exchange(&self) -> &Arc<Exchange> {
        &self.exchange
    }

    /// The event with which the stream begins, where it begins with an id and no data (2025-11-25, basic/transports).
    pub(crate) fn priming(&self) -> Option<Bytes> {
        let number = self.exchange.lock().number;
        let stream = number.filter(|_| self.exchange.is_polled())?;
        let id = EventId {
            stream,
            event: self.after,
        };
        let mut out = Vec::new();
        sse::event(&mut out, Some(&id.to_string()), None, b"");
        Some(out.into())
    }

    /// Something has been said, or all calls have ended.
    pub(crate) fn try_first(&mut self) -> Option<First> {
        first(&mut self.exchange.lock())
    }

    /// Waits for the first word or the end.
    pub(crate) async fn first(&mut self) -> First {
        poll_fn(|cx| {
            let mut state = self.exchange.lock();
            match first(&mut state) {
                Some(first) => Poll::Ready(first),
                None => self.wait(&mut state, cx),
            }
        })
        .await
    }

    /// All that may be written now, as events; and whether that was all there will be.
    pub(crate) fn take(&mut self) -> (Option<Bytes>, bool) {
        self.exchange.refill();
        self.read(&mut self.exchange.lock())
    }

    /// The same, once there is something. None: that was all.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut state = self.exchange.lock();
        match self.read(&mut state) {
            (Some(events), _) => Poll::Ready(Some(events)),
            (None, true) => Poll::Ready(None),
            (None, false) => {
                let wait = self.wait(&mut state, cx);
                drop(state);
                // Whatever has changed before we could be woken wakes us now.
                self.exchange.refill();
                wait
            }
        }
    }

    fn read(&self, state: &mut State) -> (Option<Bytes>, bool) {
        if !self.has_seat(state) {
            return (None, true);
        }
        let number = state.number;
        let mut out = Vec::new();
        for (event, said) in state.log.take() {
            if !said.is_revoked() {
                let id = number.map(|stream| EventId { stream, event }.to_string());
                sse::event(&mut out, id.as_deref(), Some("message"), &said.text);
            }
        }
        self.exchange.trim(state);
        let mut over = state.is_over();
        if !over && let Some(after) = state.released.take() {
            let ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
            sse::retry(&mut out, ms);
            state.stand_up(after);
            over = true;
        }
        ((!out.is_empty()).then(|| out.into()), over)
    }

    fn has_seat(&self, state: &State) -> bool {
        state
            .reader
            .as_ref()
            .is_some_and(|seat| seat.turn == self.turn)
    }

    fn wait<T>(&self, state: &mut State, cx: &Context<'_>) -> Poll<T> {
        if self.has_seat(state)
            && let Some(seat) = &mut state.reader
        {
            seat.waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}

/// Takes the stream from whoever has it.
fn sit(mut state: MutexGuard<'_, State>) -> u64 {
    if state.turns > 0 {
        // That was for the one before.
        state.released = None;
    }
    state.turns += 1;
    let turn = state.turns;
    let before = state.reader.replace(Seat { turn, waker: None });
    drop(state);
    if let Some(waker) = before.and_then(|seat| seat.waker) {
        waker.wake();
    }
    turn
}

fn first(state: &mut State) -> Option<First> {
    if state.log.waiting().0 > 0 || state.released.is_some() {
        return Some(First::Stream);
    }
    if state.open == 0 {
        state.answer.take().map(First::Answer)
    } else {
        None
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.exchange.leave(self.turn);
    }
}
