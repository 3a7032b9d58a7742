//! Owns completion of arguments (`server/utilities/completion`). Does not complete.

use polyport_wire::Raw;
use serde_core::de::{Deserialize, Deserializer, Error};
use serde_core::ser::{Serialize, Serializer};

use crate::shape::object;
use crate::{Object, ResultType, peek};

/// Params of `completion/complete`.
#[derive(Clone, Debug, PartialEq)]
pub struct CompleteParams {
    /// What is being filled in.
    pub reference: Reference,
    /// The argument, as far as it has been typed.
    pub argument: Argument,
    /// What has been filled in already.
    pub context: Option<CompletionContext>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(CompleteParams {
    required reference "ref",
    required argument "argument",
    optional context "context",
    optional meta "_meta",
});

impl CompleteParams {
    /// Asks how this argument could go on.
    pub fn new(reference: Reference, name: impl Into<String>, value: impl Into<String>) -> Self {
        let argument = Argument {
            name: name.into(),
            value: value.into(),
            extra: Object::new(),
        };
        Self {
            reference,
            argument,
            context: None,
            meta: None,
            extra: Object::new(),
        }
    }
}

/// What is being filled in.
#[derive(Clone, Debug, PartialEq)]
pub enum Reference {
    /// A prompt's argument.
    Prompt(PromptReference),
    /// A variable of a resource template.
    Resource(ResourceReference),
    /// A reference of a kind unknown here.
    Unknown(Raw),
}

impl Reference {
    /// A prompt's argument.
    pub fn prompt(name: impl Into<String>) -> Self {
        Self::Prompt(PromptReference {
            name: name.into(),
            ..PromptReference::default()
        })
    }

    /// A variable of a resource template.
    pub fn resource(uri: impl Into<String>) -> Self {
        Self::Resource(ResourceReference {
            uri: uri.into(),
            ..ResourceReference::default()
        })
    }
}

impl Serialize for Reference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Prompt(reference) => reference.serialize(serializer),
            Self::Resource(reference) => reference.serialize(serializer),
            Self::Unknown(raw) => raw.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Reference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Raw::deserialize(deserializer)?;
        let reference = match peek::word(&raw, "type").as_deref() {
            Some("ref/prompt") => raw.decode().map(Self::Prompt),
            Some("ref/resource") => raw.decode().map(Self::Resource),
            Some(_) => Ok(Self::Unknown(raw)),
            None => {
                return Err(D::Error::custom(
                    "a reference must be an object with a string `type`",
                ));
            }
        };
        reference.map_err(D::Error::custom)
    }
}

/// Names a prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PromptReference {
    /// Its name for programs.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// Members unknown here.
    pub extra: Object,
}

object!(PromptReference: "type" = "ref/prompt" {
    required name "name",
    optional title "title",
});

/// Names a resource template.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceReference {
    /// The URI or its pattern.
    pub uri: String,
    /// Members unknown here.
    pub extra: Object,
}

object!(ResourceReference: "type" = "ref/resource" {
    required uri "uri",
});

/// An argument, as far as it has been typed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// What has been typed.
    pub value: String,
    /// Members unknown here.
    pub extra: Object,
}

object!(Argument {
    required name "name",
    required value "value",
});

/// What has been filled in already.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompletionContext {
    /// The arguments or variables that have a value.
    pub arguments: Option<Object<String>>,
    /// Members unknown here.
    pub extra: Object,
}

object!(CompletionContext {
    optional arguments "arguments",
});

/// Result of `completion/complete`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompleteResult {
    /// The kind of result.
    pub result_type: Option<ResultType>,
    /// How the argument could go on.
    pub completion: Completion,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(CompleteResult {
    optional result_type "resultType",
    required completion "completion",
    optional meta "_meta",
});

/// How an argument could go on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Completion {
    /// At most [`Completion::MAX_VALUES`] values, the best first.
    pub values: Vec<String>,
    /// How many there are in all.
    pub total: Option<i64>,
    /// Whether there are more than are given here.
    pub has_more: Option<bool>,
    /// Members unknown here.
    pub extra: Object,
}

object!(Completion {
    required values "values",
    optional total "total",
    optional has_more "hasMore",
});

impl Completion {
    /// How many values one result may have.
    pub const MAX_VALUES: usize = 100;

    /// The first of these values that fit into one result, with the honest total when some do not.
    pub fn first_of(mut values: Vec<String>) -> Self {
        let total = values.len();
        values.truncate(Self::MAX_VALUES);
        let cut = total > values.len();
        Self {
            values,
            total: cut.then(|| i64::try_from(total).ok()).flatten(),
            has_more: cut.then_some(true),
            extra: Object::new(),
        }
    }
}

impl From<Vec<String>> for Completion {
    fn from(values: Vec<String>) -> Self {
        Self::first_of(values)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_reference_is_kept() {
        let text = r#"{"type":"ref/tool","name":"a"}"#;
        let reference: Reference = serde_json::from_str(text).unwrap();
        assert!(matches!(reference, Reference::Unknown(_)));
        assert_eq!(serde_json::to_string(&reference).unwrap(), text);
        assert!(serde_json::from_str::<Reference>(r#"{"name":"a"}"#).is_err());
    }

    #[test]
    fn a_result_has_at_most_a_hundred_values() {
        let completion = Completion::first_of((0..101).map(|n| n.to_string()).collect());
        assert_eq!(
            (
                completion.values.len(),
                completion.total,
                completion.has_more
            ),
            (100, Some(101), Some(true))
        );
        let completion = Completion::first_of(vec!["a".into()]);
        assert_eq!(
            (
                completion.values.len(),
                completion.total,
                completion.has_more
            ),
            (1, None, None)
        );
    }
}
