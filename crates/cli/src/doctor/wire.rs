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
    /// When it was asked last, and for how long an answer was waited for before something else was.
    asked: Option<Duration>,
    waited: Option<Duration>,
    /// Its method.
    first_method: String,
    is_answered: bool,
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
            Speaker::Client => self.lock().asked(text, self.begun.elapsed()),
            Speaker::Server => {
                let after = self.begun.elapsed();
                let mut heard = self.lock();
                heard.answered(text);
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

    /// The first question that was asked of the server, and for how long an answer to it was waited for in vain, if it was.
    pub(super) fn first_question(&self) -> (String, Option<Duration>) {
        let heard = self.lock();
        let waited = heard.waited.filter(|_| !heard.is_answered);
        (heard.first_method.clone(), waited)
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
    fn asked(&mut self, text: &[u8], now: Duration) {
        let Ok(message) = serde_json::from_slice::<Value>(text) else {
            return;
        };
        let Some((id, method)) = message.get("id").zip(message["method"].as_str()) else {
            return;
        };
        if self.first_id.get_or_insert_with(|| id.clone()) == id {
            self.openings += 1;
            self.lines = 0;
            method.clone_into(&mut self.first_method);
            self.asked = Some(now);
            self.waited = None;
            self.is_answered = false;
        } else if self.waited.is_none() && !self.is_answered {
            self.waited = self.asked.map(|asked| now.saturating_sub(asked));
        }
    }

    fn answered(&mut self, text: &[u8]) {
        let Ok(message) = serde_json::from_slice::<Value>(text) else {
            return;
        };
        self.is_answered |= message.get("method").is_none()
            && message
                .get("id")
                .is_some_and(|id| Some(id) == self.first_id.as_ref());
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
    fn a_first_question_without_an_answer_is_known() {
        let discover = (Speaker::Client, "{\"id\":1,\"method\":\"server/discover\"}");
        let initialize = (Speaker::Client, "{\"id\":2,\"method\":\"initialize\"}");
        let of = |said| (Speaker::Server, said);
        for (said, is_waited) in [
            (vec![discover], false),
            (vec![discover, initialize], true),
            (
                vec![discover, of("{\"id\":1,\"error\":{}}"), initialize],
                false,
            ),
            (
                vec![discover, of("{\"id\":1,\"method\":\"ping\"}"), initialize],
                true,
            ),
            (
                vec![discover, of("{\"id\":null,\"error\":{}}"), initialize],
                true,
            ),
            (
                vec![discover, initialize, of("{\"id\":1,\"result\":{}}")],
                false,
            ),
            // A fresh process is asked again.
            (
                vec![
                    discover,
                    of("{\"id\":1,\"result\":{}}"),
                    discover,
                    initialize,
                ],
                true,
            ),
        ] {
            let wire = Wire::default();
            for (speaker, text) in &said {
                wire.hear(*speaker, text.as_bytes());
            }
            let (method, waited) = wire.first_question();
            assert_eq!(
                (&*method, waited.is_some()),
                ("server/discover", is_waited),
                "{said:?}"
            );
        }
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
