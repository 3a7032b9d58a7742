//! Log messages of no call that wait for one client: throttled, bounded in number and bytes, and what is left out is counted.

use std::collections::VecDeque;

use polyport_model::Level;
use polyport_proto::Limits;
use polyport_proto::throttle::Throttle;

use crate::clock::Clock;
use crate::said::{left_out_message, log_message};

/// The messages that wait, the oldest first.
pub(super) struct Logs {
    clock: Clock,
    throttle: Throttle,
    waiting: VecDeque<Vec<u8>>,
    bytes: usize,
    left_out: u32,
}

impl Logs {
    pub(super) fn new() -> Box<Self> {
        Box::new(Self {
            clock: Clock::start(),
            throttle: Throttle::logs(),
            waiting: VecDeque::new(),
            bytes: 0,
            left_out: 0,
        })
    }

    /// Takes in one message; older ones make room for it.
    pub(super) fn push(&mut self, level: Level, logger: Option<&str>, data: &str, limits: &Limits) {
        if !self.throttle.admit(self.clock.now()) {
            self.left_out += 1;
            return;
        }
        let message = log_message(level, logger, data);
        let (most, most_bytes) = (limits.waiting_logs, limits.waiting_logs_bytes);
        if most == 0 || message.len() > most_bytes {
            self.left_out += 1;
            return;
        }
        while self.waiting.len() >= most || self.bytes + message.len() > most_bytes {
            let oldest = self.waiting.pop_front();
            self.bytes -= oldest.map_or(self.bytes, |oldest| oldest.len());
            self.left_out += 1;
        }
        self.bytes += message.len();
        self.waiting.push_back(message);
    }

    /// Hands out all that wait, after a word on how many are missing.
    pub(super) fn take(&mut self, out: &mut Vec<Vec<u8>>) {
        let left_out = std::mem::take(&mut self.left_out);
        out.extend((left_out > 0).then(|| left_out_message(left_out)));
        out.extend(self.waiting.drain(..));
        self.bytes = 0;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    // req: D-35
    #[tokio::test(start_paused = true)]
    async fn d_35_what_waits_is_bounded_in_number_and_bytes() {
        let length = |data: usize| log_message(Level::Info, None, &"1".repeat(data)).len();
        let mut limits = Limits::default();
        limits.waiting_logs = 4;
        limits.waiting_logs_bytes = length(1_000) + length(20);
        let mut logs = Logs::new();
        // Lengths of what is logged, and of what is left of it.
        for (said, left) in [
            (&[1, 2, 3, 4][..], &[1, 2, 3, 4][..]),
            (&[1, 2, 3, 4, 5], &[2, 3, 4, 5]),
            (&[1_000, 20], &[1_000, 20]),
            (&[1_000, 21], &[21]),
            (&[20, 1_000], &[20, 1_000]),
            (&[1, 2, 1_000], &[2, 1_000]),
            // What never fits takes nobody's room.
            (&[1, 10_000], &[1]),
            (&[1, 10_000, 2], &[1, 2]),
        ] {
            for length in said {
                logs.push(Level::Info, None, &"1".repeat(*length), &limits);
            }
            let mut got = Vec::new();
            logs.take(&mut got);
            let got: Vec<_> = got
                .iter()
                .map(|m| String::from_utf8(m.clone()).unwrap())
                .collect();
            let missing = said.len() - left.len();
            let words = format!("{missing} log messages were left out");
            assert_eq!(
                got.iter().any(|m| m.contains(&words)),
                missing > 0,
                "{got:?}"
            );
            let got: Vec<_> = got.iter().filter(|m| !m.contains("left out")).collect();
            let want: Vec<_> = left
                .iter()
                .map(|length| log_message(Level::Info, None, &"1".repeat(*length)))
                .collect();
            assert_eq!(got.len(), want.len(), "{said:?}");
            for (got, want) in got.iter().zip(&want) {
                assert_eq!(got.as_bytes(), want, "{said:?}");
            }
        }
    }
}
