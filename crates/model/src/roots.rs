//! Owns roots, the folders a client works in (`client/roots`). Does not resolve them.

use crate::Object;
use crate::shape::object;

/// A folder a client works in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Root {
    /// Where it is, a `file:` URI.
    pub uri: String,
    /// Its name for people.
    pub name: Option<String>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(Root {
    required uri "uri",
    optional name "name",
    optional meta "_meta",
});

impl Root {
    /// A folder at this place.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            ..Self::default()
        }
    }
}

/// Result of `roots/list`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListRootsResult {
    /// The folders.
    pub roots: Vec<Root>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ListRootsResult {
    required roots "roots",
    optional meta "_meta",
});
