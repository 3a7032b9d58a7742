//! What is heard of a conversation while it is held: the first line that is no message, when the first word came, and how often the
//! conversation was begun.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use polyport::Speaker;
use serde_json::Value;
use tokio::sync::Notify;

/// Listens.
#[derive(Debug)]
pub(super) struct Wire {
    begun: Instant,
    heard: Mutex<Heard>,
    junk: Notify,
}

#[derive(Debug, Default)]
struct Heard {
    /// The id of our first request, with which each conversation begins.
    first_id: Option<Value>,
    openings: usize,
    lines: usize,
    first_word: Option<Duration>,
    junk: Option<Junk>,
}

/// Something that is no message.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Junk {
    /// Which line of its process it is, from 1.
    pub(super) line: usize,
    /// The line.
    pub(super) text: String,
}

/// Characters that are kept of such a line.
const KEPT: usize = 120;

impl Default for Wire {
    fn default() -> Self {
        Self {
            begun: Instant::now(),
            heard: Mutex::default(),
            junk: Notify::new(),
        }
    }
}

impl Wire {
    /// Hears a message.
    pub(super) fn hear(&self, speaker: Speaker, text: &[u8]) {
        match speaker {
            Speaker::Client => self.lock().asked(text),
            Speaker::Server => {
                let after = self.begun.elapsed();
                let mut heard = self.lock();
                heard.first_word.get_or_insert(after);
                heard.lines += 1;
                if heard.junk.is_none() && !is_message(text) {
                    let text = String::from_utf8_lossy(&text[..text.len().min(4 * KEPT)]);
                    let text = text.chars().take(KEPT).collect();
                    let line = heard.lines;
                    heard.junk = Some(Junk { line, text });
                    self.junk.notify_one();
                }
            }
        }
    }

    /// The first line that is no message.
    pub(super) fn junk(&self) -> Option<Junk> {
        self.lock().junk.clone()
    }

    /// Waits for that line, and then for as long as an answer may still take.
    pub(super) async fn only_junk(&self, grace: Duration) {
        self.junk.notified().await;
        tokio::time::sleep(grace).await;
    }

    /// How often the conversation was begun from the start: over again in another process, or another way.
    pub(super) fn openings(&self) -> usize {
        self.lock().openings
    }

    /// After how long the server said its first word.
    pub(super) fn first_word(&self) -> Option<Duration> {
        self.lock().first_word
    }

    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Heard {
    fn asked(&mut self, text: &[u8]) {
        let Ok(message) = serde_json::from_slice::<Value>(text) else {
            return;
        };
        let id = message
            .get("id")
            .filter(|_| message.get("method").is_some());
        let Some(id) = id else {
            return;
        };
        if self.first_id.get_or_insert_with(|| id.clone()) == id {
            self.openings += 1;
            self.lines = 0;
        }
    }
}

/// Is it a message of JSON-RPC, or a batch of them?
fn is_message(text: &[u8]) -> bool {
    let is_one = |value: &Value| value.get("jsonrpc").and_then(Value::as_str) == Some("2.0");
    match serde_json::from_slice::<Value>(text) {
        Ok(Value::Array(all)) => !all.is_empty() && all.iter().all(is_one),
        Ok(value) => is_one(&value),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: S-DOCTOR
    #[test]
    fn the_first_line_that_is_no_message_is_kept() {
        let wire = Wire::default();
        for (line, is_junk) in [
            (&b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"[..], false),
            (b"[{\"jsonrpc\":\"2.0\",\"method\":\"a\"}]", false),
            (b"{\"level\":30}", true),
            (b"[]", true),
            (b"Server started", true),
            (b"\xff", true),
        ] {
            assert_eq!(is_message(line), !is_junk);
            wire.hear(Speaker::Server, line);
        }
        let (line, text) = (3, "{\"level\":30}".to_owned());
        assert_eq!(wire.junk(), Some(Junk { line, text }));
    }

    #[test]
    fn a_conversation_that_begins_again_is_counted() {
        let wire = Wire::default();
        for (text, openings) in [
            ("{\"id\":1,\"method\":\"server/discover\"}", 1),
            ("{\"id\":2,\"method\":\"initialize\"}", 1),
            ("{\"id\":1,\"result\":{}}", 1),
            ("{\"method\":\"notifications/initialized\"}", 1),
            ("{\"id\":1,\"method\":\"initialize\"}", 2),
        ] {
            wire.hear(Speaker::Client, text.as_bytes());
            assert_eq!(wire.openings(), openings, "{text}");
        }
    }
}
