//! What a tool gives back, as data. Not how it is written: see `reply`.

use polyport_model::{Content, Object};
use polyport_wire::Raw;
use serde::Serialize;

/// What a tool gives back.
#[derive(Clone, Debug, Default)]
pub struct ToolResult {
    pub(super) content: Blocks,
    pub(super) structured: Option<Raw>,
    pub(super) is_error: bool,
    pub(super) meta: Option<Object>,
}

#[derive(Clone, Debug)]
pub(super) enum Blocks {
    Text(String),
    Many(Vec<Content>),
}

impl Default for Blocks {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl ToolResult {
    /// One text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: Blocks::Text(text.into()),
            ..Self::default()
        }
    }

    /// Any blocks.
    pub fn content(content: Vec<Content>) -> Self {
        Self {
            content: Blocks::Many(content),
            ..Self::default()
        }
    }

    /// A structured value; clients that read only text get it as JSON text. `value` must serialise.
    ///
    /// # Errors
    /// It does not serialise.
    pub fn structured(value: &impl Serialize) -> Result<Self, serde_json::Error> {
        let raw = Raw::encode(value)?;
        Ok(Self {
            content: Blocks::Text(raw.as_str().to_owned()),
            structured: Some(raw),
            ..Self::default()
        })
    }

    /// The same with blocks of your own instead of the JSON text.
    #[must_use]
    pub fn with_content(mut self, content: Vec<Content>) -> Self {
        self.content = Blocks::Many(content);
        self
    }

    /// The same with a text of your own instead of the JSON text.
    #[must_use]
    pub fn with_text(mut self, text: impl Into<String>) -> Self {
        self.content = Blocks::Text(text.into());
        self
    }

    /// Marks it as a failure that the model is told of.
    #[must_use]
    pub fn as_error(mut self) -> Self {
        self.is_error = true;
        self
    }

    /// Adds `_meta`.
    #[must_use]
    pub fn with_meta(mut self, meta: Object) -> Self {
        self.meta = Some(meta);
        self
    }
}
