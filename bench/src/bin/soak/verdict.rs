//! Whether a server has grown: its readings over time, reduced to a few sentences. Reads nothing itself.

use std::time::Duration;

use crate::server::Reading;

/// How much resident memory may grow from the middle of a run to its end, in KiB.
pub(crate) const MAX_GROWTH: u64 = 8 << 10;

/// The least memory that was used around the middle and towards the end. Single large messages come and go: the floor shows what
/// stays.
pub(crate) fn floors(readings: &[Reading], whole: Duration) -> Option<(u64, u64)> {
    let floor = |from: f64, to: f64| {
        let between = whole.mul_f64(from)..=whole.mul_f64(to);
        let during = readings.iter().filter(|r| between.contains(&r.at));
        during.map(|r| r.rss).min()
    };
    Some((floor(0.40, 0.60)?, floor(0.85, 1.0)?))
}

/// The most memory that was used at any moment.
pub(crate) fn peak(readings: &[Reading]) -> u64 {
    readings.iter().map(|r| r.rss).max().unwrap_or_default()
}

/// What is wrong with how a server ends up: `fresh` before the first client, `last` after the last one has left.
pub(crate) fn complaints(
    readings: &[Reading],
    whole: Duration,
    fresh: Reading,
    last: Reading,
) -> Vec<String> {
    let mut faults = Vec::new();
    match floors(readings, whole) {
        None => faults.push("there are no readings of the middle and the end".to_owned()),
        Some((middle, end)) if end > middle + MAX_GROWTH => faults.push(format!(
            "memory grows: {} MB in the middle, {} MB at the end",
            middle >> 10,
            end >> 10
        )),
        Some(_) => {}
    }
    if last.fds > fresh.fds {
        faults.push(format!("{} files open, {} at first", last.fds, fresh.fds));
    }
    if last.threads > fresh.threads {
        faults.push(format!(
            "{} threads, {} at first",
            last.threads, fresh.threads
        ));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(rss: impl Fn(u64) -> u64) -> Vec<Reading> {
        let reading = |at| Reading {
            at: Duration::from_secs(at),
            rss: rss(at),
            fds: 10,
            threads: 3,
        };
        (0..=100).map(reading).collect()
    }

    fn complain(rss: impl Fn(u64) -> u64, fds: usize, threads: usize) -> Vec<String> {
        let fresh = Reading {
            fds: 9,
            threads: 3,
            ..Reading::default()
        };
        let last = Reading {
            fds,
            threads,
            ..Reading::default()
        };
        complaints(&readings(rss), Duration::from_secs(100), fresh, last)
    }

    #[test]
    fn growth_is_told_from_noise() {
        let none: [String; 0] = [];
        assert_eq!(complain(|_| 50 << 10, 9, 3), none);
        assert_eq!(
            complain(|at| (at.min(40) + 5) << 10, 9, 3),
            none,
            "warming up"
        );
        let spikes = |at| if at % 3 == 0 { 40 << 10 } else { 400 << 10 };
        assert_eq!(complain(spikes, 9, 3), none);
        let leak = complain(|at| (30 << 10) + at * 300, 9, 3);
        assert_eq!(
            leak,
            ["memory grows: 41 MB in the middle, 54 MB at the end"]
        );
    }

    #[test]
    fn what_is_left_is_told() {
        let found = complain(|_| 1, 12, 5);
        assert_eq!(
            found,
            ["12 files open, 9 at first", "5 threads, 3 at first"]
        );
        let nothing = complaints(
            &[],
            Duration::from_secs(9),
            Reading::default(),
            Reading::default(),
        );
        assert_eq!(nothing, ["there are no readings of the middle and the end"]);
    }
}
