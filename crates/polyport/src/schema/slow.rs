//! The full validator: decides where the subset does not, within bounds on memory. `message` words what it finds.

use std::fmt;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ReferencingError, ValidationError};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::effort::{Effort, Run};
use super::words::{cut, shown};
use super::{Invalid, SchemaError, Violation, message};

/// A schema and its compiled validator.
pub(super) struct Slow {
    validator: jsonschema::Validator,
    effort: Effort,
    /// Whether errors may carry copies of the arguments: one for each branch that was tried, at each depth.
    branches: bool,
}

impl Slow {
    pub(super) fn build(schema: Value) -> Result<Self, SchemaError> {
        let effort = Effort::of(schema);
        let schema = effort.schema();
        let built = jsonschema::options()
            .offline()
            .should_validate_formats(false)
            .with_pattern_options(
                PatternOptions::regex()
                    .size_limit(PATTERN_SIZE)
                    .dfa_size_limit(PATTERN_SIZE),
            )
            .build(schema);
        match built {
            Ok(validator) => Ok(Self {
                validator,
                branches: has_branches(schema),
                effort,
            }),
            Err(error) => Err(schema_error(&error, schema)),
        }
    }

    pub(super) fn check(&self, text: &str) -> Result<(), Invalid> {
        let unread = |error| Invalid::whole(format!("cannot be read as JSON: {error}"));
        if text.len() > MAX_VALUES {
            let Values(count) = serde_json::from_str(text).map_err(unread)?;
            if count > MAX_VALUES {
                let invalid = Invalid::whole(format!(
                    "do not fit the input schema, or hold too many values to tell (more than {MAX_VALUES}); send fewer"
                ));
                return Err(Invalid {
                    undecided: true,
                    ..invalid
                });
            }
        }
        let arguments: Value = serde_json::from_str(text).map_err(unread)?;
        let size = Size::of(&arguments);
        if self.effort.is_involved(size.depth)
            && self.effort.count(&arguments, Run::Verdict) > MAX_STEPS
        {
            let invalid = Invalid::whole(
                "do not fit the input schema, or it takes too long to tell; nest them less deep"
                    .to_owned(),
            );
            return Err(Invalid {
                undecided: true,
                ..invalid
            });
        }
        if self.validator.is_valid(&arguments) {
            return Ok(());
        }
        Err(self.explain(&arguments, size))
    }

    /// Where the text breaks which rules, as pointers into it and into the schema.
    pub(super) fn places(&self, text: &str) -> Vec<(String, String)> {
        let Ok(value) = serde_json::from_str::<Value>(text) else {
            return Vec::new();
        };
        let place = |error: ValidationError<'_>| {
            let cut = |pointer: &str| cut(pointer, message::MAX_POINTER);
            (
                cut(error.instance_path().as_str()),
                cut(error.schema_path().as_str()),
            )
        };
        let steps = self.effort.count(&value, Run::Errors);
        if steps <= MAX_EXPLAINING && self.can_gather(Size::of(&value)) {
            let errors = self.validator.iter_errors(&value);
            return errors.take(message::MAX_VIOLATIONS).map(place).collect();
        }
        if self.branches || steps > MAX_STEPS {
            return Vec::new();
        }
        let first = self.validator.validate(&value).err();
        first.map(place).into_iter().collect()
    }

    /// The validator gathers every error before it hands out the first, so it may only gather where they cannot be many.
    fn explain(&self, arguments: &Value, size: Size) -> Invalid {
        let steps = self.effort.count(arguments, Run::Errors);
        if steps <= MAX_EXPLAINING && self.can_gather(size) {
            return message::invalid(
                self.validator.iter_errors(arguments),
                self.effort.schema(),
                arguments,
            );
        }
        if steps <= MAX_STEPS
            && !self.branches
            && let Err(first) = self.validator.validate(arguments)
        {
            let schema = self.effort.schema();
            let mut invalid = message::invalid(std::iter::once(first), schema, arguments);
            invalid.more = true;
            return invalid;
        }
        self.explain_small_part(arguments)
    }

    /// Looks at the properties that are small enough together; what is wrong is most often among them, beside one large
    /// text or list.
    fn explain_small_part(&self, arguments: &Value) -> Invalid {
        let Some(fields) = arguments.as_object() else {
            return unplaced("are too large");
        };
        let mut size = Size::LEAF;
        let (mut small, mut large) = (Map::new(), Vec::new());
        for (name, value) in fields {
            let joined = size.with(Size::of(value));
            if self.can_gather(joined) {
                size = joined;
                small.insert(name.clone(), value.clone());
            } else {
                large.push(name);
            }
        }
        let small = Value::Object(small);
        if self.effort.count(&small, Run::Errors) > MAX_EXPLAINING {
            return unplaced("nest too deep");
        }
        // Of the object itself, only what does not depend on the properties that were left out.
        let holds = |error: &ValidationError<'_>| match error.kind() {
            _ if !error.instance_path().is_empty() => true,
            ValidationErrorKind::Required { property } => {
                !large.iter().any(|name| *property == **name)
            }
            ValidationErrorKind::AdditionalProperties { .. } => true,
            _ => false,
        };
        let errors: Vec<_> = self
            .validator
            .iter_errors(&small)
            .filter(|error| holds(error))
            .collect();
        if !errors.is_empty() {
            let mut invalid = message::invalid(errors.into_iter(), self.effort.schema(), &small);
            invalid.more = true;
            return invalid;
        }
        match large.as_slice() {
            [name] => message::too_large(name),
            _ => unplaced("are too large"),
        }
    }

    fn can_gather(&self, size: Size) -> bool {
        size.values <= MAX_EXPLAINED
            && (!self.branches || size.bytes.saturating_mul(size.depth) <= MAX_COPIED)
    }
}

/// How much there is of a value.
#[derive(Clone, Copy)]
struct Size {
    values: usize,
    /// Of strings.
    bytes: usize,
    depth: usize,
}

impl Size {
    const LEAF: Self = Self {
        values: 1,
        bytes: 0,
        depth: 1,
    };

    fn of(value: &Value) -> Self {
        match value {
            Value::Array(items) => items.iter().map(Self::of).fold(Self::LEAF, Self::with),
            Value::Object(fields) => fields.iter().fold(Self::LEAF, |size, (name, value)| {
                let size = size.with(Self::of(value));
                Self {
                    bytes: size.bytes + name.len(),
                    ..size
                }
            }),
            Value::String(text) => Self {
                bytes: text.len(),
                ..Self::LEAF
            },
            Value::Null | Value::Bool(_) | Value::Number(_) => Self::LEAF,
        }
    }

    /// The size of a container with one more value in it.
    fn with(self, inner: Self) -> Self {
        Self {
            values: self.values + inner.values,
            bytes: self.bytes + inner.bytes,
            depth: self.depth.max(inner.depth + 1),
        }
    }
}

/// How many values a text holds, read without keeping any.
struct Values(usize);

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CountVisitor).map(Self)
    }
}

struct CountVisitor;

impl<'de> Visitor<'de> for CountVisitor {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<usize, E> {
        Ok(1)
    }

    fn visit_bool<E>(self, _: bool) -> Result<usize, E> {
        Ok(1)
    }

    fn visit_i64<E>(self, _: i64) -> Result<usize, E> {
        Ok(1)
    }

    fn visit_u64<E>(self, _: u64) -> Result<usize, E> {
        Ok(1)
    }

    fn visit_f64<E>(self, _: f64) -> Result<usize, E> {
        Ok(1)
    }

    fn visit_str<E>(self, _: &str) -> Result<usize, E> {
        Ok(1)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<usize, A::Error> {
        let mut count = 1;
        while let Some(Values(inner)) = access.next_element()? {
            count += inner;
        }
        Ok(count)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<usize, A::Error> {
        let mut count = 1;
        while let Some((IgnoredAny, Values(inner))) = access.next_entry()? {
            count += inner;
        }
        Ok(count)
    }
}

/// Refuses without a place.
fn unplaced(why: &str) -> Invalid {
    Invalid::whole(format!(
        "do not fit the input schema, and {why} to say where"
    ))
}

fn has_branches(schema: &Value) -> bool {
    match schema {
        Value::Array(items) => items.iter().any(has_branches),
        Value::Object(keywords) => keywords.iter().any(|(keyword, value)| {
            matches!(keyword.as_str(), "anyOf" | "oneOf") || has_branches(value)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn schema_error(error: &ValidationError<'_>, schema: &Value) -> SchemaError {
    let at = error.instance_path().as_str();
    match error.kind() {
        ValidationErrorKind::Referencing(error) => reference_error(error, schema),
        ValidationErrorKind::Format { format } if format == "regex" => SchemaError::new(
            at,
            format!(
                "{} is not a regular expression that can be run here: look-around, back-references and very large \
                 patterns are not supported",
                shown(error.instance())
            ),
        ),
        _ => {
            let Violation { pointer, message } = message::of_schema(error);
            SchemaError::new(&pointer, message)
        }
    }
}

fn reference_error(error: &ReferencingError, schema: &Value) -> SchemaError {
    let (target, fault) = match error {
        ReferencingError::Unretrievable { uri, .. } => (
            uri.as_str(),
            "leads outside this schema, and nothing is ever fetched; move the target into $defs",
        ),
        ReferencingError::PointerToNowhere { pointer } => {
            (pointer.as_str(), "leads to nothing in this schema")
        }
        ReferencingError::NoSuchAnchor { anchor } | ReferencingError::InvalidAnchor { anchor } => (
            anchor.as_str(),
            "names an anchor that this schema does not have",
        ),
        ReferencingError::UnknownSpecification { specification } => {
            let message = format!(
                "unknown dialect {specification:?}; use https://json-schema.org/draft/2020-12/schema"
            );
            return SchemaError::new("/$schema", message);
        }
        other => return SchemaError::new("", other.to_string()),
    };
    let mut found = None;
    find_reference(schema, target, &mut String::new(), &mut found);
    let (pointer, reference) = found.unwrap_or_else(|| (String::new(), target.to_owned()));
    SchemaError::new(&pointer, format!("{reference:?} {fault}"))
}

/// Finds the first reference to `target`, which the resolver may have made absolute or cut to its fragment.
fn find_reference(
    schema: &Value,
    target: &str,
    at: &mut String,
    found: &mut Option<(String, String)>,
) {
    let length = at.len();
    match schema {
        Value::Object(keywords) => {
            for (keyword, value) in keywords {
                at.push('/');
                at.push_str(&keyword.replace('~', "~0").replace('/', "~1"));
                match value {
                    Value::String(reference)
                        if found.is_none()
                            && matches!(
                                keyword.as_str(),
                                "$ref" | "$dynamicRef" | "$recursiveRef"
                            )
                            && (reference.contains(target)
                                || target.contains(reference.as_str())) =>
                    {
                        *found = Some((at.clone(), reference.clone()));
                    }
                    _ => find_reference(value, target, at, found),
                }
                at.truncate(length);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                at.push_str(&format!("/{index}"));
                find_reference(item, target, at, found);
                at.truncate(length);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A parsed value takes 72 bytes where the text may take two, and a key another 100, so this bounds the parsed copy to
/// about 40 MiB beside the text of its strings.
const MAX_VALUES: usize = 200_000;

/// Parts of a schema that are held against parts of the arguments in one check: about a second.
const MAX_STEPS: usize = 4_000_000;

/// Such steps where every error is gathered.
const MAX_EXPLAINING: usize = 20_000;

/// Values among which every error is gathered; an error takes some 400 bytes, and one value may lack many properties.
const MAX_EXPLAINED: usize = 2_000;

/// Bytes of arguments that errors of `anyOf` and `oneOf` may copy.
const MAX_COPIED: usize = 64 << 20;

/// Compiled size of one `pattern`, in bytes.
const PATTERN_SIZE: usize = 1 << 20;
