//! Owns multi round-trip requests: a result that asks instead of answering (`basic/patterns/mrtr`).
//! Does not keep the state.

use polyport_wire::Raw;
use serde_core::ser::Serialize;

use crate::method::{ELICITATION_CREATE, Method, ROOTS_LIST, SAMPLING_CREATE_MESSAGE};
use crate::shape::object;
use crate::{CreateMessageParams, ElicitParams, EmptyParams, Object, ResultType};

/// A result that asks: the request is to be sent again with answers. At least one of the two
/// members is there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InputRequiredResult {
    /// The kind of result.
    pub result_type: Option<ResultType>,
    /// The questions, under names the answers repeat.
    pub input_requests: Option<Object<InputRequest>>,
    /// What to give back with the answers; the empty string is a state like any other.
    pub request_state: Option<String>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(InputRequiredResult {
    optional result_type "resultType",
    optional input_requests "inputRequests",
    optional request_state "requestState",
    optional meta "_meta",
});

/// One question: a request without an id, its params not decoded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InputRequest {
    /// The request's method.
    pub method: String,
    /// Its params.
    pub params: Option<Raw>,
    /// Members unknown here.
    pub extra: Object,
}

object!(InputRequest {
    required method "method",
    optional params "params",
});

impl InputRequest {
    /// A question by this method.
    ///
    /// # Errors
    /// When the params cannot be written as JSON.
    pub fn new<M: Method<Params: Serialize>>(
        params: &M::Params,
    ) -> Result<Self, serde_json::Error> {
        Ok(Self {
            method: M::NAME.to_owned(),
            params: Some(Raw::encode(params)?),
            extra: Object::new(),
        })
    }

    /// The question decoded; `None` when its method is unknown here.
    ///
    /// # Errors
    /// When the params do not fit the method.
    pub fn question(&self) -> Result<Option<Question>, serde_json::Error> {
        // Absent params are an empty object (`roots/list` is asked without any).
        let empty = Raw::from_static("{}");
        let params = self.params.as_ref().unwrap_or(&empty);
        match &*self.method {
            SAMPLING_CREATE_MESSAGE => params.decode().map(Box::new).map(Question::CreateMessage),
            ELICITATION_CREATE => params.decode().map(Question::Elicit),
            ROOTS_LIST => params.decode().map(Question::ListRoots),
            _ => return Ok(None),
        }
        .map(Some)
    }
}

/// What a server may ask in the middle of a request.
///
/// An answer is the bare result of the question's method; only the question tells which, so answers
/// are kept as text and decoded with `CreateMessageResult`, `ElicitResult` or `ListRootsResult`.
#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// Ask the model.
    CreateMessage(Box<CreateMessageParams>),
    /// Ask the user.
    Elicit(ElicitParams),
    /// Say which folders are worked in.
    ListRoots(EmptyParams),
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Elicit;

    #[test]
    fn questions_are_decoded_by_their_method() {
        let text = r#"{"resultType":"input_required","inputRequests":{"b":{"method":"roots/list"},"a":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}},"c":{"method":"dream/create","params":{}}},"requestState":""}"#;
        let result: InputRequiredResult = serde_json::from_str(text).unwrap();
        let requests = result.input_requests.as_ref().unwrap();
        assert_eq!(requests.names().collect::<Vec<_>>(), ["b", "a", "c"]);
        assert!(matches!(
            requests.get("b").unwrap().question(),
            Ok(Some(Question::ListRoots(_)))
        ));
        assert!(matches!(
            requests.get("a").unwrap().question(),
            Ok(Some(Question::CreateMessage(_)))
        ));
        assert!(matches!(requests.get("c").unwrap().question(), Ok(None)));
        assert_eq!(result.request_state.as_deref(), Some(""));
        assert_eq!(serde_json::to_string(&result).unwrap(), text);
    }

    #[test]
    fn a_question_is_written_with_its_method() {
        let asked = InputRequest::new::<Elicit>(&ElicitParams::url("go", "https://a")).unwrap();
        let text = r#"{"method":"elicitation/create","params":{"mode":"url","message":"go","url":"https://a"}}"#;
        assert_eq!(serde_json::to_string(&asked).unwrap(), text);
        assert!(
            InputRequest {
                params: Some(Raw::from_static("{}")),
                ..asked
            }
            .question()
            .is_err()
        );
    }
}
