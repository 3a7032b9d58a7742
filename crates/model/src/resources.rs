//! Owns resources and resource templates (`server/resources`). Does not expand URI templates.

use serde_core::de::{Deserialize, Deserializer, Error};
use serde_core::ser::{Serialize, SerializeMap, Serializer};

use crate::shape::object;
use crate::{Annotations, CacheScope, Cursor, Icon, Object, ResultType, Ttl};

/// Something a server lets others read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resource {
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

object!(Resource {
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

impl Resource {
    /// A resource at this place with this name.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: name.into(),
            ..Self::default()
        }
    }
}

/// A family of resources whose places follow one pattern.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceTemplate {
    /// The pattern (RFC 6570).
    pub uri_template: String,
    /// Its name for programs.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// The media type, when all have the same.
    pub mime_type: Option<String>,
    /// Its icons.
    pub icons: Option<Vec<Icon>>,
    /// Hints.
    pub annotations: Option<Annotations>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ResourceTemplate {
    required uri_template "uriTemplate",
    required name "name",
    optional title "title",
    optional description "description",
    optional mime_type "mimeType",
    optional icons "icons",
    optional annotations "annotations",
    optional meta "_meta",
});

impl ResourceTemplate {
    /// A family with this pattern and name.
    pub fn new(uri_template: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri_template: uri_template.into(),
            name: name.into(),
            ..Self::default()
        }
    }
}

/// Result of `resources/list`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListResourcesResult {
    /// The kind of result.
    pub result_type: Option<ResultType>,
    /// The resources of this page.
    pub resources: Vec<Resource>,
    /// Where the next page starts; absent on the last one.
    pub next_cursor: Option<Cursor>,
    /// For how long this stays fresh.
    pub ttl_ms: Option<Ttl>,
    /// Who may be given it from a cache; absent means private.
    pub cache_scope: Option<CacheScope>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ListResourcesResult {
    optional result_type "resultType",
    required resources "resources",
    optional next_cursor "nextCursor",
    optional ttl_ms "ttlMs",
    optional cache_scope "cacheScope",
    optional meta "_meta",
});

/// Result of `resources/templates/list`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListResourceTemplatesResult {
    /// The kind of result.
    pub result_type: Option<ResultType>,
    /// The templates of this page.
    pub resource_templates: Vec<ResourceTemplate>,
    /// Where the next page starts; absent on the last one.
    pub next_cursor: Option<Cursor>,
    /// For how long this stays fresh.
    pub ttl_ms: Option<Ttl>,
    /// Who may be given it from a cache; absent means private.
    pub cache_scope: Option<CacheScope>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ListResourceTemplatesResult {
    optional result_type "resultType",
    required resource_templates "resourceTemplates",
    optional next_cursor "nextCursor",
    optional ttl_ms "ttlMs",
    optional cache_scope "cacheScope",
    optional meta "_meta",
});

/// Params of `resources/read`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadResourceParams {
    /// What to read.
    pub uri: String,
    /// Answers to the questions of the round before, by question.
    pub input_responses: Option<Object>,
    /// The state the server gave with those questions.
    pub request_state: Option<String>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ReadResourceParams {
    required uri "uri",
    optional input_responses "inputResponses",
    optional request_state "requestState",
    optional meta "_meta",
});

/// Result of `resources/read`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadResourceResult {
    /// The kind of result.
    pub result_type: Option<ResultType>,
    /// What was read; a folder may give many.
    pub contents: Vec<ResourceContents>,
    /// For how long this stays fresh.
    pub ttl_ms: Option<Ttl>,
    /// Who may be given it from a cache; absent means private.
    pub cache_scope: Option<CacheScope>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ReadResourceResult {
    optional result_type "resultType",
    required contents "contents",
    optional ttl_ms "ttlMs",
    optional cache_scope "cacheScope",
    optional meta "_meta",
});

/// Params of `resources/subscribe`, `resources/unsubscribe` and `notifications/resources/updated`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceParams {
    /// The resource.
    pub uri: String,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ResourceParams {
    required uri "uri",
    optional meta "_meta",
});

/// What is in a resource.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceContents {
    /// The resource, or a part of it.
    pub uri: String,
    /// The media type.
    pub mime_type: Option<String>,
    /// The contents themselves.
    pub body: ResourceBody,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

/// The contents of a resource, as text or bytes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Bytes in standard base64.
    Blob(String),
}

impl ResourceContents {
    /// Text found at this place.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            mime_type: None,
            body: ResourceBody::Text(text.into()),
            meta: None,
            extra: Object::new(),
        }
    }

    /// Bytes found at this place, in standard base64 with padding.
    pub fn blob(uri: impl Into<String>, base64: impl Into<String>) -> Self {
        Self {
            body: ResourceBody::Blob(base64.into()),
            ..Self::text(uri, "")
        }
    }
}

/// The members of both kinds of contents.
struct Parts {
    uri: String,
    mime_type: Option<String>,
    text: Option<String>,
    blob: Option<String>,
    meta: Option<Object>,
    extra: Object,
}

object!(Parts {
    required uri "uri",
    optional mime_type "mimeType",
    optional text "text",
    optional blob "blob",
    optional meta "_meta",
});

impl Serialize for ResourceContents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("uri", &self.uri)?;
        if let Some(mime_type) = &self.mime_type {
            map.serialize_entry("mimeType", mime_type)?;
        }
        match &self.body {
            ResourceBody::Text(text) => map.serialize_entry("text", text)?,
            ResourceBody::Blob(base64) => map.serialize_entry("blob", base64)?,
        }
        if let Some(meta) = &self.meta {
            map.serialize_entry("_meta", meta)?;
        }
        self.extra
            .write_except(&["uri", "mimeType", "text", "blob", "_meta"], &mut map)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for ResourceContents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Parts {
            uri,
            mime_type,
            text,
            blob,
            meta,
            extra,
        } = Parts::deserialize(deserializer)?;
        let body = match (text, blob) {
            (Some(text), None) => ResourceBody::Text(text),
            (None, Some(blob)) => ResourceBody::Blob(blob),
            _ => {
                return Err(D::Error::custom(
                    "resource contents must have either `text` or `blob`",
                ));
            }
        };
        Ok(Self {
            uri,
            mime_type,
            body,
            meta,
            extra,
        })
    }
}
