//! The repository's own commands: `cargo xtask VERB`. Owns the table of verbs and their help; each verb is a file of its name.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool"
)]

mod args;
mod ci;
mod conformance;
mod fuzz;
mod icount;
mod isolation;
mod latency;
mod lexer;
mod mcp;
mod newcomer;
mod node;
mod peers;
mod readme;
mod run;
mod soak;
mod tally;
mod tidy;
mod tree;

use std::process::ExitCode;

use tally::{Outcome, Tally};

/// One verb: how it is called, what it does, and what runs it.
struct Verb {
    name: &'static str,
    usage: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Outcome,
}

const VERBS: &[Verb] = &[
    Verb {
        name: "ci",
        usage: "ci [--only STAGE,…] [--strict]",
        about: "the whole gate; the last line counts it",
        run: ci::run,
    },
    Verb {
        name: "tidy",
        usage: "tidy",
        about: "rules of the tree that the compiler does not know",
        run: tidy::run,
    },
    Verb {
        name: "conformance",
        usage: "conformance [REVISION…] [--scenario NAME] [--jobs N]",
        about: "the official suite against conformance-server, also behind polyport serve, and conformance-client",
        run: conformance::run,
    },
    Verb {
        name: "peers",
        usage: "peers [ARGUMENT OF peers/run.py…]",
        about: "clients of other makers against the binary",
        run: peers::run,
    },
    Verb {
        name: "fuzz",
        usage: "fuzz [--secs N] [TARGET…]",
        about: "coverage-guided fuzzing on stable, N seconds per target",
        run: fuzz::run,
    },
    Verb {
        name: "soak",
        usage: "soak [--minutes N] [--seed N] [--as-is] | soak --sessions N",
        about: "hostile clients for minutes, or so many sessions through a gateway; nothing may grow or hang",
        run: soak::run,
    },
    Verb {
        name: "isolation",
        usage: "isolation [--minutes N] [--seed N]",
        about: "a hundred clients; no byte of one may reach another",
        run: isolation::run,
    },
    Verb {
        name: "icount",
        usage: "icount [--write]",
        about: "instructions and allocations against the committed figures",
        run: icount::run,
    },
    Verb {
        name: "latency",
        usage: "latency [--write]",
        about: "calls from the shell and of our client by what is the least",
        run: latency::run,
    },
    Verb {
        name: "newcomer",
        usage: "newcomer [--full]",
        about: "README's two commands in a fresh clone",
        run: newcomer::run,
    },
    Verb {
        name: "readme",
        usage: "readme",
        about: "README's server: compiles, serves stdio and HTTP",
        run: readme::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        return usage(ExitCode::from(2));
    };
    if matches!(name.as_str(), "help" | "--help" | "-h") {
        return usage(ExitCode::SUCCESS);
    }
    let Some(verb) = VERBS.iter().find(|verb| verb.name == name) else {
        eprintln!("xtask: there is no verb `{name}`");
        return usage(ExitCode::from(2));
    };
    if rest.iter().any(|argument| argument == "--help") {
        println!("cargo xtask {}\n    {}", verb.usage, verb.about);
        return ExitCode::SUCCESS;
    }
    match (verb.run)(rest) {
        Outcome::Done(tally) => exit(tally),
        Outcome::Skipped(reason) => {
            println!("{name}: skipped: {reason}");
            println!("{name}: 0 passed, 0 failed, 1 skipped");
            ExitCode::SUCCESS
        }
        Outcome::Broken(reason) => {
            eprintln!("{name}: {reason}");
            ExitCode::from(2)
        }
    }
}

fn exit(tally: Tally) -> ExitCode {
    if tally.failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn usage(code: ExitCode) -> ExitCode {
    println!("cargo xtask VERB\n");
    for verb in VERBS {
        println!("  {:<55} {}", verb.usage, verb.about);
    }
    code
}
