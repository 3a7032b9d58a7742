//! The asking side of a connection: requests out, answers back to whoever waits. What carries them is a [`Carrier`].

mod carrier;
mod error;
mod inbox;
mod late;
mod line;
mod noted;
mod offer;
mod open;
mod request;
mod tap;
mod wait;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use polyport_model::INITIALIZE;
use polyport_proto::http::HeaderParam;
use polyport_proto::{Asking, ClientFacts, Revision, Revisions};
use polyport_wire::{Kind, Raw, RequestId};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use crate::handler::BoxFuture;
pub use carrier::{Carrier, Outgoing, Request};
pub use error::{CallError, Status};
pub use inbox::Inbox;
use late::Noticed;
pub use late::{LastMessage, Late, OpenRequest, Stage, Standing};
use noted::Noted;
pub use offer::Offer;
pub use open::{Opened, Patience};
pub use tap::{Speaker, Tap, tapped};
pub use wait::{OnNote, OnNotification, OnProgress, Wait, Why};

/// Longest message that is taken from a server, over every transport: 64 MiB.
pub const MAX_ANSWER: usize = 64 << 20;

/// Questions that a server may ask while one request waits for its answer: as many as a thousand steps of a model need. Where all
/// messages share one stream, they are those between two of its answers. One more fails the request.
pub const MAX_QUESTIONS: usize = 1_000;

/// A connection to a server. Dropping it ends the connection.
pub struct Caller {
    shared: Arc<Shared>,
    timeout: Duration,
    /// How the conversation is opened again, where a server forgets it; one at a time.
    reopening: tokio::sync::Mutex<Option<Reopening>>,
}

/// What was offered when the conversation was opened.
#[derive(Clone, Copy, Debug)]
struct Reopening {
    ours: Revisions,
    patience: Duration,
}

/// Answers what a server asks: from the method and the parameters to a result, or to an error object.
pub type Answerer = Arc<dyn Fn(&str, Option<Raw>) -> BoxFuture<Result<Raw, Raw>> + Send + Sync>;

struct Shared {
    state: Mutex<State>,
    noted: Notify,
    closed: Notify,
    /// The server has forgotten the session, or it was opened anew.
    forgotten: Notify,
}

struct State {
    asking: Asking,
    tap: Option<Tap>,
    /// None: the connection has ended, or is being ended.
    carrier: Option<Arc<dyn Carrier>>,
    /// Ids are ours and rise, so that this is quicker than a table of hashes.
    waiting: BTreeMap<RequestId, Waiting>,
    noted: Noted,
    answerer: Option<Answerer>,
    hears: Option<OnNotification>,
    /// Those who answer questions of the server, and which of them answers which.
    answers: JoinSet<()>,
    asked: HashMap<RequestId, AbortHandle>,
    /// How many of them came on the shared stream since the last answer.
    questions: usize,
    /// Something that is no message has been told of.
    junk: bool,
    /// What the server answered last that fits no request, and when.
    odd: Option<(Instant, String)>,
    /// The last message from the server, and the last to it.
    heard: Option<Noticed>,
    said: Option<Noticed>,
    /// How often the conversation has been opened again.
    reopened: u64,
    /// The server has forgotten it since.
    is_forgotten: bool,
    /// It is being opened again; what is asked meanwhile waits for that.
    is_reopening: bool,
    /// The arguments of tools that are mirrored in headers.
    mirrored: HashMap<String, Arc<[HeaderParam]>>,
}

/// A request that has no answer yet.
struct Waiting {
    method: Arc<str>,
    begun: Instant,
    sender: oneshot::Sender<Result<Raw, CallError>>,
    progress: Option<OnProgress>,
    answers: Option<Answerer>,
    notes: Option<OnNote>,
    /// When something of it came last.
    heard: Instant,
    /// What the server has asked on its stream.
    questions: usize,
}

impl Caller {
    /// Connects over a stream in one revision, chosen beforehand; in the legacy era with the handshake.
    ///
    /// # Errors
    /// The server refuses the handshake, or does not answer.
    pub async fn connect(
        reader: impl AsyncRead + Unpin + Send + 'static,
        writer: impl AsyncWrite + Unpin + Send + 'static,
        revision: Revision,
        client: ClientFacts,
        timeout: Duration,
    ) -> Result<(Self, Option<Raw>), CallError> {
        let asking = Asking::new(revision, client);
        let caller = Self::over(|inbox| line::carry(inbox, reader, writer), asking, timeout);
        let opening = caller.shared.lock().asking.opening();
        let Some((id, message)) = opening else {
            return Ok((caller, None));
        };
        let opened = caller
            .ask(INITIALIZE, id, message, &caller.patient())
            .await?;
        let initialized = caller.shared.lock().asking.initialized();
        caller.send(initialized).await?;
        Ok((caller, Some(opened)))
    }

    /// A caller over a carrier that is made for it; nothing has been said yet.
    fn over(
        carrier: impl FnOnce(Inbox) -> Arc<dyn Carrier>,
        asking: Asking,
        timeout: Duration,
    ) -> Self {
        let state = State {
            asking,
            tap: tap::current(),
            carrier: None,
            waiting: BTreeMap::new(),
            noted: Noted::default(),
            answerer: None,
            hears: None,
            answers: JoinSet::new(),
            asked: HashMap::new(),
            questions: 0,
            junk: false,
            odd: None,
            heard: None,
            said: None,
            reopened: 0,
            is_forgotten: false,
            is_reopening: false,
            mirrored: HashMap::new(),
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            noted: Notify::new(),
            closed: Notify::new(),
            forgotten: Notify::new(),
        });
        // Under the lock: what it reads at once waits until it is there.
        let mut state = shared.lock();
        state.carrier = Some(carrier(Inbox::of(shared.clone())));
        drop(state);
        Self {
            shared,
            timeout,
            reopening: tokio::sync::Mutex::new(None),
        }
    }

    /// Asks and waits for the result, at most as long as was said at the beginning. Dropping the future cancels the request.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn request(&self, method: &str, params: &str) -> Result<Raw, CallError> {
        self.request_with(method, params, "").await
    }

    /// The same with ready members of `_meta`, such as `"progressToken":1`.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn request_with(
        &self,
        method: &str,
        params: &str,
        meta: &str,
    ) -> Result<Raw, CallError> {
        self.run(method, params, meta, &self.patient()).await
    }

    /// Asks and waits for the result as long as `wait` says. Dropping the future cancels the request.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn request_waiting(
        &self,
        method: &str,
        params: &str,
        wait: &Wait,
    ) -> Result<Raw, CallError> {
        self.run(method, params, "", wait).await
    }

    /// Asks and waits for no answer: for what may be left undone if the connection ends now.
    pub fn say(&self, method: &str, params: &str) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let sending = {
            let mut state = self.shared.lock();
            let (_, message) = state.asking.request(method, params, "");
            let outgoing = state.outgoing(late::now(Kind::Request), message, None);
            let carrier = state.carrier.as_ref();
            carrier.map(|carrier| carrier.send(outgoing))
        };
        if let Some(sending) = sending {
            runtime.spawn(tokio::time::timeout(self.timeout, sending));
        }
    }

    /// How things stand for somebody who has waited so long in vain.
    pub fn late(&self, after: Duration) -> Late {
        self.shared.lock().late(after, None)
    }

    /// How long a request is waited for where nothing else is said.
    pub fn patience(&self) -> Duration {
        self.timeout
    }

    /// Sends a notification as it is, without framing.
    ///
    /// # Errors
    /// The connection has ended.
    pub async fn send(&self, message: Vec<u8>) -> Result<(), CallError> {
        let said = late::now(Kind::Notification);
        self.shared.send(said, message, None).await
    }

    /// Answers from now on what a legacy server asks. Without, its requests are kept as notifications are.
    pub fn set_answerer(&self, answerer: Answerer) {
        self.shared.lock().answerer = Some(answerer);
    }

    /// Hears from now on what the server tells, beside whoever takes it.
    pub fn set_hearer(&self, hears: OnNotification) {
        self.shared.lock().hears = Some(hears);
    }

    /// The next notification, as it came. None: the connection has ended.
    pub async fn notification(&self) -> Option<Bytes> {
        loop {
            let noted = self.shared.noted.notified();
            {
                let mut state = self.shared.lock();
                if let Some(note) = state.noted.pop() {
                    return Some(note);
                }
                state.carrier.as_ref()?;
            }
            noted.await;
        }
    }

    /// The notifications that have come and were not taken.
    pub fn notifications(&self) -> Vec<Bytes> {
        let mut state = self.shared.lock();
        std::iter::from_fn(|| state.noted.pop()).collect()
    }

    /// The revision that is spoken.
    pub fn revision(&self) -> Revision {
        self.shared.lock().asking.revision()
    }

    /// Says which arguments of which tools are mirrored in headers, where the connection has headers and the era mirrors. What was said
    /// before no longer holds.
    pub fn mirror(&self, tools: impl IntoIterator<Item = (String, Arc<[HeaderParam]>)>) {
        let tools = tools.into_iter().collect();
        self.shared.lock().mirrored = tools;
    }

    /// Ends the connection once what has been said is written; how long that may take, the carrier bounds.
    pub async fn close(self) {
        self.finish().await;
    }

    /// How often the conversation has been opened again, since the server had forgotten it.
    pub fn reopened(&self) -> u64 {
        self.shared.lock().reopened
    }

    /// Waits until the server is known to have forgotten the conversation, or until it has been opened again since it had been for the
    /// `seen`th time. The next request opens it, and so what was subscribed to must be subscribed to anew.
    pub async fn forgotten(&self, seen: u64) {
        loop {
            let told = self.shared.forgotten.notified();
            {
                let state = self.shared.lock();
                if state.is_forgotten || state.reopened != seen {
                    return;
                }
            }
            told.await;
        }
    }

    /// Opens the conversation again, unless that has been done since it had been for the `seen`th time: for whoever knows that the server
    /// has forgotten it although it does not say so. What runs in the one before fails, and is not asked again.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn renew(&self, seen: u64) -> Result<(), CallError> {
        self.reopen(seen).await
    }

    /// The server has answered: it has not forgotten.
    pub fn remembered(&self) {
        self.shared.lock().is_forgotten = false;
    }

    /// Has the connection ended?
    pub fn is_closed(&self) -> bool {
        self.shared.lock().carrier.is_none()
    }

    /// Waits until it has.
    pub async fn closed(&self) {
        loop {
            let closed = self.shared.closed.notified();
            if self.is_closed() {
                return;
            }
            closed.await;
        }
    }

    /// The same as [`close`](Self::close) where others hold the caller, too.
    pub async fn finish(&self) {
        let carrier = self.shared.lock().carrier.clone();
        if let Some(carrier) = carrier {
            carrier.finish().await;
        }
        // Whoever still waits hears that nothing comes any more.
        Inbox::of(self.shared.clone()).close();
    }

    fn patient(&self) -> Wait {
        Wait {
            total: Some(self.timeout),
            ..Wait::default()
        }
    }
}

impl State {
    /// The one request that hears of notifications; none where there are none or several.
    fn only_hearing(&self) -> Option<&Waiting> {
        let mut hearing = self.waiting.values().filter(|it| it.notes.is_some());
        let first = hearing.next();
        first.filter(|_| hearing.next().is_none())
    }

    fn outgoing(&mut self, said: Noticed, text: Vec<u8>, request: Option<Request>) -> Outgoing {
        self.said = Some(said);
        if let Some(tap) = &self.tap {
            tap(Speaker::Client, &text);
        }
        Outgoing {
            text,
            revision: self.asking.revision(),
            request,
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that is done under the lock leaves it half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn send(
        &self,
        said: Noticed,
        text: Vec<u8>,
        request: Option<Request>,
    ) -> Result<(), CallError> {
        let sending = {
            let mut state = self.lock();
            let outgoing = state.outgoing(said, text, request);
            let carrier = state.carrier.as_ref().ok_or(CallError::Closed)?;
            carrier.send(outgoing)
        };
        sending.await
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.answers.abort_all();
        let carrier = state.carrier.take();
        drop(state);
        if let Some(carrier) = carrier {
            carrier.abort();
        }
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller")
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
