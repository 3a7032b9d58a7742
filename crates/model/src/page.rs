//! Owns pagination: the cursor, the params of every list request, and reading a list entry by entry
//! (`server/utilities/pagination`).

use std::fmt;

use polyport_wire::Raw;
use serde_core::de::{Deserialize, DeserializeOwned, Deserializer};
use serde_core::ser::{Serialize, Serializer};

use crate::Object;
use crate::shape::{Key, object};

/// A place in a list, opaque to everybody but who made it. The empty string is a place like any
/// other, not the end.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Cursor(Box<str>);

impl Cursor {
    /// From a server's own text.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Serialize for Cursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Cursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Key(text) = Deserialize::deserialize(deserializer)?;
        Ok(Self(text.into()))
    }
}

/// Params of every list request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListParams {
    /// Where to go on; absent for the first page.
    pub cursor: Option<Cursor>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ListParams {
    optional cursor "cursor",
    optional meta "_meta",
});

/// The entries of a list, decoded one by one, so that a malformed one does not hide the others.
#[derive(Debug)]
pub struct Entries<T> {
    /// The entries that could be decoded, in order.
    pub good: Vec<T>,
    /// Those that could not.
    pub bad: Vec<BadEntry>,
}

/// An entry of a list that could not be decoded.
#[derive(Debug)]
pub struct BadEntry {
    /// Its place in the list, from 0.
    pub index: usize,
    /// What it looks like.
    pub raw: Raw,
    /// Why not.
    pub error: serde_json::Error,
}

impl<T: DeserializeOwned> Entries<T> {
    /// Decodes the array in this text, such as the `tools` of a result.
    ///
    /// # Errors
    /// When it is no array.
    pub fn decode(list: &Raw) -> Result<Self, serde_json::Error> {
        let mut entries = Self {
            good: Vec::new(),
            bad: Vec::new(),
        };
        for (index, raw) in list.decode::<Vec<Raw>>()?.into_iter().enumerate() {
            match raw.decode() {
                Ok(entry) => entries.good.push(entry),
                Err(error) => entries.bad.push(BadEntry { index, raw, error }),
            }
        }
        Ok(entries)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Tool;

    #[test]
    fn a_malformed_entry_does_not_hide_the_others() {
        let list = Raw::from_static(
            r#"[{"name":"a","inputSchema":{"type":"object"}},null,{"name":"b"},{"name":"c","inputSchema":{},"annotations":[]},{"name":"d","inputSchema":{}}]"#,
        );
        let entries = Entries::<Tool>::decode(&list).unwrap();
        assert_eq!(
            entries
                .good
                .iter()
                .map(|tool| &*tool.name)
                .collect::<Vec<_>>(),
            ["a", "d"]
        );
        assert_eq!(
            entries.bad.iter().map(|bad| bad.index).collect::<Vec<_>>(),
            [1, 2, 3]
        );
        assert!(entries.bad[1].error.to_string().contains("inputSchema"));
        assert!(Entries::<Tool>::decode(&Raw::from_static("{}")).is_err());
    }

    #[test]
    fn an_empty_cursor_is_a_cursor_and_null_is_none() {
        let params = |text: &str| serde_json::from_str::<ListParams>(text).unwrap().cursor;
        assert_eq!(params(r#"{"cursor":""}"#), Some(Cursor::new("")));
        assert_eq!(params(r#"{"cursor":null}"#), None);
    }
}
