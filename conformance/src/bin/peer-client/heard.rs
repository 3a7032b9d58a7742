//! What a server says besides answers: notifications, progress and questions, in the order in which they come, and what is answered.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use polyport::Raw;
use polyport::client::Connect;
use polyport::model::{CreateMessageResult, ElicitResult, Root, RpcError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// What came since the step began.
#[derive(Clone, Default)]
pub(crate) struct Notes(Arc<Mutex<Noted>>);

#[derive(Default)]
struct Noted {
    events: Vec<Value>,
    answers: Value,
}

impl Notes {
    fn lock(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what came, and answers from now on as the step says.
    pub(crate) fn begin(&self, step: &Value) {
        let answers = step["answers"].clone();
        *self.lock() = Noted {
            events: Vec::new(),
            answers,
        };
    }

    pub(crate) fn note(&self, event: Value) {
        self.lock().events.push(event);
    }

    /// The parameters of all messages of a method so far.
    pub(crate) fn of(&self, method: &str) -> Vec<Value> {
        let noted = self.lock();
        let those = noted
            .events
            .iter()
            .filter(|event| event["method"] == method);
        those.map(|event| event["params"].clone()).collect()
    }

    /// All questions so far, without what the era puts around them.
    pub(crate) fn asked(&self) -> Vec<Value> {
        let noted = self.lock();
        let those = noted.events.iter().filter(|event| event["ask"].is_string());
        those.cloned().collect()
    }

    pub(crate) fn notification(&self, message: &Raw) {
        if let Ok(message) = serde_json::from_str::<Value>(message.as_str()) {
            self.note(json!({"method": message["method"], "params": message["params"]}));
        }
    }

    /// Answers every question there is, and notes what was asked.
    pub(crate) fn answering(&self, connect: Connect) -> Connect {
        let (form, page, sample) = (self.clone(), self.clone(), self.clone());
        let roots = [
            ("file:///work/one", None),
            ("file:///work/two", Some("Two")),
        ];
        connect
            .on_form(move |params| {
                let answer = form.answer::<ElicitResult>("elicitation/create", &params);
                async { answer.unwrap_or_else(|_| ElicitResult::cancel()) }
            })
            .on_page(move |params| {
                let answer = page.answer::<ElicitResult>("elicitation/create", &params);
                async { answer.unwrap_or_else(|_| ElicitResult::cancel()) }
            })
            .on_sample(move |params| {
                let answer =
                    sample.answer::<CreateMessageResult>("sampling/createMessage", &params);
                async { answer.map_err(|why| RpcError::new(-1, why)) }
            })
            .roots(roots.map(|(uri, name)| Root {
                uri: uri.to_owned(),
                name: name.map(str::to_owned),
                ..Root::default()
            }))
    }

    fn answer<T: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<T, String> {
        let params = serde_json::to_value(params).unwrap_or_default();
        self.note(json!({"ask": method, "params": params}));
        let answer = self.lock().answers[method].clone();
        serde_json::from_value(answer).map_err(|error| format!("the step has no answer: {error}"))
    }
}
