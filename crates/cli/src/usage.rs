//! What is said about a command line that cannot be meant, beyond what clap says itself. Not what its words mean.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use crate::failure::Failure;
use crate::{printing, program, ui};

/// Shown below the help of every verb that has no better ones.
pub(crate) const EXAMPLES: &str = "Examples:
  polyport serve ./notes          serve a folder, read-only
  polyport serve demo             serve a built-in server, to try a client with
  polyport call demo add a=2 b=3  call a tool, of any server
  polyport help serve             say more";

/// Shown below an error of a line without a verb.
const EXAMPLE: &str = "polyport serve ./notes";

/// Do these words ask for JSON, as far as they can be read?
pub(crate) fn wants_document(words: impl Iterator<Item = OsString>) -> bool {
    words
        .take_while(|word| word != "--")
        .any(|word| word == "--json")
}

/// Says what is wrong with the command line, or shows the help that was asked for.
pub(crate) fn report(mut error: Error) -> ExitCode {
    if !error.use_stderr() {
        let printed = error.print().and_then(|()| io::stdout().flush());
        // A reader that is gone is no failure (`polyport --help | head`).
        return printed.map_or_else(
            |error| printing::unwritten(&error, "the help").report(),
            |()| ExitCode::SUCCESS,
        );
    }
    if ui::is_document() {
        let text = error.render().to_string();
        let said = text.lines().next().unwrap_or_default();
        let said = said.strip_prefix("error: ").unwrap_or(said);
        return Failure::usage(said)
            .hint("--help says what there is")
            .report();
    }
    match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => _ = error.print(),
        ErrorKind::MissingRequiredArgument if lacks_backend(&error) => {
            return Failure::usage("nothing to serve")
                .hint("name a folder, or demo for the built-in server: polyport serve ./notes")
                .report();
        }
        ErrorKind::InvalidSubcommand => {
            if let Some(backend) = backend(&error) {
                return Failure::usage(format!("{backend} is no verb"))
                    .hint(format!("to serve it: polyport serve {backend}"))
                    .report();
            }
            say(&error);
        }
        _ => {
            // It suggests to pass an unknown option as the name of a folder.
            error.remove(ContextKind::Suggested);
            say(&error);
        }
    }
    ExitCode::from(2)
}

/// Is it what is to be served that is missing?
fn lacks_backend(error: &Error) -> bool {
    let missing = error.get(ContextKind::InvalidArg);
    matches!(missing, Some(ContextValue::Strings(names)) if names.iter().any(|name| name.contains("BACKEND")))
}

fn say(error: &Error) {
    let _ = error.print();
    ui::say(&format!("Example: {}\n", example(std::env::args().skip(1))));
}

/// A line that works, of the verb that these words name: the first that its help shows.
fn example(words: impl Iterator<Item = String>) -> String {
    let mut verb = program();
    for word in words.take_while(|word| word != "--") {
        match verb.find_subcommand(&word) {
            Some(found) if !found.is_hide_set() => verb = found.clone(),
            _ => {}
        }
    }
    let help = verb.get_after_help().map(ToString::to_string);
    let shown = help.unwrap_or_default();
    let first = shown
        .lines()
        .map(str::trim)
        .find(|line| line.starts_with("polyport "));
    // What stands beside it is about it.
    let first = first.and_then(|line| line.split("   ").next());
    first.unwrap_or(EXAMPLE).to_owned()
}

/// The word in the verb's place, if it is something to serve.
fn backend(error: &Error) -> Option<String> {
    let ContextValue::String(word) = error.get(ContextKind::InvalidSubcommand)? else {
        return None;
    };
    (word == "demo" || Path::new(word).is_dir()).then(|| ui::path(Path::new(word)))
}
