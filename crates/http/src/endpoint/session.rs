//! One legacy session: a conversation, the calls that run in it, and its streams.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use polyport_proto::http::{EventId, Occupied};
use polyport_proto::{Blame, Envelope, Limits, Peer, Turn};
use polyport_rt::quota::Place;
use polyport_rt::stats::Live;
use polyport_rt::{Alert, Asked, CancelReason, Context, Listener, NoAnswer, Service};
use polyport_wire::{Malformed, Raw};

use super::streams::Streams;
use crate::exchange::{Exchange, Home};
use crate::reader::Reader;
use crate::store::Store;

/// What is kept of a running call: how to cancel it, and whose answer it is part of.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) context: Context,
    pub(crate) exchange: Arc<Exchange>,
}

/// Who waits for the answer to a request of ours, and for which call.
#[derive(Debug)]
pub(crate) struct Asker {
    context: Context,
    pub(crate) sender: polyport_rt::Asker,
    _place: Place,
}

/// A question that waits until the client is ready.
type Early = (Context, Asked, Place);

/// The conversation of a session.
pub(crate) type Conversation = Peer<Running, Asker>;

/// What its streams are like.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    /// There is one request only.
    Alone,
    /// A broken one is lost.
    Plain,
    /// A client may come back to one.
    Resumable,
    /// The same, and it may be told to.
    Polled,
    /// There is only one, and the session ends with it (2024-11-05, basic/transports, HTTP with SSE).
    Pair,
}

/// A session.
#[derive(Debug)]
pub(crate) struct Session {
    peer: Mutex<Conversation>,
    /// Hears of changes, from the handshake to the end.
    listener: Mutex<Option<Arc<Listener>>>,
    /// Made when there is the first one.
    streams: Mutex<Option<Box<Streams>>>,
    /// Questions that wait for `initialized`. Locked within the conversation.
    early: Mutex<Vec<Early>>,
    store: Arc<Store>,
    kind: Kind,
    /// The table of sessions knows that the handshake is over.
    confirmed: AtomicBool,
    /// Its tag in our log, and its place in the statistics; absent where it lasts for one request.
    opened: Mutex<Option<(u64, Live)>>,
}

impl Session {
    /// A session after its handshake.
    pub(crate) fn new(peer: Conversation, store: &Arc<Store>) -> Self {
        let profile = peer.session().map(|session| session.revision.profile());
        let kind = match profile {
            Some(profile) if profile.polled_streams => Kind::Polled,
            Some(profile) if profile.resumable_streams => Kind::Resumable,
            _ => Kind::Plain,
        };
        Self::of(kind, peer, store)
    }

    /// A session for one request: nobody comes back to it.
    pub(crate) fn passing(peer: Conversation, store: &Arc<Store>) -> Self {
        Self::of(Kind::Alone, peer, store)
    }

    /// A session that lives as long as its only stream.
    pub(crate) fn pair(peer: Conversation, store: &Arc<Store>) -> (Arc<Self>, Arc<Exchange>) {
        let session = Arc::new(Self::of(Kind::Pair, peer, store));
        let stream = Arc::new(Exchange::pair(&store.limits).at(session.home()));
        session.streams(|streams| streams.add(&stream, false));
        (session, stream)
    }

    fn of(kind: Kind, peer: Conversation, store: &Arc<Store>) -> Self {
        Self {
            peer: Mutex::new(peer),
            listener: Mutex::default(),
            streams: Mutex::default(),
            early: Mutex::default(),
            store: store.clone(),
            kind,
            confirmed: AtomicBool::new(false),
            opened: Mutex::default(),
        }
    }

    /// An answer that cannot be read ends its question.
    pub(crate) fn reject(&self, malformed: Malformed) {
        if let Turn::BadAnswer(asker, malformed) = self.peer().reject(malformed) {
            let _ = asker.sender.send(Err(malformed.into()));
        }
    }

    /// It has an id, of which this is the tag in our log; it counts until its end.
    pub(crate) fn opened(&self, tag: u64, live: Live) {
        if let Some(remembered) = self.peer().session() {
            remembered.set_tag(tag);
        }
        *self.lock_opened() = Some((tag, live));
    }

    fn lock_opened(&self) -> MutexGuard<'_, Option<(u64, Live)>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn home(self: &Arc<Self>) -> Weak<dyn Home> {
        let home: Arc<dyn Home> = self.clone();
        Arc::downgrade(&home)
    }

    /// The handshake has succeeded: from now on it hears of changes.
    pub(crate) fn listen_to(self: &Arc<Self>, service: &Service) {
        let Some(remembered) = self.peer().session().cloned() else {
            return;
        };
        if let Some((tag, _)) = &*self.lock_opened() {
            remembered.set_tag(*tag);
        }
        let alert: Arc<dyn Alert> = self.clone();
        let limits = &self.store.limits;
        let bus = service.bus_of(&Envelope::remembered(remembered.clone(), None));
        let listener = bus.listen_session(remembered, Arc::downgrade(&alert), limits);
        *self.lock_listener() = Some(listener);
    }

    fn lock_listener(&self) -> MutexGuard<'_, Option<Arc<Listener>>> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn peer(&self) -> MutexGuard<'_, Conversation> {
        self.peer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Is its handshake over, which nobody has been told yet?
    pub(crate) fn is_newly_confirmed(&self) -> bool {
        !self.confirmed.load(Ordering::Relaxed)
            && self.peer().is_initialized()
            && !self.confirmed.swap(true, Ordering::Relaxed)
    }

    fn lock_early(&self) -> MutexGuard<'_, Vec<Early>> {
        self.early.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client is ready: it hears of what has changed meanwhile, and is asked what waited for that.
    pub(crate) fn ready(&self) {
        self.alert();
        let early = std::mem::take(&mut *self.lock_early());
        for (context, asked, place) in early {
            // It takes one anew.
            drop(place);
            context.ask_again(asked);
        }
    }

    fn slot(&self) -> MutexGuard<'_, Option<Box<Streams>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn streams<T>(&self, with: impl FnOnce(&mut Streams) -> T) -> T {
        let mut slot = self.slot();
        with(slot.get_or_insert_with(|| Box::new(Streams::new(&self.store))))
    }

    /// None: there have been no streams.
    fn streams_so_far<T>(&self, with: impl FnOnce(&mut Streams) -> T) -> Option<T> {
        self.slot().as_mut().map(|streams| with(streams))
    }

    /// The only stream of a session that has one only.
    pub(crate) fn only_stream(&self) -> Option<Arc<Exchange>> {
        if self.kind != Kind::Pair {
            return None;
        }
        self.streams_so_far(|streams| streams.only()).flatten()
    }

    /// Does it last for one request?
    pub(crate) fn is_passing(&self) -> bool {
        self.kind == Kind::Alone
    }

    pub(crate) fn is_pair(&self) -> bool {
        self.kind == Kind::Pair
    }

    /// May a client come back to its streams?
    pub(crate) fn is_resumable(&self) -> bool {
        matches!(self.kind, Kind::Resumable | Kind::Polled)
    }

    /// Where the answer of a POST with this many calls goes. `streams`: its client takes events.
    pub(crate) fn exchange(self: &Arc<Self>, calls: usize, streams: bool) -> Arc<Exchange> {
        if let Some(stream) = self.only_stream() {
            return stream;
        }
        self.kept(Exchange::calls(&self.store.limits, calls, streams))
            .into()
    }

    fn kept(self: &Arc<Self>, exchange: Exchange) -> Exchange {
        if self.kind == Kind::Alone {
            exchange
        } else if self.is_resumable() {
            exchange
                .at(self.home())
                .kept(&self.store, self.kind == Kind::Polled)
        } else {
            exchange.at(self.home())
        }
    }

    /// The answer of a POST becomes a stream.
    pub(crate) fn begin_stream(&self, exchange: &Arc<Exchange>) {
        if self.is_resumable() {
            self.streams(|streams| streams.add(exchange, true));
        } else {
            exchange.begin_stream(None);
        }
    }

    /// GET: a stream for what belongs to no call, or what followed this event. None: nothing did.
    ///
    /// # Errors
    /// There is no such stream, or no room for it.
    pub(crate) fn listen(self: &Arc<Self>, last: Option<EventId>) -> Result<Option<Reader>, Blame> {
        let numbered = self.is_resumable();
        self.streams(|streams| match last {
            Some(last) => streams.resume(last),
            None => {
                let exchange = self.kept(Exchange::general(&self.store.limits));
                streams.listen(exchange, numbered).map(Some)
            }
        })
    }

    /// The reader of a GET is gone.
    pub(crate) fn left(&self, exchange: &Arc<Exchange>) {
        self.streams_so_far(|streams| streams.left(exchange));
    }

    /// Lets go of what is kept of streams to which nobody came back in time.
    pub(crate) fn tidy(&self, now: Duration) {
        self.streams_so_far(|streams| streams.tidy(now));
    }

    /// Ends the streams; calls may go on.
    pub(crate) fn close_streams(&self) {
        self.streams_so_far(Streams::close);
    }

    /// Ends all of it; gives back how many calls were cut.
    pub(crate) fn end(&self, reason: CancelReason) -> usize {
        self.streams(Streams::end);
        *self.lock_listener() = None;
        *self.lock_opened() = None;
        let mut peer = self.peer();
        let calls = peer.abandon();
        // Under the lock: whoever ends a call looks there whether it was cancelled.
        calls.iter().for_each(|call| call.context.cancel(reason));
        self.lock_early().clear();
        calls.len()
    }
}

impl Occupied for Session {
    fn is_occupied(&self) -> bool {
        self.peer().in_flight() > 0 || self.streams_so_far(|s| s.are_read()).unwrap_or(false)
    }
}

impl Alert for Session {
    fn alert(&self) {
        self.streams_so_far(|streams| streams.listening().map(|stream| stream.wake()));
    }
}

impl Home for Session {
    fn ask(&self, context: &Context, asked: Asked) -> Vec<u8> {
        let mut text = Vec::new();
        let limits = &self.store.limits;
        let principal = context.envelope().principal();
        let place = self
            .store
            .questions
            .enter(principal, limits.questions_per_principal);
        let Some(place) = place else {
            let _ = asked.asker.send(Err(NoAnswer::TooMany));
            return text;
        };
        let mut peer = self.peer();
        if !peer.is_initialized() {
            // basic/lifecycle: nothing is asked before the client is ready.
            let mut early = self.lock_early();
            if early.len() < limits.questions_per_session {
                early.push((context.clone(), asked, place));
            } else {
                let _ = asked.asker.send(Err(NoAnswer::TooMany));
            }
            return text;
        }
        let Asked { question, asker } = asked;
        let asker = Asker {
            context: context.clone(),
            sender: asker,
            _place: place,
        };
        let params = question.params.as_ref().map(Raw::as_str);
        if let Err(asker) = peer.ask(question.method, params, asker, &mut text) {
            let _ = asker.sender.send(Err(NoAnswer::TooMany));
        }
        text
    }

    fn unask(&self, context: &Context) -> Vec<Vec<u8>> {
        let mut cancels = Vec::new();
        let mut peer = self.peer();
        self.lock_early()
            .retain(|(_, asked, _)| !asked.asker.is_closed());
        peer.forget(
            |asker| asker.context.is(context) && asker.sender.is_closed(),
            // A client that cancelled the call knows.
            |asker| !asker.context.is_revoked(),
            |_, cancel| cancels.push(cancel),
        );
        cancels
    }

    fn limits(&self) -> &Limits {
        &self.store.limits
    }

    fn listener(&self) -> Option<Arc<Listener>> {
        self.lock_listener().clone()
    }

    fn post_changes(&self, stream: &Exchange) {
        // basic/lifecycle: before `initialized` a server says nothing by itself.
        if let Some(listener) = self.listener()
            && self.peer().is_initialized()
        {
            self.streams_so_far(|streams| {
                let listening = streams.listening();
                if let Some(listening) = listening.filter(|l| std::ptr::eq(&***l, stream)) {
                    listening.post(listener.take());
                }
            });
        }
    }
}
