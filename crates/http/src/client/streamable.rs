//! Carries messages over Streamable HTTP: each is a request of its own, whose response may be a stream.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use hyper::body::Incoming;
use polyport_proto::http::headers::SESSION_ID;
use polyport_proto::{Era, Revision};
use polyport_rt::{BoxFuture, CallError, Carrier, Inbox, Outgoing, Request, Stage};
use polyport_wire::{Kind, Limits, Message, RequestId};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::coding::Plain;
use super::connect::Connection;
use super::notes::{ENDING, Notes, TAKING};
use super::take::{self, Holds, Reading};
use super::way::Way;
use super::{head, listen, resume};

/// How long a stream that has brought the answer may take to end; then it is left.
const LINGER: Duration = Duration::from_millis(200);
const OVER: &str = "the server has forgotten the session in which it was asked";

/// Messages to one server and back.
struct Streamable {
    way: Arc<Way>,
    state: Mutex<State>,
    notes: Notes,
}

/// A request to be sent.
enum Asked {
    /// We have written it, and know what is in it.
    Known(Request, Bytes),
    Read(Message),
}

impl Asked {
    fn id(&self) -> Option<RequestId> {
        match self {
            Self::Known(request, _) => Some(request.id.clone()),
            Self::Read(message) => message.id().cloned(),
        }
    }

    fn text(&self) -> Bytes {
        match self {
            Self::Known(_, text) => text.clone(),
            Self::Read(message) => message.frame().clone(),
        }
    }

    fn is_opening(&self) -> bool {
        match self {
            Self::Known(request, _) => &*request.method == "initialize",
            Self::Read(message) => message.method() == "initialize",
        }
    }

    fn headers(
        &self,
        revision: Revision,
        session: Option<&HeaderValue>,
        inbox: &Inbox,
    ) -> HeaderMap {
        match self {
            Self::Known(request, text) => head::of_request(request, text, revision, session, inbox),
            Self::Read(message) => head::of_message(message, revision, session, inbox),
        }
    }
}

#[derive(Default)]
struct State {
    /// The revision of the session.
    revision: Option<Revision>,
    exchanges: BTreeMap<RequestId, Running>,
    listening: Option<AbortHandle>,
}

/// What brings the answer to a request.
struct Running {
    task: AbortHandle,
    stage: Stage,
}

pub(super) fn carry(connection: Connection, inbox: Inbox) -> Arc<dyn Carrier> {
    Arc::new(Carried(Arc::new(Streamable {
        way: Arc::new(Way::new(connection, inbox)),
        state: Mutex::default(),
        notes: Notes::default(),
    })))
}

/// What the caller holds: its end is the end of what runs for it.
struct Carried(Arc<Streamable>);

impl Carrier for Carried {
    fn send(&self, message: Outgoing) -> BoxFuture<Result<(), CallError>> {
        let (ours, revision) = (self.0.clone(), message.revision);
        let text = Bytes::from(message.text);
        if let Some(request) = message.request {
            ours.begin(Asked::Known(request, text), revision);
            return Box::pin(ready(Ok(())));
        }
        let message = match Message::parse(text, &Limits::default()) {
            Ok(message) => message,
            Err(malformed) => {
                let why = format!("what was to be sent is no message: {malformed}");
                return Box::pin(ready(Err(CallError::Unreadable(why))));
            }
        };
        match message.kind() {
            Kind::Request => {
                ours.begin(Asked::Read(message), revision);
                Box::pin(ready(Ok(())))
            }
            _ => Box::pin(async move { ours.tell(&message, revision).await }),
        }
    }

    fn forget(&self, id: &RequestId, note: Option<Outgoing>) {
        let ours = self.0.clone();
        let exchange = ours.lock().exchanges.remove(id);
        if let Some(exchange) = exchange {
            exchange.task.abort();
        }
        // In the modern era the end of the stream says it.
        let note = note.filter(|note| !note.revision.profile().disconnect_cancels);
        if let Some(note) = note {
            self.0.notes.tell(self.send(note));
        }
    }

    fn stage(&self, id: &RequestId) -> Stage {
        let state = self.0.lock();
        let running = state.exchanges.get(id);
        running.map_or(Stage::Sent, |running| running.stage)
    }

    fn silence(&self, _: Duration) -> Option<Duration> {
        None
    }

    fn finish(&self) -> BoxFuture<()> {
        let ours = self.0.clone();
        ours.leave();
        let revision = ours.lock().revision.take();
        let told = ours.notes.told();
        let session = ours.way.session();
        Box::pin(async move {
            // What is still to be told belongs to the session.
            told.await;
            let (Some(session), Some(revision)) = (session, revision) else {
                return;
            };
            let headers = || head::of_end(revision, &session);
            let connection = &ours.way.connection;
            let asked = connection.request(Method::DELETE, connection.uri(), headers, Bytes::new());
            // D-19: whatever is answered, the session is over for us.
            let _ = timeout(ENDING, asked).await;
        })
    }

    fn abort(&self) {
        self.0.leave();
    }
}

impl Streamable {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that is done under the lock leaves it half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends what runs.
    fn leave(&self) {
        let mut state = self.lock();
        let exchanges = std::mem::take(&mut state.exchanges);
        let listening = state.listening.take();
        drop(state);
        let exchanges = exchanges.into_values().map(|running| running.task);
        for handle in exchanges.chain(listening) {
            handle.abort();
        }
    }

    /// Sends a request, and sees to what comes of it in a task of its own.
    fn begin(self: Arc<Self>, asked: Asked, revision: Revision) {
        let Some(id) = asked.id() else { return };
        let (ours, theirs) = (self.clone(), id.clone());
        // Under the lock: the task looks for itself there at its end.
        let mut state = self.lock();
        let task = tokio::spawn(async move {
            if let Err(error) = ours.exchange(&id, asked, revision).await {
                ours.way.inbox.fail(&id, error);
            }
            ours.lock().exchanges.remove(&id);
        });
        let running = Running {
            task: task.abort_handle(),
            stage: Stage::Unanswered,
        };
        state.exchanges.insert(theirs, running);
    }

    fn note(&self, id: &RequestId, stage: Stage) {
        if let Some(running) = self.lock().exchanges.get_mut(id) {
            running.stage = stage;
        }
    }

    async fn exchange(
        &self,
        id: &RequestId,
        asked: Asked,
        revision: Revision,
    ) -> Result<(), CallError> {
        let is_opening = asked.is_opening();
        let mut session = match is_opening {
            true => None,
            false => self.way.own_session()?,
        };
        let headers = || asked.headers(revision, session.as_ref(), &self.way.inbox);
        let posted = self.way.connection.post(headers, asked.text());
        let response = posted.await?;
        self.note(id, Stage::Begun);
        let status = response.status();
        if status == StatusCode::NOT_FOUND
            && let Some(session) = &session
        {
            return Err(Box::pin(self.lost(session, response)).await);
        }
        if !status.is_success() {
            let status = Box::pin(take::status(response)).await;
            return Err(CallError::Status(Box::new(status)));
        }
        if is_opening {
            session = response.headers().get(SESSION_ID).cloned();
            self.way.set_session(session.clone());
        }
        match take::holds(response.headers()) {
            Holds::Json => {
                let (head, body) = response.into_parts();
                let text = take::whole(Plain::new(&head.headers, body)?).await?;
                // Of nothing nobody need be told twice.
                if !text.trim_ascii().is_empty() {
                    self.way.inbox.take(text.clone());
                }
                if !self.way.inbox.is_waited_for(id) {
                    return Ok(());
                }
                Err(take::no_answer(&text, status.as_u16()))
            }
            Holds::Events => {
                let over = self.way.is_over(session.as_ref());
                // Few answers come so, and all pay for the room that each way takes.
                Box::pin(async {
                    tokio::select! {
                        biased;
                        read = self.read(id, response, revision) => read,
                        // Nothing else can bring the answer, and it may have been done: it is not asked again.
                        () = over => Err(CallError::Broken(OVER.to_owned())),
                    }
                })
                .await
            }
            Holds::Other if matches!(status.as_u16(), 202 | 204) => {
                Err(CallError::Unreadable(take::nothing(status.as_u16())))
            }
            Holds::Other => {
                let said = Box::pin(take::status(response)).await.said;
                let why = format!(
                    "it is neither JSON nor a stream of events; is this the address of an MCP server? {said}"
                );
                Err(CallError::Unreadable(why))
            }
        }
    }

    /// Reads a stream to the answer, and to its end if that is near.
    async fn read(
        &self,
        id: &RequestId,
        response: Response<Incoming>,
        revision: Revision,
    ) -> Result<(), CallError> {
        let mut reading = Reading::new(response)?;
        self.note(id, Stage::Streaming);
        while self.way.inbox.is_waited_for(id) {
            match reading.give(&self.way.inbox, Some(id)).await {
                Some(Err(error)) if self.way.inbox.is_waited_for(id) => return Err(error),
                Some(_) => {}
                None => {
                    self.note(id, Stage::Broken);
                    reading = resume::again(&self.way, reading, revision).await?;
                    self.note(id, Stage::Streaming);
                }
            }
        }
        // So that the connection can be used again.
        let rest = async { while reading.give(&self.way.inbox, None).await.is_some() {} };
        let _ = timeout(LINGER, rest).await;
        Ok(())
    }

    /// Sends what needs no answer.
    async fn tell(self: Arc<Self>, message: &Message, revision: Revision) -> Result<(), CallError> {
        let session = self.way.session();
        let headers = || head::of_message(message, revision, session.as_ref(), &self.way.inbox);
        let posted = self.way.connection.post(headers, message.frame().clone());
        let response = timeout(TAKING, posted).await;
        let response = response.map_err(|_| CallError::TimedOut(TAKING.into()))??;
        if !response.status().is_success() {
            let status = timeout(TAKING, take::status(response)).await;
            let status = status.map_err(|_| CallError::TimedOut(TAKING.into()))?;
            tracing::warn!(%status, "the server has not taken a message that has no answer");
            return Ok(());
        }
        if message.method() == "notifications/initialized" {
            self.listen(revision);
        }
        Ok(())
    }

    /// Hears from now on what belongs to no request.
    fn listen(&self, revision: Revision) {
        if revision.profile().era != Era::Legacy {
            return;
        }
        let mut state = self.lock();
        state.revision = Some(revision);
        let listening = tokio::spawn(listen::run(self.way.clone(), revision));
        let before = state.listening.replace(listening.abort_handle());
        drop(state);
        if let Some(before) = before {
            before.abort();
        }
    }

    /// The session is over (basic/transports, Session Management).
    async fn lost(&self, session: &HeaderValue, response: Response<Incoming>) -> CallError {
        let status = take::status(response).await;
        tracing::info!(%status, "the server has forgotten the session");
        self.way.forget_session(session);
        CallError::SessionLost
    }
}
