//! The time for whoever must ask: tokio's, which tests may pause and advance.

use std::time::Duration;

use tokio::time::Instant;

/// Time since a beginning. Never runs backwards.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// A clock that begins now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// How long ago it began.
    pub fn now(&self) -> Duration {
        self.0.elapsed()
    }
}
