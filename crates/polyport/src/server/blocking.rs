//! Runs what blocks its thread on tokio's blocking pool: so many at once, and what only waits is taken back with its call.

use std::fmt;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::error::ToolError;

/// Functions that may block threads at once, in the whole process: half of tokio's pool, so that files and names can still be
/// looked up. A cancelled call holds its place until its function returns: nothing can stop a thread.
const AT_ONCE: usize = 256;
/// How long a call waits for a place.
const PATIENCE: Duration = Duration::from_secs(30);

static PLACES: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(AT_ONCE)));

/// Why a function was not run to its end.
#[derive(Debug)]
pub(crate) enum NotRun {
    /// No place became free.
    Busy,
    /// The runtime ends.
    Ending,
}

impl fmt::Display for NotRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => write!(
                f,
                "The server is busy: {AT_ONCE} calls run, and none ended within {} seconds. Try again later",
                PATIENCE.as_secs()
            ),
            Self::Ending => f.write_str("The server is shutting down"),
        }
    }
}

/// Runs a function that blocks. Its panic goes on here.
pub(crate) async fn run<T: Send + 'static>(
    function: impl FnOnce() -> T + Send + 'static,
) -> Result<T, NotRun> {
    run_in(PLACES.clone(), function).await
}

/// Runs a part of an async function that blocks its thread, on the pool of [`Tool::blocking`](crate::Tool::blocking).
///
/// # Errors
/// No place became free in 30 seconds, or the server ends: the sentence for the model.
pub async fn blocking<T: Send + 'static>(
    function: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    run(function)
        .await
        .map_err(|not_run| ToolError::new(not_run.to_string()))
}

async fn run_in<T: Send + 'static>(
    places: Arc<Semaphore>,
    function: impl FnOnce() -> T + Send + 'static,
) -> Result<T, NotRun> {
    let place = tokio::time::timeout(PATIENCE, places.acquire_owned()).await;
    let place = place
        .map_err(|_| NotRun::Busy)?
        .map_err(|_| NotRun::Ending)?;
    let mut task = Abort(tokio::task::spawn_blocking(move || {
        let result = function();
        drop(place);
        result
    }));
    (&mut task.0)
        .await
        .map_err(|error| match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => NotRun::Ending,
        })
}

/// Takes a function back that has not begun, when nobody waits for it any more.
struct Abort<T>(JoinHandle<T>);

impl<T> Drop for Abort<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    // req: S-BLOCK
    #[tokio::test(start_paused = true)]
    async fn who_gets_no_place_in_time_is_told_so() {
        let places = Arc::new(Semaphore::new(1));
        let taken = places.clone().acquire_owned().await.unwrap();
        let begun = tokio::time::Instant::now();
        let busy = run_in(places.clone(), || 1).await.unwrap_err();
        assert_eq!(begun.elapsed(), PATIENCE);
        assert!(busy.to_string().contains("busy"), "{busy}");
        // A call that is dropped while it waits leaves nothing behind.
        let waiting =
            tokio::time::timeout(Duration::from_secs(1), run_in(places.clone(), || 2)).await;
        assert!(waiting.is_err());
        drop(taken);
        assert_eq!(run_in(places.clone(), || 3).await.unwrap(), 3);
        assert_eq!(places.available_permits(), 1);
    }
}
