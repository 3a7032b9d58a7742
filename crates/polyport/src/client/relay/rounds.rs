//! A modern server that asks instead of answering: its questions become ours, and the answers go back with the same request.

use polyport_model::method::ELICITATION_CREATE;
use polyport_model::{
    ElicitAction, ElicitParams, ElicitResult, ElicitUrlParams, InputRequiredResult,
    UrlElicitationData,
};
use polyport_proto::older::Unsayable;
use polyport_proto::{Code, Era, NeedInput, Outcome, Question, RpcError};
use polyport_rt::Context;
use polyport_wire::{Raw, splice, write};
use serde::{Deserialize, Serialize};

use super::{ask, pages, words};

/// What we keep with the questions: nobody but us can read or change it.
#[derive(Deserialize, Serialize)]
struct Kept {
    /// The server's own state.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    /// What it asked in this round.
    keys: Vec<String>,
    /// Of this and of earlier rounds, the pages of which the client is told that all is done there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pages: Vec<String>,
}

/// The questions of the server, for whoever asks us.
pub(super) fn needed(needed: InputRequiredResult, context: &Context) -> Outcome {
    if !context.may_ask() {
        let why = "asks in the middle of a request in which nobody may be asked";
        return Outcome::Failed(words::broken(why));
    }
    let profile = context.envelope().profile();
    let kept = context.state();
    let kept = kept.and_then(|kept| serde_json::from_str::<Kept>(&kept).ok());
    let mut visited = kept.map(|kept| kept.pages).unwrap_or_default();
    let mut questions = Vec::new();
    let mut unreachable = Vec::new();
    for (key, asked) in needed.input_requests.unwrap_or_default().iter() {
        let mut params = asked.params.clone();
        if let Some(mut page) = page(&asked.method, params.as_ref(), context) {
            if !pages::can_visit(context) {
                page.elicitation_id = Some(key.to_owned());
                unreachable.push(page);
                continue;
            }
            let Ok(visit) = context.visit(key) else {
                let why = RpcError::new(Code::Internal, "No id could be made for a page.");
                return Outcome::Failed(why);
            };
            page.elicitation_id = Some(visit.id().to_owned());
            params = Raw::encode(&page).ok();
            visited.retain(|visited| visited != key);
            visited.push(key.to_owned());
        }
        let Some(method) = profile.question(&asked.method) else {
            let why = "asks something that the client's revision has no question for";
            return Outcome::Failed(words::broken(why));
        };
        let params = match ask::older(method, params, context) {
            Ok(params) => params,
            Err(Unsayable(why)) => return Outcome::Failed(words::broken(why)),
        };
        questions.push(Question {
            key: key.to_owned(),
            method,
            params,
            is_passed_on: true,
        });
    }
    if !unreachable.is_empty() {
        let data = UrlElicitationData {
            elicitations: unreachable,
            ..UrlElicitationData::default()
        };
        let why = RpcError::new(
            Code::VisitFirst,
            "This needs a user who can be sent to a page",
        );
        return Outcome::Failed(match Raw::encode(&data) {
            Ok(data) => why.with_data(data),
            Err(_) => words::broken("names pages that cannot be written"),
        });
    }
    let keys = questions.iter().map(|question| question.key.clone());
    let kept = Kept {
        state: needed.request_state,
        keys: keys.collect(),
        pages: visited,
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

/// The page to which a question sends the user of a legacy client.
fn page(method: &str, params: Option<&Raw>, context: &Context) -> Option<ElicitUrlParams> {
    let is_legacy = context.envelope().profile().era == Era::Legacy;
    if method != ELICITATION_CREATE || !is_legacy {
        return None;
    }
    match params?.decode().ok()? {
        ElicitParams::Url(page) => Some(page),
        _ => None,
    }
}

/// The call is over: a legacy client hears that all is done at the pages that its user has agreed to visit in it.
pub(super) fn end(context: &Context) {
    let kept = context.state();
    let kept = kept.and_then(|kept| serde_json::from_str::<Kept>(&kept).ok());
    for key in kept.iter().flat_map(|kept| &kept.pages) {
        let answer = context.answer(key);
        let answer = answer.and_then(|answer| answer.decode::<ElicitResult>().ok());
        if answer.is_some_and(|answer| answer.action == ElicitAction::Accept) {
            context.visited(key);
        }
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
