//! Legacy HTTP: sessions that remember a handshake, their calls, their GET streams and their end. Closing a response is
//! no cancel here (2025-03-26 to 2025-11-25, basic/transports).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Response};
use polyport_proto::http::headers::{Accepts, SESSION_ID};
use polyport_proto::http::{Refusal, SessionId, Sessions};
use polyport_proto::{
    Blame, ClientFacts, Outcome, Peer, Principal, Receipt, Remembered, Revision, Turn,
};
use polyport_rt::run::{Begun, begin};
use polyport_rt::{Call, CancelReason, Context};
use polyport_wire::{Kind, Malformed, Message, Raw};

use super::Endpoint;
use crate::body::Body;
use crate::exchange::Exchange;
use crate::respond;

/// Expired sessions are looked for at most this often.
const SWEEP: Duration = Duration::from_secs(10);

/// One session: a conversation and the streams that a client holds open.
#[derive(Debug)]
pub(crate) struct Session {
    peer: Mutex<Peer<Context>>,
    streams: Mutex<Vec<Weak<Exchange>>>,
}

impl Session {
    fn new(peer: Peer<Context>) -> Self {
        Self {
            peer: Mutex::new(peer),
            streams: Mutex::default(),
        }
    }

    pub(crate) fn peer(&self) -> MutexGuard<'_, Peer<Context>> {
        self.peer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn streams(&self) -> MutexGuard<'_, Vec<Weak<Exchange>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
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
        let calls = self.peer().abandon();
        calls.iter().for_each(|context| context.cancel(reason));
        calls.len()
    }
}

impl Endpoint {
    pub(crate) fn lock_sessions(&self) -> MutexGuard<'_, Sessions<Arc<Session>>> {
        self.0
            .sessions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the sessions whose time is over.
    pub(crate) fn sweep(&self) {
        let now = self.0.clock.now();
        {
            let mut swept = self.0.swept.lock().unwrap_or_else(PoisonError::into_inner);
            if now.saturating_sub(*swept) < SWEEP {
                return;
            }
            *swept = now;
        }
        let gone = self.lock_sessions().expire(now);
        for session in gone {
            session.end(CancelReason::Disconnected);
        }
    }

    fn session(
        &self,
        headers: &HeaderMap,
        principal: Option<&Arc<Principal>>,
    ) -> Result<(SessionId, Arc<Session>), Blame> {
        let mut values = headers.get_all(SESSION_ID).iter();
        let id = match (values.next(), values.next()) {
            (Some(value), None) => SessionId::read(value).ok_or(Blame::SessionUnknown)?,
            (None, _) => return Err(Blame::SessionMissing),
            _ => return Err(Blame::SessionUnknown),
        };
        let session =
            self.lock_sessions()
                .touch(&id, principal.map(AsRef::as_ref), self.0.clock.now());
        session
            .map(|session| (id, session))
            .ok_or(Blame::SessionUnknown)
    }

    /// `initialize`: a session is made only when it has succeeded.
    pub(crate) async fn initialize(
        &self,
        message: Message,
        principal: Option<Arc<Principal>>,
    ) -> Result<Response<Body>, Refusal> {
        self.sweep();
        let mut peer = Peer::new(self.0.service.speaks, &self.0.service.limits);
        let mut text = Vec::new();
        let (receipt, mut admitted) = match peer.handle(Ok(message), None, &mut text) {
            Turn::Call(receipt, admitted) => (receipt, admitted),
            Turn::Reply(blame) => {
                return Ok(respond::json(
                    blame.as_ref().map_or(200, Blame::status),
                    text,
                ));
            }
            _ => return Ok(respond::empty(400)),
        };
        admitted.envelope = admitted.envelope.with_principal(principal.clone());
        let (_, outcome) = self.run_to_end(admitted).await;
        peer.answer(&receipt, &outcome, &mut text);
        if peer.session().is_none() {
            return Ok(respond::json(200, text));
        }
        let mut random = [0; 16];
        if let Err(error) = getrandom::fill(&mut random) {
            tracing::error!(%error, "no randomness for a session id");
            return Ok(respond::empty(500));
        }
        let id = SessionId::new(random);
        let session = Arc::new(Session::new(peer));
        let opened = self
            .lock_sessions()
            .open(id, principal, session, self.0.clock.now());
        let gone = opened.map_err(|blame| Refusal::new(&blame, Some(receipt.id)))?;
        gone.iter()
            .for_each(|session| _ = session.end(CancelReason::Disconnected));
        let mut response = respond::json(200, text);
        response.headers_mut().insert(SESSION_ID, id.header());
        Ok(response)
    }

    /// A message of a session.
    pub(crate) async fn in_session(
        &self,
        headers: &HeaderMap,
        message: Message,
        accepts: Accepts,
        principal: Option<Arc<Principal>>,
    ) -> Result<Response<Body>, Refusal> {
        let id = message.id().cloned();
        let (key, session) = self
            .session(headers, principal.as_ref())
            .map_err(|blame| Refusal::new(&blame, id))?;
        let exchange = Arc::new(Exchange::new(&self.0.service.limits, 1, accepts.sse));
        let mut text = Vec::new();
        let status = match self.take(&session, Ok(message), None, &exchange, principal, &mut text) {
            Taken::Running => return Ok(self.respond(exchange, accepts, None).await),
            Taken::Answered(status) => status,
            Taken::Accepted => {
                if session.peer().is_initialized() {
                    self.lock_sessions().set_initialized(&key);
                }
                return Ok(respond::empty(202));
            }
        };
        Ok(respond::json(status, text))
    }

    /// Hands a message to its session and begins the call that it asks for.
    fn take(
        &self,
        session: &Arc<Session>,
        message: Result<Message, Malformed>,
        batch: Option<u32>,
        exchange: &Arc<Exchange>,
        principal: Option<Arc<Principal>>,
        text: &mut Vec<u8>,
    ) -> Taken {
        let mut peer = session.peer();
        match peer.handle(message, batch, text) {
            Turn::Call(receipt, mut admitted) => {
                admitted.envelope = admitted.envelope.with_principal(principal);
                let call = Call::new(admitted, exchange.clone());
                // Kept before it is begun: another request of the same id may be under way on another connection.
                peer.track(receipt.clone(), call.context.clone());
                drop(peer);
                self.begin(session, receipt, call, exchange);
                Taken::Running
            }
            Turn::Reply(blame) => {
                Taken::Answered(blame.as_ref().map_or(200, Blame::session_status))
            }
            Turn::Cancel(context) => {
                drop(peer);
                context.cancel(CancelReason::Client);
                Taken::Accepted
            }
            Turn::Notice(notice) => {
                drop(peer);
                self.0.service.handler.notice_dyn(notice);
                Taken::Accepted
            }
            Turn::Nothing(blame) => {
                if let Some(blame) = blame {
                    tracing::debug!(%blame, "message ignored");
                }
                Taken::Accepted
            }
        }
    }

    fn begin(
        &self,
        session: &Arc<Session>,
        receipt: Receipt,
        call: Call,
        exchange: &Arc<Exchange>,
    ) {
        let service = &self.0.service;
        let context = call.context.clone();
        let finish = {
            let (session, exchange) = (session.clone(), exchange.clone());
            move |outcome: Option<Outcome>| {
                let mut text = Vec::new();
                if let Some(outcome) = outcome {
                    session.peer().finish(&receipt.id, &outcome, &mut text);
                }
                exchange.end(&context, 200, text);
            }
        };
        if let Err(blame) = service.check_room() {
            return finish(Some(Outcome::Failed(blame.error())));
        }
        match begin(service, call) {
            Begun::Ready(outcome) => finish(Some(outcome)),
            Begun::Pending(running) => running.spawn(service, finish),
        }
    }

    /// A batch of a session: one exchange for all of its calls.
    pub(crate) async fn batch(
        &self,
        headers: &HeaderMap,
        parts: Vec<Bytes>,
        accepts: Accepts,
        principal: Option<Arc<Principal>>,
    ) -> Result<Response<Body>, Refusal> {
        let (_, session) = self.session(headers, principal.as_ref())?;
        let messages: Vec<_> = parts
            .into_iter()
            .map(|part| Message::parse(part, &self.0.rules.limits.json))
            .collect();
        let replies = messages.iter().filter(|m| wants_reply(m)).count();
        let batch = session.peer().open_batch(replies)?;
        let exchange = Arc::new(Exchange::new(
            &self.0.service.limits,
            replies.max(1),
            accepts.sse,
        ));
        let mut text = Vec::new();
        for message in messages {
            let batch = batch.filter(|_| wants_reply(&message));
            let taken = self.take(
                &session,
                message,
                batch,
                &exchange,
                principal.clone(),
                &mut text,
            );
            if matches!(taken, Taken::Answered(_)) {
                exchange.end_part(std::mem::take(&mut text));
            }
        }
        if replies == 0 {
            return Ok(respond::empty(202));
        }
        Ok(self.respond(exchange, accepts, None).await)
    }

    /// A legacy message where there are no sessions: it is served as if its handshake had said nothing.
    pub(crate) async fn alone(
        &self,
        revision: Revision,
        message: Message,
        accepts: Accepts,
        principal: Option<Arc<Principal>>,
    ) -> Response<Body> {
        let service = &self.0.service;
        let is_opening = message.kind() == Kind::Request && message.method() == "initialize";
        let peer = if is_opening {
            Peer::new(service.speaks, &service.limits)
        } else {
            let client = ClientFacts {
                info: None,
                capabilities: Raw::from_static("{}"),
            };
            Peer::resumed(
                service.speaks,
                &service.limits,
                Arc::new(Remembered::new(revision, client)),
            )
        };
        let session = Arc::new(Session::new(peer));
        let exchange = Arc::new(Exchange::new(&service.limits, 1, accepts.sse));
        let mut text = Vec::new();
        match self.take(&session, Ok(message), None, &exchange, principal, &mut text) {
            Taken::Running => self.respond(exchange, accepts, None).await,
            Taken::Answered(status) => respond::json(status, text),
            Taken::Accepted => respond::empty(202),
        }
    }

    /// GET: a stream for what belongs to no request.
    pub(crate) fn listen(
        &self,
        headers: &HeaderMap,
        principal: Option<&Arc<Principal>>,
    ) -> Result<Response<Body>, Refusal> {
        let (_, session) = self.session(headers, principal)?;
        let limits = &self.0.service.limits;
        let exchange = Arc::new(Exchange::new(limits, 1, true));
        let mut streams = session.streams();
        streams.retain(|stream| stream.strong_count() > 0);
        if streams.len() >= limits.streams_per_session {
            return Err(Blame::TooManyStreams.into());
        }
        streams.push(Arc::downgrade(&exchange));
        Ok(respond::events(Body::events(
            exchange,
            limits.keep_alive,
            None,
        )))
    }

    /// DELETE: the end of a session.
    pub(crate) fn delete(
        &self,
        headers: &HeaderMap,
        principal: Option<&Arc<Principal>>,
    ) -> Result<Response<Body>, Refusal> {
        let (id, session) = self.session(headers, principal)?;
        self.lock_sessions().remove(&id);
        session.end(CancelReason::Client);
        Ok(respond::empty(204))
    }
}

/// What became of a message.
enum Taken {
    /// A call has begun, perhaps ended; the exchange has it.
    Running,
    /// The reply is in the text.
    Answered(u16),
    /// Nothing to say.
    Accepted,
}

fn wants_reply(message: &Result<Message, Malformed>) -> bool {
    match message {
        Ok(message) => message.kind() == Kind::Request,
        Err(malformed) => !malformed.notification,
    }
}
