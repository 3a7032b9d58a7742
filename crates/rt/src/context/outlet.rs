//! Where what a call says goes, and how its questions reach the client: what each edge does in its own way.

use std::sync::Arc;
use std::time::Duration;

use polyport_proto::Limits;

use super::Context;
use crate::bus::{Alert, Listener};
use crate::question::Asked;

/// Where an edge takes what a call has to say before it ends.
pub trait Outlet: Alert {
    /// Takes one message, without framing.
    ///
    /// # Errors
    /// There is no room; the message comes back.
    fn note(&self, context: &Context, message: Vec<u8>) -> Result<(), Vec<u8>>;

    /// Ends the stream of this call early; the client is asked to come back for the rest after `retry`. False: nothing changes,
    /// because there is no such stream here, or nobody could come back to it.
    fn release(&self, context: &Context, retry: Duration) -> bool {
        let _ = (context, retry);
        false
    }

    /// The name of the transport, for our own log.
    fn transport(&self) -> &'static str;

    /// Sends a request to a legacy client on the stream of this call and hands on the answer. Where there is no room for it, the
    /// asker is told.
    ///
    /// # Errors
    /// The client cannot be asked here.
    fn ask(&self, context: &Context, asked: Asked) -> Result<(), Asked> {
        let _ = context;
        Err(asked)
    }

    /// An asker of this call is closed: nobody waits for its answer.
    fn unask(&self, context: &Context) {
        let _ = context;
    }

    /// How long a question may wait for its answer.
    fn question_wait(&self) -> Duration {
        Limits::default().question_wait
    }

    /// How much longer a question that has waited for so long waits for somebody who reads the stream of its call. Zero: it has
    /// waited long enough. None: there is no such bound here.
    fn patience(&self, waited: Duration) -> Option<Duration> {
        let _ = waited;
        None
    }

    /// Is it a task that says this? Then its questions wait for their answers in both eras.
    fn in_task(&self) -> bool {
        false
    }

    /// Who hears of changes for the legacy session of this call.
    fn listener(&self) -> Option<Arc<Listener>> {
        None
    }

    /// What this listener hears goes out on the stream of this call, until it ends.
    fn attach(&self, context: &Context, listener: Arc<Listener>) {
        let _ = (context, listener);
    }
}
