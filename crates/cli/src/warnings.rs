//! What the client of the SDK warns of while a verb runs: a line each on standard error, and each once.

use std::collections::HashSet;
use std::fmt::{self, Write};
use std::sync::{Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, registry};

use crate::{secrets, ui};

/// Where the client lives. What a server of ours in the same process logs is not told to whoever asks it.
const CLIENT: &[&str] = &[
    "polyport::client",
    "polyport_rt::caller",
    "polyport_http::client",
    "polyport_http::ws::dial",
];
/// Characters of one warning.
const LONGEST: usize = 300;
/// Different warnings that are said; a server could go on for ever.
const MOST: usize = 50;

/// Begins; once per process.
pub(crate) fn start(quiet: bool, verbose: u8) {
    if quiet {
        return;
    }
    let heard = match verbose {
        0 => only_client(LevelFilter::WARN),
        1 => only_client(LevelFilter::INFO),
        _ => Targets::new().with_target("polyport", LevelFilter::DEBUG),
    };
    let warnings = Warnings::default().with_filter(heard);
    // Somebody listens already: nothing to do.
    let _ = registry().with(warnings).try_init();
}

fn only_client(level: LevelFilter) -> Targets {
    Targets::new().with_targets(CLIENT.iter().map(|target| (*target, level)))
}

#[derive(Default)]
struct Warnings(Mutex<HashSet<String>>);

impl<S: Subscriber> Layer<S> for Warnings {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut line = Line::default();
        event.record(&mut line);
        let kind = match *event.metadata().level() {
            Level::ERROR | Level::WARN => "warning",
            Level::INFO => "note",
            _ => "debug",
        };
        let text = format!("{kind}: {}", line.text());
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if said.len() < MOST && said.insert(text.clone()) {
            drop(said);
            ui::clear_status();
            ui::note(&format!("{text}\n"));
        }
    }
}

/// The message of an event, and its fields.
#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Line {
    fn text(&self) -> String {
        let text = if self.fields.is_empty() {
            self.message.clone()
        } else {
            format!("{} ({})", self.message, self.fields)
        };
        // What is cut in the middle of a secret would be none that is known.
        let text = secrets::hidden(&text).replace(['\n', '\r'], " ");
        match text.char_indices().nth(LONGEST) {
            Some((at, _)) => format!("{}…", &text[..at]),
            None => text,
        }
    }

    fn add(&mut self, field: &Field, value: fmt::Arguments<'_>) {
        let written = if field.name() == "message" {
            write!(self.message, "{value}")
        } else {
            let comma = if self.fields.is_empty() { "" } else { ", " };
            write!(self.fields, "{comma}{}: {value}", field.name())
        };
        // A text takes everything.
        let _ = written;
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format_args!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        // Before it is quoted, it is as it was given.
        let shown = secrets::hidden(value);
        match shown.contains(|c: char| c.is_whitespace() || c.is_control() || c == '"') {
            true => self.add(field, format_args!("{shown:?}")),
            false => self.add(field, format_args!("{shown}")),
        }
    }
}
