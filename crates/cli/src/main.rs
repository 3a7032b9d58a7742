//! The `polyport` program: reads the command line, runs one verb, and turns its end into an exit code.

mod commands;
mod demo;
mod failure;
mod log;
mod target;
mod ui;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Joins any MCP client to any MCP server and to the systems behind them.
#[derive(Debug, Parser)]
#[command(
    name = "polyport",
    version,
    propagate_version = true,
    max_term_width = 100
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
    // clap prints usage errors itself and exits with 2.
    let cli = Cli::parse();
    let ended = match cli.verb {
        Verb::Serve(serve) => serve.run(),
    };
    match ended {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}
