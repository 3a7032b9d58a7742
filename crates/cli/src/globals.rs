//! Options that every verb has: how much is said, in what colours, and whether anybody may be asked.

use clap::{ArgAction, Args};

use crate::paint::Color;
use crate::{terminal, ui, warnings};

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

impl Globals {
    /// From now on the program behaves so. `logs`: it has a log of its own.
    pub(crate) fn apply(&self, logs: bool) {
        ui::set_quiet(self.quiet);
        ui::set_verbose(self.verbose);
        if self.no_input {
            terminal::ask_nobody();
        }
        if !logs {
            warnings::start(self.quiet, self.verbose);
        }
    }
}
