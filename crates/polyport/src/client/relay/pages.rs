//! Pages that a legacy server wants visited before it serves a call (-32042 in 2025-11-25): a modern client is asked to send its user
//! there, and a legacy one hears of the end as the server tells it. Not the words for clients that cannot: see `polyport_rt`'s `pages`.

use std::sync::Arc;
use std::time::Duration;

use polyport_model::method::{ELICITATION_CREATE, TOOLS_CALL};
use polyport_model::{ElicitAction, ElicitResult, ElicitUrlParams, UrlElicitationData};
use polyport_proto::{Code, NeedInput, Outcome, Question, RpcError};
use polyport_rt::{Call, Context};
use polyport_wire::Raw;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::timeout;

use super::super::visits::{MAX_PAGES, Moment};
use super::{Shared, ask, park, words};

/// How long a client that came back waits for the word that all is done, unless told otherwise: less than clients wait for an answer.
const WAITS: Duration = Duration::from_secs(20);

/// The pages that a modern client was asked to send its user to. It travels with the client.
#[derive(Deserialize, Serialize)]
struct Sent {
    /// When the call was refused for them.
    since: Moment,
    /// Each with the key of its question.
    pages: Vec<(String, ElicitUrlParams)>,
}

/// Asks a legacy server for a modern client.
pub(super) async fn run(shared: Arc<Shared>, call: Call) -> Outcome {
    let context = call.context.clone();
    let again = || Call {
        method: call.method,
        params: call.params.clone(),
        context: context.clone(),
    };
    let since = shared.client.done.now();
    let Some(sent) = Sent::of(&context) else {
        let outcome = park::run(shared, again(), context.state()).await;
        return match refused_for(&outcome) {
            Some(pages) => Sent::new(since, pages).ask(),
            None => outcome,
        };
    };
    match sent.answered(&context) {
        Answered::Open => return sent.ask(),
        Answered::Refused => {
            let why = "The user did not agree to visit a page first, so this was not done";
            return told(&context, why);
        }
        Answered::Agreed => {}
    }
    // Who agrees may have been there by now, and not every server tells.
    let outcome = park::run(shared.clone(), again(), None).await;
    let Some(pages) = refused_for(&outcome) else {
        return outcome;
    };
    let is_told = shared.until_done(&sent, &pages).await;
    let since = shared.client.done.now();
    let outcome = park::run(shared, again(), None).await;
    match refused_for(&outcome) {
        None => outcome,
        // It is done there, and there is something else to do.
        Some(pages) if is_told => Sent::new(since, pages).ask(),
        Some(pages) => told(&context, &waits(&pages)),
    }
}

/// Asks a legacy server for a legacy client, which hears from its server that all is done.
pub(super) async fn pass(shared: &Shared, call: &Call, asking: ask::Asking) -> Outcome {
    let context = &call.context;
    let since = shared.client.done.now();
    let outcome = shared.request(call, asking.clone()).await;
    let Some(pages) = refused_for(&outcome).filter(|_| can_visit(context)) else {
        return outcome;
    };
    for id in pages.iter().filter_map(|page| page.elicitation_id.as_ref()) {
        context.expect_visit(id);
    }
    // The word may have come before anybody here waited for it.
    if shared.client.done.has_all(since, &pages) {
        return shared.request(call, asking).await;
    }
    outcome
}

/// Can a legacy client send its user to pages, which it knows by ids?
pub(super) fn can_visit(context: &Context) -> bool {
    let profile = context.envelope().profile();
    let client = context.envelope().client().capabilities();
    profile.elicitation_ids && client.elicits_url()
}

/// The pages that a call is refused for.
fn refused_for(outcome: &Outcome) -> Option<Vec<ElicitUrlParams>> {
    let Outcome::Failed(error) = outcome else {
        return None;
    };
    let data = error
        .data
        .as_ref()
        .filter(|_| error.code == Code::VisitFirst)?;
    let mut pages = data.decode::<UrlElicitationData>().ok()?.elicitations;
    pages.truncate(MAX_PAGES);
    (!pages.is_empty()).then_some(pages)
}

enum Answered {
    Agreed,
    Refused,
    /// There is none to one of them.
    Open,
}

impl Sent {
    fn new(since: Moment, pages: Vec<ElicitUrlParams>) -> Self {
        let pages = pages.into_iter().map(|page| (ask::key(), page));
        Self {
            since,
            pages: pages.collect(),
        }
    }

    /// What the client brings back of it, if that is what it was asked last.
    fn of(context: &Context) -> Option<Self> {
        serde_json::from_str(&context.state()?).ok()
    }

    fn answered(&self, context: &Context) -> Answered {
        let mut all = Answered::Agreed;
        for (key, _) in &self.pages {
            let answer = context.answer(key);
            match answer.and_then(|answer| answer.decode::<ElicitResult>().ok()) {
                None => return Answered::Open,
                Some(answer) if answer.action != ElicitAction::Accept => all = Answered::Refused,
                Some(_) => {}
            }
        }
        all
    }

    /// Asks the client.
    fn ask(&self) -> Outcome {
        let mut questions = Vec::new();
        for (key, page) in &self.pages {
            // Of what has no id nothing tells in this era.
            let page = ElicitUrlParams {
                elicitation_id: None,
                ..page.clone()
            };
            questions.push(Question {
                key: key.clone(),
                method: ELICITATION_CREATE,
                params: Raw::encode(&page).ok(),
                is_passed_on: true,
            });
        }
        match serde_json::to_string(self) {
            Ok(state) => Outcome::NeedInput(NeedInput {
                questions,
                state: Some(state),
                ..NeedInput::default()
            }),
            Err(_) => Outcome::Failed(words::broken("names pages that cannot be written")),
        }
    }
}

impl Shared {
    /// Waits until the server tells that all is done where the user was sent, or where it would send him now. False: it has not.
    async fn until_done(&self, sent: &Sent, now: &[ElicitUrlParams]) -> bool {
        let client = &self.client;
        let before: Vec<_> = sent.pages.iter().map(|(_, page)| page.clone()).collect();
        let told = async {
            tokio::select! {
                () = client.done.all(sent.since, &before) => true,
                () = client.done.all(sent.since, now) => true,
                () = client.caller.closed() => false,
            }
        };
        let wait = client.answers.visiting.unwrap_or(WAITS);
        timeout(wait, told).await.unwrap_or(false)
    }
}

/// What a client hears whose user has not done yet what there is to do.
fn waits(pages: &[ElicitUrlParams]) -> String {
    let places = pages
        .iter()
        .map(|page| format!("{} ({})", page.url, page.message));
    let places = places.collect::<Vec<_>>().join(", ");
    format!("This waits for what the user does there; call again once it is done: {places}")
}

/// A sentence that the model reads where a tool was called; else an error.
fn told(context: &Context, sentence: &str) -> Outcome {
    if context.method() != TOOLS_CALL {
        return Outcome::Failed(RpcError::invalid_params(sentence.to_owned()));
    }
    let content = json!([{"type": "text", "text": sentence}]);
    Outcome::Complete(Raw::trusted(
        json!({"content": content, "isError": true}).to_string(),
    ))
}
