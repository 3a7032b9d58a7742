//! The `polyport` program: reads the command line, runs one verb, and turns its end into an exit code.

mod commands;
mod demo;
mod failure;
mod log;
mod target;
mod ui;
mod usage;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Joins any MCP client to any MCP server and to the systems behind them.
#[derive(Debug, Parser)]
#[command(
    name = "polyport",
    version,
    propagate_version = true,
    max_term_width = 100,
    after_help = usage::EXAMPLES
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Serve(commands::serve::Serve),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage::report(error),
    };
    let ended = match cli.verb {
        Verb::Serve(serve) => serve.run(),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
