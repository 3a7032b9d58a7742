//! Owns progress and cancellation (`basic/utilities/progress`, `basic/utilities/cancellation`).
//! Does not pace or cancel anything.

use std::fmt;

use polyport_wire::RequestId;
use serde_core::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use serde_core::ser::{Serialize, Serializer};
use serde_json::Number;

use crate::Object;
use crate::shape::object;

/// What ties progress to the request it belongs to. `1` and `"1"` are two tokens.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum ProgressToken {
    /// An integer.
    Number(i64),
    /// A text.
    Text(Box<str>),
}

impl From<i64> for ProgressToken {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for ProgressToken {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl fmt::Display for ProgressToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

impl Serialize for ProgressToken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_i64(*number),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for ProgressToken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Token;

        impl Visitor<'_> for Token {
            type Value = ProgressToken;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or an integer of 64 bits")
            }

            fn visit_i64<E>(self, number: i64) -> Result<ProgressToken, E> {
                Ok(ProgressToken::Number(number))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<ProgressToken, E> {
                let refuse = |_| E::invalid_value(Unexpected::Unsigned(number), &self);
                i64::try_from(number)
                    .map(ProgressToken::Number)
                    .map_err(refuse)
            }

            fn visit_str<E>(self, text: &str) -> Result<ProgressToken, E> {
                Ok(ProgressToken::Text(text.into()))
            }
        }

        deserializer.deserialize_any(Token)
    }
}

/// Params of `notifications/progress`.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgressParams {
    /// The token the request came with.
    pub progress_token: ProgressToken,
    /// How far it is; grows with each message.
    pub progress: Number,
    /// How far it will be at the end.
    pub total: Option<Number>,
    /// What is being done.
    pub message: Option<String>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ProgressParams {
    required progress_token "progressToken",
    required progress "progress",
    optional total "total",
    optional message "message",
    optional meta "_meta",
});

impl ProgressParams {
    /// This far, for the request with this token.
    pub fn new(progress_token: ProgressToken, progress: impl Into<Number>) -> Self {
        Self {
            progress_token,
            progress: progress.into(),
            total: None,
            message: None,
            meta: None,
            extra: Object::new(),
        }
    }

    /// How far it is, as a floating point number.
    pub fn value(&self) -> f64 {
        // A `Number` is an i64, u64 or f64 in this build, and each of them has an f64 next to it.
        self.progress.as_f64().unwrap_or_default()
    }
}

/// Params of `notifications/cancelled`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CancelledParams {
    /// The request; absent only where tasks have a cancel of their own.
    pub request_id: Option<RequestId>,
    /// Why, for people.
    pub reason: Option<String>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(CancelledParams {
    optional request_id "requestId",
    optional reason "reason",
    optional meta "_meta",
});

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn br_043_numbers_and_tokens_keep_their_kind() {
        for text in [
            r#"{"progressToken":1,"progress":0.5}"#,
            r#"{"progressToken":"1","progress":50,"total":100}"#,
            r#"{"progressToken":"","progress":1.0,"total":1e300,"message":""}"#,
            r#"{"progressToken":0,"progress":-1}"#,
        ] {
            let params: ProgressParams = serde_json::from_str(text).unwrap();
            assert_eq!(
                serde_json::to_string(&params)
                    .unwrap()
                    .replace("e+300", "e300"),
                text
            );
        }
        assert_ne!(ProgressToken::from(1), ProgressToken::from("1"));
    }

    #[test]
    fn tokens_are_strings_or_integers() {
        for text in ["1.5", "null", "true", "[]", "9223372036854775808"] {
            assert!(
                serde_json::from_str::<ProgressToken>(text).is_err(),
                "{text}"
            );
        }
    }
}
