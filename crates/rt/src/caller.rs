//! The asking side of a line-framed connection: requests out, answers back to whoever waits. One revision, chosen beforehand.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use polyport_proto::{Asking, ClientFacts, Revision};
use polyport_wire::{Kind, Limits, Line, Lines, Message, Raw, RequestId, write};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;

/// Why a request has no result.
#[derive(Debug)]
#[non_exhaustive]
pub enum CallError {
    /// The peer answered with this JSON-RPC error.
    Refused(Raw),
    /// The connection ended first.
    Closed,
    /// No answer in time; the peer was told that we no longer wait.
    TimedOut(Duration),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => write!(f, "the peer refused: {}", error.as_str()),
            Self::Closed => f.write_str("the connection ended before the answer came"),
            Self::TimedOut(after) => write!(f, "no answer after {after:?}"),
        }
    }
}

impl std::error::Error for CallError {}

/// Notifications that are kept for [`Caller::notification`]; older ones make room.
const MAX_NOTIFICATIONS: usize = 1_024;
/// Longest message that is taken.
const MAX_MESSAGE: usize = 64 << 20;

/// A connection to a server. Dropping it ends the connection.
pub struct Caller {
    shared: Arc<Shared>,
    reader: JoinHandle<()>,
    timeout: Duration,
}

/// Answers what a server asks: from the method and the parameters to a result, or to an error object.
pub type Answerer = Arc<dyn Fn(&str, Option<Raw>) -> Result<Raw, Raw> + Send + Sync>;

struct Shared {
    state: Mutex<State>,
    writer: tokio::sync::Mutex<Box<dyn AsyncWrite + Unpin + Send>>,
    noted: Notify,
}

struct State {
    asking: Asking,
    waiting: HashMap<RequestId, oneshot::Sender<Result<Raw, CallError>>>,
    notifications: VecDeque<Bytes>,
    answerer: Option<Answerer>,
    closed: bool,
}

impl Caller {
    /// Connects over a stream; in the legacy era with the handshake.
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
        let state = State {
            asking: Asking::new(revision, client),
            waiting: HashMap::new(),
            notifications: VecDeque::new(),
            answerer: None,
            closed: false,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            writer: tokio::sync::Mutex::new(Box::new(writer)),
            noted: Notify::new(),
        });
        let task = tokio::spawn(read(shared.clone(), Box::new(reader)));
        let caller = Self {
            shared,
            reader: task,
            timeout,
        };
        let opening = caller.shared.lock().asking.opening();
        let Some((id, message)) = opening else {
            return Ok((caller, None));
        };
        let opened = caller.ask(id, message).await?;
        let initialized = caller.shared.lock().asking.initialized();
        caller.send(initialized).await?;
        Ok((caller, Some(opened)))
    }

    /// Asks and waits for the result, at most as long as was said at the beginning. Dropping the future leaves the call running.
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
        self.ask(id, message).await
    }

    /// Sends a message as it is, without framing.
    ///
    /// # Errors
    /// The connection has ended.
    pub async fn send(&self, message: Vec<u8>) -> Result<(), CallError> {
        self.shared.send(message).await
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
                if let Some(note) = state.notifications.pop_front() {
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
        self.shared.lock().notifications.drain(..).collect()
    }

    async fn ask(&self, id: RequestId, message: Vec<u8>) -> Result<Raw, CallError> {
        let (sender, receiver) = oneshot::channel();
        self.shared.lock().waiting.insert(id.clone(), sender);
        let answered = async {
            self.send(message).await?;
            receiver.await.unwrap_or(Err(CallError::Closed))
        };
        if let Ok(answer) = tokio::time::timeout(self.timeout, answered).await {
            return answer;
        }
        let cancel = {
            let mut state = self.shared.lock();
            state.waiting.remove(&id);
            state.asking.cancel(&id)
        };
        // Courtesy only: a peer that takes nothing more is not waited for again.
        let _ = tokio::time::timeout(Duration::from_secs(1), self.send(cancel)).await;
        Err(CallError::TimedOut(self.timeout))
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller")
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn send(&self, mut message: Vec<u8>) -> Result<(), CallError> {
        message.push(b'\n');
        let mut writer = self.writer.lock().await;
        writer
            .write_all(&message)
            .await
            .map_err(|_| CallError::Closed)?;
        writer.flush().await.map_err(|_| CallError::Closed)
    }

    /// The answer to a request of the server, if somebody answers those.
    fn answer(&self, message: &Message) -> Option<Vec<u8>> {
        let answerer = self.lock().answerer.clone()?;
        let id = message.id().filter(|_| message.kind() == Kind::Request)?;
        let mut out = Vec::new();
        match answerer(&message.method(), message.params().raw()) {
            Ok(result) => {
                write::response_head(&mut out, id);
                out.extend_from_slice(result.as_bytes());
                out.push(b'}');
            }
            Err(error) => {
                out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
                id.write(&mut out);
                out.extend_from_slice(b",\"error\":");
                out.extend_from_slice(error.as_bytes());
                out.push(b'}');
            }
        }
        Some(out)
    }

    fn take(&self, mut message: Message) {
        let mut state = self.lock();
        let result = match message.kind() {
            Kind::Response => message.result().map(Ok),
            Kind::Failure => message.error().map(|error| Err(CallError::Refused(error))),
            Kind::Notification | Kind::Request => {
                if state.notifications.len() >= MAX_NOTIFICATIONS {
                    state.notifications.pop_front();
                }
                state.notifications.push_back(message.frame().clone());
                drop(state);
                return self.noted.notify_one();
            }
        };
        let waiting = message.take_id().and_then(|id| state.waiting.remove(&id));
        if let (Some(result), Some(waiting)) = (result, waiting) {
            // Nobody may be waiting any more.
            let _ = waiting.send(result);
        }
    }
}

async fn read(shared: Arc<Shared>, mut reader: Box<dyn AsyncRead + Unpin + Send>) {
    let mut lines = Lines::new(MAX_MESSAGE);
    while let Ok(n) = reader.read_buf(lines.buffer()).await {
        if n == 0 {
            break;
        }
        while let Some(line) = lines.next_line() {
            let parsed = match line {
                Line::Frame(frame) => Message::parse(frame, &Limits::default()),
                Line::TooLong { .. } => continue,
            };
            match parsed {
                Ok(message) => match shared.answer(&message) {
                    // A server that takes nothing more has ended, which the next read shows.
                    Some(answer) => _ = shared.send(answer).await,
                    None => shared.take(message),
                },
                Err(malformed) => {
                    tracing::warn!(%malformed, "the server sent something else than a message")
                }
            }
        }
    }
    let mut state = shared.lock();
    state.closed = true;
    state.waiting.clear();
    drop(state);
    shared.noted.notify_one();
}
