//! What a server asks in the middle of a call: which call that is, and how whoever asked the relay is asked.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use polyport_model::method::{ELICITATION_CREATE, ROOTS_LIST, SAMPLING_CREATE_MESSAGE};
use polyport_proto::older::{self, Unsayable};
use polyport_proto::{Era, Question};
use polyport_rt::{BoxFuture, Context, NoAnswer};
use polyport_wire::{Raw, splice, write};
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// How long a question that names no call waits for the other calls to end, where several of one client run.
const ALONE: Duration = Duration::from_secs(1);
/// How long where they may be of several clients: then it belongs to none of them.
const ALONE_OF_ALL: Duration = Duration::from_secs(10);
/// How long it waits for a call to come, where none runs: servers ask for roots as soon as they are told that the client is ready.
const COMES: Duration = Duration::from_secs(10);

/// A call that may be asked something.
pub(super) trait Asks: Send + Sync {
    /// Who waits for it now; none while nobody does.
    fn context(&self) -> Option<Context>;

    /// The answer to a question of the server, or the error object for it.
    fn ask(&self, method: &str, params: Option<Raw>) -> BoxFuture<Result<Raw, Raw>>;
}

/// One of them.
pub(super) type Asking = Arc<dyn Asks>;

/// One that waits for the answers.
pub(super) struct Waiting(pub(super) Context);

impl Asks for Waiting {
    fn context(&self) -> Option<Context> {
        Some(self.0.clone())
    }

    fn ask(&self, method: &str, params: Option<Raw>) -> BoxFuture<Result<Raw, Raw>> {
        let (context, method) = (self.0.clone(), method.to_owned());
        Box::pin(async move {
            let question = question(&method, params, &context)?;
            let answer = context.ask(question).await;
            answer.map_err(|no| refusal(&method, &no))
        })
    }
}

/// The calls that run at the server.
#[derive(Default)]
pub(super) struct Running {
    calls: Mutex<Vec<(u64, Asking)>>,
    next: AtomicU64,
    changed: Notify,
}

/// One of them, until it is dropped.
pub(super) struct Entered<'a>(&'a Running, Option<u64>);

impl Running {
    /// A call begins that may be asked.
    pub(super) fn enter(&self, context: &Context, asking: Asking) -> Entered<'_> {
        if !context.may_ask() {
            return Entered(self, None);
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.calls().push((id, asking));
        self.changed.notify_waiters();
        Entered(self, Some(id))
    }

    /// Asks the call to which a question belongs that names none.
    pub(super) async fn ask(&self, method: &str, params: Option<Raw>) -> Result<Raw, Raw> {
        let end = Instant::now() + COMES;
        while self.calls().is_empty() {
            let changed = self.changed.notified();
            if self.calls().is_empty() && timeout_at(end, changed).await.is_err() {
                return Err(error(
                    -32601,
                    "The client cannot be asked outside a request of its own.",
                ));
            }
        }
        let is_shared = self.is_shared();
        let end = Instant::now() + if is_shared { ALONE_OF_ALL } else { ALONE };
        while self.calls().len() > 1 {
            let changed = self.changed.notified();
            if self.calls().len() > 1 && timeout_at(end, changed).await.is_err() {
                if is_shared {
                    return Err(error(
                        -32603,
                        "Several calls run, and the question does not say to which of them it belongs.",
                    ));
                }
                break;
            }
        }
        let last = self.calls().last().map(|(_, asking)| asking.clone());
        match last {
            Some(asking) => asking.ask(method, params).await,
            None => Err(error(
                -32603,
                "The call in which this could be asked is over.",
            )),
        }
    }

    /// May the calls be of several clients? A modern one has no session that would tell.
    fn is_shared(&self) -> bool {
        let calls = self.calls();
        let mut sessions = calls.iter().map(|(_, asking)| {
            let context = asking.context()?;
            context.envelope().session().cloned()
        });
        let Some(first) = sessions.next().flatten() else {
            return true;
        };
        sessions.any(|session| session.is_none_or(|session| !Arc::ptr_eq(&session, &first)))
    }

    fn calls(&self) -> MutexGuard<'_, Vec<(u64, Asking)>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if let Some(ours) = self.1 {
            self.0.calls().retain(|(id, _)| *id != ours);
            self.0.changed.notify_waiters();
        }
    }
}

/// The key of a question of ours. None is used twice.
pub(super) fn key() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("q{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A question of a server as one of ours, if the client can be asked it.
pub(super) fn question(
    method: &str,
    params: Option<Raw>,
    context: &Context,
) -> Result<Question, Raw> {
    let profile = context.envelope().profile();
    let known = profile.question(method);
    let Some(method) = known.filter(|_| context.may_ask()) else {
        return Err(error(-32601, "The client cannot be asked this here."));
    };
    let client = context.envelope().client().capabilities();
    let params = params.map(|params| without_hop(&params, profile.era));
    let params = older(method, params, context)
        .map_err(|Unsayable(why)| error(-32602, &format!("The server {why}.")))?;
    let question = Question {
        key: key(),
        method,
        params,
        is_passed_on: true,
    };
    match question.missing(profile, &client) {
        Some(capability) => Err(undeclared(method, capability)),
        None => Ok(question),
    }
}

/// What a server asks in words of the client's revision.
pub(super) fn older(
    method: &str,
    params: Option<Raw>,
    context: &Context,
) -> Result<Option<Raw>, Unsayable> {
    let profile = context.envelope().profile();
    let client = context.envelope().client().capabilities();
    let said = params
        .as_ref()
        .map(|params| older::question(method, params, profile, &client));
    Ok(said.transpose()?.flatten().or(params))
}

/// The parameters without what belongs to the conversation with the server alone.
fn without_hop(params: &Raw, era: Era) -> Raw {
    let mut out = b"{".to_vec();
    let mut push = |key: &str, value: &[u8]| {
        if out.len() > 1 {
            out.push(b',');
        }
        write::string(&mut out, key);
        out.push(b':');
        out.extend_from_slice(value);
    };
    splice::members(params.as_str(), |key, value| match (key, era) {
        ("task", _) | ("elicitationId" | "_meta", Era::Modern) => {}
        ("_meta", Era::Legacy) if value.starts_with('{') => {
            let mut meta = b"{".to_vec();
            splice::members(value, |key, value| {
                if key != "progressToken" {
                    if meta.len() > 1 {
                        meta.push(b',');
                    }
                    write::string(&mut meta, key);
                    meta.push(b':');
                    meta.extend_from_slice(value.as_bytes());
                }
            });
            if meta.len() > 1 {
                meta.push(b'}');
                push(key, &meta);
            }
        }
        _ => push(key, value.as_bytes()),
    });
    out.push(b'}');
    Raw::trusted(out)
}

/// What a server hears whose question has no answer.
pub(super) fn refusal(method: &str, no: &NoAnswer) -> Raw {
    match no {
        NoAnswer::Refused { code, message } => {
            Raw::trusted(json!({"code": code, "message": message}).to_string())
        }
        NoAnswer::Unsupported(capability) => undeclared(method, capability),
        NoAnswer::NotHere => error(
            -32601,
            "The client cannot be asked outside a request of its own.",
        ),
        other => error(-32603, &other.to_string()),
    }
}

/// What the specification wants of a client that is asked what it has not declared: an unknown mode is a wrong parameter.
fn undeclared(method: &str, capability: &str) -> Raw {
    let code = if method == ELICITATION_CREATE && capability.contains("url") {
        -32602
    } else {
        -32601
    };
    let what = match method {
        ELICITATION_CREATE => "elicitation of this kind",
        SAMPLING_CREATE_MESSAGE => "sampling of this kind",
        ROOTS_LIST => "roots",
        other => other,
    };
    error(code, &format!("The client has not declared {what}."))
}

pub(super) fn error(code: i32, message: &str) -> Raw {
    Raw::trusted(json!({"code": code, "message": message}).to_string())
}
