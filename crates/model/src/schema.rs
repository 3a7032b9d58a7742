//! Owns `Schema`, a JSON Schema carried as text. Does not check instances against it.

use polyport_wire::Raw;
use serde_core::de::{Deserialize, Deserializer, Error};
use serde_core::ser::{Serialize, Serializer};

/// A JSON Schema object, kept as the text it came in: keywords, their order and their numbers
/// survive, and a clone is cheap.
///
/// The default is `{"type":"object"}`, the schema of a tool without parameters.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Schema(Raw);

impl Schema {
    /// The schema in this text, when the text is a JSON object.
    pub fn new(raw: Raw) -> Option<Self> {
        raw.is_object().then_some(Self(raw))
    }

    /// The schema's text.
    pub fn as_raw(&self) -> &Raw {
        &self.0
    }

    /// The schema's text, taken out.
    pub fn into_raw(self) -> Raw {
        self.0
    }

    /// The schema's text as a string.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl Default for Schema {
    fn default() -> Self {
        Self(Raw::from_static(r#"{"type":"object"}"#))
    }
}

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Schema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(Raw::deserialize(deserializer)?)
            .ok_or_else(|| D::Error::custom("a JSON Schema must be an object here"))
    }
}
