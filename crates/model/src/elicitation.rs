//! Owns elicitation: a server asks the client's user (`client/elicitation`). The form's fields are
//! in `form.rs`.

use polyport_wire::Raw;
use serde_core::de::{Deserialize, Deserializer, Error};
use serde_core::ser::{Serialize, Serializer};

use crate::shape::object;
use crate::word::word;
use crate::{FormSchema, Object, Schema, TaskMetadata, peek};

/// Params of `elicitation/create`.
#[derive(Clone, Debug, PartialEq)]
pub enum ElicitParams {
    /// Fields to fill in.
    Form(ElicitFormParams),
    /// A page to visit.
    Url(ElicitUrlParams),
    /// A mode unknown here.
    Unknown(Raw),
}

impl ElicitParams {
    /// Asks for the fields of this schema.
    pub fn form(message: impl Into<String>, requested_schema: Schema) -> Self {
        Self::Form(ElicitFormParams {
            message: message.into(),
            requested_schema,
            ..ElicitFormParams::default()
        })
    }

    /// Asks to visit this page.
    pub fn url(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self::Url(ElicitUrlParams {
            message: message.into(),
            url: url.into(),
            ..ElicitUrlParams::default()
        })
    }

    /// What to tell the user, in the known modes.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::Form(form) => Some(&form.message),
            Self::Url(url) => Some(&url.message),
            Self::Unknown(_) => None,
        }
    }
}

impl Serialize for ElicitParams {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Form(form) => form.serialize(serializer),
            Self::Url(url) => url.serialize(serializer),
            Self::Unknown(raw) => raw.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ElicitParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Raw::deserialize(deserializer)?;
        let params = match peek::word(&raw, "mode").as_deref() {
            // client/elicitation §Form Mode: without a mode it is a form, as before there were
            // modes.
            None | Some("form") => raw.decode().map(Self::Form),
            Some("url") => raw.decode().map(Self::Url),
            Some(_) => Ok(Self::Unknown(raw)),
        };
        params.map_err(D::Error::custom)
    }
}

/// Asks for fields to be filled in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ElicitFormParams {
    /// `form`, or absent with the same meaning.
    pub mode: Option<FormMode>,
    /// What to tell the user.
    pub message: String,
    /// The fields. Decode them with [`ElicitFormParams::fields`].
    pub requested_schema: Schema,
    /// The server wants a core task.
    pub task: Option<TaskMetadata>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ElicitFormParams {
    optional mode "mode",
    required message "message",
    required requested_schema "requestedSchema",
    optional task "task",
    optional meta "_meta",
});

impl ElicitFormParams {
    /// The fields to be filled in.
    ///
    /// # Errors
    /// When the schema is not the flat one that forms may have.
    pub fn fields(&self) -> Result<FormSchema, serde_json::Error> {
        self.requested_schema.as_raw().decode()
    }
}

/// The word `form`.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum FormMode {
    /// A form.
    #[default]
    Form,
}

word!(FormMode { Form = "form" });

/// Asks for a page to be visited.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ElicitUrlParams {
    /// What to tell the user.
    pub message: String,
    /// The page.
    pub url: String,
    /// Names this question in `notifications/elicitation/complete`, where that exists.
    pub elicitation_id: Option<String>,
    /// The server wants a core task.
    pub task: Option<TaskMetadata>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ElicitUrlParams: "mode" = "url" {
    required message "message",
    required url "url",
    optional elicitation_id "elicitationId",
    optional task "task",
    optional meta "_meta",
});

/// Result of `elicitation/create`.
#[derive(Clone, Debug, PartialEq)]
pub struct ElicitResult {
    /// What the user did.
    pub action: ElicitAction,
    /// What was filled in, by field: strings, numbers, booleans and arrays of strings.
    pub content: Option<Object>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ElicitResult {
    required action "action",
    optional content "content",
    optional meta "_meta",
});

impl ElicitResult {
    /// The user accepted and filled this in; pages have no content.
    pub fn accept(content: Option<Object>) -> Self {
        Self {
            action: ElicitAction::Accept,
            content,
            meta: None,
            extra: Object::new(),
        }
    }

    /// The user said no.
    pub fn decline() -> Self {
        Self {
            action: ElicitAction::Decline,
            ..Self::accept(None)
        }
    }

    /// The user went away without an answer.
    pub fn cancel() -> Self {
        Self {
            action: ElicitAction::Cancel,
            ..Self::accept(None)
        }
    }
}

/// What a user did when asked.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum ElicitAction {
    /// Answered.
    Accept,
    /// Said no.
    Decline,
    /// Went away.
    Cancel,
}

word!(ElicitAction { Accept = "accept", Decline = "decline", Cancel = "cancel" });

/// Params of `notifications/elicitation/complete`: the page asked for has been dealt with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ElicitationCompleteParams {
    /// The question.
    pub elicitation_id: String,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ElicitationCompleteParams {
    required elicitation_id "elicitationId",
    optional meta "_meta",
});

/// The user must visit pages first; `data` is a [`UrlElicitationData`].
pub const CODE_URL_ELICITATION_REQUIRED: i32 = -32042;

/// `data` of [`CODE_URL_ELICITATION_REQUIRED`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UrlElicitationData {
    /// The pages to visit.
    pub elicitations: Vec<ElicitUrlParams>,
    /// Members unknown here.
    pub extra: Object,
}

object!(UrlElicitationData {
    required elicitations "elicitations",
});

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_decides_and_none_means_form() {
        let schema = r#""requestedSchema":{"type":"object","properties":{}}"#;
        for (text, mode) in [
            (format!(r#"{{"message":"m",{schema}}}"#), "form"),
            (
                format!(r#"{{"mode":"form","message":"m",{schema}}}"#),
                "form",
            ),
            (
                r#"{"mode":"url","message":"m","url":"https://a"}"#.to_owned(),
                "url",
            ),
            (r#"{"mode":"voice","x":1}"#.to_owned(), "unknown"),
        ] {
            let params: ElicitParams = serde_json::from_str(&text).unwrap();
            let found = match &params {
                ElicitParams::Form(_) => "form",
                ElicitParams::Url(_) => "url",
                ElicitParams::Unknown(_) => "unknown",
            };
            assert_eq!(found, mode, "{text}");
            assert_eq!(serde_json::to_string(&params).unwrap(), text);
        }
    }

    #[test]
    fn an_unknown_action_is_an_error() {
        let error = serde_json::from_str::<ElicitResult>(r#"{"action":"maybe"}"#)
            .unwrap_err()
            .to_string();
        assert!(error.contains("accept, decline, cancel"), "{error}");
    }

    #[test]
    fn br_202_content_keeps_empty_strings() {
        let text = r#"{"action":"accept","content":{"b":"","a":0}}"#;
        let result: ElicitResult = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&result).unwrap(), text);
    }
}
