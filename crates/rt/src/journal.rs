//! Our own log of calls: an event when one begins and one when it has ended (D-24). Never what was asked or answered.

use std::sync::atomic::{AtomicU64, Ordering};

use polyport_proto::Outcome;

use crate::clock::Clock;
use crate::context::Call;

/// Characters that are kept of a name that a client chose.
const LONGEST: usize = 64;
/// Under which the events are found.
const TARGET: &str = "polyport::calls";

/// A call in the log.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Our own number; ids of clients repeat.
    number: u64,
    method: &'static str,
    /// Of the tool or prompt.
    name: Option<String>,
    client: Option<String>,
    revision: &'static str,
    transport: &'static str,
    bytes_in: usize,
    clock: Clock,
}

impl Entry {
    /// Writes down that a call begins. None: nobody reads it.
    pub(crate) fn open(call: &Call) -> Option<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        if !tracing::enabled!(target: TARGET, tracing::Level::INFO) {
            return None;
        }
        let envelope = call.context.envelope();
        let client = envelope.client().info();
        let entry = Self {
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            method: call.method,
            name: call.params.name().as_deref().map(plain),
            client: client.map(|client| plain(&format!("{}/{}", client.name, client.version))),
            revision: envelope.revision().name(),
            transport: call.context.transport(),
            bytes_in: call.params.text().map_or(0, str::len),
            clock: Clock::start(),
        };
        tracing::debug!(
            target: TARGET,
            call = entry.number,
            method = entry.method,
            name = entry.name,
            client = entry.client,
            revision = entry.revision,
            transport = entry.transport,
            "call begins"
        );
        Some(entry)
    }

    /// Writes down how it ended. No outcome: it was cancelled.
    pub(crate) fn close(self, outcome: Option<&Outcome>) {
        let (ended, code, bytes_out) = match outcome {
            Some(Outcome::Failed(error)) => {
                ("refused", Some(error.code.number()), error.message.len())
            }
            None => ("cancelled", None, 0),
            Some(Outcome::Complete(result)) => {
                // Inside a text the quotes are escaped.
                let failed = result.as_str().contains("\"isError\":true");
                (
                    if failed { "tool error" } else { "ok" },
                    None,
                    result.as_bytes().len(),
                )
            }
            Some(Outcome::NeedInput(_)) => ("asks", None, 0),
            Some(_) => ("other", None, 0),
        };
        tracing::info!(
            target: TARGET,
            call = self.number,
            method = self.method,
            name = self.name,
            client = self.client,
            revision = self.revision,
            transport = self.transport,
            bytes_in = self.bytes_in,
            bytes_out,
            ms = self.clock.now().as_micros() as f64 / 1_000.0,
            outcome = ended,
            code,
            "call ended"
        );
    }
}

/// A name as it may stand in a log: one line, not long.
fn plain(name: &str) -> String {
    let visible = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    name.chars().take(LONGEST).map(visible).collect()
}
