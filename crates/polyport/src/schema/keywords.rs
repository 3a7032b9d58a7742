//! Reads single keywords of a schema for `compile`, strictly: `None` for whatever the dialects do not allow, or `fast` does
//! not know. Knows nothing of programs.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::fast::{Bound, Count, Num, Scalar, Types};

pub(super) fn is_annotation(keyword: &str, value: &Value) -> bool {
    match keyword {
        "title" | "description" | "$comment" | "format" => value.is_string(),
        "default" => true,
        "examples" => value.is_array(),
        "readOnly" | "writeOnly" | "deprecated" => value.is_boolean(),
        _ => keyword.starts_with("x-"),
    }
}

/// Whether `#/keyword/name` is a reference that needs no decoding.
pub(super) fn is_referable(keyword: &str, name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    matches!(keyword, "$defs" | "definitions") && !name.is_empty() && name.bytes().all(plain)
}

pub(super) fn is_null_schema(schema: &Value) -> bool {
    let Some(keywords) = schema.as_object() else {
        return false;
    };
    keywords.get("type").is_some_and(|name| name == "null")
        && keywords
            .iter()
            .all(|(keyword, value)| keyword == "type" || is_annotation(keyword, value))
}

pub(super) fn types(value: &Value) -> Option<Types> {
    let names = match value {
        Value::Array(names) if !names.is_empty() => names.as_slice(),
        Value::String(_) => std::slice::from_ref(value),
        _ => return None,
    };
    let mut types = Types::NONE;
    for (nth, name) in names.iter().enumerate() {
        if names[..nth].contains(name) {
            return None;
        }
        types = types.with(match name.as_str()? {
            "null" => Types::NULL,
            "boolean" => Types::BOOLEAN,
            "integer" => Types::INTEGER,
            "number" => Types::INTEGER.with(Types::FRACTION),
            "string" => Types::STRING,
            "array" => Types::ARRAY,
            "object" => Types::OBJECT,
            _ => return None,
        });
    }
    Some(types)
}

/// The values of `enum` or `const`; the inner `None` stands for neither.
pub(super) fn options(keywords: &Map<String, Value>) -> Option<Option<Box<[Scalar]>>> {
    match (keywords.get("enum"), keywords.get("const")) {
        (None, None) => Some(None),
        (Some(values), None) => Some(Some(
            values
                .as_array()?
                .iter()
                .map(scalar)
                .collect::<Option<_>>()?,
        )),
        (None, Some(value)) => Some(Some([scalar(value)?].into())),
        (Some(_), Some(_)) => None,
    }
}

fn scalar(value: &Value) -> Option<Scalar> {
    match value {
        Value::Null => Some(Scalar::Null),
        Value::Bool(value) => Some(Scalar::Bool(*value)),
        Value::Number(value) => Num::of(value).map(Scalar::Number),
        Value::String(value) => Some(Scalar::String(value.as_str().into())),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// Joins branches that list nothing but values, as enums with a description for each variant do.
pub(super) fn scalar_branches(branches: &[Value], exclusive: bool) -> Option<Box<[Scalar]>> {
    let mut all = Vec::new();
    for branch in branches {
        let keywords = branch.as_object()?;
        let plain = |(keyword, value): (&String, &Value)| {
            matches!(keyword.as_str(), "type" | "enum" | "const") || is_annotation(keyword, value)
        };
        if !keywords.iter().all(plain) {
            return None;
        }
        let of_type = keywords.get("type").map_or(Some(Types::ALL), types)?;
        let options =
            options(keywords)?.or_else(|| is_null_schema(branch).then(|| [Scalar::Null].into()))?;
        for option in options {
            if !of_type.holds(type_of(&option))
                || (exclusive && all.contains(&option))
                || all.len() == MAX_OPTIONS
            {
                return None;
            }
            all.push(option);
        }
    }
    (!all.is_empty()).then(|| all.into())
}

fn type_of(scalar: &Scalar) -> Types {
    match scalar {
        Scalar::Null => Types::NULL,
        Scalar::Bool(_) => Types::BOOLEAN,
        Scalar::Number(Num::Float(value)) if value.fract() != 0.0 => Types::FRACTION,
        Scalar::Number(_) => Types::INTEGER,
        Scalar::String(_) => Types::STRING,
    }
}

pub(super) fn bounds(keywords: &Map<String, Value>) -> Option<Box<[Bound]>> {
    let rules = [
        ("minimum", Ordering::Greater, true),
        ("exclusiveMinimum", Ordering::Greater, false),
        ("maximum", Ordering::Less, true),
        ("exclusiveMaximum", Ordering::Less, false),
    ];
    let mut bounds = Vec::new();
    for (keyword, side, inclusive) in rules {
        if let Some(limit) = keywords.get(keyword) {
            bounds.push(Bound {
                side,
                inclusive,
                limit: Num::of(limit.as_number()?)?,
            });
        }
    }
    Some(bounds.into())
}

pub(super) fn count(keywords: &Map<String, Value>, min: &str, max: &str) -> Option<Count> {
    let read = |keyword: &str, default| keywords.get(keyword).map_or(Some(default), Value::as_u64);
    Some(Count {
        min: read(min, Count::ANY.min)?,
        max: read(max, Count::ANY.max)?,
    })
}

/// Bounds the quadratic search for a value listed twice.
const MAX_OPTIONS: usize = 256;
