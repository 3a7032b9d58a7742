//! Our own log: to standard error, never to standard output.

use clap::{Args, ValueEnum};
use tracing_subscriber::filter::LevelFilter;

/// How much is logged, and how.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Log {
    /// Format of the log on standard error.
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    log: Format,
    /// Least severe messages that are logged.
    #[arg(long, value_enum, default_value_t = Severity::Warn, value_name = "LEVEL")]
    log_level: Severity,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Format {
    /// A line for people.
    Text,
    /// A JSON object per line.
    Json,
    /// Nothing.
    Off,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Severity {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl Log {
    /// Begins logging; once per process.
    pub(crate) fn start(self) {
        let level = match self.log_level {
            Severity::Error => LevelFilter::ERROR,
            Severity::Warn => LevelFilter::WARN,
            Severity::Info => LevelFilter::INFO,
            Severity::Debug => LevelFilter::DEBUG,
            Severity::Trace => LevelFilter::TRACE,
        };
        let builder = tracing_subscriber::fmt()
            .with_writer(std::io::stderr)
            .with_max_level(level);
        let begun = match self.log {
            Format::Off => return,
            Format::Text => builder.with_ansi(false).try_init(),
            Format::Json => builder.json().try_init(),
        };
        // Somebody logs already: nothing to do.
        drop(begun);
    }
}
