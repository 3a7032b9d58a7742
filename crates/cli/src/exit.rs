//! The exit codes, each with its name and meaning: one table, from which failures, `--json` and the help take them.

/// One exit code.
#[derive(Debug)]
pub(crate) struct Exit {
    pub(crate) code: u8,
    /// How programs read it, in `--json`.
    pub(crate) name: &'static str,
    /// What it says.
    pub(crate) meaning: &'static str,
}

/// No answer in time.
pub(crate) const TIMED_OUT: u8 = 7;
/// By Ctrl-C, or what stands for it.
pub(crate) const INTERRUPTED: u8 = 130;
/// By SIGTERM, or what stands for it.
pub(crate) const TERMINATED: u8 = 143;

/// All of them.
pub(crate) const ALL: &[Exit] = &[
    exit(0, "ok", "it was done"),
    exit(
        1,
        "failed",
        "something that should not happen, or calls that did not end: a task that the server has cancelled",
    ),
    exit(
        2,
        "usage",
        "the command line, or what it names, is wrong; nothing was sent to a tool",
    ),
    exit(
        3,
        "authentication",
        "the server wants to know who asks, or does not let them",
    ),
    exit(
        4,
        "unreachable",
        "no server there: it did not start, ended, or cannot be connected to",
    ),
    exit(
        5,
        "tool",
        "the tool failed, or there is no such tool, prompt or resource; what it answered is printed",
    ),
    exit(
        6,
        "protocol",
        "the server broke the protocol, or its own output schema",
    ),
    exit(TIMED_OUT, "timed-out", "no answer in time"),
    exit(
        8,
        "needs-person",
        "the server asks a person, and nobody is there to answer",
    ),
    exit(
        INTERRUPTED,
        "interrupted",
        "Ctrl-C, or --cancel-after; the server was told",
    ),
    exit(
        TERMINATED,
        "terminated",
        "SIGTERM, or the end of the terminal; the server was told",
    ),
];

const fn exit(code: u8, name: &'static str, meaning: &'static str) -> Exit {
    Exit {
        code,
        name,
        meaning,
    }
}

/// The name of a code.
pub(crate) fn name(code: u8) -> &'static str {
    ALL.iter()
        .find(|exit| exit.code == code)
        .map_or("failed", |exit| exit.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_stands_once() {
        assert!(ALL.is_sorted_by(|a, b| a.code < b.code));
        assert_eq!(name(6), "protocol");
    }
}
