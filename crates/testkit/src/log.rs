//! Listens to our own log and spans on this thread, so that a test can read what stands there, and what does not.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{DefaultGuard, Interest};
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};

/// One event, or one span with what was recorded of it later.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// How severe it is, and where it comes from, such as `INFO polyport::calls`.
    pub head: String,
    /// Its fields; `message` is the text of an event.
    pub fields: BTreeMap<String, String>,
    /// A span that was closed.
    pub closed: bool,
}

impl Line {
    /// A field; empty if it is not there.
    pub fn get(&self, field: &str) -> &str {
        self.fields.get(field).map_or("", String::as_str)
    }
}

/// What is said on this thread from its making to its dropping.
#[derive(Debug)]
pub struct Log {
    lines: Arc<Mutex<Lines>>,
    _guard: DefaultGuard,
}

#[derive(Debug, Default)]
struct Lines {
    events: Vec<Line>,
    spans: BTreeMap<u64, Line>,
    /// How many hold each span.
    holders: BTreeMap<u64, usize>,
}

impl Log {
    /// Listens at this level and the more severe ones.
    pub fn at(level: Level) -> Self {
        // While there is but one listener, what threads without any decide would be taken for its own decision.
        static ANOTHER: LazyLock<Dispatch> =
            LazyLock::new(|| Dispatch::new(Listener::new(Level::ERROR, Arc::default())));
        LazyLock::force(&ANOTHER);
        let lines = Arc::<Mutex<Lines>>::default();
        let listener = Listener::new(level, lines.clone());
        Self {
            lines,
            _guard: tracing::subscriber::set_default(listener),
        }
    }

    /// The events with this text, in order.
    pub fn events(&self, message: &str) -> Vec<Line> {
        let events = &lock(&self.lines).events;
        let is_it = |line: &&Line| line.get("message") == message;
        events.iter().filter(is_it).cloned().collect()
    }

    /// The spans, in order.
    pub fn spans(&self) -> Vec<Line> {
        lock(&self.lines).spans.values().cloned().collect()
    }

    /// All that was said, as text.
    pub fn text(&self) -> String {
        let lines = lock(&self.lines);
        let all = lines.events.iter().chain(lines.spans.values());
        all.map(|line| format!("{line:?}\n")).collect()
    }
}

struct Listener {
    level: Level,
    lines: Arc<Mutex<Lines>>,
    next: AtomicU64,
}

impl Listener {
    fn new(level: Level, lines: Arc<Mutex<Lines>>) -> Self {
        Self {
            level,
            lines,
            next: AtomicU64::new(1),
        }
    }
}

fn lock(lines: &Mutex<Lines>) -> MutexGuard<'_, Lines> {
    lines.lock().unwrap_or_else(PoisonError::into_inner)
}

fn line(metadata: &Metadata<'_>) -> Line {
    Line {
        head: format!("{} {}", metadata.level(), metadata.target()),
        ..Line::default()
    }
}

impl Subscriber for Listener {
    fn register_callsite(&self, _metadata: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut line = line(attributes.metadata());
        attributes.record(&mut Fields(&mut line));
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut lines = lock(&self.lines);
        lines.spans.insert(id, line);
        lines.holders.insert(id, 1);
        Id::from_u64(id)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        if let Some(line) = lock(&self.lines).spans.get_mut(&span.into_u64()) {
            values.record(&mut Fields(line));
        }
    }

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = line(event.metadata());
        event.record(&mut Fields(&mut line));
        lock(&self.lines).events.push(line);
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}

    fn clone_span(&self, span: &Id) -> Id {
        *lock(&self.lines)
            .holders
            .entry(span.into_u64())
            .or_default() += 1;
        span.clone()
    }

    fn try_close(&self, span: Id) -> bool {
        let mut lines = lock(&self.lines);
        let holders = lines.holders.entry(span.into_u64()).or_insert(1);
        *holders -= 1;
        let closed = *holders == 0;
        if closed && let Some(line) = lines.spans.get_mut(&span.into_u64()) {
            line.closed = true;
        }
        closed
    }
}

struct Fields<'a>(&'a mut Line);

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0
            .fields
            .insert(field.name().to_owned(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0
            .fields
            .insert(field.name().to_owned(), format!("{value:?}"));
    }
}
