//! Our own log: to standard error, never to standard output.

use std::io::{self, Write};

use clap::{Args, ValueEnum};
use tracing_subscriber::filter::LevelFilter;

use crate::secrets;
use crate::ui::{self, Stderr};

/// How much is logged, and how.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Log, on standard error")]
pub(crate) struct Log {
    /// Lines of text, JSON objects, or nothing
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "text|json|off", hide_possible_values = true)]
    log: Format,
    /// Least severe level: error, warn, info, debug or trace [default: warn]
    #[arg(long, value_enum, value_name = "LEVEL", hide_possible_values = true)]
    log_level: Option<Severity>,
    /// Log the values of these arguments, too: path, read_text_file.path
    #[arg(long, value_name = "FIELD", value_delimiter = ',')]
    log_params: Vec<String>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Format {
    Text,
    Json,
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

/// Standard error without the secrets that servers were given: they may say them in what we log of them.
struct Hidden;

impl Write for Hidden {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let said = secrets::hidden(&String::from_utf8_lossy(text)).into_owned();
        Stderr.write_all(said.as_bytes())?;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Stderr.flush()
    }
}

impl Log {
    /// Begins logging; once per process.
    pub(crate) fn start(&self) {
        let usual = match (ui::is_quiet(), ui::verbose()) {
            (true, _) => Severity::Error,
            (false, 0) => Severity::Warn,
            (false, 1) => Severity::Info,
            (false, _) => Severity::Debug,
        };
        let level = match self.log_level.unwrap_or(usual) {
            Severity::Error => LevelFilter::ERROR,
            Severity::Warn => LevelFilter::WARN,
            Severity::Info => LevelFilter::INFO,
            Severity::Debug => LevelFilter::DEBUG,
            Severity::Trace => LevelFilter::TRACE,
        };
        self.begin(level);
        let is_read = level >= LevelFilter::INFO && self.log != Format::Off;
        if !self.log_params.is_empty() && !is_read {
            ui::say("note: --log-params does nothing without --log-level info\n");
        }
    }

    fn begin(&self, level: LevelFilter) {
        let builder = tracing_subscriber::fmt()
            .with_writer(|| Hidden)
            .with_max_level(level);
        let begun = match self.log {
            Format::Off => return,
            Format::Text => builder.with_ansi(false).try_init(),
            Format::Json => {
                ui::say_json();
                builder.json().try_init()
            }
        };
        // Somebody logs already: nothing to do.
        drop(begun);
    }

    /// The arguments whose values may be logged.
    pub(crate) fn params(&self) -> impl Iterator<Item = &str> {
        self.log_params.iter().map(String::as_str)
    }
}
