//! The bounds of tasks, and what happens at them.

use std::time::Duration;

/// The bounds of the tasks of one server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TaskLimits {
    /// For how long a task is kept, counted from its beginning, where its client names no time. Defaults to 1 hour. One that still
    /// runs then is cancelled.
    pub life: Duration,
    /// The longest time for which a task is kept, whatever its client asks for. Defaults to 24 hours.
    pub max_life: Duration,
    /// How long clients are asked to wait between two looks. Defaults to 1 second.
    pub poll: Duration,
    /// Tasks in all, those that have ended and are still kept among them. Defaults to 1,000; then a tool that need not be a task is
    /// run as a plain call, and other calls are refused.
    pub in_all: usize,
    /// Tasks of one proven principal, or of one session. Defaults to 64, with the same consequence. Who is neither is not told apart,
    /// and only bound by the other limit.
    pub per_owner: usize,
    /// Bytes of all results that are kept. Defaults to 64 MiB; a result for which there is no room ends its task as failed.
    pub bytes: usize,
    /// Tasks in one page of a list. Defaults to 100.
    pub page: usize,
}

impl Default for TaskLimits {
    fn default() -> Self {
        Self {
            life: Duration::from_secs(60 * 60),
            max_life: Duration::from_secs(24 * 60 * 60),
            poll: Duration::from_secs(1),
            in_all: 1_000,
            per_owner: 64,
            bytes: 64 << 20,
            page: 100,
        }
    }
}
