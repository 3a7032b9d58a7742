//! Pages that users are sent to: the ids under which a legacy session knows them, the word that all is done there, and a call that is
//! refused until a page has been visited. Not how a question is asked: see `ask`.

use std::fmt;
use std::sync::{Arc, Weak};

use polyport_model::{ElicitAction, ElicitResult, ElicitUrlParams, UrlElicitationData, method};
use polyport_proto::{Code, NeedInput, Outcome, Question, RpcError};
use polyport_wire::{Raw, splice};

use crate::bus::visits::named;
use crate::bus::{Bus, Listener};
use crate::context::Context;
use crate::fault::internal;
use crate::handler::DynHandler;
use crate::layer::told::told;
use crate::random::{self, NoRandomness};
use crate::settle::check;

/// A page that a user is sent to: an id of its own, and the word to their client that all is done there. It may outlive its call.
#[derive(Clone)]
pub struct Visit {
    id: String,
    listener: Option<Weak<Listener>>,
}

impl Visit {
    /// 128 random bits as 32 hexadecimal digits; the same in all rounds of a call.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Tells the client that was sent there that all is done. False: it was not sent there, has been told, is gone, or its revision
    /// has no word for it.
    pub fn done(&self) -> bool {
        let listener = self.listener.as_ref().and_then(Weak::upgrade);
        listener.is_some_and(|listener| listener.visited(&self.id))
    }
}

impl fmt::Debug for Visit {
    /// Who knows the id may be taken for the user.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Visit").finish_non_exhaustive()
    }
}

impl Bus {
    /// The same as [`Visit::done`] by the id alone: for who keeps no [`Visit`].
    pub fn visited(&self, id: &str) -> bool {
        self.all().iter().any(|listener| listener.visited(id))
    }
}

impl Context {
    /// A page to send the user to, by a key that is its own within the call.
    ///
    /// # Errors
    /// The system gave no random bytes.
    pub fn visit(&self, key: &str) -> Result<Visit, NoRandomness> {
        let key = step(key);
        let mut rounds = self.rounds();
        let steps = &mut rounds.get_or_insert_default().steps;
        let kept = steps.get(&key).and_then(|kept| kept.decode().ok());
        let id = match kept {
            Some(id) => id,
            None => {
                let id = mint()?;
                // A modern client brings it back with its answers.
                steps.insert(key, Raw::trusted(format!("\"{id}\"")));
                id
            }
        };
        drop(rounds);
        let listener = self.outlet().listener();
        Ok(Visit {
            id,
            listener: listener.as_ref().map(Arc::downgrade),
        })
    }

    /// The page of this key is done while its call runs: said on the call's own stream. False: as for [`Visit::done`].
    pub fn visited(&self, key: &str) -> bool {
        let kept = self.rounds().as_ref().and_then(|rounds| {
            let kept = rounds.steps.get(&step(key))?;
            kept.decode::<String>().ok()
        });
        let Some((id, listener)) = kept.zip(self.outlet().listener()) else {
            return false;
        };
        let method = method::NOTIFICATIONS_ELICITATION_COMPLETE;
        listener.ends_visit(&id) && {
            if !self.send(method, &named(&id)) {
                listener.tell_visited(&id);
            }
            true
        }
    }

    /// The session is asked this: the page that it sends to may be told to be done.
    pub(crate) fn sent_to_page(&self, question: &Question) {
        let params = question.params.as_ref();
        let Some(params) = params.filter(|_| question.method == method::ELICITATION_CREATE) else {
            return;
        };
        splice::members(params.as_str(), |key, value| {
            if key == "elicitationId"
                && let Ok(id) = serde_json::from_str::<String>(value)
            {
                self.expect_visit(&id);
            }
        });
    }

    /// The client is sent to the page of this id: that all is done there may be told to it by [`Bus::visited`].
    pub fn expect_visit(&self, id: &str) {
        if let Some(listener) = self.outlet().listener() {
            listener.expect_visit(id);
        }
    }
}

/// Beside the steps of the author's own.
fn step(key: &str) -> String {
    format!("polyport/visit/{key}")
}

fn mint() -> Result<String, NoRandomness> {
    let mut id = [0; 16];
    random::fill(&mut id)?;
    Ok(id.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A handler has refused a call until pages have been visited. Only one revision has that error. In the modern era the pages are asked
/// for, where the call may ask; a client that cannot be sent anywhere is told where its user is to go.
pub(crate) fn first(context: &Context, handler: &dyn DynHandler, error: RpcError) -> Outcome {
    let name = context.method();
    let data = error.data.as_ref().map(Raw::decode::<UrlElicitationData>);
    let Some(Ok(UrlElicitationData { elicitations, .. })) = data else {
        return internal(
            name,
            "a call is refused until pages are visited, without pages",
        );
    };
    let pages: Option<Vec<_>> = elicitations.into_iter().map(asked).collect();
    let Some(pages) = pages.filter(|pages| !pages.is_empty()) else {
        return internal(name, "a page to be visited first has no id");
    };
    let profile = context.envelope().profile();
    let client = context.envelope().client().capabilities();
    let lacks = pages[0].0.missing(profile, &client);
    if context.is_modern() {
        return if context.may_ask() {
            ask(context, handler, pages)
        } else {
            Outcome::Failed(error)
        };
    }
    if lacks.is_none() && profile.elicitation_ids {
        pages
            .iter()
            .for_each(|(page, _)| context.expect_visit(&page.key));
        return Outcome::Failed(error);
    }
    let sentence = format!(
        "{}. The user must visit this first, then call again: {}",
        error.message,
        places(pages.iter().map(|(_, page)| page))
    );
    Outcome::Failed(RpcError {
        code: Code::MissingCapability,
        message: sentence.into(),
        data: error.data,
    })
}

/// A page as the question that asks for it, under its id as the key.
fn asked(mut page: ElicitUrlParams) -> Option<(Question, ElicitUrlParams)> {
    let key = page.elicitation_id.take()?;
    let question = Question {
        key,
        method: method::ELICITATION_CREATE,
        params: Some(Raw::encode(&page).ok()?),
        is_passed_on: false,
    };
    Some((question, page))
}

/// In the modern era: asks for what has not been asked. A user who was there, or would not go, is not sent again.
fn ask(
    context: &Context,
    handler: &dyn DynHandler,
    mut pages: Vec<(Question, ElicitUrlParams)>,
) -> Outcome {
    let answer = |page: &Question| context.answer(&page.key)?.decode::<ElicitResult>().ok();
    let mut refused = false;
    let mut waits = Vec::new();
    pages.retain(|(question, page)| match answer(question) {
        None => true,
        Some(answer) => {
            refused |= answer.action != ElicitAction::Accept;
            waits.push(page.clone());
            false
        }
    });
    let tell = |sentence: String| {
        let error = || RpcError::invalid_params(sentence.clone());
        told(handler, context, context.method(), &sentence, error)
    };
    if refused {
        return tell("The user did not agree to visit a page first, so this was not done".into());
    }
    if pages.is_empty() {
        return tell(format!(
            "This waits for what the user does there; call again once it is done: {}",
            places(waits.iter())
        ));
    }
    let need = NeedInput {
        questions: pages.into_iter().map(|(question, _)| question).collect(),
        ..NeedInput::default()
    };
    match check(context, &need) {
        Ok(()) => Outcome::NeedInput(need),
        Err(outcome) => outcome,
    }
}

fn places<'a>(pages: impl Iterator<Item = &'a ElicitUrlParams>) -> String {
    let places = pages.map(|page| format!("{} ({})", page.url, page.message));
    places.collect::<Vec<_>>().join(", ")
}
