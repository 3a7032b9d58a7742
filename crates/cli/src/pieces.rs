//! JSON that is put together from pieces, each as it was written: no number is rounded on the way. What the pieces mean is not known here.

use std::collections::BTreeMap;

use polyport::Raw;
use polyport::model::Object;
use polyport::serde::ser::{Serialize, Serializer};
use serde_json::Value;

/// A value that grows.
#[derive(Debug)]
pub(crate) enum Piece {
    Written(Raw),
    Members(BTreeMap<String, Self>),
    Elements(Vec<Self>),
}

impl Piece {
    /// Its members, once it has grown. None: it is something else.
    pub(crate) fn members(self) -> Option<Object> {
        let Self::Members(members) = self else {
            return None;
        };
        let written = |(name, piece): (String, Self)| Some((name, Raw::encode(&piece).ok()?));
        members.into_iter().map(written).collect()
    }

    /// The member of that name, so far.
    pub(crate) fn member(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Members(members) => members.get(name),
            _ => None,
        }
    }

    /// Its members that are values already, so far.
    pub(crate) fn written(&self) -> impl Iterator<Item = (&str, &Raw)> {
        let members = match self {
            Self::Members(members) => Some(members),
            _ => None,
        };
        let members = members.into_iter().flatten();
        members.filter_map(|(name, piece)| match piece {
            Self::Written(raw) => Some((name.as_str(), raw)),
            _ => None,
        })
    }

    /// The names of its members, so far.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let members = match self {
            Self::Members(members) => Some(members),
            _ => None,
        };
        members.into_iter().flatten().map(|(name, _)| name.as_str())
    }

    /// How many elements it has so far.
    pub(crate) fn elements(&self) -> usize {
        match self {
            Self::Elements(elements) => elements.len(),
            _ => 0,
        }
    }
}

impl Serialize for Piece {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Written(raw) => raw.serialize(serializer),
            Self::Members(members) => serializer.collect_map(members),
            Self::Elements(elements) => serializer.collect_seq(elements),
        }
    }
}

/// A text as JSON.
///
/// # Errors
/// It is none.
pub(crate) fn json(text: &str) -> Result<Raw, serde_json::Error> {
    serde_json::from_str(text)
}

/// A text of ours as JSON.
pub(crate) fn string(text: &str) -> Raw {
    value(&Value::from(text))
}

/// A value of ours as JSON.
pub(crate) fn value(value: &Value) -> Raw {
    Raw::trusted(value.to_string())
}

/// The type that a schema has for a value; of a number, whether it has no fraction: `1.0` and `1e2` have none.
pub(crate) fn kind(raw: &Raw) -> &'static str {
    match raw.as_bytes().first() {
        Some(b'n') => "null",
        Some(b't' | b'f') => "boolean",
        Some(b'"') => "string",
        Some(b'[') => "array",
        Some(b'{') => "object",
        _ if is_whole(raw.as_str()) => "integer",
        _ => "number",
    }
}

/// Has a number of JSON no fraction? Its text decides: it may be longer than any type of numbers.
fn is_whole(number: &str) -> bool {
    let (digits, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let whole = whole.trim_start_matches('-');
    let significant = fraction.trim_end_matches('0');
    let zeros = match significant {
        "" => whole.len() - whole.trim_end_matches('0').len(),
        _ => 0,
    };
    if significant.is_empty() && zeros == whole.len() {
        return true;
    }
    let limit = i64::MAX / 2;
    let is_down = exponent.starts_with('-');
    let exponent: i64 = exponent
        .parse()
        .unwrap_or(if is_down { -limit } else { limit });
    let length = |digits: usize| i64::try_from(digits).unwrap_or(limit);
    exponent.saturating_add(length(zeros)) >= length(significant.len())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    // req: S-EXACT
    #[test]
    fn a_number_without_a_fraction_is_whole_however_it_is_written() {
        for (text, want) in [
            ("0", true),
            ("-0", true),
            ("0.0", true),
            ("0e-5", true),
            ("0.0e-99999999999999999999", true),
            ("7", true),
            ("-7", true),
            ("1.0", true),
            ("1e2", true),
            ("1E+2", true),
            ("1.50e1", true),
            ("1.5e1", true),
            ("100e-2", true),
            ("1200e-2", true),
            ("123456789012345678901234567890", true),
            ("1e99999999999999999999", true),
            ("1.5", false),
            ("-0.1", false),
            ("1e-1", false),
            ("100e-3", false),
            ("1.25e1", false),
            ("100.5e-2", false),
            ("1e-99999999999999999999", false),
            ("9007199254740993.5", false),
        ] {
            let want = if want { "integer" } else { "number" };
            assert_eq!(kind(&json(text).unwrap()), want, "{text}");
        }
    }
}
