//! What one stream still has to say to its client: events in order, then the end. Filled by calls and by the session; see
//! `reader` for who empties it. What was read may be kept for a reader that comes back.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;
use std::time::Duration;

use polyport_proto::Limits;
use polyport_proto::http::Log;
use polyport_rt::{Asked, Clock, Context, Listener, Revocation};

use crate::store::Store;

/// The answer of a request that did not stream.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Empty: the call was cancelled and is not answered.
    pub(crate) text: Vec<u8>,
}

/// The session of a stream, for what is said beside its calls' progress and answers.
pub(crate) trait Home: Send + Sync {
    /// Writes a request to the client, and keeps who waits for its answer. Nothing is written where there is no room for it.
    fn ask(&self, context: &Context, asked: Asked) -> Vec<u8>;

    /// Nobody waits any more for some of what this call has asked: what the client is told.
    fn unask(&self, context: &Context) -> Vec<Vec<u8>>;

    /// Within which bounds its client is asked.
    fn limits(&self) -> &Limits;

    /// Who hears of changes for it.
    fn listener(&self) -> Option<Arc<Listener>>;

    /// Posts what has changed on this stream, if that is where it belongs.
    fn post_changes(&self, stream: &Exchange);
}

/// Which stream it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    /// That of one POST: it ends with the answer.
    Calls,
    /// That of one GET: what belongs to no request.
    General,
    /// The only one of its session (HTTP with SSE): all answers, and everything else.
    Pair,
}

/// One stream, or what may become one.
#[derive(Debug)]
pub(crate) struct Exchange {
    state: Mutex<State>,
    kind: Kind,
    /// The client takes events.
    streams: bool,
    /// It begins with an id, and may be ended early.
    polled: bool,
    /// Where it counts what is kept of it. None: nothing is kept.
    store: Option<Arc<Store>>,
    /// None: the request stands alone.
    home: Option<Weak<dyn Home>>,
    max_messages: usize,
    max_bytes: usize,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) log: Log<Event>,
    pub(crate) answer: Option<Answer>,
    /// Calls that have not ended, and the GET that has not.
    pub(crate) open: usize,
    /// No more is let in than its calls have to say.
    closed: bool,
    /// The answer is one of the events.
    streaming: bool,
    /// Which stream of its session it is; then its events have ids.
    pub(crate) number: Option<u64>,
    pub(crate) reader: Option<Seat>,
    /// Since when its last reader is gone, and how long that one was told to stay away.
    pub(crate) left: Option<(Clock, Duration)>,
    /// Counts the readers.
    pub(crate) turns: u64,
    /// The reader is to leave, and to come back after this time.
    pub(crate) released: Option<Duration>,
    /// Nobody will ever read it.
    pub(crate) deaf: bool,
    /// What this one hears is said here, too.
    pub(crate) source: Option<Arc<Listener>>,
}

#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) text: Vec<u8>,
    /// Of the call that said it. This holds nothing of the call, which itself holds the exchange.
    pub(crate) call: Option<Revocation>,
}

/// The place of the reader.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) turn: u64,
    pub(crate) waker: Option<Waker>,
}

impl Event {
    pub(crate) fn is_revoked(&self) -> bool {
        self.call.as_ref().is_some_and(Revocation::is_revoked)
    }
}

impl Exchange {
    fn new(limits: &Limits, kind: Kind, open: usize, streams: bool) -> Self {
        let state = State {
            log: Log::default(),
            answer: None,
            open,
            closed: false,
            streaming: kind != Kind::Calls,
            number: None,
            reader: None,
            left: None,
            turns: 0,
            released: None,
            deaf: false,
            source: None,
        };
        Self {
            state: Mutex::new(state),
            kind,
            streams,
            polled: false,
            store: None,
            home: None,
            max_messages: limits.queue_messages,
            max_bytes: limits.queue_bytes,
        }
    }

    /// For a POST with this many calls. `streams`: the client takes events.
    pub(crate) fn calls(limits: &Limits, calls: usize, streams: bool) -> Self {
        Self::new(limits, Kind::Calls, calls, streams)
    }

    /// For a GET.
    pub(crate) fn general(limits: &Limits) -> Self {
        Self::new(limits, Kind::General, 1, true)
    }

    /// For a session that has this stream only.
    pub(crate) fn pair(limits: &Limits) -> Self {
        Self::new(limits, Kind::Pair, 1, true)
    }

    /// What was read is kept. `polled`: it begins with an id, and may be ended early.
    #[must_use]
    pub(crate) fn kept(mut self, store: &Arc<Store>, polled: bool) -> Self {
        self.store = Some(store.clone());
        self.polled = polled && self.streams;
        self
    }

    /// It belongs to a session.
    #[must_use]
    pub(crate) fn at(mut self, home: Weak<dyn Home>) -> Self {
        self.home = Some(home);
        self
    }

    pub(crate) fn home(&self) -> Option<Arc<dyn Home>> {
        self.home.as_ref()?.upgrade()
    }

    pub(crate) fn is_polled(&self) -> bool {
        self.polled
    }

    /// Does its client take events?
    pub(crate) fn streams(&self) -> bool {
        self.streams
    }

    /// Is it the only one of its session?
    pub(crate) fn is_pair(&self) -> bool {
        self.kind == Kind::Pair
    }

    /// Is it that of a POST?
    pub(crate) fn is_of_calls(&self) -> bool {
        self.kind == Kind::Calls
    }

    /// Is it that of a GET?
    pub(crate) fn is_general(&self) -> bool {
        self.kind == Kind::General
    }

    /// Does somebody read it?
    pub(crate) fn is_read(&self) -> bool {
        self.lock().reader.is_some()
    }

    /// Does nobody read it, and no call fill it?
    pub(crate) fn is_idle(&self) -> bool {
        let state = self.lock();
        state.reader.is_none() && (state.open == 0 || self.is_general())
    }

    /// From now on the answer is an event; with a number, events have ids.
    pub(crate) fn begin_stream(&self, number: Option<u64>) {
        let mut state = self.lock();
        state.streaming = true;
        state.number = number;
        self.settle(&mut state);
    }

    /// One more call fills it, where their number is not known from the beginning.
    pub(crate) fn expect_call(&self) {
        if self.kind == Kind::Pair {
            self.lock().open += 1;
        }
    }

    /// One call has ended; `text` is what stands in `answer` for it, perhaps nothing.
    pub(crate) fn end(&self, context: &Context, status: u16, text: Vec<u8>) {
        let held = context.finish();
        let mut state = self.lock();
        if self.streams {
            for text in held {
                let call = Some(context.revocation());
                self.push(&mut state, Event { text, call });
            }
        }
        state.open = state.open.saturating_sub(1);
        state.source = None;
        self.answer(state, status, text);
    }

    /// One message of a batch has its reply without a call; `text` is the whole batch if this was the last one.
    pub(crate) fn end_part(&self, text: Vec<u8>) {
        let mut state = self.lock();
        if self.kind == Kind::Calls {
            state.open = state.open.saturating_sub(1);
        }
        self.answer(state, 200, text);
    }

    /// Leaves an answer for when all calls have ended.
    pub(crate) fn put(&self, text: Vec<u8>) {
        self.answer(self.lock(), 200, text);
    }

    fn answer(&self, mut state: MutexGuard<'_, State>, status: u16, text: Vec<u8>) {
        if self.kind == Kind::Pair {
            self.push_message(&mut state, text);
        } else if !text.is_empty() || state.answer.is_none() {
            state.answer = Some(Answer { status, text });
        }
        self.settle(&mut state);
        wake(state);
    }

    /// The answer of a stream is its last event.
    fn settle(&self, state: &mut State) {
        if state.streaming
            && state.open == 0
            && let Some(answer) = state.answer.take()
        {
            self.push_message(state, answer.text);
        }
    }

    fn push_message(&self, state: &mut State, text: Vec<u8>) {
        if !text.is_empty() {
            self.push(state, Event { text, call: None });
        }
    }

    pub(crate) fn push(&self, state: &mut State, event: Event) {
        if state.deaf {
            return;
        }
        let bytes = event.text.len();
        state.log.push(event, bytes);
        let Some(store) = &self.store else { return };
        if !store.add(bytes) && state.is_left() {
            // There is no room to keep it for who may come back.
            store.free(state.log.clear());
        }
    }

    /// Lets in messages that belong to no call.
    pub(crate) fn post(&self, messages: impl IntoIterator<Item = Vec<u8>>) {
        let mut state = self.lock();
        let before = state.log.waiting();
        for message in messages {
            self.push_message(&mut state, message);
        }
        // A reader asks for more before it waits: woken for nothing it would never rest.
        if state.log.waiting() != before {
            wake(state);
        }
    }

    /// Is there no room for one more message?
    pub(crate) fn is_full(&self) -> bool {
        !self.has_room(&self.lock(), 1)
    }

    /// Takes in what has changed, if that is said here. Only a reader that has nothing left to read does it: until then what
    /// changes twice is said once.
    pub(crate) fn refill(&self) {
        if self.kind == Kind::Calls {
            let source = self.lock().source.clone();
            if let Some(source) = source {
                self.post(source.take());
            }
        } else if let Some(home) = self.home() {
            home.post_changes(self);
        }
    }

    /// Makes the reader look.
    pub(crate) fn wake(&self) {
        wake(self.lock());
    }

    pub(crate) fn has_room(&self, state: &State, bytes: usize) -> bool {
        let (waiting, waiting_bytes) = state.log.waiting();
        waiting < self.max_messages
            && waiting_bytes + bytes <= self.max_bytes
            && !(state.is_left() && self.store.as_ref().is_some_and(|store| store.is_full()))
    }

    /// Takes out what nobody has read, for another stream.
    pub(crate) fn give_up(&self) -> Vec<Vec<u8>> {
        let mut state = self.lock();
        let before = state.log.bytes();
        let events = state.log.give_up();
        self.free(before - state.log.bytes());
        drop(state);
        events.map(|event| event.text).collect()
    }

    /// Lets go of all events: who asks for one of them will learn that.
    pub(crate) fn forget(&self) {
        self.free(self.lock().log.clear());
    }

    /// Lets go of the oldest events that were read, as far as the bounds want it.
    pub(crate) fn trim(&self, state: &mut State) {
        let freed = match &self.store {
            Some(store) if state.number.is_some() && !store.is_full() => state
                .log
                .trim(store.limits.replay_events, store.limits.replay_bytes),
            _ => state.log.trim(0, 0),
        };
        self.free(freed);
    }

    fn free(&self, bytes: usize) {
        if let Some(store) = &self.store {
            store.free(bytes);
        }
    }

    /// A reader is gone. Without a number nobody can come back.
    pub(crate) fn leave(&self, turn: u64) {
        let mut state = self.lock();
        if state.reader.as_ref().is_none_or(|seat| seat.turn != turn) {
            return;
        }
        state.stand_up(Duration::ZERO);
        if state.number.is_none() && self.kind != Kind::General {
            state.deaf = true;
            state.source = None;
            self.free(state.log.clear());
        }
    }

    /// Ends it, as far as no call holds it open.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        if self.kind != Kind::Calls && !state.closed {
            state.closed = true;
            state.open = state.open.saturating_sub(1);
        }
        wake(state);
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Is there nothing more to read, now or later?
    pub(crate) fn is_over(&self) -> bool {
        let mut waiting = self.log.iter_waiting();
        self.open == 0 && self.answer.is_none() && waiting.all(Event::is_revoked)
    }

    /// Its reader is gone, and may be expected after this time.
    pub(crate) fn stand_up(&mut self, retry: Duration) {
        self.reader = None;
        self.left = Some((Clock::start(), retry));
    }

    /// For how long a client that could have read has not.
    pub(crate) fn away(&self) -> Duration {
        let away = self.left.filter(|_| self.reader.is_none());
        away.map_or(Duration::ZERO, |(left, retry)| {
            left.now().saturating_sub(retry)
        })
    }

    /// Has it had readers, and has none now?
    pub(crate) fn is_left(&self) -> bool {
        self.turns > 0 && self.reader.is_none()
    }
}

/// Lets the reader know that there is something for it.
pub(crate) fn wake(mut state: MutexGuard<'_, State>) {
    let waker = state.reader.as_mut().and_then(|seat| seat.waker.take());
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let bytes = self.lock().log.bytes();
        self.free(bytes);
    }
}
