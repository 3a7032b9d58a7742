//! Legacy HTTP: sessions that remember a handshake, and messages where there are none. Closing a response is no cancel here
//! (2025-03-26 to 2025-11-25, basic/transports).

use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Response};
use polyport_proto::http::classify::refuse_malformed;
use polyport_proto::http::headers::{Accepts, SESSION_ID};
use polyport_proto::http::{EventId, Refusal, SessionId, Sessions};
use polyport_proto::{Blame, ClientFacts, Peer, Principal, Remembered, Revision, Turn};
use polyport_rt::CancelReason;
use polyport_rt::hash::digest;
use polyport_wire::{Kind, Malformed, Message, Raw};

use super::Endpoint;
use super::session::{Conversation, Session};
use super::take::Taken;
use crate::body::{Body, OnClose};
use crate::exchange::Exchange;
use crate::respond;

/// Expired sessions are looked for at most this often, or once in the time that a session may be idle if that is shorter.
const SWEEP: Duration = Duration::from_secs(10);

impl Endpoint {
    pub(crate) fn lock_sessions(&self) -> MutexGuard<'_, Sessions<Arc<Session>>> {
        self.0
            .sessions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the sessions whose time is over, and what is kept of streams for too long.
    pub(crate) fn sweep(&self) {
        let now = self.0.clock.now();
        {
            let mut swept = self.0.swept.lock().unwrap_or_else(PoisonError::into_inner);
            if now.saturating_sub(*swept) < SWEEP.min(self.0.rules.limits.session_idle) {
                return;
            }
            *swept = now;
        }
        let (gone, left) = {
            let mut sessions = self.lock_sessions();
            let gone = sessions.expire(now);
            (gone, sessions.iter().cloned().collect::<Vec<_>>())
        };
        for session in gone {
            session.end(CancelReason::Disconnected);
        }
        for session in left {
            session.tidy(now);
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
        let session = self.touch(&id, principal);
        session
            .filter(|session| !session.is_pair())
            .map(|session| (id, session))
            .ok_or(Blame::SessionUnknown)
    }

    /// The session of that id, if it is alive and theirs.
    pub(crate) fn touch(
        &self,
        id: &SessionId,
        principal: Option<&Arc<Principal>>,
    ) -> Option<Arc<Session>> {
        let now = self.0.clock.now();
        self.lock_sessions()
            .touch(id, principal.map(AsRef::as_ref), now)
    }

    /// `initialize`: a session is made only when it has succeeded.
    pub(crate) async fn initialize(
        &self,
        message: Message,
        accepts: Accepts,
        principal: Option<Arc<Principal>>,
    ) -> Result<Response<Body>, Refusal> {
        self.sweep();
        let mut peer = Conversation::new(self.0.service.speaks, &self.0.service.limits);
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
        if let Err(blame) = self.0.service.check_room() {
            return Err(Refusal::new(&blame, Some(receipt.id)));
        }
        admitted.envelope = admitted.envelope.with_principal(principal.clone());
        let (_, outcome) = self.run_to_end(admitted).await;
        peer.answer(&receipt, &outcome, &mut text);
        if peer.session().is_none() {
            return Ok(respond::reply(200, text, accepts));
        }
        let session = Arc::new(Session::new(peer, &self.0.store));
        session.listen_to(&self.0.service);
        let opened = self.open(principal, session);
        let Some(id) = opened.map_err(|blame| Refusal::new(&blame, Some(receipt.id)))? else {
            return Ok(respond::empty(500));
        };
        let mut response = respond::reply(200, text, accepts);
        response.headers_mut().insert(SESSION_ID, id.header());
        Ok(response)
    }

    /// Gives a session its id. None: that cannot be had.
    ///
    /// # Errors
    /// There are as many as there may be.
    pub(crate) fn open(
        &self,
        principal: Option<Arc<Principal>>,
        session: Arc<Session>,
    ) -> Result<Option<SessionId>, Blame> {
        let mut random = [0; 16];
        if let Err(error) = polyport_rt::random::fill(&mut random) {
            tracing::error!(%error, "no randomness for a session id");
            return Ok(None);
        }
        let id = SessionId::new(random);
        let now = self.0.clock.now();
        let tag = digest(id.as_str().as_bytes()).0;
        session.opened(tag, self.0.service.count_session());
        let opened = self.lock_sessions().open(id, principal, session, now);
        let gone = opened.inspect_err(|blame| self.0.service.count_refused(blame))?;
        for session in gone {
            session.end(CancelReason::Disconnected);
        }
        Ok(Some(id))
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

    /// What is no message ends the question that it was to answer.
    pub(crate) fn bad_answer(
        &self,
        headers: &HeaderMap,
        malformed: Malformed,
        principal: Option<&Arc<Principal>>,
    ) -> Refusal {
        if let Ok((_, session)) = self.session(headers, principal) {
            session.reject(malformed.clone());
        }
        refuse_malformed(malformed)
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
        let batch = self.begin_batch(&session, parts, accepts.sse, principal.as_ref())?;
        self.note_initialized(&key, &session);
        Ok(match batch {
            Some(exchange) => self.respond_in(&session, exchange, accepts).await,
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
            let peer = Peer::new(service.speaks, &service.limits).alone();
            Arc::new(Session::passing(peer, &self.0.store))
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
            match self.begin_batch(&session, parts, accepts.sse, principal.as_ref())? {
                Some(exchange) => self.respond_in(&session, exchange, accepts).await,
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
        let peer = Peer::resumed(service.speaks, &service.limits, remembered).alone();
        Arc::new(Session::passing(peer, &self.0.store))
    }

    pub(crate) fn note_initialized(&self, key: &SessionId, session: &Session) {
        if session.is_newly_confirmed() {
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
        let exchange = session.exchange(1, accepts.sse);
        let mut text = Vec::new();
        match self.take(session, Ok(message), None, &exchange, principal, &mut text) {
            Taken::Running => self.respond_in(session, exchange, accepts).await,
            Taken::Answered(blame) => {
                let status = blame.as_ref().map_or(200, Blame::session_status);
                respond::reply(status, text, accepts)
            }
            Taken::Accepted => respond::empty(202),
        }
    }

    async fn respond_in(
        &self,
        session: &Arc<Session>,
        exchange: Arc<Exchange>,
        accepts: Accepts,
    ) -> Response<Body> {
        self.respond(exchange, accepts, OnClose::Nothing, |exchange| {
            session.begin_stream(exchange);
        })
        .await
    }

    /// GET: a stream for what belongs to no request, or the rest of one whose connection broke.
    pub(crate) fn listen(
        &self,
        headers: &HeaderMap,
        principal: Option<&Arc<Principal>>,
    ) -> Result<Response<Body>, Refusal> {
        let (_, session) = self.session(headers, principal)?;
        let last = if session.is_resumable() {
            EventId::last(headers)?
        } else {
            None
        };
        let listening = session.listen(last);
        let listening = listening.inspect_err(|blame| self.0.service.count_refused(blame));
        let Some(reader) = listening? else {
            // WHATWG HTML, server-sent events: this tells a client not to come back.
            return Ok(respond::empty(204));
        };
        let exchange = reader.exchange().clone();
        let on_close = if exchange.is_general() {
            OnClose::Do(Some(Box::new(move || session.left(&exchange))))
        } else {
            OnClose::Nothing
        };
        let (priming, keep_alive) = (reader.priming(), self.0.service.limits.keep_alive);
        let live = self.0.service.count_stream();
        let body = Body::events(reader, priming, keep_alive, on_close, live);
        Ok(respond::events(body))
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
