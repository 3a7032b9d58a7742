//! The asking side of a line-framed connection: requests out, answers back to whoever waits.

mod error;
mod line;
mod noted;
mod open;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use polyport_model::ProgressParams;
use polyport_proto::{Asking, ClientFacts, Revision};
use polyport_wire::{Raw, RequestId};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::Instant;

use crate::handler::BoxFuture;
pub use error::CallError;
use noted::Noted;
pub use open::{Opened, Patience};

/// How long what has been said may take to be written at the end.
const CLOSING: Duration = Duration::from_secs(1);
/// Messages that wait to be written; whoever has more waits.
const MAX_QUEUED: usize = 64;

/// A connection to a server. Dropping it ends the connection.
pub struct Caller {
    shared: Arc<Shared>,
    reading: JoinHandle<()>,
    writing: Option<JoinHandle<()>>,
    timeout: Duration,
}

/// Answers what a server asks: from the method and the parameters to a result, or to an error object.
pub type Answerer = Arc<dyn Fn(&str, Option<Raw>) -> BoxFuture<Result<Raw, Raw>> + Send + Sync>;

/// Hears each progress notification of a request. Called where messages are read: it must not wait.
pub type OnProgress = Box<dyn FnMut(ProgressParams) + Send>;

/// How long one request may take, and who hears of its progress.
#[derive(Default)]
pub struct Wait {
    /// How long nothing at all may come of it: neither its answer nor progress. None: as long as `total` lets it.
    pub idle: Option<Duration>,
    /// How long it may take, whatever comes meanwhile. None: without end.
    pub total: Option<Duration>,
    /// Some: progress is asked for, too.
    pub progress: Option<OnProgress>,
}

impl fmt::Debug for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait")
            .field("idle", &self.idle)
            .field("total", &self.total)
            .finish_non_exhaustive()
    }
}

struct Shared {
    state: Mutex<State>,
    out: mpsc::Sender<Vec<u8>>,
    noted: Notify,
}

struct State {
    asking: Asking,
    waiting: HashMap<RequestId, Waiting>,
    noted: Noted,
    answerer: Option<Answerer>,
    /// Questions of the server that have no answer yet.
    asked: HashMap<RequestId, AbortHandle>,
    closed: bool,
}

/// A request that has no answer yet.
struct Waiting {
    sender: oneshot::Sender<Result<Raw, CallError>>,
    progress: Option<OnProgress>,
    /// When something of it came last.
    heard: Instant,
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
        let caller = Self::over(reader, writer, Asking::new(revision, client), timeout);
        let opening = caller.shared.lock().asking.opening();
        let Some((id, message)) = opening else {
            return Ok((caller, None));
        };
        let opened = caller.ask(id, message, caller.patient()).await?;
        let initialized = caller.shared.lock().asking.initialized();
        caller.send(initialized).await?;
        Ok((caller, Some(opened)))
    }

    fn over(
        reader: impl AsyncRead + Unpin + Send + 'static,
        writer: impl AsyncWrite + Unpin + Send + 'static,
        asking: Asking,
        timeout: Duration,
    ) -> Self {
        let state = State {
            asking,
            waiting: HashMap::new(),
            noted: Noted::default(),
            answerer: None,
            asked: HashMap::new(),
            closed: false,
        };
        let (out, queue) = mpsc::channel(MAX_QUEUED);
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            out,
            noted: Notify::new(),
        });
        let reading = tokio::spawn(line::read(shared.clone(), Box::new(reader)));
        let writing = tokio::spawn(line::write(queue, Box::new(writer)));
        Self {
            shared,
            reading,
            writing: Some(writing),
            timeout,
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
        let (id, message) = self.shared.lock().asking.request(method, params, meta);
        self.ask(id, message, self.patient()).await
    }

    /// Asks and waits for the result as long as `wait` says. Dropping the future cancels the request.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn request_waiting(
        &self,
        method: &str,
        params: &str,
        wait: Wait,
    ) -> Result<Raw, CallError> {
        let (id, message) = {
            let mut state = self.shared.lock();
            let token = wait.progress.is_some().then(|| state.asking.next_token());
            state
                .asking
                .request(method, params, &token.unwrap_or_default())
        };
        self.ask(id, message, wait).await
    }

    /// Sends a message as it is, without framing.
    ///
    /// # Errors
    /// The connection has ended.
    pub async fn send(&self, message: Vec<u8>) -> Result<(), CallError> {
        let sent = self.shared.out.send(message).await;
        sent.map_err(|_| CallError::Closed)
    }

    /// Answers from now on what a legacy server asks. Without, its requests are kept as notifications are.
    pub fn set_answerer(&self, answerer: Answerer) {
        self.shared.lock().answerer = Some(answerer);
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
                if state.closed {
                    return None;
                }
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

    /// Ends the connection once what has been said is written; at most a second is waited for that.
    pub async fn close(mut self) {
        let Some(mut writing) = self.writing.take() else {
            return;
        };
        // With all who could say more gone, the writer ends.
        self.reading.abort();
        let _ = (&mut self.reading).await;
        drop(self);
        if tokio::time::timeout(CLOSING, &mut writing).await.is_err() {
            writing.abort();
        }
    }

    fn patient(&self) -> Wait {
        Wait {
            total: Some(self.timeout),
            ..Wait::default()
        }
    }

    async fn ask(&self, id: RequestId, message: Vec<u8>, wait: Wait) -> Result<Raw, CallError> {
        let (sender, mut receiver) = oneshot::channel();
        let begun = Instant::now();
        {
            let mut state = self.shared.lock();
            if state.closed {
                return Err(CallError::Closed);
            }
            let waiting = Waiting {
                sender,
                progress: wait.progress,
                heard: begun,
            };
            state.waiting.insert(id.clone(), waiting);
        }
        let unanswered = Unanswered {
            shared: &self.shared,
            id: &id,
        };
        let end = wait.total.map(|total| begun + total);
        let sent = self.send(message);
        match until(end.or_else(|| wait.idle.map(|idle| begun + idle)), sent).await {
            Some(sent) => sent?,
            None => return Err(CallError::TimedOut(begun.elapsed())),
        }
        loop {
            let idle = wait.idle.and_then(|idle| Some(unanswered.heard()? + idle));
            let next = [end, idle].into_iter().flatten().min();
            if let Some(answer) = until(next, &mut receiver).await {
                return answer.unwrap_or(Err(CallError::Closed));
            }
            let is_idle = wait.idle.zip(unanswered.heard());
            let is_idle = is_idle.is_some_and(|(idle, heard)| heard.elapsed() >= idle);
            if is_idle || end.is_some_and(|end| Instant::now() >= end) {
                return Err(CallError::TimedOut(begun.elapsed()));
            }
        }
    }
}

/// Waits for something, or until then.
async fn until<T>(end: Option<Instant>, what: impl Future<Output = T>) -> Option<T> {
    match end {
        Some(end) => tokio::time::timeout_at(end, what).await.ok(),
        None => Some(what.await),
    }
}

/// A request; dropped without an answer, the server is told that nobody waits.
struct Unanswered<'a> {
    shared: &'a Shared,
    id: &'a RequestId,
}

impl Unanswered<'_> {
    /// When something of it came last; now, while the server waits for us. None: it has been answered.
    fn heard(&self) -> Option<Instant> {
        let mut state = self.shared.lock();
        let is_asked = !state.asked.is_empty();
        let waiting = state.waiting.get_mut(self.id)?;
        if is_asked {
            waiting.heard = Instant::now();
        }
        Some(waiting.heard)
    }
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        if state.waiting.remove(self.id).is_some()
            && let Some(cancel) = state.asking.cancel(self.id)
        {
            // Courtesy only: a peer that takes nothing more is not waited for.
            let _ = self.shared.out.try_send(cancel);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that is done under the lock leaves it half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.reading.abort();
        if let Some(writing) = &self.writing {
            writing.abort();
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
