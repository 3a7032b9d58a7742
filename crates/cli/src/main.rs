//! The `polyport` program: reads the command line, runs one verb, and turns its end into an exit code.

mod answers;
mod arguments;
mod commands;
mod demo;
mod failure;
mod log;
mod render;
mod runtime;
mod server;
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
    Ls(commands::ls::Ls),
    Call(commands::call::Call),
    Read(commands::read::Read),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage::report(error),
    };
    let ended = match cli.verb {
        Verb::Serve(serve) => serve.run().map(|()| ExitCode::SUCCESS),
        Verb::Ls(ls) => ls.run(),
        Verb::Call(call) => call.run(),
        Verb::Read(read) => read.run(),
    };
    match ended {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}
