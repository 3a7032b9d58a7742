//! Words what the full validator finds, for a model to mend its call: the field, what was expected, what came, and the
//! nearest known name. Decides nothing.

use std::fmt::Write as _;
use std::io;

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde::Serialize;
use serde_json::Value;

use super::nearest::nearest;
use super::{Invalid, Violation};

/// Words the first errors, at most five violations.
pub(super) fn invalid<'i>(
    errors: impl Iterator<Item = ValidationError<'i>>,
    schema: &Value,
    arguments: &Value,
) -> Invalid {
    let mut found = Found {
        schema,
        arguments,
        violations: Vec::new(),
        more: false,
    };
    for error in errors {
        found.add(&error);
        if found.more {
            break;
        }
    }
    if found.violations.is_empty() {
        return Invalid::whole("do not fit the input schema".to_owned());
    }
    Invalid {
        violations: found.violations,
        more: found.more,
    }
}

/// Words an error in a schema, found against the rules for schemas.
pub(super) fn of_schema(error: &ValidationError<'_>) -> Violation {
    let mut found = Found {
        schema: &Value::Null,
        arguments: &Value::Null,
        violations: Vec::new(),
        more: false,
    };
    found.add(error);
    let whole = || Violation {
        pointer: String::new(),
        message: error.to_string(),
    };
    found.violations.into_iter().next().unwrap_or_else(whole)
}

struct Found<'s> {
    schema: &'s Value,
    arguments: &'s Value,
    violations: Vec<Violation>,
    more: bool,
}

impl Found<'_> {
    fn add(&mut self, error: &ValidationError<'_>) {
        match error.kind() {
            ValidationErrorKind::AnyOf { context }
            | ValidationErrorKind::OneOfNotValid { context } => {
                self.add_branches(error, context);
            }
            _ => self.push(error, self.sentence(error)),
        }
    }

    fn sentence(&self, error: &ValidationError<'_>) -> String {
        let path = error.schema_path().as_str();
        if matches!(error.kind(), ValidationErrorKind::FalseSchema)
            && path.ends_with("/additionalProperties")
        {
            // Without known properties the validator does not say which one it met.
            let object = self
                .arguments
                .pointer(error.instance_path().as_str())
                .and_then(Value::as_object);
            let names: Vec<String> = object
                .into_iter()
                .flat_map(|fields| fields.keys())
                .cloned()
                .collect();
            return unknown_properties(&names, parent(error, self.schema));
        }
        sentence(error, self.schema)
    }

    /// No branch fits. Says what keeps the arguments out of the branch that they were meant for, where that can be told.
    fn add_branches(&mut self, error: &ValidationError<'_>, branches: &[Branch]) {
        let here = error.instance_path();
        let is_type = |inner: &&ValidationError<'_>| {
            inner.instance_path() == here && type_error(inner).is_some()
        };
        let of_type: Vec<&Branch> = branches
            .iter()
            .filter(|branch| !branch.iter().any(|inner| is_type(&inner)))
            .collect();
        if of_type.is_empty() {
            let types = branches
                .iter()
                .filter_map(|branch| branch.iter().find(is_type))
                .filter_map(type_error);
            let expected = either(types.flatten().collect());
            return self.push(
                error,
                format!("expected {expected}, got {}", typed(error.instance())),
            );
        }
        let is_name =
            |inner: &ValidationError<'_>| inner.instance_path() == here && is_about_names(inner);
        if let [only] = of_type[..] {
            only.iter().for_each(|inner| self.add(inner));
        } else if let Some(only) = only_without(&of_type, is_tag) {
            only.iter().for_each(|inner| self.add(inner));
        } else if let Some((tag, values)) = common_tag(&of_type) {
            self.push(
                tag,
                format!(
                    "expected {}, got {}",
                    one_of(&values),
                    shown(tag.instance())
                ),
            );
        } else if let Some(only) = only_without(&of_type, is_name) {
            only.iter().for_each(|inner| self.add(inner));
        } else {
            let forms = self.forms(error, &of_type);
            self.push(error, forms);
        }
    }

    fn forms(&self, error: &ValidationError<'_>, branches: &[&Branch]) -> String {
        let mut sentence = format!("fits none of the {} allowed forms", branches.len());
        for (nth, fault) in branches
            .iter()
            .take(MAX_FORMS)
            .filter_map(|branch| branch.first())
            .enumerate()
        {
            let joint = if nth == 0 { ": " } else { "; or " };
            let place = fault
                .instance_path()
                .as_str()
                .strip_prefix(error.instance_path().as_str())
                .unwrap_or_default();
            let place = if place.is_empty() {
                String::new()
            } else {
                format!("{} ", cut(place, MAX_SHOWN))
            };
            _ = write!(sentence, "{joint}{place}{}", self.sentence(fault));
        }
        sentence
    }

    fn push(&mut self, error: &ValidationError<'_>, message: String) {
        let violation = Violation {
            pointer: cut(error.instance_path().as_str(), MAX_POINTER),
            message,
        };
        if self.violations.contains(&violation) {
            return;
        }
        if self.violations.len() == MAX_VIOLATIONS {
            self.more = true;
        } else {
            self.violations.push(violation);
        }
    }
}

type Branch = Vec<ValidationError<'static>>;

fn type_error(error: &ValidationError<'_>) -> Option<Vec<String>> {
    match error.kind() {
        ValidationErrorKind::Type { kind } => Some(type_names(kind)),
        _ => None,
    }
}

/// The branch without such an error, if it is the only one: most likely the one that was meant.
fn only_without<'e>(
    branches: &[&'e Branch],
    is_such: impl Fn(&ValidationError<'_>) -> bool,
) -> Option<&'e Branch> {
    let mut without = branches
        .iter()
        .copied()
        .filter(|branch| !branch.iter().any(&is_such));
    without.next().filter(|_| without.next().is_none())
}

fn is_about_names(error: &ValidationError<'_>) -> bool {
    use ValidationErrorKind as Kind;
    matches!(
        error.kind(),
        Kind::Required { .. }
            | Kind::AdditionalProperties { .. }
            | Kind::UnevaluatedProperties { .. }
            | Kind::FalseSchema
    )
}

fn is_tag(error: &ValidationError<'_>) -> bool {
    matches!(
        error.kind(),
        ValidationErrorKind::Constant { .. } | ValidationErrorKind::Enum { .. }
    )
}

/// The place at which every branch wants a fixed value, and the values.
fn common_tag<'e>(branches: &[&'e Branch]) -> Option<(&'e ValidationError<'static>, Vec<Value>)> {
    let first = branches.first()?;
    first.iter().filter(|error| is_tag(error)).find_map(|tag| {
        let mut values = Vec::new();
        for branch in branches {
            let here = |error: &&ValidationError<'_>| {
                is_tag(error) && error.instance_path() == tag.instance_path()
            };
            match branch.iter().find(here)?.kind() {
                ValidationErrorKind::Constant { expected_value } => {
                    values.push((**expected_value).clone())
                }
                ValidationErrorKind::Enum { options } => {
                    values.extend(options.as_array()?.iter().cloned())
                }
                _ => return None,
            }
        }
        Some((tag, values))
    })
}

/// One error as a sentence without its place.
fn sentence(error: &ValidationError<'_>, schema: &Value) -> String {
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
fn parent<'s>(error: &ValidationError<'_>, schema: &'s Value) -> Option<&'s Value> {
    schema.pointer(error.schema_path().as_str().rsplit_once('/')?.0)
}

fn type_names(kind: &TypeKind) -> Vec<String> {
    match kind {
        TypeKind::Single(name) => vec![name.to_string()],
        TypeKind::Multiple(names) => names.iter().map(|name| name.to_string()).collect(),
    }
}

/// `null` last: it is seldom what was meant.
fn either(mut names: Vec<String>) -> String {
    names.sort_by_key(|name| name == "null");
    join(names.into_iter(), " or ")
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

fn unknown_properties(unexpected: &[String], parent: Option<&Value>) -> String {
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

fn one_of(options: &[Value]) -> String {
    match options {
        [] => "nothing (no value is allowed)".to_owned(),
        [only] => shown(only),
        options => format!("one of {}", join(options.iter().map(shown), ", ")),
    }
}

/// Joins what differs, within [`MAX_LIST`] characters.
fn join(parts: impl Iterator<Item = String>, joint: &str) -> String {
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

fn typed(value: &Value) -> String {
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

fn quoted(name: &str) -> String {
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

fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Violations told at once; a model mends a handful and calls again.
const MAX_VIOLATIONS: usize = 5;
/// Characters shown of a value or a name.
const MAX_SHOWN: usize = 80;
/// Characters shown of a list, a pattern or a sentence of the validator's own.
const MAX_LIST: usize = 300;
/// Characters kept of a pointer.
const MAX_POINTER: usize = 200;
/// Unknown properties named in one sentence.
const MAX_UNKNOWN: usize = 3;
/// Allowed forms described in one sentence.
const MAX_FORMS: usize = 4;
/// References followed to say what a property takes.
const MAX_HOPS: usize = 8;
