//! The secrets that this process has handed to servers: they may say them again, and what they say stands in terminals and logs.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use polyport_config::{MASK, is_secret_name, mask};

/// A shorter secret would be found in every other word.
const SHORTEST: usize = 4;
/// A value as long as this with letters and digits is not to be guessed, whatever its name.
const UNGUESSABLE: usize = 20;

static GIVEN: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// Names of headers that say who asks.
static HEADERS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// A variable that a server gets. Is it a secret, so is it from now on.
pub(crate) fn variable(name: &str, value: &str) {
    let has = |test: fn(&char) -> bool| value.chars().any(|c| test(&c));
    let is_unguessable = value.len() >= UNGUESSABLE
        && has(char::is_ascii_digit)
        && has(char::is_ascii_alphabetic)
        && !has(|c| c.is_whitespace() || matches!(c, '/' | '\\'));
    if is_unguessable || mask::value(name, value) != value {
        keep(value);
    }
}

/// A header that a server gets.
pub(crate) fn header(name: &str, value: &str) {
    if is_credential(name) {
        let mut headers = HEADERS.lock().unwrap_or_else(PoisonError::into_inner);
        headers.push(name.to_owned());
    }
    if mask::header(name, value) != value {
        keep(value);
        // Of `Bearer x` what matters.
        if let Some((_, token)) = value.split_once(' ') {
            keep(token);
        }
    }
}

/// Does a header of this name say who asks?
pub(crate) fn is_credential(name: &str) -> bool {
    is_secret_name(name)
}

/// The names of the headers that say who asks.
pub(crate) fn headers() -> Vec<String> {
    let headers = HEADERS.lock().unwrap_or_else(PoisonError::into_inner);
    headers.clone()
}

/// A value that comes from where secrets come from.
pub(crate) fn keep(value: &str) {
    let value = value.trim();
    if value.len() < SHORTEST {
        return;
    }
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    if !given.iter().any(|known| known == value) {
        given.push(value.to_owned());
        // Of two of which one is a part of the other, the whole goes first.
        given.sort_by_key(|value| std::cmp::Reverse(value.len()));
    }
}

/// A text in which none of them stands.
pub(crate) fn hidden(text: &str) -> Cow<'_, str> {
    let given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut text = Cow::Borrowed(text);
    for value in given.iter() {
        if text.contains(value.as_str()) {
            text = Cow::Owned(text.replace(value.as_str(), MASK));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: S-SECRETS
    #[test]
    fn what_was_given_is_not_said_again() {
        for (name, value) in [
            ("API_TOKEN", "hunter2"),
            ("API_TOKEN_LONG", "hunter2-and-more"),
            ("OPAQUE", "0123456789abcdefghij"),
            ("DATABASE", "postgres://u:p4ss@h/db"),
            ("LEVEL", "debug"),
            ("FOLDER", "/home/ada/0123456789abcdefghij"),
            ("PIN", "12"),
        ] {
            variable(name, value);
        }
        header("Authorization", "Bearer opensesame");
        header("Accept", "text/plain");
        for (said, want) in [
            ("bad token hunter2", "bad token ****"),
            ("hunter2-and-more!", "****!"),
            ("0123456789abcdefghij", "****"),
            ("cannot reach postgres://u:p4ss@h/db", "cannot reach ****"),
            ("opensesame is no key", "**** is no key"),
            ("level debug, text/plain, 12", "level debug, text/plain, 12"),
        ] {
            assert_eq!(hidden(said), want);
        }
    }
}
