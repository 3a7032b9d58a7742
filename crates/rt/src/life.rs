//! What a handler does before the first client and after the last one (D-09): once for all transports of a service, bounded, and
//! a panic in it is a failure like any other. Not what it does then.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use polyport_proto::Limits;
use tokio::task::JoinSet;

use crate::handler::{DynHandler, StartError};

/// How many serve, and who of them is just beginning or ending.
#[derive(Debug, Default)]
pub(crate) struct Life {
    serving: Mutex<usize>,
    gate: tokio::sync::Mutex<()>,
}

impl Life {
    /// One more serves; before the first one, the handler starts.
    pub(crate) async fn start(
        self: Arc<Self>,
        handler: Arc<dyn DynHandler>,
        limits: Arc<Limits>,
    ) -> Result<Started, StartError> {
        let gate = self.gate.lock().await;
        if *self.serving() == 0 {
            match bounded(handler.clone().start_dyn(), limits.start).await {
                Ok(started) => started?,
                Err(Cut::TimedOut) => return Err(StartError::TimedOut(limits.start)),
                Err(Cut::Panicked) => return Err(StartError::Panicked),
            }
        }
        *self.serving() += 1;
        drop(gate);
        Ok(Started {
            life: self,
            handler,
            limits,
        })
    }

    fn serving(&self) -> MutexGuard<'_, usize> {
        self.serving.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A service that serves. Dropped without its [`shutdown`](Self::shutdown), what the handler does at the end is left out.
pub struct Started {
    life: Arc<Life>,
    handler: Arc<dyn DynHandler>,
    limits: Arc<Limits>,
}

impl Started {
    /// Ends to serve: after the last one, the handler shuts down.
    pub async fn shutdown(self) {
        let _gate = self.life.gate.lock().await;
        if *self.life.serving() > 1 {
            return;
        }
        // What runs to its end whoever waits for it has as long as calls have.
        let steps = tokio::time::timeout(self.limits.drain, crate::shield::idle());
        if steps.await.is_err() {
            tracing::error!("steps that were to run to their end were cut off");
        }
        let limit = self.limits.shutdown;
        match bounded(self.handler.clone().shutdown_dyn(), limit).await {
            Ok(()) => {}
            Err(Cut::TimedOut) => {
                tracing::error!(seconds = limit.as_secs(), "the shutdown was cut off");
            }
            Err(Cut::Panicked) => tracing::error!("the shutdown panicked"),
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        *self.life.serving() -= 1;
    }
}

impl fmt::Debug for Started {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Started")
            .field("life", &self.life)
            .finish_non_exhaustive()
    }
}

enum Cut {
    TimedOut,
    Panicked,
}

/// Runs it as a task of its own, so that a panic ends nothing else. It ends with this future, too.
async fn bounded<T: Send + 'static>(
    future: impl Future<Output = T> + Send + 'static,
    limit: Duration,
) -> Result<T, Cut> {
    let mut tasks = JoinSet::new();
    tasks.spawn(future);
    match tokio::time::timeout(limit, tasks.join_next()).await {
        Ok(Some(Ok(value))) => Ok(value),
        Ok(_) => Err(Cut::Panicked),
        Err(_) => Err(Cut::TimedOut),
    }
}
