//! What a server is told though nobody waits for an answer: that a request is given up. The end of a connection waits for it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use polyport_rt::CallError;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How long a server may take to take what has no answer.
pub(super) const TAKING: Duration = Duration::from_secs(30);
/// How long it may take to hear the last that there is to tell.
pub(super) const ENDING: Duration = Duration::from_secs(2);

/// What is on its way.
#[derive(Debug, Default)]
pub(super) struct Notes(Mutex<JoinSet<()>>);

impl Notes {
    /// Tells it in a task of its own. That it does not arrive is no failure.
    pub(super) fn tell(
        &self,
        sending: impl Future<Output = Result<(), CallError>> + Send + 'static,
    ) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while notes.try_join_next().is_some() {}
        notes.spawn(async move {
            let _ = timeout(TAKING, sending).await;
        });
    }

    /// Waits until all has been told, for a bounded time.
    pub(super) fn told(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut notes = {
            let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *notes)
        };
        async move {
            let told = async { while notes.join_next().await.is_some() {} };
            let _ = timeout(ENDING, told).await;
        }
    }
}
