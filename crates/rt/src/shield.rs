//! Steps that run to their end whoever waits for them. A server that stops waits for them, too, within its drain.

use std::future::Future;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

static RUNNING: AtomicUsize = AtomicUsize::new(0);
static ENDED: Notify = Notify::const_new();

/// Runs a step in a task of its own and waits for it; dropping this leaves the step running. Its panic goes on here.
pub async fn run<F>(step: F) -> F::Output
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    RUNNING.fetch_add(1, Ordering::AcqRel);
    let counted = Counted;
    let task = tokio::spawn(async move {
        let _counted = counted;
        step.await
    });
    match task.await {
        Ok(output) => output,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime ends, and this task with it.
            Err(_) => std::future::pending().await,
        },
    }
}

/// How many run in this process.
pub fn running() -> usize {
    RUNNING.load(Ordering::Acquire)
}

/// Waits until none runs.
pub async fn idle() {
    loop {
        let ended = ENDED.notified();
        if running() == 0 {
            return;
        }
        ended.await;
    }
}

struct Counted;

impl Drop for Counted {
    fn drop(&mut self) {
        if RUNNING.fetch_sub(1, Ordering::AcqRel) == 1 {
            ENDED.notify_waiters();
        }
    }
}
