//! Options that every verb has: how much is said, in what colours, and whether anybody may be asked.

use std::ffi::OsString;

use clap::{ArgAction, Args, ColorChoice, ValueEnum};

use crate::{answers, ui, warnings};

/// How the program behaves, whatever it does.
#[derive(Debug, Args)]
pub(crate) struct Globals {
    /// Say more, such as what a started server says; -vv even more
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
    /// Say nothing but results and failures
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Ask nobody anything, even at a terminal
    #[arg(long, global = true)]
    no_input: bool,
    /// Colours: auto, always or never
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        hide_possible_values = true,
        hide_default_value = true
    )]
    color: Color,
}

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

impl Globals {
    /// From now on the program behaves so. `logs`: it has a log of its own.
    pub(crate) fn apply(&self, logs: bool) {
        ui::set_quiet(self.quiet);
        ui::set_verbose(self.verbose);
        if self.no_input {
            answers::ask_nobody();
        }
        if !logs {
            warnings::start(self.quiet, self.verbose);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
