//! `polyport completion`: the script that teaches a shell to complete our command lines, and what that script asks.

use std::process::ExitCode;

use clap::{Args, CommandFactory, ValueEnum};

use crate::completing::{Proposal, proposals, split};
use crate::configured;
use crate::failure::Failure;
use crate::{Cli, printing, seen, ui};

/// Characters after which bash begins a new word, wherever they stand.
const BASH_BREAKS: [char; 3] = ['=', ':', '@'];

/// Print what a shell needs to complete command lines
#[derive(Debug, Args)]
#[command(after_help = "\
Servers, tools, arguments and values are completed as ls, show and call saw them last; no server is
asked. What they saw is in polyport/completion.json in the user's cache folder.

Examples:
  source <(polyport completion bash)          in ~/.bashrc
  source <(polyport completion zsh)           in ~/.zshrc, after compinit
  polyport completion fish | source           in config.fish")]
pub(crate) struct Completion {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// What the scripts ask
#[derive(Debug, Args)]
pub(crate) struct Propose {
    shell: Shell,
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
    Powershell,
    Nushell,
}

impl Completion {
    /// Prints the script.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let script = match self.shell {
            Shell::Bash => include_str!("../scripts/polyport.bash"),
            Shell::Zsh => include_str!("../scripts/polyport.zsh"),
            Shell::Fish => include_str!("../scripts/polyport.fish"),
            Shell::Powershell => include_str!("../scripts/polyport.ps1"),
            Shell::Nushell => include_str!("../scripts/polyport.nu"),
        };
        printing::out(script.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Propose {
    /// Prints proposals for the last word, one on each line.
    ///
    /// # Errors
    /// They cannot be written.
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let words = self.shell.words(self.words);
        let last = words.last().cloned().unwrap_or_default();
        let mut program = Cli::command();
        program.build();
        let mut seen = seen::read();
        seen.configured = configured::plain_names();
        seen.of_host = configured::host_in(&words);
        let mut text = String::new();
        for proposal in proposals(&program, &words, &seen) {
            let line = self.shell.line(&proposal, &last);
            if !line.is_empty() {
                text += &line;
                text.push('\n');
            }
        }
        printing::out(text.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Shell {
    /// The words of the command line after our name; the last is the one that is being written.
    fn words(self, mut given: Vec<String>) -> Vec<String> {
        match (self, &given[..]) {
            // It gives the line, since its own words end at = and :.
            (Self::Bash, [line]) => split(line).into_iter().skip(1).collect(),
            // It loses what is empty.
            (Self::Powershell, [.., last]) if last == "\"\"" => {
                given.pop();
                given.push(String::new());
                given
            }
            _ => given,
        }
    }

    /// A proposal as this shell takes it. What a server named must not be more to the shell than one word.
    fn line(self, proposal: &Proposal, last: &str) -> String {
        let Proposal { text, about } = proposal;
        match self {
            Self::Bash => {
                // It replaces what stands after the last of its breaks only.
                let kept = last.rfind(BASH_BREAKS).map_or(0, |at| at + 1);
                match text.get(kept..) {
                    Some("") | None => String::new(),
                    Some(rest) => ui::word(rest),
                }
            }
            // These quote by themselves.
            Self::Zsh | Self::Fish => format!("{text}\t{about}"),
            Self::Powershell if !is_plain(text) => {
                format!("'{}'\t{about}", text.replace('\'', "''"))
            }
            Self::Nushell if !is_plain(text) => {
                let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
                format!("\"{escaped}\"\t{about}")
            }
            Self::Powershell | Self::Nushell => format!("{text}\t{about}"),
        }
    }
}

/// Is it one word to any shell, as it stands?
fn is_plain(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:=%".contains(c);
    text.chars().all(plain)
}
