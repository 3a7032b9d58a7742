//! The bounds of a table of handles, and what happens at them.

use std::time::Duration;

/// The bounds of a table of handles.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HandleLimits {
    /// How long a handle may be left alone. Defaults to 30 minutes; then it is closed. One that a call holds is not alone.
    pub idle: Duration,
    /// How long a handle may live. Defaults to 24 hours; then it is closed, whoever holds it.
    pub life: Duration,
    /// Handles in all. Defaults to 10,000; what happens then says [`at_limit`](Self::at_limit).
    pub in_all: usize,
    /// Handles of one proven principal. Defaults to 64. Who is not known is not told apart, and only bound by the other limit.
    pub per_principal: usize,
    /// What opening one more does at a limit. Defaults to being refused.
    pub at_limit: AtLimit,
}

impl Default for HandleLimits {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(30 * 60),
            life: Duration::from_secs(24 * 60 * 60),
            in_all: 10_000,
            per_principal: 64,
            at_limit: AtLimit::Refuse,
        }
    }
}

/// What opening a handle does at a limit.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum AtLimit {
    /// It is refused.
    #[default]
    Refuse,
    /// The handle of the same principal that was left alone longest, and that no call holds, is closed. Where there is none, it is
    /// refused: nobody's handles make room for those of another.
    CloseIdlest,
}
