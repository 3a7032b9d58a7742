//! `cargo xtask soak`: hands over to the soak binary of the bench crate.

use std::time::Duration;

use crate::args::Args;
use crate::run;
use crate::tally::Outcome;

/// Compiling in release, and ending after the last minute.
const MARGIN: Duration = Duration::from_secs(1800);

/// Runs hostile clients for some minutes.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let mut args = Args::new(arguments);
    let minutes = args.number("--minutes", 5).and_then(|minutes| {
        args.none()?;
        Ok(minutes)
    });
    match minutes {
        Err(error) => Outcome::Broken(error),
        Ok(minutes) => {
            let limit = MARGIN + Duration::from_secs(minutes * 60);
            run::bench_binary("soak", &["--minutes", &minutes.to_string()], limit)
        }
    }
}
