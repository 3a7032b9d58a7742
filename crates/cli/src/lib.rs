//! The `polyport` program: reads the command line, runs one verb, and turns its end into an exit code. No library: it is one only so that
//! the fuzzer reaches what reads strangers' words.

mod answers;
mod arguments;
mod cache;
mod commands;
mod completing;
mod configured;
mod demo;
mod doctor;
mod exit;
mod failure;
mod form;
mod frames;
#[doc(hidden)]
pub mod fuzzing;
mod globals;
mod infile;
mod jq;
mod kinds;
mod known;
mod limit;
mod log;
mod logs;
mod naming;
mod nearest;
mod otherwise;
mod outfile;
mod pager;
mod paint;
mod pieces;
mod places;
mod printing;
mod program;
mod progress;
mod reach;
mod reaching;
mod references;
mod refused;
mod remote;
mod render;
mod runtime;
mod sampling;
mod secrets;
mod seen;
mod server;
mod table;
mod target;
mod terminal;
mod topics;
mod typed;
mod ui;
mod upstream;
mod usage;
mod values;
mod verb;
mod verdicts;
mod warnings;
mod written;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use globals::Globals;
use paint::Color;

/// Joins any MCP client to any MCP server and to the systems behind them.
#[derive(Debug, Parser)]
#[command(
    name = "polyport",
    version,
    propagate_version = true,
    max_term_width = 100,
    disable_help_subcommand = true,
    after_help = usage::EXAMPLES
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    globals: Globals,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Serve(commands::serve::Serve),
    Ls(commands::ls::Ls),
    Show(commands::show::Show),
    Call(commands::call::Call),
    Read(commands::read::Read),
    Prompt(commands::prompt::GetPrompt),
    Complete(commands::complete::AskCompletion),
    Watch(commands::watch::Watch),
    Ping(commands::ping::Ping),
    Doctor(commands::doctor::Doctor),
    Completion(commands::completion::Completion),
    #[command(name = "__complete", hide = true)]
    Propose(commands::completion::Propose),
    Man(commands::man::Man),
    Help(commands::help::Help),
    Servers(commands::servers::List),
    Add(commands::edit::Add),
    Remove(commands::edit::Remove),
    Enable(commands::edit::Enable),
    Disable(commands::edit::Disable),
    Config(commands::config::Config),
    Install(commands::install::Install),
    Uninstall(commands::install::Uninstall),
}

/// The command line, of which --help shows what fits on a screen: the verb help and the manual have the rest.
pub(crate) fn program() -> clap::Command {
    Cli::command().mut_subcommand("serve", |mut serve| {
        for name in [
            "cwd",
            "inherit_env",
            "expand",
            "env_file",
            "drain",
            "messages_path",
            "sessions",
            "seal_keys",
            "log_params",
        ] {
            serve = serve.mut_arg(name, |option| option.hide(true));
        }
        serve
    })
}

/// The whole program.
pub fn main() -> ExitCode {
    // Before the words are read: that may fail, too.
    if usage::wants_document(std::env::args_os()) {
        ui::say_document();
    }
    let color = Color::of(std::env::args_os());
    paint::choose(color);
    let parsed = program().color(color.choice()).try_get_matches();
    let cli = match parsed.and_then(|words| Cli::from_arg_matches(&words)) {
        Ok(cli) => cli,
        Err(error) => return usage::report(error),
    };
    // Who serves has a log of its own, and the doctor says what is wrong in words of its own.
    let is_told = matches!(cli.verb, Verb::Serve(_) | Verb::Doctor(_));
    cli.globals.apply(is_told);
    let ended = match cli.verb {
        Verb::Serve(serve) => serve.run().map(|()| ExitCode::SUCCESS),
        Verb::Ls(ls) => ls.run(),
        Verb::Show(show) => show.run(),
        Verb::Call(call) => call.run(),
        Verb::Read(read) => read.run(),
        Verb::Prompt(prompt) => prompt.run(),
        Verb::Complete(complete) => complete.run(),
        Verb::Watch(watch) => watch.run(),
        Verb::Ping(ping) => ping.run(),
        Verb::Doctor(doctor) => doctor.run(),
        Verb::Completion(completion) => completion.run(),
        Verb::Propose(propose) => propose.run(),
        Verb::Man(man) => man.run(),
        Verb::Help(help) => help.run(),
        Verb::Servers(servers) => servers.run(),
        Verb::Add(add) => add.run(),
        Verb::Remove(remove) => remove.run(),
        Verb::Enable(enable) => enable.run(),
        Verb::Disable(disable) => disable.run(),
        Verb::Config(config) => config.run(),
        Verb::Install(install) => install.run(),
        Verb::Uninstall(uninstall) => uninstall.run(),
    };
    match ended {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}
