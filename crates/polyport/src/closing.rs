//! What is done at the end of something that was kept for a client: run apart from it, bounded, and waited for at the shutdown.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Notify;

/// How long one end may take; then it is cut.
pub(crate) const CLOSE: Duration = Duration::from_secs(5);

/// Counts the ends that go on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Closing(Arc<(AtomicUsize, Notify)>);

impl Closing {
    /// Runs an end. A panic in it ends nothing else.
    pub(crate) fn run(&self, runtime: &Handle, end: impl Future<Output = ()> + Send + 'static) {
        let one = One::new(self.clone());
        runtime.spawn(async move {
            let _one = one;
            if tokio::time::timeout(CLOSE, end).await.is_err() {
                tracing::error!(seconds = CLOSE.as_secs(), "a close hook was cut off");
            }
        });
    }

    /// Waits until none goes on.
    pub(crate) async fn none(&self) {
        let (count, ended) = &*self.0;
        loop {
            let notified = ended.notified();
            if count.load(Ordering::Acquire) == 0 {
                return;
            }
            notified.await;
        }
    }
}

struct One(Closing);

impl One {
    fn new(closing: Closing) -> Self {
        closing.0.0.fetch_add(1, Ordering::AcqRel);
        Self(closing)
    }
}

impl Drop for One {
    fn drop(&mut self) {
        let (count, ended) = &*self.0.0;
        if count.fetch_sub(1, Ordering::AcqRel) == 1 {
            ended.notify_waiters();
        }
    }
}
