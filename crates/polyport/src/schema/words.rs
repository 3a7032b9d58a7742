//! Puts values, names and lists into a sentence, each within its bound. Knows nothing of schemas.

use std::io;

use serde::Serialize;
use serde_json::Value;

/// `null` last: it is seldom what was meant.
pub(super) fn either(mut names: Vec<String>) -> String {
    names.sort_by_key(|name| name == "null");
    join(names.into_iter(), " or ")
}

pub(super) fn one_of(options: &[Value]) -> String {
    match options {
        [] => "nothing (no value is allowed)".to_owned(),
        [only] => shown(only),
        options => format!("one of {}", join(options.iter().map(shown), ", ")),
    }
}

/// Joins what differs, within [`MAX_LIST`] characters.
pub(super) fn join(parts: impl Iterator<Item = String>, joint: &str) -> String {
    let mut joined = String::new();
    let mut seen = Vec::new();
    for part in parts {
        if seen.contains(&part) {
            continue;
        }
        if joined.len() > MAX_LIST {
            return joined + joint + "…";
        }
        if !joined.is_empty() {
            joined.push_str(joint);
        }
        joined.push_str(&part);
        seen.push(part);
    }
    joined
}

pub(super) fn typed(value: &Value) -> String {
    let name = match value {
        Value::Null => return "null".to_owned(),
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    format!("{name} {}", shown(value))
}

/// A value as JSON, cut to [`MAX_SHOWN`] characters without writing out the rest.
pub(super) fn shown(value: &Value) -> String {
    bounded(value)
}

pub(super) fn quoted(name: &str) -> String {
    bounded(name)
}

fn bounded<T: Serialize + ?Sized>(value: &T) -> String {
    let mut head = Head(Vec::new());
    // Ends early with an error when the head is full, which is all that is wanted.
    _ = serde_json::to_writer(&mut head, value);
    cut(&String::from_utf8_lossy(&head.0), MAX_SHOWN)
}

/// Takes the first bytes, enough for [`MAX_SHOWN`] characters and to see that there are more.
struct Head(Vec<u8>);

impl io::Write for Head {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = 4 * (MAX_SHOWN + 1) - self.0.len();
        let taken = bytes.len().min(room);
        self.0.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Characters shown of a value or a name.
pub(crate) const MAX_SHOWN: usize = 80;

/// Characters shown of a list or a pattern.
pub(super) const MAX_LIST: usize = 300;
