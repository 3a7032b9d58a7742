//! Request ids: numbers or texts, never confused.

use std::fmt;

use serde_core::de::{self, Deserialize, Deserializer, Visitor};
use serde_core::ser::{Serialize, Serializer};

use crate::{scalar, text};

/// The id of a request. `1` and `"1"` are two ids; `0` and `""` are ids like any other.
///
/// `Display` prints the JSON form, so that the two kinds can be told apart and a hostile text cannot
/// break a log line; [`Self::parse`] reads it back.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum RequestId {
    /// An integer.
    Number(i64),
    /// A string, escapes resolved.
    Text(Box<str>),
}

impl RequestId {
    /// Reads the JSON text of an id: a string, or an integer that fits 64 bits and is written without
    /// fraction and exponent. Everything else, `-0` and lone surrogates included, is no id.
    ///
    /// `json` is one JSON value without surrounding white space.
    pub fn parse(json: &str) -> Option<Self> {
        if let [b'"', .., b'"'] = json.as_bytes() {
            return text::decode(&json[1..json.len() - 1]).map(|id| Self::Text(id.into()));
        }
        let digits = json.strip_prefix('-').unwrap_or(json);
        let canonical =
            digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
        if canonical || json == "0" {
            json.parse().ok().map(Self::Number)
        } else {
            None
        }
    }

    /// Appends the JSON text of the id.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Number(number) => scalar::integer(out, *number),
            Self::Text(text) => scalar::string(out, text),
        }
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => {
                let mut json = Vec::with_capacity(text.len() + 2);
                scalar::string(&mut json, text);
                f.write_str(&String::from_utf8_lossy(&json))
            }
        }
    }
}

impl From<i64> for RequestId {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for RequestId {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for RequestId {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_i64(*number),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IdVisitor)
    }
}

struct IdVisitor;

impl Visitor<'_> for IdVisitor {
    type Value = RequestId;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a request id: a string or an integer of 64 bits")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<RequestId, E> {
        Ok(RequestId::Number(number))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<RequestId, E> {
        let fits = i64::try_from(number).map(RequestId::Number);
        fits.map_err(|_| E::invalid_value(de::Unexpected::Unsigned(number), &self))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<RequestId, E> {
        Ok(text.into())
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<RequestId, E> {
        Ok(text.into())
    }
}
