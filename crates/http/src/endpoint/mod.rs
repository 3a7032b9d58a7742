//! One HTTP request to an MCP endpoint in, one response out. The order of the checks is that of the design: who reaches
//! us, how, how much, who asks, what it says, and only then a session.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response, request};
use http_body::Body as HttpBody;
use polyport_proto::http::classify::Endpoint as Rules;
use polyport_proto::http::headers::Accepts;
use polyport_proto::http::{Guard, Head, Refusal, Route, Sessions, Verb};
use polyport_proto::{Admitted, Blame, Era, Outcome, Principal, Revisions, RpcError};
use polyport_rt::run::{Begun, begin};
use polyport_rt::{Call, Clock, Context, Service, Started};
use tokio::sync::oneshot;

use crate::authorize::Authorize;
use crate::body::{Body, OnClose};
use crate::collect::{Budget, Collected, Unread, collect};
use crate::cors;
use crate::exchange::{Answer, Exchange};
use crate::framing;
use crate::reader::{First, Reader};
use crate::respond;
use crate::routes::{Access, Pair, Routes, Served, Way};
use crate::store::Store;
use session::Session;

mod legacy;
mod modern;
mod pair;
mod session;
mod streams;
mod take;

/// How an endpoint is reached.
#[derive(Clone)]
pub struct Config {
    /// The path it answers on, with and without a slash at the end. Defaults to `/mcp`.
    pub path: String,
    /// Hosts and origins it answers to. Defaults to the loopback names. Pages of other origins that it names may call from
    /// a browser: preflights are answered, and responses may be read.
    pub guard: Guard,
    /// Legacy clients, where they are spoken with, get sessions. Defaults to true; without, each of their requests stands alone.
    pub sessions: bool,
    /// The two paths of HTTP with SSE, the transport of the first revision. Defaults to `/sse` and `/messages`; none: it is not
    /// served. Nor is it without sessions, or where no legacy revision is spoken.
    pub pair: Option<Pair>,
    /// One more path that becomes a WebSocket, beside that of the endpoint. Defaults to `/ws`. It counts with the feature `ws` only.
    pub socket: Option<String>,
    /// Who asks. Defaults to nobody: then the endpoint binds to loopback only.
    pub authorize: Option<Arc<dyn Authorize>>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            path: "/mcp".to_owned(),
            guard: Guard::loopback(),
            sessions: true,
            pair: Some(Pair::default()),
            socket: Some("/ws".to_owned()),
            authorize: None,
        }
    }
}

impl Config {
    /// Answers to one more host name (without port), such as the one under which an application is reached.
    #[must_use]
    pub fn allow_host(mut self, host: &str) -> Self {
        self.guard = self.guard.allow_host(host);
        self
    }

    /// Lets web pages of one more origin call, such as `https://app.example`. See [`Guard::allow_origin`].
    #[must_use]
    pub fn allow_origin(mut self, origin: &str) -> Self {
        self.guard = self.guard.allow_origin(origin);
        self
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("path", &self.path)
            .field("guard", &self.guard)
            .field("sessions", &self.sessions)
            .field("pair", &self.pair)
            .field("socket", &self.socket)
            .field("authorize", &self.authorize.is_some())
            .finish()
    }
}

/// An MCP endpoint. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Endpoint(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) service: Service,
    pub(crate) rules: Rules,
    routes: Routes,
    path: String,
    pair: Option<Pair>,
    authorize: Option<Arc<dyn Authorize>>,
    budget: Budget,
    store: Arc<Store>,
    pub(crate) sessions: Mutex<Sessions<Arc<Session>>>,
    pub(crate) clock: Clock,
    pub(crate) swept: Mutex<Duration>,
    /// Does something look for sessions whose time is over?
    pub(crate) sweeps: AtomicBool,
    /// Where it is mounted: that the server has started.
    pub(crate) started: Mutex<Option<Started>>,
    /// Nothing new is taken.
    pub(crate) closing: AtomicBool,
    #[cfg(feature = "ws")]
    pub(crate) sockets: crate::ws::Sockets,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner")
            .field("rules", &self.rules)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// An endpoint for a service.
    pub fn new(service: Service, config: Config) -> Self {
        let limits = (*service.limits).clone();
        let sessions = Mutex::new(Sessions::new(&limits));
        let budget = Budget::new(&limits);
        #[cfg(feature = "ws")]
        let sockets = crate::ws::Sockets::new(limits.connections);
        let legacy = service.speaks.only(Era::Legacy) != Revisions::NONE;
        let rules = Rules {
            speaks: service.speaks,
            sessions: config.sessions && legacy,
            guard: config.guard,
            limits,
        };
        let path = config.path.trim_end_matches('/').to_owned();
        let pair = config.pair.filter(|_| rules.sessions).map(Pair::trimmed);
        let routes = Routes::new(
            &path,
            rules.sessions,
            pair.as_ref(),
            config.socket.as_deref(),
        );
        let clock = Clock::start();
        let store = Arc::new(Store::new(&service.limits));
        Self(Arc::new(Inner {
            service,
            rules,
            routes,
            path,
            pair,
            authorize: config.authorize,
            budget,
            store,
            sessions,
            clock,
            swept: Mutex::default(),
            sweeps: AtomicBool::new(false),
            started: Mutex::default(),
            closing: AtomicBool::new(false),
            #[cfg(feature = "ws")]
            sockets,
        }))
    }

    /// The path it answers on.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// All paths that are answered, and who may use each.
    pub fn routes(&self) -> &[Served] {
        self.0.routes.all()
    }

    /// Does somebody check who asks?
    pub fn is_authorized(&self) -> bool {
        self.0.authorize.is_some()
    }

    /// How many legacy sessions are open.
    pub fn sessions(&self) -> usize {
        self.lock_sessions().len()
    }

    /// Bytes of events that wait for legacy clients, or are kept in case they missed them.
    pub fn kept_bytes(&self) -> usize {
        self.0.store.used()
    }

    /// Answers one request.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: HttpBody<Data = Bytes>,
    {
        #[cfg_attr(not(feature = "ws"), expect(unused_mut))]
        let (mut head, body) = request.into_parts();
        if let Some(refused) = framing::refused(&head.headers) {
            return refused;
        }
        let served = self.0.routes.find(head.uri.path());
        #[cfg(feature = "ws")]
        if let Some(served) = served.filter(|served| served.is_socket(&head)) {
            return match self.upgrade(&mut head, served.access).await {
                Ok(response) => response,
                Err(refusal) => respond::refusal(&refusal, served.methods),
            };
        }
        let mut response = match self.answer(&head, served, body).await {
            Ok(response) => response,
            Err(refusal) => {
                respond::refusal(&refusal, served.map_or("", |s| s.allowed(&head.method)))
            }
        };
        cors::dress(&self.0.rules.guard, &head.headers, &mut response);
        response
    }

    /// Makes a WebSocket of a request, once it is known who asks: a page in a browser may send it to any host (V-106).
    #[cfg(feature = "ws")]
    async fn upgrade(
        &self,
        head: &mut request::Parts,
        access: Access,
    ) -> Result<Response<Body>, Refusal> {
        self.0.rules.check_upgrade(Head {
            method: &head.method,
            uri: &head.uri,
            headers: &head.headers,
        })?;
        let principal = match self.who_asks(access, &head.headers).await {
            Ok(principal) => principal,
            Err(response) => return Ok(response),
        };
        let (sockets, service) = (&self.0.sockets, &self.0.service);
        Ok(crate::ws::accept(sockets, service, head, principal))
    }

    async fn answer<B>(
        &self,
        head: &request::Parts,
        served: Option<&Served>,
        body: B,
    ) -> Result<Response<Body>, Refusal>
    where
        B: HttpBody<Data = Bytes>,
    {
        let guard = &self.0.rules.guard;
        let Some(served) = served else {
            guard.check(&head.uri, &head.headers)?;
            return Ok(respond::empty(404));
        };
        if cors::is_preflight(guard, head) {
            guard.check(&head.uri, &head.headers)?;
            return Ok(cors::preflight(head, served.methods));
        }
        let judged = Head {
            method: &head.method,
            uri: &head.uri,
            headers: &head.headers,
        };
        #[cfg(feature = "ws")]
        if served.way == Way::Socket {
            self.0.rules.check_upgrade(judged)?;
            let known = self.who_asks(served.access, &head.headers).await;
            return Ok(known.map_or_else(|response| response, |_| respond::empty(426)));
        }
        if let Way::Pair(path) = served.way {
            self.0.rules.check_pair_head(path, judged)?;
            return match self.who_asks(served.access, &head.headers).await {
                Ok(principal) => self.answer_pair(path, head, body, principal).await,
                Err(response) => Ok(response),
            };
        }
        let verb = self.0.rules.check_head(judged)?;
        let principal = match self.who_asks(served.access, &head.headers).await {
            Ok(principal) => principal,
            Err(response) => return Ok(response),
        };
        let accepts = match verb {
            Verb::Post(accepts) => accepts,
            Verb::Listen => return self.listen(&head.headers, principal.as_ref()),
            Verb::Delete => return self.delete(&head.headers, principal.as_ref()),
        };
        let body = match self.read(body).await? {
            Ok(body) => body,
            Err(response) => return Ok(response),
        };
        self.route(&head.headers, body.bytes.clone(), accepts, principal)
            .await
    }

    /// Who asks; or what to answer, where nobody may or nobody is let in any more.
    async fn who_asks(
        &self,
        access: Access,
        headers: &HeaderMap,
    ) -> Result<Option<Arc<Principal>>, Response<Body>> {
        if self.0.closing.load(Ordering::Relaxed) {
            return Err(respond::refusal(&Blame::Closing.into(), ""));
        }
        match (access, &self.0.authorize) {
            (Access::Authorized, None) => Ok(None),
            (Access::Authorized, Some(authorize)) => {
                let proven = authorize.authorize(headers).await;
                proven.map(Some).map_err(|c| respond::challenge(&c))
            }
        }
    }

    /// The body; inside, what to answer where there is none and nobody to blame.
    async fn read<B>(&self, body: B) -> Result<Result<Collected, Response<Body>>, Blame>
    where
        B: HttpBody<Data = Bytes>,
    {
        match collect(body, &self.0.rules.limits, &self.0.budget).await {
            Ok(body) => Ok(Ok(body)),
            Err(Unread::Refused(blame)) => Err(blame),
            Err(Unread::TimedOut) => Ok(Err(respond::empty(408))),
            Err(Unread::Gone) => Ok(Err(respond::empty(400))),
        }
    }

    async fn route(
        &self,
        headers: &HeaderMap,
        body: Bytes,
        accepts: Accepts,
        principal: Option<Arc<Principal>>,
    ) -> Result<Response<Body>, Refusal> {
        match self.0.rules.classify(headers, body)? {
            Route::Modern(receipt, mut admitted) => {
                admitted.envelope = admitted.envelope.with_principal(principal);
                self.check_mirrored_arguments(headers, &receipt, &admitted)?;
                Ok(self.modern(receipt, admitted, accepts).await)
            }
            Route::ModernNotification => Ok(respond::empty(202)),
            Route::Initialize(message) => self.initialize(message, accepts, principal).await,
            Route::Session(message) => self.in_session(headers, message, accepts, principal).await,
            Route::BadAnswer(malformed) => {
                Err(self.bad_answer(headers, malformed, principal.as_ref()))
            }
            Route::Batch(parts) => {
                self.batch_in_session(headers, parts, accepts, principal)
                    .await
            }
            Route::BatchAlone(revision, parts) => {
                self.batch_alone(revision, parts, accepts, principal).await
            }
            Route::Alone(revision, message) => {
                Ok(self.alone(revision, message, accepts, principal).await)
            }
        }
    }

    /// Waits until it is clear whether this is one answer or a stream, which then is begun. A call that stays silent becomes a
    /// stream when a proxy might lose patience, or sooner where a client could come back to it.
    pub(crate) async fn respond(
        &self,
        exchange: Arc<Exchange>,
        accepts: Accepts,
        mut on_close: OnClose,
        begin_stream: impl FnOnce(&Arc<Exchange>),
    ) -> Response<Body> {
        let limits = &self.0.rules.limits;
        let patience = if exchange.is_polled() {
            limits.stream_after.min(limits.keep_alive)
        } else {
            limits.keep_alive
        };
        let mut reader = Reader::new(exchange);
        let first = if accepts.json {
            match reader.try_first() {
                Some(first) => first,
                None if !accepts.sse => reader.first().await,
                None => tokio::time::timeout(patience, reader.first())
                    .await
                    .unwrap_or(First::Stream),
            }
        } else {
            First::Stream
        };
        match first {
            First::Answer(Answer { status, text }) if !text.is_empty() => {
                on_close.disarm();
                return respond::json(status, text);
            }
            // Cancelled, and the client takes no stream that could end without an answer.
            First::Answer(_) if !accepts.sse => return respond::empty(204),
            First::Answer(_) => {}
            First::Stream => begin_stream(reader.exchange()),
        }
        let opening = reader.priming();
        let live = self.0.service.count_stream();
        let body = Body::events(reader, opening, limits.keep_alive, on_close, live);
        respond::events(body)
    }

    /// Runs a call to its end, whatever it says meanwhile.
    pub(crate) async fn run_to_end(&self, admitted: Admitted) -> (Context, Outcome) {
        let service = &self.0.service;
        let exchange = Arc::new(Exchange::calls(&service.limits, 1, false));
        let call = Call::new(admitted, exchange);
        let context = call.context.clone();
        let outcome = match begin(service, call) {
            Begun::Ready(outcome) => outcome,
            Begun::Pending(running) => {
                let mut guard = OnClose::Cancel(context.clone());
                let (sender, receiver) = oneshot::channel();
                running.spawn(service, move |outcome| _ = sender.send(outcome));
                let outcome = receiver.await.ok().flatten();
                guard.disarm();
                outcome.unwrap_or_else(|| {
                    Outcome::Failed(RpcError::new(
                        polyport_proto::Code::Internal,
                        "The call was cancelled",
                    ))
                })
            }
        };
        (context, outcome)
    }
}
