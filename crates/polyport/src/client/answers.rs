//! What a client answers when a server asks in the middle of a call: the same functions in both eras. What is not provided is not
//! declared.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use polyport_model::method::{ELICITATION_CREATE, ROOTS_LIST, SAMPLING_CREATE_MESSAGE};
use polyport_model::{
    CreateMessageParams, CreateMessageResult, EXTENSION_TASKS, ElicitFormParams, ElicitParams,
    ElicitResult, ElicitUrlParams, ListRootsResult, Object, Root, RpcError,
};
use polyport_wire::Raw;
use serde::Serialize;
use serde_json::{Value, json};

type Answering<P, R> = Arc<dyn Fn(P) -> Pin<Box<dyn Future<Output = R> + Send>> + Send + Sync>;

/// The functions that answer.
#[derive(Clone, Default)]
pub(super) struct Answers {
    pub(super) form: Option<Answering<ElicitFormParams, ElicitResult>>,
    pub(super) page: Option<Answering<ElicitUrlParams, ElicitResult>>,
    pub(super) sample:
        Option<Answering<CreateMessageParams, Result<CreateMessageResult, RpcError>>>,
    pub(super) roots: Option<Arc<[Root]>>,
    /// The user says that he has done what there is to do at pages.
    pub(super) visited: Option<Answering<Vec<ElicitUrlParams>, ()>>,
    /// How long that is waited for.
    pub(super) visiting: Option<Duration>,
}

/// A function as it is kept.
pub(super) fn boxed<P, R, F, Fut>(function: F) -> Answering<P, R>
where
    P: 'static,
    F: Fn(P) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = R> + Send + 'static,
{
    Arc::new(move |params| Box::pin(function(params)))
}

impl Answers {
    /// The capabilities object.
    pub(super) fn capabilities(&self) -> Raw {
        // That we can wait for tasks needs nobody to answer.
        let mut all = json!({"extensions": {EXTENSION_TASKS: {}}});
        if self.form.is_some() || self.page.is_some() {
            all["elicitation"] = json!({});
            for (mode, offered) in [("form", self.form.is_some()), ("url", self.page.is_some())] {
                if offered {
                    all["elicitation"][mode] = json!({});
                }
            }
        }
        if self.sample.is_some() {
            all["sampling"] = json!({});
        }
        if self.roots.is_some() {
            all["roots"] = json!({});
        }
        let mut requests = json!({});
        if self.offers(ELICITATION_CREATE) {
            requests["elicitation"] = json!({"create": {}});
        }
        if self.offers(SAMPLING_CREATE_MESSAGE) {
            requests["sampling"] = json!({"createMessage": {}});
        }
        if requests != json!({}) {
            all["tasks"] = json!({"list": {}, "cancel": {}, "requests": requests});
        }
        Raw::trusted(all.to_string())
    }

    /// Is there a function for such a question?
    pub(super) fn has(&self, method: &str) -> bool {
        self.offers(method) || (method == ROOTS_LIST && self.roots.is_some())
    }

    /// May such a question be a task?
    pub(super) fn offers(&self, method: &str) -> bool {
        match method {
            ELICITATION_CREATE => self.form.is_some() || self.page.is_some(),
            SAMPLING_CREATE_MESSAGE => self.sample.is_some(),
            _ => false,
        }
    }

    /// The result for a question, or the error object.
    pub(super) async fn answer(self, method: String, params: Option<Raw>) -> Result<Raw, Raw> {
        let params = params.unwrap_or_else(|| Raw::from_static("{}"));
        match method.as_str() {
            "ping" => Ok(Raw::from_static("{}")),
            "elicitation/create" => {
                let asked = params.decode::<ElicitParams>();
                let result = match (asked.map_err(|error| bad(&error))?, self.form, self.page) {
                    (ElicitParams::Form(form), Some(ask), _) => ask(form).await,
                    (ElicitParams::Url(page), _, Some(ask)) => ask(page).await,
                    _ => return Err(undeclared()),
                };
                written(&result)
            }
            "sampling/createMessage" => {
                let ask = self.sample.ok_or_else(undeclared)?;
                let asked = params.decode::<CreateMessageParams>();
                match ask(asked.map_err(|error| bad(&error))?).await {
                    Ok(result) => written(&result),
                    Err(error) => Err(written(&error)?),
                }
            }
            "roots/list" => written(&ListRootsResult {
                roots: self.roots.ok_or_else(undeclared)?.to_vec(),
                meta: None,
                extra: Object::new(),
            }),
            _ => Err(undeclared()),
        }
    }
}

/// The capabilities of another client, with ours where it has none of that kind. Tasks are between two ends alone; `tasks`: those of
/// servers pass.
pub(super) fn beside(theirs: &Raw, ours: &Raw, tasks: bool) -> Raw {
    let decoded = |raw: &Raw| raw.decode::<Object>().unwrap_or_default();
    let mut all = decoded(theirs);
    for (name, value) in decoded(ours).iter() {
        if !all.contains(name) && name != "extensions" {
            all.insert(name, value.clone());
        }
    }
    all.remove("tasks");
    if !tasks && let Some(Ok(mut extensions)) = all.get("extensions").map(Raw::decode::<Object>) {
        extensions.remove(EXTENSION_TASKS);
        if let Ok(extensions) = Raw::encode(&extensions) {
            all.insert("extensions", extensions);
        }
    }
    Raw::encode(&all).unwrap_or_else(|_| theirs.clone())
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers")
            .field("declared", &self.capabilities().as_str())
            .finish()
    }
}

fn written(value: &impl Serialize) -> Result<Raw, Raw> {
    Raw::encode(value).map_err(|error| error_object(-32603, &error.to_string()))
}

fn bad(error: &serde_json::Error) -> Raw {
    error_object(-32602, &format!("The question cannot be read: {error}"))
}

fn undeclared() -> Raw {
    error_object(-32601, "This client has not declared that it answers this.")
}

fn error_object(code: i32, message: &str) -> Raw {
    let error: Value = json!({"code": code, "message": message});
    Raw::trusted(error.to_string())
}
