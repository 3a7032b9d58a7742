//! Legacy HTTP: sessions that remember a handshake, and messages where there are none. Closing a response is no cancel here
//! (2025-03-26 to 2025-11-25, basic/transports).

use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Response};
use polyport_proto::http::headers::{Accepts, SESSION_ID};
use polyport_proto::http::{Refusal, SessionId, Sessions};
use polyport_proto::peer::wants_reply;
use polyport_proto::{
    Blame, ClientFacts, Outcome, Peer, Principal, Receipt, Remembered, Revision, Turn,
};
use polyport_rt::run::{Begun, begin};
use polyport_rt::{Call, CancelReason};
use polyport_wire::{Kind, Malformed, Message, Raw};

use super::Endpoint;
use super::session::{Running, Session};
use crate::body::Body;
use crate::exchange::Exchange;
use crate::respond;

/// Expired sessions are looked for at most this often.
const SWEEP: Duration = Duration::from_secs(10);

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
        accepts: Accepts,
        principal: Option<Arc<Principal>>,
    ) -> Result<Response<Body>, Refusal> {
        self.sweep();
        let mut peer = Peer::<Running, ()>::new(self.0.service.speaks, &self.0.service.limits);
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
            return Ok(respond::reply(200, text, accepts));
        }
        let mut random = [0; 16];
        if let Err(error) = polyport_rt::random::fill(&mut random) {
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
        let mut response = respond::reply(200, text, accepts);
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
        let response = self.single(&session, message, accepts, principal).await;
        self.note_initialized(&key, &session);
        Ok(response)
    }

    /// A batch of a session.
    pub(crate) async fn batch_in_session(
        &self,
        headers: &HeaderMap,
        parts: Vec<Bytes>,
        accepts: Accepts,
        principal: Option<Arc<Principal>>,
    ) -> Result<Response<Body>, Refusal> {
        let (key, session) = self.session(headers, principal.as_ref())?;
        let batch = self.begin_batch(&session, parts, accepts, principal.as_ref())?;
        self.note_initialized(&key, &session);
        Ok(match batch {
            Some(exchange) => self.respond(exchange, accepts, None).await,
            None => respond::empty(202),
        })
    }

    /// A legacy message where there are no sessions: it is served as if its handshake had said nothing.
    pub(crate) async fn alone(
        &self,
        revision: Revision,
        message: Message,
        accepts: Accepts,
        principal: Option<Arc<Principal>>,
    ) -> Response<Body> {
        let is_opening = message.kind() == Kind::Request && message.method() == "initialize";
        let session = if is_opening {
            let service = &self.0.service;
            Arc::new(Session::new(Peer::new(service.speaks, &service.limits)))
        } else {
            self.passing(revision)
        };
        self.single(&session, message, accepts, principal).await
    }

    /// A batch where there are no sessions.
    pub(crate) async fn batch_alone(
        &self,
        revision: Revision,
        parts: Vec<Bytes>,
        accepts: Accepts,
        principal: Option<Arc<Principal>>,
    ) -> Result<Response<Body>, Refusal> {
        let session = self.passing(revision);
        Ok(
            match self.begin_batch(&session, parts, accepts, principal.as_ref())? {
                Some(exchange) => self.respond(exchange, accepts, None).await,
                None => respond::empty(202),
            },
        )
    }

    /// A session for one request, as if its handshake had said nothing.
    fn passing(&self, revision: Revision) -> Arc<Session> {
        let service = &self.0.service;
        let client = ClientFacts {
            info: None,
            capabilities: Raw::from_static("{}"),
        };
        let remembered = Arc::new(Remembered::new(revision, client));
        Arc::new(Session::new(Peer::resumed(
            service.speaks,
            &service.limits,
            remembered,
        )))
    }

    fn note_initialized(&self, key: &SessionId, session: &Session) {
        let initialized = session.peer().is_initialized();
        if initialized {
            self.lock_sessions().set_initialized(key);
        }
    }

    async fn single(
        &self,
        session: &Arc<Session>,
        message: Message,
        accepts: Accepts,
        principal: Option<Arc<Principal>>,
    ) -> Response<Body> {
        let exchange = Arc::new(Exchange::new(&self.0.service.limits, 1, accepts.sse));
        let mut text = Vec::new();
        match self.take(session, Ok(message), None, &exchange, principal, &mut text) {
            Taken::Running => self.respond(exchange, accepts, None).await,
            Taken::Answered(status) => respond::reply(status, text, accepts),
            Taken::Accepted => respond::empty(202),
        }
    }

    /// Begins all calls of a batch; one exchange gathers them. None: nothing in it wants a reply.
    fn begin_batch(
        &self,
        session: &Arc<Session>,
        parts: Vec<Bytes>,
        accepts: Accepts,
        principal: Option<&Arc<Principal>>,
    ) -> Result<Option<Arc<Exchange>>, Blame> {
        let limits = &self.0.service.limits;
        let messages: Vec<_> = parts
            .into_iter()
            .map(|part| Message::parse(part, &limits.json))
            .collect();
        let replies = messages.iter().filter(|m| wants_reply(m)).count();
        let batch = session.peer().open_batch(replies)?;
        let exchange = Arc::new(Exchange::new(limits, replies, accepts.sse));
        for message in messages {
            let part = batch.filter(|_| wants_reply(&message));
            let mut text = Vec::new();
            let taken = self.take(
                session,
                message,
                part,
                &exchange,
                principal.cloned(),
                &mut text,
            );
            if matches!(taken, Taken::Answered(_)) {
                exchange.end_part(text);
            }
        }
        Ok((replies > 0).then_some(exchange))
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
        let service = &self.0.service;
        let mut peer = session.peer();
        match peer.handle(message, batch, text) {
            Turn::Call(receipt, mut admitted) => {
                if let Err(blame) = service.check_room() {
                    peer.answer(&receipt, &Outcome::Failed(blame.error()), text);
                    return Taken::Answered(blame.session_status());
                }
                admitted.envelope = admitted.envelope.with_principal(principal);
                let call = Call::new(admitted, exchange.clone());
                // Kept before it is begun: another request of the same id may be under way on another connection.
                peer.track(
                    receipt.clone(),
                    Running {
                        context: call.context.clone(),
                        exchange: exchange.clone(),
                    },
                );
                drop(peer);
                self.begin(session, receipt, call, exchange);
                Taken::Running
            }
            Turn::Reply(blame) => {
                Taken::Answered(blame.as_ref().map_or(200, Blame::session_status))
            }
            Turn::Cancel(call) => {
                // Under the lock: whoever ends a call looks there whether it was cancelled.
                call.context.cancel(CancelReason::Client);
                if !text.is_empty() {
                    // It was the last one of its batch, whose other answers are whole now.
                    call.exchange.put(std::mem::take(text));
                }
                Taken::Accepted
            }
            // Nothing was asked: an answer is none.
            Turn::Answer((), _) => Taken::Accepted,
            Turn::Notice(notice) => {
                drop(peer);
                service.notice(notice);
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
        let (session, exchange) = (session.clone(), exchange.clone());
        let finish = move |outcome: Option<Outcome>| {
            let mut text = Vec::new();
            if let Some(outcome) = outcome {
                let mut peer = session.peer();
                // The id of a cancelled call may belong to another one by now.
                if !context.is_revoked() {
                    peer.finish(&receipt.id, &outcome, &mut text);
                }
            }
            exchange.end(&context, 200, text);
        };
        match begin(service, call) {
            Begun::Ready(outcome) => finish(Some(outcome)),
            Begun::Pending(running) => running.spawn(service, finish),
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
        if !session.add_stream(&exchange, limits.streams_per_session) {
            return Err(Blame::TooManyStreams.into());
        }
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
