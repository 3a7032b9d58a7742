//! How long a request may take by `--timeout`: all of it, over all its rounds, but for the time in which a person is waited for.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use polyport::{Client, ClientError};

/// How often it is known that a person is still waited for.
const LOOK: Duration = Duration::from_millis(50);

static WAITED: Mutex<Waited> = Mutex::new(Waited {
    people: 0,
    since: None,
    before: Duration::ZERO,
});

/// How long people have been waited for.
struct Waited {
    /// Those that are waited for now.
    people: usize,
    since: Option<Instant>,
    before: Duration,
}

impl Waited {
    fn total(&self, now: Instant) -> Duration {
        let current = self.since.map(|since| now.duration_since(since));
        self.before + current.unwrap_or_default()
    }
}

/// While it lives, a person is waited for.
#[derive(Debug)]
pub(crate) struct Person(());

impl Person {
    /// Begins to wait.
    pub(crate) fn begin() -> Self {
        let mut waited = waited();
        waited.people += 1;
        waited.since.get_or_insert_with(Instant::now);
        Self(())
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        let mut waited = waited();
        waited.people -= 1;
        if waited.people == 0
            && let Some(since) = waited.since.take()
        {
            waited.before += since.elapsed();
        }
    }
}

/// Waits for an answer, for so long if that is said. Then nobody waits for it any more, of which the server is told.
///
/// # Errors
/// Its own, or timed out.
pub(crate) async fn within<T>(
    time: Option<Duration>,
    client: &Client,
    answer: impl Future<Output = Result<T, ClientError>>,
) -> Result<T, ClientError> {
    let Some(time) = time else {
        return answer.await;
    };
    let begun = Instant::now();
    let before = waited().total(begun);
    let over = async {
        loop {
            let now = Instant::now();
            let spent = (now - begun).saturating_sub(waited().total(now) - before);
            let left = time.saturating_sub(spent);
            if left.is_zero() {
                return client.late(begun.elapsed());
            }
            tokio::time::sleep(left.max(LOOK.min(time))).await;
        }
    };
    tokio::select! {
        biased;
        answered = answer => answered,
        late = over => Err(ClientError::TimedOut(late)),
    }
}

fn waited() -> MutexGuard<'static, Waited> {
    WAITED.lock().unwrap_or_else(PoisonError::into_inner)
}
