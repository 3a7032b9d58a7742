//! What a transport does for a caller: takes its messages to the server. What comes back is given to its [`Inbox`](super::Inbox).

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use polyport_proto::Revision;
use polyport_wire::RequestId;

use super::{CallError, Stage};
use crate::handler::BoxFuture;

/// A message on its way to the server.
#[derive(Debug)]
pub struct Outgoing {
    /// JSON-RPC text, without framing.
    pub text: Vec<u8>,
    /// The revision that is spoken.
    pub revision: Revision,
    /// What is known of it without reading it; None: nothing.
    pub request: Option<Request>,
}

/// A request, as far as whoever carries it wants to know.
#[derive(Debug)]
pub struct Request {
    /// Its id.
    pub id: RequestId,
    /// Its method.
    pub method: Arc<str>,
    /// What it names, where the revision wants that said in a header: a tool, a prompt, an address, a task.
    pub name: Option<String>,
    /// Where its parameters are in the text.
    pub params: Range<usize>,
}

/// Carries the messages of a [`Caller`](super::Caller).
pub trait Carrier: Send + Sync + 'static {
    /// Sends one message, and resolves once it is on its way. Called under a lock: only the future may wait. That a request fails
    /// later is said to the inbox.
    fn send(&self, message: Outgoing) -> BoxFuture<Result<(), CallError>>;

    /// Nobody waits for the answer to this request any more. `note` tells the server so, where it may be told.
    fn forget(&self, id: &RequestId, note: Option<Outgoing>);

    /// How far a request has come that has no answer.
    fn stage(&self, _id: &RequestId) -> Stage {
        Stage::Sent
    }

    /// How long a server may leave the question about its era unanswered before that means the legacy era; None: silence is no
    /// evidence here.
    fn silence(&self, probe: Duration) -> Option<Duration> {
        Some(probe)
    }

    /// Ends the connection once what has been sent is written, in bounded time.
    fn finish(&self) -> BoxFuture<()>;

    /// Ends the connection at once.
    fn abort(&self);
}
