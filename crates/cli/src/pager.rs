//! Texts that are longer than the terminal, shown by the user's pager. What is piped is never paged.

use std::io::{self, IsTerminal, Write};
use std::process::{Command, Stdio};

use clap::Args;

use crate::failure::Failure;
use crate::{printing, terminal, ui};

/// What is used where nobody has named one.
const USUAL: &str = "less";

/// Whether a long text is paged.
#[derive(Debug, Args)]
pub(crate) struct Paging {
    /// Print a long text at once; POLYPORT_PAGER and PAGER name what else shows it
    #[arg(long)]
    no_pager: bool,
}

impl Paging {
    /// Prints a text, by a pager where that is wanted and can be started.
    ///
    /// # Errors
    /// It cannot be written, or nobody reads any more (exit 0).
    pub(crate) fn print(&self, text: &str) -> Result<(), Failure> {
        let text = ui::harmless(text);
        let is_paged = !self.no_pager && is_too_long(&text);
        if let Some(pager) = pager().filter(|_| is_paged)
            && show(&pager, &text).is_ok()
        {
            return Ok(());
        }
        printing::out(text.as_bytes())
    }
}

/// Is it longer than the terminal, at which somebody can turn pages?
fn is_too_long(text: &str) -> bool {
    let size = rustix::termios::tcgetwinsize(io::stdout());
    let is_smart = std::env::var_os("TERM").is_some_and(|term| term != "dumb");
    io::stdout().is_terminal()
        && terminal::is_terminal()
        && is_smart
        && size.is_ok_and(|size| size.ws_row > 0 && text.lines().count() >= size.ws_row.into())
}

/// The command that shows it. One that is empty, or `cat`, is none.
fn pager() -> Option<String> {
    let named = ["POLYPORT_PAGER", "PAGER"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok());
    let pager = named.unwrap_or_else(|| USUAL.to_owned());
    (!matches!(pager.trim(), "" | "cat")).then_some(pager)
}

fn show(pager: &str, text: &str) -> io::Result<()> {
    let mut command = Command::new("sh");
    command.args(["-c", pager]).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        // It leaves what fits on a screen there, and shows colours.
        command.env("LESS", "FRX");
    }
    let mut child = command.spawn()?;
    let written = child
        .stdin
        .take()
        .map(|mut input| input.write_all(text.as_bytes()));
    let ended = child.wait()?;
    match written {
        // Whoever leaves a pager early has seen enough.
        Some(Err(error)) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ if matches!(ended.code(), Some(126 | 127)) => Err(io::ErrorKind::NotFound.into()),
        _ => Ok(()),
    }
}
