//! What is made of strangers' words on a command line and on a terminal, for the checks of `fuzz`. Nobody else may count on it.

use polyport::model::Object;
use serde_json::Value;

use crate::{arguments, ui};

/// Words as arguments of a tool with this schema.
///
/// # Errors
/// What is wrong with them.
pub fn parse(words: &[String], schema: &Value) -> Result<Object, String> {
    arguments::parse(words, schema).map_err(|failure| failure.message().to_owned())
}

/// What a schema requires and is not given.
pub fn missing(given: &Object, schema: &Value) -> Vec<String> {
    arguments::missing(given, schema)
}

/// A text in which nothing moves a cursor.
pub fn harmless(text: &str) -> String {
    ui::harmless(text).into_owned()
}

/// A text in which what cannot be seen is written out.
pub fn visible(text: &str) -> String {
    ui::visible(text)
}

/// A text as one word of a shell.
pub fn word(text: &str) -> String {
    ui::word(text)
}
