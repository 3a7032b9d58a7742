//! Owns sampling: a server asks the client's model (`client/sampling`). Does not ask it.

use serde_json::Number;

use crate::shape::object;
use crate::word::word;
use crate::{Blocks, Object, Role, TaskMetadata, Tool};

/// Params of `sampling/createMessage`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CreateMessageParams {
    /// The conversation so far.
    pub messages: Vec<SamplingMessage>,
    /// Which model would suit.
    pub model_preferences: Option<ModelPreferences>,
    /// The system prompt; a client may change or drop it.
    pub system_prompt: Option<String>,
    /// Whose context to add.
    pub include_context: Option<IncludeContext>,
    /// How freely to sample.
    pub temperature: Option<Number>,
    /// The most tokens to sample.
    pub max_tokens: i64,
    /// Where to stop.
    pub stop_sequences: Option<Vec<String>>,
    /// What to pass to the model's provider.
    pub metadata: Option<Object>,
    /// Tools the model may use.
    pub tools: Option<Vec<Tool>>,
    /// Whether it may, must or must not use them.
    pub tool_choice: Option<ToolChoice>,
    /// The server wants a core task.
    pub task: Option<TaskMetadata>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(CreateMessageParams {
    required messages "messages",
    optional model_preferences "modelPreferences",
    optional system_prompt "systemPrompt",
    optional include_context "includeContext",
    optional temperature "temperature",
    required max_tokens "maxTokens",
    optional stop_sequences "stopSequences",
    optional metadata "metadata",
    optional tools "tools",
    optional tool_choice "toolChoice",
    optional task "task",
    optional meta "_meta",
});

impl CreateMessageParams {
    /// Asks for an answer to these messages, at most so long.
    pub fn new(messages: Vec<SamplingMessage>, max_tokens: i64) -> Self {
        Self {
            messages,
            max_tokens,
            ..Self::default()
        }
    }
}

/// One message of a conversation with a model.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplingMessage {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Blocks,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(SamplingMessage {
    required role "role",
    required content "content",
    optional meta "_meta",
});

impl SamplingMessage {
    /// A message of this role.
    pub fn new(role: Role, content: impl Into<Blocks>) -> Self {
        Self {
            role,
            content: content.into(),
            meta: None,
            extra: Object::new(),
        }
    }
}

/// Which model would suit. Wishes, not orders.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelPreferences {
    /// Models or families, the first that fits wins.
    pub hints: Option<Vec<ModelHint>>,
    /// How much low cost matters, 0 to 1.
    pub cost_priority: Option<Number>,
    /// How much speed matters, 0 to 1.
    pub speed_priority: Option<Number>,
    /// How much ability matters, 0 to 1.
    pub intelligence_priority: Option<Number>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ModelPreferences {
    optional hints "hints",
    optional cost_priority "costPriority",
    optional speed_priority "speedPriority",
    optional intelligence_priority "intelligencePriority",
});

/// A model or family.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelHint {
    /// A part of the model's name.
    pub name: Option<String>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ModelHint {
    optional name "name",
});

/// Whose context a client should add to the conversation.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum IncludeContext {
    /// Nobody's.
    None,
    /// That of the server that asks.
    ThisServer,
    /// That of every server the client talks to.
    AllServers,
    /// A word unknown here.
    Other(Box<str>),
}

word!(IncludeContext {
    None = "none",
    ThisServer = "thisServer",
    AllServers = "allServers",
} else Other);

/// Whether a model may use the tools it is given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolChoice {
    /// May, must or must not; may when absent.
    pub mode: Option<ToolChoiceMode>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ToolChoice {
    optional mode "mode",
});

/// Whether a model may use the tools it is given.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum ToolChoiceMode {
    /// It may.
    Auto,
    /// It must.
    Required,
    /// It must not.
    None,
    /// A word unknown here.
    Other(Box<str>),
}

word!(ToolChoiceMode { Auto = "auto", Required = "required", None = "none" } else Other);

/// Result of `sampling/createMessage`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateMessageResult {
    /// Who speaks: the assistant.
    pub role: Role,
    /// What the model said.
    pub content: Blocks,
    /// The model that said it.
    pub model: String,
    /// Why it stopped.
    pub stop_reason: Option<StopReason>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(CreateMessageResult {
    required role "role",
    required content "content",
    required model "model",
    optional stop_reason "stopReason",
    optional meta "_meta",
});

impl CreateMessageResult {
    /// What this model said.
    pub fn new(model: impl Into<String>, content: impl Into<Blocks>) -> Self {
        let (model, content) = (model.into(), content.into());
        Self {
            role: Role::Assistant,
            content,
            model,
            stop_reason: None,
            meta: None,
            extra: Object::new(),
        }
    }
}

/// Why a model stopped.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum StopReason {
    /// It had said everything.
    EndTurn,
    /// It came to one of the stop sequences.
    StopSequence,
    /// It had used up its tokens.
    MaxTokens,
    /// It wants a tool called.
    ToolUse,
    /// A reason of the provider's own.
    Other(Box<str>),
}

word!(StopReason {
    EndTurn = "endTurn",
    StopSequence = "stopSequence",
    MaxTokens = "maxTokens",
    ToolUse = "toolUse",
} else Other);
