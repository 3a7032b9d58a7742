//! Chance that can be had again: one seed gives every actor its own stream of numbers.

use std::time::Duration;

/// SplitMix64: small, good enough to choose by.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A stream of its own for one more actor.
    pub fn fork(&mut self) -> Self {
        Self(self.number())
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `low` up to and without `high`.
    pub fn within(&mut self, low: usize, high: usize) -> usize {
        let span = (high - low).max(1) as u64;
        low + usize::try_from(self.number() % span).expect("smaller than a usize")
    }

    /// True in so many of a hundred.
    pub fn percent(&mut self, percent: usize) -> bool {
        self.within(0, 100) < percent
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.within(0, all.len())]
    }

    /// So many milliseconds, from `low` up to and without `high`.
    pub fn millis(&mut self, low: usize, high: usize) -> Duration {
        Duration::from_millis(self.within(low, high) as u64)
    }

    /// So many bytes.
    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length)
            .map(|_| self.number().to_le_bytes()[0])
            .collect()
    }

    /// A word that nobody else has.
    pub fn secret(&mut self, prefix: &str) -> String {
        format!("{prefix}{:016x}{:016x}", self.number(), self.number())
    }
}
