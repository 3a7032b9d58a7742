//! How long a verb may take by `--timeout`: all of it, from its beginning on, but for the time in which a person is waited for.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use polyport::{Client, ClientError, Late};
use polyport_rt::child;

/// How often it is known that a person is still waited for.
const LOOK: Duration = Duration::from_millis(50);
/// Whoever waits for one answer knows more of what came in its place, and what there is by then is still printed.
const LEEWAY: Duration = Duration::from_millis(100);
/// What a server has at least to hear that nobody is there any more.
const PARTING: Duration = Duration::from_millis(300);

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

/// How long all of a verb may take, from its beginning on: connecting, lists and what is asked; without end where nothing is said.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    time: Option<Duration>,
    begun: Instant,
    /// How long people had been waited for when it began.
    before: Duration,
}

impl Limit {
    /// Begins.
    pub(crate) fn begin(time: Option<Duration>) -> Self {
        let begun = Instant::now();
        Self {
            time,
            begun,
            before: waited().total(begun),
        }
    }

    /// All of the time, where it is said.
    pub(crate) fn time(self) -> Option<Duration> {
        self.time
    }

    /// The same; where nothing is said, so long from now on.
    pub(crate) fn or(self, usual: Duration) -> Self {
        match self.time {
            Some(_) => self,
            None => Self::begin(Some(usual)),
        }
    }

    /// Is there no time left?
    pub(crate) fn is_over(self) -> bool {
        self.left(Duration::ZERO).is_some_and(|left| left.is_zero())
    }

    /// Waits for an answer. After that time nobody waits for it any more, of which the server is told.
    ///
    /// # Errors
    /// Its own, or timed out.
    pub(crate) async fn within<T>(
        self,
        client: &Client,
        answer: impl Future<Output = Result<T, ClientError>>,
    ) -> Result<T, ClientError> {
        tokio::select! {
            biased;
            answered = answer => answered,
            late = self.over(Duration::ZERO, Some(client)) => Err(late),
        }
    }

    /// Waits for a whole step of a verb, whatever that waits for, over this connection if there is one yet.
    ///
    /// # Errors
    /// Timed out.
    pub(crate) async fn holds<T>(
        self,
        client: Option<&Client>,
        step: impl Future<Output = T>,
    ) -> Result<T, ClientError> {
        tokio::select! {
            biased;
            done = step => Ok(done),
            late = self.over(LEEWAY, client) => Err(late),
        }
    }

    /// Waits for the end of a connection: as long as there is time, and a little where there is none.
    pub(crate) async fn parting(self, closing: impl Future<Output = ()>) {
        match self.left(Duration::ZERO) {
            None => closing.await,
            // What it leaves is ended by itself.
            Some(left) => {
                let _ = tokio::time::timeout(left.max(PARTING), closing).await;
            }
        }
    }

    /// How things stand when the time is over, and so much more; while what is waited for is still there.
    async fn over(self, more: Duration, client: Option<&Client>) -> ClientError {
        while let Some(left) = self.left(more) {
            if left.is_zero() {
                let elapsed = self.begun.elapsed();
                let mut late = match (client, child::running()) {
                    (Some(client), _) => client.late(elapsed),
                    (None, Some(program)) => Late::from(elapsed).of(program),
                    (None, None) => Late::from(elapsed),
                };
                late.after = self.time.unwrap_or(elapsed);
                return ClientError::TimedOut(late);
            }
            tokio::time::sleep(left.max(LOOK.min(self.time.unwrap_or(LOOK)))).await;
        }
        std::future::pending().await
    }

    /// What is left, and so much more.
    fn left(self, more: Duration) -> Option<Duration> {
        let now = Instant::now();
        let people = waited().total(now).saturating_sub(self.before);
        let spent = (now - self.begun).saturating_sub(people);
        Some(self.time?.saturating_add(more).saturating_sub(spent))
    }
}

fn waited() -> MutexGuard<'static, Waited> {
    WAITED.lock().unwrap_or_else(PoisonError::into_inner)
}
