//! Owns prompts (`server/prompts`).

use crate::shape::object;
use crate::{CacheScope, Content, Cursor, Icon, Object, ResultType, Role, Ttl};

/// A conversation opener that a server has ready.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prompt {
    /// Its name for programs.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// What it can be filled with.
    pub arguments: Option<Vec<PromptArgument>>,
    /// Its icons.
    pub icons: Option<Vec<Icon>>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(Prompt {
    required name "name",
    optional title "title",
    optional description "description",
    optional arguments "arguments",
    optional icons "icons",
    optional meta "_meta",
});

impl Prompt {
    /// A prompt with this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// Its name for people, or else for programs.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

/// Something a prompt can be filled with. Values are strings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PromptArgument {
    /// Its name for programs.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it means.
    pub description: Option<String>,
    /// Whether it must be given; false when absent.
    pub required: Option<bool>,
    /// Members unknown here.
    pub extra: Object,
}

object!(PromptArgument {
    required name "name",
    optional title "title",
    optional description "description",
    optional required "required",
});

/// Result of `prompts/list`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListPromptsResult {
    /// The kind of result.
    pub result_type: Option<ResultType>,
    /// The prompts of this page.
    pub prompts: Vec<Prompt>,
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

object!(ListPromptsResult {
    optional result_type "resultType",
    required prompts "prompts",
    optional next_cursor "nextCursor",
    optional ttl_ms "ttlMs",
    optional cache_scope "cacheScope",
    optional meta "_meta",
});

/// Params of `prompts/get`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GetPromptParams {
    /// The prompt.
    pub name: String,
    /// What to fill it with.
    pub arguments: Option<Object<String>>,
    /// Answers to the questions of the round before, by question.
    pub input_responses: Option<Object>,
    /// The state the server gave with those questions.
    pub request_state: Option<String>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(GetPromptParams {
    required name "name",
    optional arguments "arguments",
    optional input_responses "inputResponses",
    optional request_state "requestState",
    optional meta "_meta",
});

/// Result of `prompts/get`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GetPromptResult {
    /// The kind of result.
    pub result_type: Option<ResultType>,
    /// What the prompt is for.
    pub description: Option<String>,
    /// The conversation it opens.
    pub messages: Vec<PromptMessage>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(GetPromptResult {
    optional result_type "resultType",
    optional description "description",
    required messages "messages",
    optional meta "_meta",
});

/// One message of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct PromptMessage {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Content,
    /// Members unknown here.
    pub extra: Object,
}

object!(PromptMessage {
    required role "role",
    required content "content",
});

impl PromptMessage {
    /// A message of this role.
    pub fn new(role: Role, content: impl Into<Content>) -> Self {
        Self {
            role,
            content: content.into(),
            extra: Object::new(),
        }
    }
}
