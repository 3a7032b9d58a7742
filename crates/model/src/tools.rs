//! Owns tools (`server/tools`). Does not check arguments against a schema.

use polyport_wire::Raw;

use crate::shape::object;
use crate::word::word;
use crate::{CacheScope, Content, Cursor, Icon, Object, ResultType, Schema, TaskMetadata, Ttl};

/// Something a server can do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tool {
    /// Its name for programs.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it does, for the model.
    pub description: Option<String>,
    /// What arguments it takes.
    pub input_schema: Schema,
    /// What `structuredContent` it answers with.
    pub output_schema: Option<Schema>,
    /// Hints on what it does to the world.
    pub annotations: Option<ToolAnnotations>,
    /// How it runs (core tasks).
    pub execution: Option<ToolExecution>,
    /// Its icons.
    pub icons: Option<Vec<Icon>>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(Tool {
    required name "name",
    optional title "title",
    optional description "description",
    required input_schema "inputSchema",
    optional output_schema "outputSchema",
    optional annotations "annotations",
    optional execution "execution",
    optional icons "icons",
    optional meta "_meta",
});

impl Tool {
    /// A tool with this name that takes arguments of this schema.
    pub fn new(name: impl Into<String>, input_schema: Schema) -> Self {
        Self {
            name: name.into(),
            input_schema,
            ..Self::default()
        }
    }

    /// Its name for people: the title, or the one among the hints, or else the name for programs.
    pub fn display_name(&self) -> &str {
        let hinted = || {
            self.annotations
                .as_ref()
                .and_then(|hints| hints.title.as_deref())
        };
        self.title.as_deref().or_else(hinted).unwrap_or(&self.name)
    }
}

/// Hints on what a tool does to the world. From an untrusted server they prove nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolAnnotations {
    /// Its name for people.
    pub title: Option<String>,
    /// It changes nothing; false when absent.
    pub read_only_hint: Option<bool>,
    /// It may destroy, not only add; true when absent.
    pub destructive_hint: Option<bool>,
    /// Calling it again with the same arguments adds nothing; false when absent.
    pub idempotent_hint: Option<bool>,
    /// It reaches beyond a closed set of things; true when absent.
    pub open_world_hint: Option<bool>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ToolAnnotations {
    optional title "title",
    optional read_only_hint "readOnlyHint",
    optional destructive_hint "destructiveHint",
    optional idempotent_hint "idempotentHint",
    optional open_world_hint "openWorldHint",
});

impl ToolAnnotations {
    /// Whether it says that it changes nothing.
    pub fn is_read_only(&self) -> bool {
        self.read_only_hint.unwrap_or(false)
    }

    /// Whether it may destroy something; meaningless for a tool that is read-only.
    pub fn is_destructive(&self) -> bool {
        !self.is_read_only() && self.destructive_hint.unwrap_or(true)
    }

    /// Whether a second call with the same arguments adds nothing.
    pub fn is_idempotent(&self) -> bool {
        self.is_read_only() || self.idempotent_hint.unwrap_or(false)
    }

    /// Whether it reaches beyond a closed set of things.
    pub fn is_open_world(&self) -> bool {
        self.open_world_hint.unwrap_or(true)
    }
}

/// How a tool runs (core tasks).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolExecution {
    /// Whether a call may, or must, become a task; forbidden when absent.
    pub task_support: Option<TaskSupport>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ToolExecution {
    optional task_support "taskSupport",
});

/// Whether a call of a tool becomes a core task.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum TaskSupport {
    /// Never.
    Forbidden,
    /// When the caller wants.
    Optional,
    /// Always.
    Required,
    /// A word unknown here.
    Other(Box<str>),
}

word!(TaskSupport {
    Forbidden = "forbidden",
    Optional = "optional",
    Required = "required",
} else Other);

/// Result of `tools/list`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListToolsResult {
    /// The kind of result.
    pub result_type: Option<ResultType>,
    /// The tools of this page. To survive a malformed one, read the list as [`crate::Entries`].
    pub tools: Vec<Tool>,
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

object!(ListToolsResult {
    optional result_type "resultType",
    required tools "tools",
    optional next_cursor "nextCursor",
    optional ttl_ms "ttlMs",
    optional cache_scope "cacheScope",
    optional meta "_meta",
});

/// Params of `tools/call`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallToolParams {
    /// The tool.
    pub name: String,
    /// Its arguments, an object. Not decoded here; null means none.
    pub arguments: Option<Raw>,
    /// Answers to the questions of the round before, by question.
    pub input_responses: Option<Object>,
    /// The state the server gave with those questions.
    pub request_state: Option<String>,
    /// The caller wants a core task.
    pub task: Option<TaskMetadata>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(CallToolParams {
    required name "name",
    optional arguments "arguments",
    optional input_responses "inputResponses",
    optional request_state "requestState",
    optional task "task",
    optional meta "_meta",
});

impl CallToolParams {
    /// A call of this tool.
    pub fn new(name: impl Into<String>, arguments: Option<Raw>) -> Self {
        Self {
            name: name.into(),
            arguments,
            ..Self::default()
        }
    }
}

/// Result of `tools/call`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallToolResult {
    /// The kind of result.
    pub result_type: Option<ResultType>,
    /// The answer for the model.
    pub content: Vec<Content>,
    /// The answer as data. JSON null is a value, distinct from absence.
    pub structured_content: Option<Raw>,
    /// Whether the tool failed; the model should see why.
    pub is_error: Option<bool>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(CallToolResult {
    optional result_type "resultType",
    required content "content",
    nullable structured_content "structuredContent",
    optional is_error "isError",
    optional meta "_meta",
});

impl CallToolResult {
    /// An answer of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![Content::text(text)],
            ..Self::default()
        }
    }

    /// A failure the model should read and mend.
    pub fn failure(text: impl Into<String>) -> Self {
        Self {
            is_error: Some(true),
            ..Self::text(text)
        }
    }

    /// An answer as data, and as the same text for those who read only text (`server/tools`
    /// §Structured Content).
    pub fn structured(value: Raw) -> Self {
        let text = Self::text(value.as_str());
        Self {
            structured_content: Some(value),
            ..text
        }
    }

    /// Whether the tool failed.
    pub fn is_failure(&self) -> bool {
        self.is_error == Some(true)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn t39_structured_content_has_three_states() {
        for (text, state) in [
            (r#"{"content":[]}"#, None),
            (r#"{"content":[],"structuredContent":null}"#, Some("null")),
            (r#"{"content":[],"structuredContent":[1.0]}"#, Some("[1.0]")),
        ] {
            let result: CallToolResult = serde_json::from_str(text).unwrap();
            assert_eq!(
                result.structured_content.as_ref().map(Raw::as_str),
                state,
                "{text}"
            );
            assert_eq!(serde_json::to_string(&result).unwrap(), text);
        }
    }

    #[test]
    fn br_151_arguments_may_be_absent_null_or_empty() {
        for (text, arguments) in [
            (r#"{"name":"a"}"#, None),
            (r#"{"name":"a","arguments":null}"#, None),
            (r#"{"name":"a","arguments":{}}"#, Some("{}")),
        ] {
            let params: CallToolParams = serde_json::from_str(text).unwrap();
            assert_eq!(
                params.arguments.as_ref().map(Raw::as_str),
                arguments,
                "{text}"
            );
        }
    }

    #[test]
    fn br_148_schemas_keep_keywords_order_and_numbers() {
        let text = r##"{"name":"t","inputSchema":{"type":"object","$defs":{"z":{},"a":{}},"properties":{"title":{"$ref":"#/$defs/z","multipleOf":0.10}},"unevaluatedProperties":false}}"##;
        let tool: Tool = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&tool).unwrap(), text);
        assert!(serde_json::from_str::<Tool>(r#"{"name":"t","inputSchema":null}"#).is_err());
        let tool = serde_json::to_string(&Tool::new("t", Schema::default())).unwrap();
        assert_eq!(tool, r#"{"name":"t","inputSchema":{"type":"object"}}"#);
    }

    #[test]
    fn t51_unknown_members_survive_and_never_double_a_known_one() {
        let text = r#"{"content":[],"isError":false,"later":{"b":1,"a":1.50}}"#;
        let mut result: CallToolResult = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&result).unwrap(), text);
        result.extra.insert("content", Raw::from_static("1"));
        assert_eq!(serde_json::to_string(&result).unwrap(), text);
    }

    #[test]
    fn absent_hints_mean_the_careful_reading() {
        let hints = ToolAnnotations::default();
        assert!(
            !hints.is_read_only()
                && hints.is_destructive()
                && !hints.is_idempotent()
                && hints.is_open_world()
        );
        let hints = ToolAnnotations {
            read_only_hint: Some(true),
            ..hints
        };
        assert!(!hints.is_destructive() && hints.is_idempotent());
    }
}
