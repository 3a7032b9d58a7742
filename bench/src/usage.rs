//! What a process uses at one moment, as the system says. Judges nothing.

use std::fs;
use std::path::PathBuf;

/// What a process uses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// Resident memory, in KiB.
    pub rss: u64,
    /// Open files.
    pub fds: usize,
    /// Threads.
    pub threads: usize,
}

impl Usage {
    /// What the process of this id uses now; none: it is gone.
    pub fn of(pid: u32) -> Option<Self> {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let status = fs::read_to_string(folder.join("status")).ok()?;
        let field = |name: &str| -> Option<u64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        Some(Self {
            rss: field("VmRSS:")?,
            fds: fs::read_dir(folder.join("fd")).ok()?.count(),
            threads: usize::try_from(field("Threads:")?).ok()?,
        })
    }
}

/// How many children the process of this id has, with those that have ended and that nobody has asked for.
pub fn children(pid: u32) -> usize {
    let parent = pid.to_string();
    let is_child = |stat: &str| {
        // A name in brackets may hold anything; then come the state and the parent.
        let after = stat.rsplit_once(')').map(|(_, after)| after);
        after.and_then(|after| after.split_whitespace().nth(1)) == Some(parent.as_str())
    };
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok())
        .filter(|stat| is_child(stat))
        .count()
}
