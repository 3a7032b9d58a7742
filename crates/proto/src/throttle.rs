//! How often a call may send progress and logs (a token bucket that is told the time). Not what is sent.

use std::time::Duration;

/// A burst, then a steady rate.
#[derive(Clone, Debug)]
pub struct Throttle {
    burst: f32,
    per_second: f32,
    tokens: f32,
    at: Duration,
}

impl Throttle {
    /// For progress: a burst of 8, then 5 a second.
    pub fn progress() -> Self {
        Self::new(8.0, 5.0)
    }

    /// For log messages: a burst of 50, then 20 a second.
    pub fn logs() -> Self {
        Self::new(50.0, 20.0)
    }

    fn new(burst: f32, per_second: f32) -> Self {
        Self {
            burst,
            per_second,
            tokens: burst,
            at: Duration::ZERO,
        }
    }

    /// May one more go out now? `now` is the time since the call began and never runs backwards.
    pub fn admit(&mut self, now: Duration) -> bool {
        let gained = now.saturating_sub(self.at).as_secs_f32() * self.per_second;
        self.tokens = (self.tokens + gained).min(self.burst);
        self.at = now;
        if self.tokens < 1.0 {
            return false;
        }
        self.tokens -= 1.0;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_then_a_rate() {
        let mut t = Throttle::progress();
        let passed = |t: &mut Throttle, from: u64, ms: u64| {
            (from..from + ms)
                .filter(|i| t.admit(Duration::from_millis(*i)))
                .count()
        };
        assert_eq!(passed(&mut t, 0, 10), 8);
        assert_eq!(passed(&mut t, 10, 1_000), 5);
        assert_eq!(passed(&mut t, 100_000, 10), 8);
    }
}
