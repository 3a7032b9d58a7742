//! What sessions have left behind: one reading, and what is wrong with it. Waits for nothing.

use std::alloc::System;
use std::fmt;

use polyport::http::Endpoint;
use polyport_bench::usage::{Usage, children};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use tokio::runtime::Handle;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// How many allocated bytes may be more after all sessions than after the first part of them. Nine thousand sessions that leave 32
/// bytes each are seen; what a channel or a table keeps of its size once it was full is not.
const MAX_HEAP: usize = 256 << 10;
/// How much resident memory may grow from the middle to the end, in KiB. Until then the C library keeps ever more of the most that was
/// used at once, by some hundred sessions that have not yet ended; what it then keeps holds what nobody counts, too.
const MAX_RSS: u64 = 32 << 10;

/// What this process, with the gateway and the servers behind it, has at one moment.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Left {
    /// Bytes that are allocated.
    pub(crate) heap: usize,
    /// Resident memory, in KiB.
    pub(crate) rss: u64,
    /// At the gateway, and at the server behind it.
    pub(crate) sessions: [usize; 2],
    pub(crate) tasks: usize,
    pub(crate) fds: usize,
    pub(crate) threads: usize,
    pub(crate) children: usize,
}

impl Left {
    pub(crate) fn now(gateway: &Endpoint, behind: &Endpoint) -> Self {
        let own = std::process::id();
        let Usage { rss, fds, threads } = Usage::of(own).unwrap_or_default();
        let stats = ALLOCATOR.stats();
        Self {
            heap: stats.bytes_allocated.wrapping_sub(stats.bytes_deallocated),
            rss,
            sessions: [gateway.sessions(), behind.sessions()],
            tasks: Handle::current().metrics().num_alive_tasks(),
            fds,
            threads,
            children: children(own),
        }
    }

    /// What there is more of than `first`, before any session was.
    pub(crate) fn beyond(&self, first: &Self) -> Vec<String> {
        let counts = [
            (
                "sessions at the gateway",
                self.sessions[0],
                first.sessions[0],
            ),
            (
                "sessions at the server",
                self.sessions[1],
                first.sessions[1],
            ),
            ("tasks", self.tasks, first.tasks),
            ("open files", self.fds, first.fds),
            ("threads", self.threads, first.threads),
            ("children", self.children, first.children),
        ];
        let more = counts.into_iter().filter(|(_, now, first)| now > first);
        more.map(|(what, now, first)| format!("{now} {what}, {first} at first"))
            .collect()
    }

    /// How memory has grown since the first part of the sessions had come and gone, and since half of them had.
    pub(crate) fn growth(&self, early: &Self, middle: &Self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.heap > early.heap + MAX_HEAP {
            faults.push(format!(
                "{} bytes are allocated, {} after the first part",
                self.heap, early.heap
            ));
        }
        if self.rss > middle.rss + MAX_RSS {
            faults.push(format!(
                "{} KiB are resident, {} after half of them",
                self.rss, middle.rss
            ));
        }
        faults
    }
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            heap,
            rss,
            sessions: [gateway, behind],
            tasks,
            fds,
            threads,
            children,
        } = self;
        write!(
            f,
            "{heap} bytes, {rss} KiB, {gateway} + {behind} sessions, {tasks} tasks, {fds} fds, {threads} threads, {children} children"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_left_is_told() {
        let first = Left {
            heap: 100_000,
            rss: 10_000,
            sessions: [0, 0],
            tasks: 3,
            fds: 12,
            threads: 3,
            children: 0,
        };
        let none: [String; 0] = [];
        assert_eq!(first.beyond(&first), none);
        let more = |change: fn(&mut Left)| {
            let mut left = first;
            change(&mut left);
            left.beyond(&first).concat()
        };
        assert_eq!(
            more(|it| it.sessions[0] = 1),
            "1 sessions at the gateway, 0 at first"
        );
        assert_eq!(
            more(|it| it.sessions[1] = 2),
            "2 sessions at the server, 0 at first"
        );
        assert_eq!(more(|it| it.tasks = 4), "4 tasks, 3 at first");
        assert_eq!(more(|it| it.fds = 13), "13 open files, 12 at first");
        assert_eq!(more(|it| it.threads = 4), "4 threads, 3 at first");
        assert_eq!(more(|it| it.children = 1), "1 children, 0 at first");
        assert_eq!(more(|it| (it.fds, it.tasks) = (1, 1)), "");
    }

    #[test]
    fn growth_is_told_from_noise() {
        let of = |heap, rss| Left {
            heap,
            rss,
            ..Left::default()
        };
        let (early, middle) = (of(200_000, 60_000), of(100_000, 80_000));
        let none: [String; 0] = [];
        for noise in [of(100_000, 50_000), of(450_000, 110_000)] {
            assert_eq!(noise.growth(&early, &middle), none);
        }
        assert_eq!(
            of(500_000, 120_000).growth(&early, &middle),
            [
                "500000 bytes are allocated, 200000 after the first part",
                "120000 KiB are resident, 80000 after half of them"
            ]
        );
    }
}
