//! Colours of what this program itself says, where a stream has them. What a server says is never coloured.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{ColorChoice, ValueEnum};

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

/// When there are colours.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub(crate) enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

impl Color {
    /// What a command line asks for, as far as it can be read: it may be wrong, which is said in colours, too.
    pub(crate) fn of(words: impl Iterator<Item = OsString>) -> Self {
        let mut words = words.take_while(|word| word != "--");
        let mut color = Self::Auto;
        while let Some(word) = words.next() {
            let value = match word.to_str() {
                Some("--color") => words.next(),
                Some(word) => word.strip_prefix("--color=").map(OsString::from),
                None => None,
            };
            let value = value.as_deref().and_then(std::ffi::OsStr::to_str);
            if let Some(Ok(value)) = value.map(|value| Self::from_str(value, true)) {
                color = value;
            }
        }
        color
    }

    /// The same for who parses the command line.
    pub(crate) fn choice(self) -> ColorChoice {
        match self {
            Self::Auto => ColorChoice::Auto,
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
        }
    }

    /// Are there colours on a stream?
    pub(crate) fn is_on(
        self,
        is_terminal: bool,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> bool {
        let says = |name: &str| variable(name).filter(|value| !value.is_empty());
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto if says("NO_COLOR").is_some() => false,
            Self::Auto if says("CLICOLOR_FORCE").is_some_and(|value| value != "0") => true,
            Self::Auto => is_terminal && variable("TERM").is_none_or(|term| term != "dumb"),
        }
    }
}

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

    // req: S-VOICE
    #[test]
    fn colours_are_where_they_are_wanted() {
        let row = |color: Color, is_terminal, pairs: &[(&str, &str)]| {
            color.is_on(is_terminal, |name| {
                let found = pairs.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            })
        };
        for (color, is_terminal, pairs, want) in [
            (Color::Auto, true, &[][..], true),
            (Color::Auto, false, &[], false),
            (Color::Auto, true, &[("TERM", "dumb")], false),
            (Color::Auto, true, &[("NO_COLOR", "1")], false),
            (Color::Auto, true, &[("NO_COLOR", "")], true),
            (Color::Auto, false, &[("CLICOLOR_FORCE", "1")], true),
            (Color::Auto, false, &[("CLICOLOR_FORCE", "0")], false),
            (
                Color::Auto,
                true,
                &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")],
                false,
            ),
            (Color::Always, false, &[("NO_COLOR", "1")], true),
            (Color::Never, true, &[("CLICOLOR_FORCE", "1")], false),
        ] {
            assert_eq!(
                row(color, is_terminal, pairs),
                want,
                "{color:?} {is_terminal} {pairs:?}"
            );
        }
    }

    #[test]
    fn the_command_line_says_it_before_it_is_understood() {
        for (line, want) in [
            ("ls --color never demo", Color::Never),
            ("ls --color=always --bogus", Color::Always),
            ("ls --color sometimes", Color::Auto),
            ("ls -- x --color never", Color::Auto),
        ] {
            let words = line.split(' ').map(OsString::from);
            assert_eq!(Color::of(words), want, "{line}");
        }
    }
}
