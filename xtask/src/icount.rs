//! `cargo xtask icount`: hands over to the counting binary of the bench crate.

use std::time::Duration;

use crate::run;
use crate::tally::Outcome;

/// Compiling in release, and counting under an instruction counter.
const LIMIT: Duration = Duration::from_secs(2400);

/// Counts instructions and allocations and holds them to the committed figures. Arguments go to the binary.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    run::bench_binary("icount", &arguments, LIMIT)
}
