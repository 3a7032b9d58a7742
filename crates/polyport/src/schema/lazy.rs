//! A schema that is compiled when the first value is held to it.

use std::sync::OnceLock;

use serde_json::Value;

use super::{SchemaError, Validator};

/// As text, which takes a fraction of the room of a validator.
pub(crate) struct Lazy {
    text: Box<str>,
    validator: OnceLock<Result<Validator, SchemaError>>,
}

impl Lazy {
    pub(crate) fn new(schema: &Value) -> Self {
        Self {
            text: schema.to_string().into(),
            validator: OnceLock::new(),
        }
    }

    /// The validator.
    ///
    /// # Errors
    /// It is no schema.
    pub(crate) fn validator(&self) -> Result<&Validator, &SchemaError> {
        let built = self.validator.get_or_init(|| {
            let schema = serde_json::from_str(&self.text).unwrap_or_default();
            Validator::new(&schema)
        });
        built.as_ref()
    }
}
