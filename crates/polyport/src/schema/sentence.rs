//! Words one error: what was expected, what came instead, and the nearest known name. Does not say where.

use std::fmt::Write as _;

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

use super::nearest::nearest;
use super::words::{MAX_LIST, cut, either, join, one_of, quoted, shown, typed};

/// One error as a sentence without its place.
pub(super) fn sentence(error: &ValidationError<'_>, schema: &Value) -> String {
    use ValidationErrorKind as Kind;

    let got = || shown(error.instance());
    match error.kind() {
        Kind::Type { kind } => format!(
            "expected {}, got {}",
            either(type_names(kind)),
            typed(error.instance())
        ),
        Kind::Required { property } => missing(property, parent(error, schema), schema),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            unknown_properties(unexpected, parent(error, schema))
        }
        Kind::Enum { options } => match options.as_array() {
            Some(options) => format!("expected {}, got {}", one_of(options), got()),
            None => format!("{} is not an allowed value", got()),
        },
        Kind::Constant { expected_value } => {
            format!("expected {}, got {}", shown(expected_value), got())
        }
        Kind::Minimum { limit } => format!("expected at least {limit}, got {}", got()),
        Kind::Maximum { limit } => format!("expected at most {limit}, got {}", got()),
        Kind::ExclusiveMinimum { limit } => format!("expected more than {limit}, got {}", got()),
        Kind::ExclusiveMaximum { limit } => format!("expected less than {limit}, got {}", got()),
        Kind::MultipleOf { multiple_of } => {
            format!("expected a multiple of {multiple_of}, got {}", got())
        }
        Kind::MinLength { limit } => counted("at least", *limit, "character", error.instance()),
        Kind::MaxLength { limit } => counted("at most", *limit, "character", error.instance()),
        Kind::MinItems { limit } => counted("at least", *limit, "item", error.instance()),
        Kind::MaxItems { limit } => counted("at most", *limit, "item", error.instance()),
        Kind::AdditionalItems { limit } => {
            counted("at most", *limit as u64, "item", error.instance())
        }
        Kind::UnevaluatedItems { .. } => "holds items that the schema does not allow".to_owned(),
        Kind::MinProperties { limit } => counted("at least", *limit, "property", error.instance()),
        Kind::MaxProperties { limit } => counted("at most", *limit, "property", error.instance()),
        Kind::Pattern { pattern } => {
            format!(
                "expected a string that matches the pattern {}, got {}",
                cut(pattern, MAX_LIST),
                got()
            )
        }
        Kind::UniqueItems => "expected items that all differ, but two are equal".to_owned(),
        Kind::Contains => {
            "none of the items is of the kind that is required, or too many are".to_owned()
        }
        Kind::PropertyNames { error: inner } => {
            format!("property name: {}", sentence(inner, schema))
        }
        Kind::FalseSchema => "is not allowed here; leave it out".to_owned(),
        Kind::Not { .. } => format!("{} is of a kind that the schema rules out", got()),
        Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } => {
            format!("{} fits none of the allowed forms", got())
        }
        Kind::OneOfMultipleValid { .. } => {
            format!(
                "{} fits more than one of the allowed forms; it has to fit exactly one",
                got()
            )
        }
        _ => cut(&error.masked().to_string(), MAX_LIST),
    }
}

/// The schema whose keyword was broken.
pub(super) fn parent<'s>(error: &ValidationError<'_>, schema: &'s Value) -> Option<&'s Value> {
    schema.pointer(error.schema_path().as_str().rsplit_once('/')?.0)
}

pub(super) fn type_names(kind: &TypeKind) -> Vec<String> {
    match kind {
        TypeKind::Single(name) => vec![name.to_string()],
        TypeKind::Multiple(names) => names.iter().map(|name| name.to_string()).collect(),
    }
}

fn missing(property: &Value, parent: Option<&Value>, schema: &Value) -> String {
    let name = property.as_str().unwrap_or_default();
    let expected = parent
        .and_then(|parent| parent.get("properties")?.get(name))
        .and_then(|property| expectation(property, schema, 0))
        .map_or_else(String::new, |expected| format!(" ({expected})"));
    format!("missing required property {}{expected}", shown(property))
}

/// What a property takes, in a few words; `None` where that is hard to say.
fn expectation(property: &Value, schema: &Value, hops: usize) -> Option<String> {
    if let Some(reference) = property.get("$ref").and_then(Value::as_str) {
        let target = schema
            .pointer(reference.strip_prefix('#')?)
            .filter(|_| hops < MAX_HOPS)?;
        return expectation(target, schema, hops + 1);
    }
    if let Some(options) = property.get("enum").and_then(Value::as_array) {
        return Some(one_of(options));
    }
    if let Some(value) = property.get("const") {
        return Some(shown(value));
    }
    match property.get("type")? {
        Value::String(name) => Some(name.clone()),
        Value::Array(names) => Some(either(
            names
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
        )),
        _ => None,
    }
}

pub(super) fn unknown_properties(unexpected: &[String], parent: Option<&Value>) -> String {
    let known = parent.and_then(|parent| parent.get("properties")?.as_object());
    let known: Vec<&str> = known
        .into_iter()
        .flat_map(|fields| fields.keys())
        .map(String::as_str)
        .collect();
    let mut sentence = String::new();
    let mut all_guessed = true;
    for (nth, name) in unexpected.iter().take(MAX_UNKNOWN).enumerate() {
        let joint = if nth == 0 { "" } else { "; " };
        _ = write!(sentence, "{joint}unknown property {}", quoted(name));
        match nearest(name, &known) {
            Some(guess) => _ = write!(sentence, "; did you mean {}?", quoted(guess)),
            None => all_guessed = false,
        }
    }
    if unexpected.len() > MAX_UNKNOWN {
        _ = write!(sentence, "; and {} more", unexpected.len() - MAX_UNKNOWN);
    }
    let patterns = parent.and_then(|parent| parent.get("patternProperties")?.as_object());
    let patterns = patterns
        .into_iter()
        .flat_map(|fields| fields.keys())
        .map(|it| format!("names that match {it}"));
    let known = join(known.iter().map(|name| quoted(name)).chain(patterns), ", ");
    if known.is_empty() {
        sentence.push_str("; none are taken here");
    } else if !all_guessed {
        _ = write!(sentence, "; known: {known}");
    }
    sentence
}

fn counted(bound: &str, limit: u64, noun: &str, instance: &Value) -> String {
    let got = match instance {
        Value::String(text) => text.chars().count(),
        Value::Array(items) => items.len(),
        Value::Object(fields) => fields.len(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    let plural = match (limit, noun) {
        (1, noun) => noun,
        (_, "property") => "properties",
        (_, "character") => "characters",
        _ => "items",
    };
    format!("expected {bound} {limit} {plural}, got {got}")
}

/// Unknown properties named in one sentence.
const MAX_UNKNOWN: usize = 3;

/// References followed to say what a property takes.
const MAX_HOPS: usize = 8;
