//! What one request still has to say to its client: events in order, then the end. Filled by calls, emptied by a body.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use polyport_proto::Limits;
use polyport_rt::{Alert, Context, Outlet};
use polyport_wire::sse;
use tokio::sync::Notify;

/// The answer of a request that did not stream.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Empty: the call was cancelled and is not answered.
    pub(crate) text: Vec<u8>,
}

/// One POST, or one GET.
#[derive(Debug)]
pub(crate) struct Exchange {
    state: Mutex<State>,
    wake: Notify,
    streams: bool,
    max_messages: usize,
    max_bytes: usize,
}

#[derive(Debug)]
struct State {
    notes: VecDeque<(Context, Vec<u8>)>,
    bytes: usize,
    answer: Option<Answer>,
    /// Calls that have not ended.
    open: usize,
}

impl State {
    fn end(&mut self, answer: Answer) {
        if !answer.text.is_empty() || self.answer.is_none() {
            self.answer = Some(answer);
        }
        self.open = self.open.saturating_sub(1);
    }
}

/// What a request waits for before its response begins.
pub(crate) enum First {
    /// All calls have ended without a word before.
    Answer(Answer),
    /// Something is said before the end.
    Stream,
}

impl Exchange {
    /// For this many calls. `streams`: the client takes events.
    pub(crate) fn new(limits: &Limits, calls: usize, streams: bool) -> Self {
        let state = State {
            notes: VecDeque::new(),
            bytes: 0,
            answer: None,
            open: calls,
        };
        Self {
            state: Mutex::new(state),
            wake: Notify::new(),
            streams,
            max_messages: limits.queue_messages,
            max_bytes: limits.queue_bytes,
        }
    }

    /// One call has ended; `text` is what stands in `answer` for it, perhaps nothing.
    pub(crate) fn end(&self, context: &Context, status: u16, text: Vec<u8>) {
        let held = context.finish();
        let mut state = self.lock();
        state.notes.extend(
            held.into_iter()
                .filter(|_| self.streams)
                .map(|note| (context.clone(), note)),
        );
        state.end(Answer { status, text });
        drop(state);
        self.wake.notify_one();
    }

    /// One message of a batch has its reply without a call; `text` is the whole batch if this was the last one.
    pub(crate) fn end_part(&self, text: Vec<u8>) {
        self.lock().end(Answer { status: 200, text });
        self.wake.notify_one();
    }

    /// Leaves an answer for when all calls have ended.
    pub(crate) fn put(&self, text: Vec<u8>) {
        self.lock().answer = Some(Answer { status: 200, text });
    }

    /// Ends a stream that has no calls.
    pub(crate) fn close(&self) {
        self.lock().open = 0;
        self.wake.notify_one();
    }

    /// Nothing has been said, and all calls have ended: the answer.
    pub(crate) fn silent_answer(&self) -> Option<First> {
        let mut state = self.lock();
        if !state.notes.is_empty() {
            return Some(First::Stream);
        }
        if state.open == 0 {
            state.answer.take().map(First::Answer)
        } else {
            None
        }
    }

    /// Waits for the first word or the end.
    pub(crate) async fn first(&self) -> First {
        loop {
            let woken = self.wake.notified();
            if let Some(first) = self.silent_answer() {
                return first;
            }
            woken.await;
        }
    }

    /// All that may be written now, as events; and whether that was all there will be.
    pub(crate) fn take_events(&self) -> (Option<Bytes>, bool) {
        let mut state = self.lock();
        let mut out = Vec::new();
        state.bytes = 0;
        for (context, note) in state.notes.drain(..) {
            if !context.is_revoked() {
                sse::event(&mut out, None, Some("message"), &note);
            }
        }
        let over = state.open == 0;
        if over && let Some(answer) = state.answer.take().filter(|a| !a.text.is_empty()) {
            sse::event(&mut out, None, Some("message"), &answer.text);
        }
        ((!out.is_empty()).then(|| out.into()), over)
    }

    /// Waits until there may be something to take.
    pub(crate) async fn woken(&self) {
        self.wake.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Alert for Exchange {
    fn alert(&self) {
        self.wake.notify_one();
    }
}

impl Outlet for Exchange {
    fn note(&self, context: &Context, message: Vec<u8>) -> Result<(), Vec<u8>> {
        if !self.streams {
            // A client that takes no stream is told nothing but the answer.
            return Ok(());
        }
        let mut state = self.lock();
        if state.notes.len() >= self.max_messages || state.bytes + message.len() > self.max_bytes {
            return Err(message);
        }
        state.bytes += message.len();
        state.notes.push_back((context.clone(), message));
        drop(state);
        self.wake.notify_one();
        Ok(())
    }

    fn transport(&self) -> &'static str {
        "http"
    }
}
