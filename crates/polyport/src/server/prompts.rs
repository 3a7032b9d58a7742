//! Prompts: a name, arguments that are texts, and the function that makes the messages.

use std::collections::BTreeMap;
use std::fmt;
use std::future::{Future, ready};
use std::sync::Arc;

use polyport_model::{
    Content, Icon, Object, Prompt as Listed, PromptArgument, PromptMessage, Role,
};
use polyport_proto::Outcome;
use polyport_proto::revision::Profile;
use polyport_rt::BoxFuture;
use polyport_wire::{Params, Raw, splice, write};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::Facts;
use super::complete::Completer;
use super::context::Cx;
use super::reply::{content_block, fault_outcome, meta};
use crate::decode::decode;
use crate::error::Fault;

type Run = Box<dyn Fn(Arc<Facts>, Cx, Params) -> BoxFuture<Outcome> + Send + Sync>;

/// What a prompt comes to.
#[derive(Clone, Debug, Default)]
pub struct PromptReply {
    /// What it is for.
    pub description: Option<String>,
    /// The messages.
    pub messages: Vec<PromptMessage>,
}

impl PromptReply {
    /// No messages yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more message of the user.
    #[must_use]
    pub fn user(mut self, content: impl Into<Content>) -> Self {
        self.messages.push(PromptMessage::new(Role::User, content));
        self
    }

    /// One more message of the assistant.
    #[must_use]
    pub fn assistant(mut self, content: impl Into<Content>) -> Self {
        self.messages
            .push(PromptMessage::new(Role::Assistant, content));
        self
    }
}

impl From<String> for PromptReply {
    fn from(text: String) -> Self {
        Self::new().user(text)
    }
}

impl From<&str> for PromptReply {
    fn from(text: &str) -> Self {
        Self::new().user(text)
    }
}

/// A prompt.
pub struct Prompt {
    pub(crate) listed: Listed,
    pub(crate) run: Run,
    pub(crate) completers: Vec<Completer>,
}

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompt")
            .field("name", &self.listed.name)
            .finish_non_exhaustive()
    }
}

impl Prompt {
    /// A prompt from an async function. Its arguments are a struct of texts: the protocol knows no others.
    ///
    /// # Panics
    /// One of them can be no text: a fault in the program, found when it starts.
    pub fn new<A, R, F, Fut>(
        name: impl Into<String>,
        description: impl Into<String>,
        function: F,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        R: Into<PromptReply> + 'static,
        F: Fn(Cx, A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, Fault>> + Send + 'static,
    {
        let arguments = listed_arguments(
            &schemars::SchemaGenerator::default()
                .into_root_schema_for::<A>()
                .to_value(),
        );
        let required: Vec<String> = arguments
            .iter()
            .filter(|a| a.required == Some(true))
            .map(|a| a.name.clone())
            .collect();
        let listed = Listed {
            description: Some(description.into()).filter(|d| !d.is_empty()),
            arguments: (!arguments.is_empty()).then_some(arguments),
            ..Listed::new(name)
        };
        let run: Run = Box::new(move |facts: Arc<Facts>, cx: Cx, params: Params| {
            let profile = cx.revision().profile();
            match decoded::<A>(&params, &required).map(|arguments| function(cx, arguments)) {
                Ok(future) => Box::pin(async move {
                    match future.await {
                        Ok(reply) => Outcome::Complete(render(&reply.into(), profile, &facts.info)),
                        Err(fault) => fault_outcome("prompts/get", fault),
                    }
                }) as BoxFuture<Outcome>,
                Err(fault) => Box::pin(ready(fault_outcome("prompts/get", fault))),
            }
        });
        Self {
            listed,
            run,
            completers: Vec::new(),
        }
    }

    /// Completes one of its arguments, as [`Completer::of_prompt`] does.
    #[must_use]
    pub fn completer<F, Fut>(mut self, argument: impl Into<String>, function: F) -> Self
    where
        F: Fn(Cx, String, BTreeMap<String, String>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<String>, Fault>> + Send + 'static,
    {
        let completer = Completer::of_prompt(self.name(), argument, function);
        self.completers.push(completer);
        self
    }

    /// A name for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.listed.title = Some(title.into());
        self
    }

    /// Pictures for it.
    #[must_use]
    pub fn icons(mut self, icons: Vec<Icon>) -> Self {
        self.listed.icons = Some(icons);
        self
    }

    /// Its `_meta`.
    #[must_use]
    pub fn meta(mut self, meta: Object) -> Self {
        self.listed.meta = Some(meta);
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.listed.name
    }
}

fn listed_arguments(schema: &Value) -> Vec<PromptArgument> {
    let required = schema
        .get("required")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let properties = schema
        .get("properties")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    let text = |property: &Value, key| property.get(key).and_then(Value::as_str).map(str::to_owned);
    properties
        .into_iter()
        .inspect(|(name, property)| {
            assert!(
                can_be_text(property),
                "prompt argument {name:?}: the protocol has texts only"
            )
        })
        .map(|(name, property)| PromptArgument {
            title: text(&property, "title"),
            description: text(&property, "description"),
            required: Some(required.contains(&Value::String(name.clone()))),
            name,
            ..PromptArgument::default()
        })
        .collect()
}

/// May a text fit the schema of an argument? Where it is a reference, that is left to the first call.
fn can_be_text(property: &Value) -> bool {
    match property.get("type") {
        Some(Value::String(name)) => name == "string",
        Some(Value::Array(names)) => names.iter().any(|name| name == "string"),
        _ => true,
    }
}

fn decoded<A: DeserializeOwned>(params: &Params, required: &[String]) -> Result<A, Fault> {
    let texts = texts(params, required)?;
    let empty = texts.is_empty();
    serde_json::from_value(Value::Object(texts)).or_else(|_| {
        if empty && let Ok(nothing) = serde_json::from_value(Value::Null) {
            return Ok(nothing);
        }
        // Read again for the place of what does not fit, which a value cannot tell.
        let again = Value::Object(self::texts(params, required)?).to_string();
        decode(&again)
            .map_err(|violation| Fault::invalid_params(format!("prompts/get: {violation}")))
    })
}

/// The arguments that were given, which are texts.
fn texts(params: &Params, required: &[String]) -> Result<Map<String, Value>, Fault> {
    let mut texts = Map::new();
    let mut wrong = None;
    match params.arguments() {
        Some(text) if text.starts_with('{') => {
            splice::members(text, |key, value| match serde_json::from_str(value) {
                Ok(Value::String(text)) => _ = texts.insert(key.to_owned(), Value::String(text)),
                Ok(Value::Null) => {}
                _ => wrong = Some(key.to_owned()),
            })
        }
        None | Some("null") => {}
        Some(_) => {
            return Err(Fault::invalid_params(
                "prompts/get: arguments must be an object of texts",
            ));
        }
    }
    if let Some(name) = wrong {
        return Err(Fault::invalid_params(format!(
            "prompts/get: argument {name} must be a text"
        )));
    }
    if let Some(missing) = required.iter().find(|name| !texts.contains_key(*name)) {
        return Err(Fault::invalid_params(format!(
            "prompts/get: argument {missing} is missing"
        )));
    }
    Ok(texts)
}

fn render(reply: &PromptReply, profile: &Profile, info: &str) -> Raw {
    let mut out = b"{".to_vec();
    if let Some(description) = &reply.description {
        out.extend_from_slice(b"\"description\":");
        write::string(&mut out, description);
        out.push(b',');
    }
    out.extend_from_slice(b"\"messages\":[");
    for (i, message) in reply.messages.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        out.extend_from_slice(b"{\"role\":");
        write::string(&mut out, message.role.as_str());
        out.extend_from_slice(b",\"content\":");
        content_block(&mut out, &message.content, i + 1, profile);
        out.push(b'}');
    }
    out.push(b']');
    meta(&mut out, None, profile, info);
    out.push(b'}');
    Raw::trusted(out)
}
