//! Log messages of one legacy session that wait to be taken: throttled, bounded, and how many were left out.

use std::collections::VecDeque;

use polyport_model::Level;
use polyport_proto::throttle::Throttle;

use crate::clock::Clock;
use crate::said::{left_out_message, log_message};

/// Log messages that wait for one listener; older ones make room, and their number is said.
const MAX_LOGS: usize = 64;

/// Log messages of one session that wait to be taken.
pub(super) struct Logs {
    clock: Clock,
    throttle: Throttle,
    waiting: VecDeque<Vec<u8>>,
    left_out: u32,
}

impl Logs {
    pub(super) fn new() -> Box<Self> {
        Box::new(Self {
            clock: Clock::start(),
            throttle: Throttle::logs(),
            waiting: VecDeque::new(),
            left_out: 0,
        })
    }

    pub(super) fn push(&mut self, level: Level, logger: Option<&str>, data: &str) {
        if !self.throttle.admit(self.clock.now()) {
            self.left_out += 1;
            return;
        }
        if self.waiting.len() >= MAX_LOGS {
            self.waiting.pop_front();
            self.left_out += 1;
        }
        self.waiting.push_back(log_message(level, logger, data));
    }

    pub(super) fn take(&mut self, out: &mut Vec<Vec<u8>>) {
        let left_out = std::mem::take(&mut self.left_out);
        out.extend((left_out > 0).then(|| left_out_message(left_out)));
        out.extend(self.waiting.drain(..));
    }
}
