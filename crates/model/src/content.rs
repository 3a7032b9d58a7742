//! Owns content blocks: what tool results, prompts and sampling messages are made of
//! (`server/tools` §Tool Result). Does not decode base64.
//!
//! A block's kind is told by its `type`. A block of a kind unknown here is kept as it came.

use polyport_wire::Raw;
use serde_core::de::{Deserialize, Deserializer, Error};
use serde_core::ser::{Serialize, Serializer};

use crate::shape::object;
use crate::{Annotations, Icon, Object, Resource, ResourceContents, peek};

/// One block of content.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Text.
    Text(TextContent),
    /// A picture.
    Image(ImageContent),
    /// Sound.
    Audio(AudioContent),
    /// A pointer to a resource.
    ResourceLink(ResourceLink),
    /// A resource's contents, carried along.
    Resource(EmbeddedResource),
    /// A model wants a tool called; only in sampling messages.
    ToolUse(ToolUseContent),
    /// What a tool answered; only in sampling messages.
    ToolResult(ToolResultContent),
    /// A block of a kind unknown here.
    Unknown(Raw),
}

impl Content {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent {
            text: text.into(),
            ..TextContent::default()
        })
    }

    /// A picture, its data in standard base64 with padding.
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Image(ImageContent {
            data: data.into(),
            mime_type: mime_type.into(),
            ..ImageContent::default()
        })
    }

    /// Sound, its data in standard base64 with padding.
    pub fn audio(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Audio(AudioContent {
            data: data.into(),
            mime_type: mime_type.into(),
            ..AudioContent::default()
        })
    }

    /// The text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(block) => Some(&block.text),
            _ => None,
        }
    }

    /// Decodes one block.
    ///
    /// # Errors
    /// When it is no object with a `type`, or of a known type and malformed.
    pub fn from_raw(raw: Raw) -> Result<Self, serde_json::Error> {
        match Self::kind(&raw)?.as_str() {
            TOOL_USE => raw.decode().map(Self::ToolUse),
            TOOL_RESULT => raw.decode().map(Self::ToolResult),
            kind => Self::from_kind(kind, raw),
        }
    }

    fn kind(raw: &Raw) -> Result<String, serde_json::Error> {
        peek::word(raw, "type").ok_or_else(|| {
            serde_json::Error::custom("a content block must be an object with a string `type`")
        })
    }

    fn from_kind(kind: &str, raw: Raw) -> Result<Self, serde_json::Error> {
        match kind {
            "text" => raw.decode().map(Self::Text),
            "image" => raw.decode().map(Self::Image),
            "audio" => raw.decode().map(Self::Audio),
            "resource_link" => raw.decode().map(Self::ResourceLink),
            "resource" => raw.decode().map(Self::Resource),
            _ => Ok(Self::Unknown(raw)),
        }
    }
}

const TOOL_USE: &str = "tool_use";
const TOOL_RESULT: &str = "tool_result";

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(block) => block.serialize(serializer),
            Self::Image(block) => block.serialize(serializer),
            Self::Audio(block) => block.serialize(serializer),
            Self::ResourceLink(block) => block.serialize(serializer),
            Self::Resource(block) => block.serialize(serializer),
            Self::ToolUse(block) => block.serialize(serializer),
            Self::ToolResult(block) => block.serialize(serializer),
            Self::Unknown(raw) => raw.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_raw(Raw::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// A text block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextContent {
    /// The text.
    pub text: String,
    /// Hints.
    pub annotations: Option<Annotations>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(TextContent: "type" = "text" {
    required text "text",
    optional annotations "annotations",
    optional meta "_meta",
});

/// A picture block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImageContent {
    /// The bytes in base64.
    pub data: String,
    /// Their media type.
    pub mime_type: String,
    /// Hints.
    pub annotations: Option<Annotations>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ImageContent: "type" = "image" {
    required data "data",
    required mime_type "mimeType",
    optional annotations "annotations",
    optional meta "_meta",
});

/// A sound block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AudioContent {
    /// The bytes in base64.
    pub data: String,
    /// Their media type.
    pub mime_type: String,
    /// Hints.
    pub annotations: Option<Annotations>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(AudioContent: "type" = "audio" {
    required data "data",
    required mime_type "mimeType",
    optional annotations "annotations",
    optional meta "_meta",
});

/// A pointer to a resource, which need not be in the server's list. Its members are those of
/// [`Resource`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceLink {
    /// Where it is.
    pub uri: String,
    /// Its name for programs.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// Its media type.
    pub mime_type: Option<String>,
    /// Its size in bytes before any encoding.
    pub size: Option<i64>,
    /// Its icons.
    pub icons: Option<Vec<Icon>>,
    /// Hints.
    pub annotations: Option<Annotations>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ResourceLink: "type" = "resource_link" {
    required uri "uri",
    required name "name",
    optional title "title",
    optional description "description",
    optional mime_type "mimeType",
    optional size "size",
    optional icons "icons",
    optional annotations "annotations",
    optional meta "_meta",
});

impl From<Resource> for ResourceLink {
    fn from(resource: Resource) -> Self {
        let Resource {
            uri,
            name,
            title,
            description,
            mime_type,
            size,
            icons,
            annotations,
            meta,
            extra,
        } = resource;
        Self {
            uri,
            name,
            title,
            description,
            mime_type,
            size,
            icons,
            annotations,
            meta,
            extra,
        }
    }
}

/// A resource's contents as a block.
#[derive(Clone, Debug, PartialEq)]
pub struct EmbeddedResource {
    /// The contents.
    pub resource: ResourceContents,
    /// Hints, where the schema has them. See [`EmbeddedResource::hints`].
    pub annotations: Option<Annotations>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(EmbeddedResource: "type" = "resource" {
    required resource "resource",
    optional annotations "annotations",
    optional meta "_meta",
});

impl EmbeddedResource {
    /// A block with these contents.
    pub fn new(resource: ResourceContents) -> Self {
        Self {
            resource,
            annotations: None,
            meta: None,
            extra: Object::new(),
        }
    }

    /// The hints, wherever they stand: the schema has them on the block, the pages show them inside
    /// `resource`.
    pub fn hints(&self) -> Option<Annotations> {
        self.annotations
            .clone()
            .or_else(|| self.resource.extra.decode("annotations")?.ok())
    }
}

/// A model wants a tool called.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolUseContent {
    /// Names this use; the tool's answer repeats it.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub input: Object,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ToolUseContent: "type" = "tool_use" {
    required id "id",
    required name "name",
    required input "input",
    optional meta "_meta",
});

/// What a tool answered to a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolResultContent {
    /// The use that is answered.
    pub tool_use_id: String,
    /// The answer.
    pub content: ToolResultBlocks,
    /// The answer as data. JSON null is a value, distinct from absence.
    pub structured_content: Option<Raw>,
    /// Whether the tool failed.
    pub is_error: Option<bool>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ToolResultContent: "type" = "tool_result" {
    required tool_use_id "toolUseId",
    required content "content",
    nullable structured_content "structuredContent",
    optional is_error "isError",
    optional meta "_meta",
});

/// The blocks inside a tool's answer. Tool uses and answers do not nest, so they stay
/// [`Content::Unknown`] here; that also bounds how often a deeply nested text is read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolResultBlocks(pub Vec<Content>);

impl From<Vec<Content>> for ToolResultBlocks {
    fn from(blocks: Vec<Content>) -> Self {
        Self(blocks)
    }
}

impl Serialize for ToolResultBlocks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ToolResultBlocks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let block = |raw| Content::from_kind(&Content::kind(&raw)?, raw);
        let blocks = Vec::<Raw>::deserialize(deserializer)?
            .into_iter()
            .map(block)
            .collect::<Result<_, _>>();
        blocks.map(Self).map_err(D::Error::custom)
    }
}

/// One block, or several: sampling messages may have either.
#[derive(Clone, Debug, PartialEq)]
pub enum Blocks {
    /// One block, written as an object.
    One(Box<Content>),
    /// Any number of blocks, written as an array.
    Many(Vec<Content>),
}

impl Blocks {
    /// The blocks, however they are written.
    pub fn as_slice(&self) -> &[Content] {
        match self {
            Self::One(block) => std::slice::from_ref(&**block),
            Self::Many(blocks) => blocks,
        }
    }
}

impl From<Content> for Blocks {
    fn from(block: Content) -> Self {
        Self::One(Box::new(block))
    }
}

impl From<Vec<Content>> for Blocks {
    fn from(blocks: Vec<Content>) -> Self {
        Self::Many(blocks)
    }
}

impl Serialize for Blocks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::One(block) => block.serialize(serializer),
            Self::Many(blocks) => blocks.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Blocks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Raw::deserialize(deserializer)?;
        let blocks = if raw.is_object() {
            Content::from_raw(raw).map(Self::from)
        } else {
            raw.decode().map(Self::Many)
        };
        blocks.map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests;
