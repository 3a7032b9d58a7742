//! Chooses what to tell of the errors that the full validator finds, for a model to mend its call: where, and of the branches
//! of a choice the one that was meant. `sentence` words each error. Decides nothing.

use std::fmt::Write as _;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use super::sentence::{parent, sentence, type_names, unknown_properties};
use super::words::{MAX_SHOWN, cut, either, one_of, shown, typed};
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
        undecided: false,
    }
}

/// Blames a property without saying more.
pub(super) fn too_large(property: &str) -> Invalid {
    let pointer = pointer_step(property);
    let message = "does not fit the input schema, and is too large to say where".to_owned();
    Invalid {
        violations: vec![Violation {
            pointer: cut(&pointer, MAX_POINTER),
            message,
        }],
        more: false,
        undecided: false,
    }
}

/// A name as one more step of a JSON pointer.
pub(crate) fn pointer_step(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
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

/// Violations told at once; a model mends a handful and calls again.
pub(super) const MAX_VIOLATIONS: usize = 5;

/// Characters kept of a pointer.
pub(crate) const MAX_POINTER: usize = 200;

/// Allowed forms described in one sentence.
const MAX_FORMS: usize = 4;
