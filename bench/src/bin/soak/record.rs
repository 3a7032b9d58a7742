//! What all actors report to: counts, what was answered to whom, and what went wrong. Judges nothing.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Faults kept with their text; further ones are only counted.
const MAX_FAULTS: usize = 40;

/// Shared by all actors.
#[derive(Debug, Default)]
pub(crate) struct Record {
    answered: AtomicU64,
    hostile: AtomicU64,
    busy: AtomicU64,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    faults: Vec<String>,
    more: usize,
    /// The longest that each kind of ordinary client has waited.
    slowest: BTreeMap<&'static str, Duration>,
    seen: BTreeMap<&'static str, BTreeMap<String, u64>>,
}

impl Record {
    /// An ordinary call of `who` was answered rightly, after so long.
    pub(crate) fn answered(&self, who: &'static str, after: Duration) {
        self.answered.fetch_add(1, Ordering::Relaxed);
        let mut inner = self.lock();
        let slowest = inner.slowest.entry(who).or_default();
        *slowest = after.max(*slowest);
    }

    /// A hostile client has connected, or has said one line.
    pub(crate) fn hostile(&self) {
        self.hostile.fetch_add(1, Ordering::Relaxed);
    }

    /// An ordinary client was told to come back later, as it may be while all sessions are taken.
    pub(crate) fn busy(&self) {
        self.busy.fetch_add(1, Ordering::Relaxed);
    }

    /// Something that must not be.
    pub(crate) fn fault(&self, text: impl Into<String>) {
        let mut inner = self.lock();
        if inner.faults.len() < MAX_FAULTS {
            inner.faults.push(text.into());
        } else {
            inner.more += 1;
        }
    }

    /// How a hostile act was met.
    pub(crate) fn seen(&self, act: &'static str, how: impl Into<String>) {
        let mut inner = self.lock();
        *inner
            .seen
            .entry(act)
            .or_default()
            .entry(how.into())
            .or_default() += 1;
    }

    pub(crate) fn calls(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    pub(crate) fn connections(&self) -> u64 {
        self.hostile.load(Ordering::Relaxed)
    }

    pub(crate) fn times_busy(&self) -> u64 {
        self.busy.load(Ordering::Relaxed)
    }

    /// `who 0.123 s, …`
    pub(crate) fn slowest(&self) -> String {
        let inner = self.lock();
        let each = inner.slowest.iter();
        let each: Vec<String> = each
            .map(|(who, after)| format!("{who} {:.3} s", after.as_secs_f64()))
            .collect();
        each.join(", ")
    }

    /// All faults so far.
    pub(crate) fn faults(&self) -> Vec<String> {
        let inner = self.lock();
        let mut faults = inner.faults.clone();
        if inner.more > 0 {
            faults.push(format!("and {} more", inner.more));
        }
        faults
    }

    /// One line for each act: how often it was met how.
    pub(crate) fn table(&self) -> String {
        let mut out = String::new();
        for (act, ways) in &self.lock().seen {
            let ways: Vec<String> = ways.iter().map(|(how, n)| format!("{how} {n}")).collect();
            out += &format!("  {act:<16} {}\n", ways.join(", "));
        }
        out
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
