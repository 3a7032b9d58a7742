//! `polyport man`: the pages of the manual, made from the same description as the help.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory};

use crate::failure::Failure;
use crate::{Cli, printing, ui};

/// Print the page of the manual, or write all pages to a folder
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  polyport man | man -l -
  polyport man ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// Where the pages go, one for each verb; the folder has to exist
    #[arg(value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

impl Man {
    /// Prints or writes them.
    ///
    /// # Errors
    /// They cannot be written.
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let program = Cli::command();
        let Some(folder) = self.folder else {
            let mut page = Vec::new();
            let page = clap_mangen::Man::new(program)
                .render(&mut page)
                .map(|()| page)
                .map_err(Failure::unexpected)?;
            printing::out(&page)?;
            return Ok(ExitCode::SUCCESS);
        };
        clap_mangen::generate_to(program, &folder).map_err(|error| {
            Failure::usage(format!("cannot write to {}: {error}", ui::path(&folder)))
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
