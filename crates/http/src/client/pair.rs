//! Carries messages over the older HTTP with SSE: one stream brings all, and names where to send to (2024-11-05, basic/transports).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Uri};
use polyport_rt::{BoxFuture, CallError, Carrier, Inbox, Late, Outgoing};
use polyport_wire::{Kind, Limits, Message, RequestId};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, timeout, timeout_at};

use super::connect::Connection;
use super::head;
use super::notes::{Notes, TAKING};
use super::take::{self, Holds, Reading};
use super::target::same_origin;

/// Said of a stream that is open.
const UNNAMED: &str = "its stream has named no endpoint";

/// Connects the stream, and waits for the endpoint that it names.
///
/// # Errors
/// There is no such stream, or it names no endpoint of the same server.
pub(super) async fn carry(
    connection: Connection,
    patience: Duration,
) -> Result<impl FnOnce(Inbox) -> Arc<dyn Carrier>, CallError> {
    let end = Instant::now() + patience;
    let late = |_| CallError::TimedOut(patience.into());
    let mut reading = timeout_at(end, begin(&connection)).await.map_err(late)??;
    let named = timeout_at(end, endpoint(&connection, &mut reading)).await;
    let endpoint = named.unwrap_or_else(|_| {
        let mut late = Late::from(patience);
        late.odd = Some(UNNAMED.to_owned());
        Err(CallError::TimedOut(late))
    })?;
    Ok(move |inbox: Inbox| -> Arc<dyn Carrier> {
        let reads = tokio::spawn(read(reading, inbox.clone()));
        Arc::new(Pair {
            shared: Arc::new(Shared {
                connection,
                endpoint,
                inbox,
            }),
            reading: Mutex::new(Some(reads.abort_handle())),
            posts: Mutex::default(),
            notes: Notes::default(),
        })
    })
}

async fn begin(connection: &Connection) -> Result<Reading, CallError> {
    let mut headers = http::HeaderMap::new();
    headers.insert(
        http::header::ACCEPT,
        http::HeaderValue::from_static("text/event-stream"),
    );
    let uri = connection.uri();
    let asked = connection.request(Method::GET, uri, || headers.clone(), Bytes::new());
    let response = asked.await?;
    if !response.status().is_success() || take::holds(response.headers()) != Holds::Events {
        return Err(CallError::Status(Box::new(take::status(response).await)));
    }
    Reading::new(response)
}

/// Where messages are sent to, which is the first that the stream says.
async fn endpoint(connection: &Connection, reading: &mut Reading) -> Result<Uri, CallError> {
    while let Some(event) = reading.next().await {
        let (name, data) = event?;
        if name.as_deref() == Some("endpoint") {
            let endpoint = same_origin(&connection.uri(), &data);
            return endpoint.map_err(CallError::Unreachable);
        }
    }
    let why = "the stream ended before it named an endpoint".to_owned();
    Err(CallError::Broken(why))
}

async fn read(mut reading: Reading, inbox: Inbox) {
    while let Some(given) = reading.give(&inbox, None).await {
        if let Err(error) = given {
            inbox.fail_only(error);
        }
    }
    inbox.close();
}

struct Pair {
    shared: Arc<Shared>,
    reading: Mutex<Option<AbortHandle>>,
    /// Requests that are being sent. Each takes as long as [`TAKING`] at most.
    posts: Mutex<JoinSet<()>>,
    notes: Notes,
}

struct Shared {
    connection: Connection,
    endpoint: Uri,
    inbox: Inbox,
}

impl Shared {
    async fn post(&self, message: &Message, outgoing: &Outgoing) -> Result<(), CallError> {
        let headers = || head::of_message(message, outgoing.revision, None, &self.inbox);
        let text = message.frame().clone();
        let asked = self
            .connection
            .request(Method::POST, self.endpoint.clone(), headers, text);
        let response = timeout(TAKING, asked).await;
        let response = response.map_err(|_| CallError::TimedOut(TAKING.into()))??;
        if response.status().is_success() {
            return Ok(());
        }
        let status = timeout(TAKING, take::status(response)).await;
        let status = status.map_err(|_| CallError::TimedOut(TAKING.into()))?;
        Err(CallError::Status(Box::new(status)))
    }
}

impl Carrier for Pair {
    fn send(&self, outgoing: Outgoing) -> BoxFuture<Result<(), CallError>> {
        let text = Bytes::from(outgoing.text.clone());
        let message = match Message::parse(text, &Limits::default()) {
            Ok(message) => message,
            Err(malformed) => {
                let why = format!("what was to be sent is no message: {malformed}");
                return Box::pin(std::future::ready(Err(CallError::Unreadable(why))));
            }
        };
        let shared = self.shared.clone();
        // The answer comes on the stream, and may come before it is said that the request was taken.
        if message.kind() == Kind::Request
            && let Some(id) = message.id().cloned()
        {
            let mut posts = self.posts.lock().unwrap_or_else(PoisonError::into_inner);
            while posts.try_join_next().is_some() {}
            posts.spawn(async move {
                if let Err(error) = shared.post(&message, &outgoing).await {
                    shared.inbox.fail(&id, error);
                }
            });
            return Box::pin(std::future::ready(Ok(())));
        }
        Box::pin(async move {
            if let Err(error) = shared.post(&message, &outgoing).await {
                tracing::warn!(%error, "the server has not taken a message that has no answer");
            }
            Ok(())
        })
    }

    fn forget(&self, _id: &RequestId, note: Option<Outgoing>) {
        if let Some(note) = note {
            self.notes.tell(self.send(note));
        }
    }

    fn finish(&self) -> BoxFuture<()> {
        let told = self.notes.told();
        let reading = self.take_reading();
        Box::pin(async move {
            // The end of the stream is the end of the session.
            told.await;
            if let Some(reading) = reading {
                reading.abort();
            }
        })
    }

    fn abort(&self) {
        let mut posts = self.posts.lock().unwrap_or_else(PoisonError::into_inner);
        posts.abort_all();
        if let Some(reading) = self.take_reading() {
            reading.abort();
        }
    }
}

impl Pair {
    fn take_reading(&self) -> Option<AbortHandle> {
        let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        reading.take()
    }
}
