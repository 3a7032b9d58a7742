//! Argument types that several operations share.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};

/// A whole number from 1 on. `10.0` is taken as 10, since JSON Schema counts it as an integer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Count(pub u64);

impl Count {
    /// The number for comparing with sizes in memory.
    pub(crate) fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Beyond this an `f64` no longer holds every whole number.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Count;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a whole number from 1 on")
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Count, E> {
                if value == 0 {
                    return Err(E::invalid_value(de::Unexpected::Unsigned(0), &self));
                }
                Ok(Count(value))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Count, E> {
                if !(1.0..=EXACT).contains(&value) || value.fract() != 0.0 {
                    return Err(E::invalid_value(de::Unexpected::Float(value), &self));
                }
                Ok(Count(value as u64))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for Count {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Count".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 1 })
    }
}

/// The default of `path`: the working folder, or all of them.
pub(crate) fn everything() -> String {
    ".".into()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_whole_and_positive() {
        for (text, want) in [
            ("1", 1),
            ("10.0", 10),
            ("1e3", 1_000),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(
                serde_json::from_str::<Count>(text).unwrap(),
                Count(want),
                "{text}"
            );
        }
        for text in ["0", "-1", "1.5", "0.0", "1e300", "\"1\"", "null", "true"] {
            assert!(serde_json::from_str::<Count>(text).is_err(), "{text}");
        }
    }
}
