//! Chance that can be had again: one seed gives every actor its own stream of numbers.

use std::time::Duration;

/// SplitMix64: small, good enough to choose by.
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A stream of its own for one more actor.
    pub(crate) fn fork(&mut self) -> Self {
        Self(self.next())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `low` up to and without `high`.
    pub(crate) fn within(&mut self, low: usize, high: usize) -> usize {
        let span = (high - low).max(1) as u64;
        low + usize::try_from(self.next() % span).expect("smaller than a usize")
    }

    /// True in so many of a hundred.
    pub(crate) fn percent(&mut self, percent: usize) -> bool {
        self.within(0, 100) < percent
    }

    pub(crate) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.within(0, all.len())]
    }

    pub(crate) fn millis(&mut self, low: usize, high: usize) -> Duration {
        Duration::from_millis(self.within(low, high) as u64)
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next().to_le_bytes()[0]).collect()
    }

    /// A word that nobody else has.
    pub(crate) fn secret(&mut self, prefix: &str) -> String {
        format!("{prefix}{:016x}{:016x}", self.next(), self.next())
    }
}
