//! Colours of what this program itself says, where a stream has them. What a server says is never coloured.

use std::borrow::Cow;
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::globals::Color;

static OUT: AtomicBool = AtomicBool::new(false);
static ERR: AtomicBool = AtomicBool::new(false);

const RED: &str = "\x1b[1;31m";
const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const CYAN: &str = "\x1b[36m";
const DIM: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

/// How lines begin on standard error.
const SAID: &[(&str, &str)] = &[
    ("error:", RED),
    ("warning:", YELLOW),
    ("note:", CYAN),
    ("  hint:", CYAN),
    ("debug:", DIM),
];
/// How lines begin that say what was looked at.
const VERDICTS: &[(&str, &str)] = &[
    (" ok ", GREEN),
    (" FAIL ", RED),
    (" warn ", YELLOW),
    (" skip ", DIM),
];

/// Chooses for both streams.
pub(crate) fn choose(color: Color) {
    let variable = |name: &str| std::env::var_os(name);
    OUT.store(
        color.is_on(io::stdout().is_terminal(), variable),
        Ordering::Relaxed,
    );
    ERR.store(
        color.is_on(io::stderr().is_terminal(), variable),
        Ordering::Relaxed,
    );
}

/// What is said on standard error.
pub(crate) fn said(text: &str) -> Cow<'_, str> {
    painted(text, SAID, ERR.load(Ordering::Relaxed))
}

/// Lines that begin with a verdict, on standard output.
pub(crate) fn verdicts(text: &str) -> Cow<'_, str> {
    painted(text, VERDICTS, OUT.load(Ordering::Relaxed))
}

/// Only the first line: what follows it may be of somebody else.
fn painted<'a>(text: &'a str, beginnings: &[(&str, &str)], is_on: bool) -> Cow<'a, str> {
    if !is_on {
        return Cow::Borrowed(text);
    }
    let lines = text.split_inclusive('\n').enumerate().map(|(nth, line)| {
        let found = beginnings.iter().find(|(begin, _)| line.starts_with(begin));
        // A hint stands below its error.
        match found.filter(|(begin, _)| nth == 0 || begin.starts_with("  ")) {
            Some((begin, color)) => format!("{color}{begin}{PLAIN}{}", &line[begin.len()..]),
            None => line.to_owned(),
        }
    });
    Cow::Owned(lines.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: S-VOICE
    #[test]
    fn only_what_is_ours_is_coloured() {
        for (text, want) in [
            (
                "error: no\n  hint: do\n",
                "\x1b[1;31merror:\x1b[0m no\n\x1b[36m  hint:\x1b[0m do\n",
            ),
            ("plain error: no\n", "plain error: no\n"),
            // The second line is of a server.
            (
                "error: it said\nerror: x\n",
                "\x1b[1;31merror:\x1b[0m it said\nerror: x\n",
            ),
        ] {
            assert_eq!(painted(text, SAID, true), want);
            assert_eq!(painted(text, SAID, false), text);
        }
        assert_eq!(
            painted(" ok    x\n", VERDICTS, true),
            "\x1b[32m ok \x1b[0m   x\n"
        );
    }
}
