//! Checks of tool arguments against JSON Schema, and the schemas made from Rust types. Owns the verdict and its
//! wording; does not own decoding the arguments into a Rust type, nor the answer that carries a refusal.
//!
//! Two checkers share the work. `fast` runs a compiled subset over the raw text, without building a value, and may
//! only accept. Whatever it refuses or does not know goes to `slow`, the full validator, which decides and words
//! the error. The full validator is built on first need where the subset covers the whole schema, since building
//! it up front doubles start-up time and idle memory; where it does not, at construction.

mod compile;
mod effort;
mod fast;
mod keywords;
pub(crate) mod lazy;
mod message;
pub(crate) mod mirrored;
mod nearest;
mod reference;
mod sentence;
mod slow;
#[cfg(test)]
mod tests;
mod tool;
mod words;

use std::fmt::{self, Write as _};
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use fast::Program;
pub(crate) use message::{MAX_POINTER, pointer_step};
pub use nearest::nearest;
pub use reference::{pointed, referred};
use slow::Slow;
pub use tool::{close, output_schema, tool_schema};
pub(crate) use words::{MAX_SHOWN, cut};

/// A JSON Schema, ready to check arguments. Cloning shares it.
///
/// The dialect is what `$schema` says, 2020-12 where it says nothing. `format` is an annotation. References are followed
/// inside the schema only; nothing is ever fetched. `pattern` runs on a linear-time engine, so look-around and
/// back-references are refused at construction.
///
/// ```
/// # use polyport::schema::Validator;
/// let schema = serde_json::json!({
///     "type": "object",
///     "properties": { "path": { "type": "string" } },
///     "required": ["path"],
///     "additionalProperties": false,
/// });
/// let validator = Validator::new(&schema)?;
/// assert!(validator.check(r#"{"path": "notes.txt"}"#).is_ok());
///
/// let refused = validator.check(r#"{"pat": 1}"#).unwrap_err();
/// assert!(refused.to_string().contains(r#"unknown property "pat"; did you mean "path"?"#));
/// # Ok::<(), polyport::schema::SchemaError>(())
/// ```
#[derive(Clone)]
pub struct Validator(Arc<Inner>);

struct Inner {
    /// Absent where the root itself is outside the subset.
    fast: Option<Program>,
    /// The schema as text, which takes a fraction of the room of a parsed value while the full validator is not needed.
    text: Box<str>,
    slow: OnceLock<Result<Slow, SchemaError>>,
}

impl Validator {
    /// Compiles a schema.
    ///
    /// # Errors
    ///
    /// When the root is neither an object nor a boolean, when the schema breaks the rules of its dialect, when it nests
    /// deeper than 100 levels or holds more than 5,000 objects, and when a reference leads outside the schema or nowhere.
    pub fn new(schema: &Value) -> Result<Self, SchemaError> {
        if !matches!(schema, Value::Object(_) | Value::Bool(_)) {
            return Err(SchemaError::new(
                "",
                "a schema is a JSON object or a boolean".into(),
            ));
        }
        if depth(schema) > MAX_SCHEMA_DEPTH {
            return Err(SchemaError::new(
                "",
                format!("nests deeper than {MAX_SCHEMA_DEPTH} levels"),
            ));
        }
        if parts(schema) > MAX_SCHEMA_PARTS {
            return Err(SchemaError::new(
                "",
                format!("has more than {MAX_SCHEMA_PARTS} parts"),
            ));
        }
        let compiled = compile::compile(schema);
        let slow = OnceLock::new();
        if !compiled.covers {
            let built = Slow::build(schema.clone())?;
            slow.get_or_init(|| Ok(built));
        }
        Ok(Self(Arc::new(Inner {
            fast: compiled.program,
            text: schema.to_string().into(),
            slow,
        })))
    }

    /// Checks arguments, given as JSON text.
    ///
    /// # Errors
    ///
    /// When the text is not JSON, or does not fit the schema. Text with more than 200,000 values fits only a schema that
    /// the subset understands: the full validator needs a parsed copy, many times the size of the text. Nor does text for which
    /// that validator would need more than 4,000,000 steps, or very much stack, as where definitions double at each level.
    pub fn check(&self, json_text: &str) -> Result<(), Invalid> {
        if self
            .0
            .fast
            .as_ref()
            .is_some_and(|program| program.accepts(json_text))
        {
            return Ok(());
        }
        match self.0.slow() {
            Ok(slow) => slow.check(json_text),
            Err(error) => Err(Invalid::whole(format!(
                "the tool's own input schema does not compile ({error})"
            ))),
        }
    }

    /// Where a text that was refused breaks which rules, as pointers into it and into the schema: at most five, and no value.
    pub(crate) fn places(&self, json_text: &str) -> Vec<(String, String)> {
        let slow = self.0.slow();
        slow.map_or_else(|_| Vec::new(), |slow| slow.places(json_text))
    }
}

/// Are the arguments that an input schema marks with `x-mcp-header` marked so that a client can mirror them? One that is not makes its
/// tool unusable over HTTP (2026-07-28, basic/transports/streamable-http, Custom Headers).
///
/// # Errors
/// What is wrong with the first such mark.
pub fn check_marks(input_schema: &Value) -> Result<(), String> {
    mirrored::header_params(input_schema).map(drop)
}

impl fmt::Debug for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Validator")
            .field("schema", &self.0.text)
            .field("fast", &self.0.fast.is_some())
            .field("slow", &self.0.slow.get().is_some())
            .finish()
    }
}

impl Inner {
    fn slow(&self) -> Result<&Slow, &SchemaError> {
        let build = || {
            let schema = serde_json::from_str(&self.text);
            Slow::build(schema.map_err(|error| SchemaError::new("", error.to_string()))?)
        };
        self.slow.get_or_init(build).as_ref()
    }
}

/// Arguments that do not fit their schema. The text of it is made for a model to mend its call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Invalid {
    /// What is wrong, at most five entries, never empty.
    pub violations: Vec<Violation>,
    /// Whether more was wrong than `violations` says.
    pub more: bool,
    /// Whether it is not known that anything is wrong: there are too many values to tell, or too many ways.
    pub undecided: bool,
}

impl Invalid {
    fn whole(message: String) -> Self {
        Self {
            violations: vec![Violation {
                pointer: String::new(),
                message,
            }],
            more: false,
            undecided: false,
        }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, violation) in self.violations.iter().enumerate() {
            let line = if nth == 0 { "" } else { "\n" };
            write!(f, "{line}{violation}")?;
        }
        if self.more {
            f.write_str("\nand more, told once these are mended")?;
        }
        Ok(())
    }
}

impl std::error::Error for Invalid {}

/// One thing wrong with the arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// Where, as a JSON pointer into the arguments; empty for the arguments as a whole. Cut, with `…`, past 200 characters.
    pub pointer: String,
    /// What was expected there, and what came instead. Shows at most 80 characters of a value.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "arguments{}: {}", OneLine(&self.pointer), self.message)
    }
}

/// A schema that cannot be used. Its author has to mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    pointer: String,
    message: String,
}

impl SchemaError {
    fn new(pointer: &str, message: String) -> Self {
        Self {
            pointer: pointer.to_owned(),
            message,
        }
    }

    /// Where in the schema, as a JSON pointer; empty for the schema as a whole.
    #[must_use]
    pub fn pointer(&self) -> &str {
        &self.pointer
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "schema at #{}: {}", OneLine(&self.pointer), self.message)
    }
}

impl std::error::Error for SchemaError {}

/// Text whose control characters are escaped.
struct OneLine<'t>(&'t str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| {
            if c.is_control() {
                write!(f, "{}", c.escape_debug())
            } else {
                f.write_char(c)
            }
        })
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// Objects in a schema, which are at least as many as its parts.
fn parts(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(parts).sum(),
        Value::Object(fields) => 1 + fields.values().map(parts).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// A tool's schema is for a model to read, and has tens of parts.
const MAX_SCHEMA_PARTS: usize = 5_000;

/// Below the 128 levels that the JSON parser takes, so that the text of a schema can always be read back.
const MAX_SCHEMA_DEPTH: usize = 100;
