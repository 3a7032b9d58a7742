//! Completion of arguments of prompts and templates: what may follow what has been typed (server/utilities/completion).

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use polyport_model::{CompleteParams, CompleteResult, Completion, Reference};
use polyport_proto::Outcome;
use polyport_rt::BoxFuture;
use polyport_wire::{Params, Raw};

use super::Facts;
use super::context::Cx;
use super::reply::{fault_outcome, meta};
use crate::error::Fault;

type Complete = Arc<
    dyn Fn(Cx, String, BTreeMap<String, String>) -> BoxFuture<Result<Completion, Fault>>
        + Send
        + Sync,
>;

/// Completes one argument.
#[derive(Clone)]
pub struct Completer {
    of: Of,
    argument: String,
    complete: Complete,
}

/// What has the argument: a prompt of that name, or a template of that form.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Of {
    Prompt(String),
    Template(String),
}

impl Completer {
    /// Completes an argument of a prompt. The function gets what has been typed and the arguments that are settled, and
    /// gives the values, of which the first 100 are sent.
    pub fn of_prompt<F, Fut>(
        prompt: impl Into<String>,
        argument: impl Into<String>,
        function: F,
    ) -> Self
    where
        F: Fn(Cx, String, BTreeMap<String, String>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<String>, Fault>> + Send + 'static,
    {
        Self::new(Of::Prompt(prompt.into()), argument.into(), function)
    }

    /// Completes a variable of a resource template.
    pub fn of_template<F, Fut>(
        uri_template: impl Into<String>,
        variable: impl Into<String>,
        function: F,
    ) -> Self
    where
        F: Fn(Cx, String, BTreeMap<String, String>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<String>, Fault>> + Send + 'static,
    {
        Self::new(Of::Template(uri_template.into()), variable.into(), function)
    }

    /// The same where the function knows of more values than it gives.
    pub fn of_template_counted<F, Fut>(
        uri_template: impl Into<String>,
        variable: impl Into<String>,
        function: F,
    ) -> Self
    where
        F: Fn(Cx, String, BTreeMap<String, String>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Completion, Fault>> + Send + 'static,
    {
        Self::new(Of::Template(uri_template.into()), variable.into(), function)
    }

    fn new<F, Fut, C>(of: Of, argument: String, function: F) -> Self
    where
        F: Fn(Cx, String, BTreeMap<String, String>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<C, Fault>> + Send + 'static,
        C: Into<Completion>,
    {
        Self {
            of,
            argument,
            complete: Arc::new(move |cx, value, settled| {
                let future = function(cx, value, settled);
                Box::pin(async move { future.await.map(Into::into) })
            }),
        }
    }
}

impl fmt::Debug for Completer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completer")
            .field("of", &self.of)
            .field("argument", &self.argument)
            .finish_non_exhaustive()
    }
}

/// Answers `completion/complete`.
pub(crate) async fn complete(facts: Arc<Facts>, cx: Cx, params: Params) -> Outcome {
    let profile = cx.revision().profile();
    match values(&facts, cx, &params).await {
        Ok(values) => {
            Outcome::Complete(render(values, |out| meta(out, None, profile, &facts.info)))
        }
        Err(fault) => fault_outcome("completion/complete", fault),
    }
}

async fn values(facts: &Facts, cx: Cx, params: &Params) -> Result<Completion, Fault> {
    let read = params.text().map(serde_json::from_str::<CompleteParams>);
    let params = match read {
        Some(Ok(params)) => params,
        Some(Err(error)) => {
            return Err(Fault::invalid_params(format!(
                "completion/complete: {error}"
            )));
        }
        None => {
            return Err(Fault::invalid_params(
                "completion/complete: params are missing",
            ));
        }
    };
    let catalogue = facts.catalogue();
    let of = match params.reference {
        Reference::Prompt(prompt) if catalogue.prompt(&prompt.name).is_some() => {
            Of::Prompt(prompt.name)
        }
        Reference::Prompt(prompt) => {
            return Err(Fault::invalid_params(format!(
                "Unknown prompt: {}",
                shorten(&prompt.name)
            )));
        }
        Reference::Resource(resource) if catalogue.has_resource(&resource.uri) => {
            Of::Template(resource.uri)
        }
        Reference::Resource(resource) => return Err(Fault::not_found(&resource.uri)),
        Reference::Unknown(_) => {
            return Err(Fault::invalid_params(
                "completion/complete: ref must be a ref/prompt or a ref/resource",
            ));
        }
    };
    let is_it = |c: &&Completer| c.of == of && c.argument == params.argument.name;
    let found = catalogue.completers(&of).iter().find(is_it);
    let Some(completer) = found.or_else(|| facts.completers.iter().find(is_it)) else {
        return Ok(Completion::default());
    };
    let complete = completer.complete.clone();
    drop(catalogue);
    let settled = params
        .context
        .and_then(|c| c.arguments)
        .map(|a| a.iter().map(|(k, v)| (k.to_owned(), v.clone())).collect());
    complete(cx, params.argument.value, settled.unwrap_or_default()).await
}

fn shorten(text: &str) -> String {
    polyport_proto::outcome::shorten(text)
}

fn render(mut completion: Completion, meta: impl FnOnce(&mut Vec<u8>)) -> Raw {
    let known = completion.values.len();
    completion.values.truncate(Completion::MAX_VALUES);
    let given = completion.values.len();
    completion.has_more = Some(completion.has_more.unwrap_or(false) || known > given);
    completion.total = completion.total.or_else(|| i64::try_from(known).ok());
    let result = Raw::encode(&CompleteResult {
        completion,
        ..CompleteResult::default()
    })
    .expect("made of texts");
    let mut out = result.as_bytes().to_vec();
    out.pop();
    meta(&mut out);
    out.push(b'}');
    Raw::trusted(out)
}
