//! A modern server that asks instead of answering: its questions become ours, and the answers go back with the same request.

use polyport_model::InputRequiredResult;
use polyport_proto::{NeedInput, Outcome, Question, RpcError};
use polyport_rt::Context;
use polyport_wire::{splice, write};
use serde::{Deserialize, Serialize};

use super::words;

/// What we keep with the questions: nobody but us can read or change it.
#[derive(Deserialize, Serialize)]
struct Kept {
    /// The server's own state.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    /// What it asked in this round.
    keys: Vec<String>,
}

/// The questions of the server, for whoever asks us.
pub(super) fn needed(needed: InputRequiredResult, context: &Context) -> Outcome {
    if !context.may_ask() {
        let why = "asks in the middle of a request in which nobody may be asked";
        return Outcome::Failed(words::broken(why));
    }
    let profile = context.envelope().profile();
    let mut questions = Vec::new();
    for (key, asked) in needed.input_requests.unwrap_or_default().iter() {
        let Some(method) = profile.question(&asked.method) else {
            let why = "asks something that the client's revision has no question for";
            return Outcome::Failed(words::broken(why));
        };
        questions.push(Question {
            key: key.to_owned(),
            method,
            params: asked.params.clone(),
            is_passed_on: true,
        });
    }
    let keys = questions.iter().map(|question| question.key.clone());
    let kept = Kept {
        state: needed.request_state,
        keys: keys.collect(),
    };
    match serde_json::to_string(&kept) {
        Ok(state) => Outcome::NeedInput(NeedInput {
            questions,
            state: Some(state),
            ..NeedInput::default()
        }),
        Err(_) => Outcome::Failed(words::broken("asks what cannot be written")),
    }
}

/// The parameters again, with the answers to what was asked last, and with the server's state.
pub(super) fn with_answers(
    params: &str,
    state: &str,
    context: &Context,
) -> Result<String, RpcError> {
    let kept: Kept = serde_json::from_str(state)
        .map_err(|_| RpcError::invalid_params("requestState belongs to another call"))?;
    let mut members = Vec::new();
    let mut answers = Vec::new();
    for key in &kept.keys {
        // What is missing, the server asks for again.
        let Some(answer) = context.answer(key) else {
            continue;
        };
        if !answers.is_empty() {
            answers.push(b',');
        }
        write::string(&mut answers, key);
        answers.push(b':');
        answers.extend_from_slice(answer.as_bytes());
    }
    if !kept.keys.is_empty() {
        members.extend_from_slice(b"\"inputResponses\":{");
        members.extend_from_slice(&answers);
        members.push(b'}');
    }
    if let Some(state) = &kept.state {
        if !members.is_empty() {
            members.push(b',');
        }
        members.extend_from_slice(b"\"requestState\":");
        write::string(&mut members, state);
    }
    let members = String::from_utf8_lossy(&members);
    let mut out = Vec::new();
    splice::stamp(params, &members, &mut out);
    String::from_utf8(out).map_err(|_| RpcError::invalid_params("the parameters are no text"))
}
