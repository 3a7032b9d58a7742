//! A client of any MCP server: which era it speaks is found out, and what is asked looks the same in both.
//!
//! ```
//! # use polyport::{Server, client::Connect};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), polyport::ClientError> {
//! # let server = Server::new("test", "1").tool("hello", "Says hello.", |_cx, (): ()| async { Ok("hello") });
//! // Connect::command(Command::new("some-server")) starts a program; here the server is in this one.
//! let client = Connect::service(server.into_service()).connect().await?;
//! let tools = client.tools().await?;
//! let result = client.call_tool("hello", &polyport::Raw::from_static("{}")).await?;
//! # assert_eq!((tools.len(), result.content.len()), (1, 1));
//! client.close().await;
//! # Ok(())
//! # }
//! ```

mod answers;
mod calls;
mod changes;
mod connect;
mod error;
mod fresh;
mod kinds;
mod link;
mod lists;
mod marked;
mod outputs;
mod pool;
mod receiver;
mod relay;
mod room;
mod tasks;
mod verdicts;
mod visits;

use std::fmt;
use std::sync::{Arc, LazyLock, Mutex as StdMutex, PoisonError};
use std::time::Duration;

use memchr::memmem::Finder;
use polyport_model::{
    CODE_HEADER_MISMATCH, CallTool, CallToolParams, CallToolResult, InputRequiredResult, Method,
    Prompt, ReadResource, ReadResourceParams, ReadResourceResult, Resource, ResourceTemplate, Tool,
};
use polyport_proto::{ClientFacts, Era};
use polyport_rt::{Caller, Child, Late, Opened, Stopper, Wait};
use polyport_wire::{Raw, splice};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use answers::Answers;
pub use calls::List;
pub use changes::{Change, Changes, Heard, Wanted};
pub use connect::Connect;
use fresh::{Asked, Fresh, Known};
use outputs::Outputs;
use receiver::Receiver;
use room::Place;

pub use error::ClientError;
pub use link::{Health, Link, LinkError};
pub use lists::Listed;
pub use marked::{Marked, marked_arguments};
#[cfg(feature = "http-client")]
pub use polyport_http::client::{BadTarget, Target};
pub use pool::{Pool, PoolError};
pub use relay::{Changed, Relay, Shown};
use tasks::Supports;
pub use tasks::{Called, Task};
pub use verdicts::{MAX_VERDICTS, MemoryVerdicts, ServerKey, VERDICT_LIFE, VerdictStore};
use visits::Done;

/// Rounds of questions of one request in the modern era.
const MAX_ROUNDS: usize = 16;

/// A connection to a server. Dropping it ends the connection at once; [`close`](Self::close) is kinder.
pub struct Client {
    caller: Caller,
    opened: Opened,
    answers: Answers,
    /// Answers what a legacy server asks.
    receiver: Receiver,
    /// It speaks for somebody else: each request says for whom, where the era has that. What belongs to no request of theirs is for this
    /// one.
    behalf: Option<ClientFacts>,
    /// Clients that know nothing of each other are passed on over it.
    is_shared: bool,
    /// How long nothing may come of what is passed on.
    idle: Option<Duration>,
    /// Until its end.
    place: StdMutex<Option<Place>>,
    supports: Supports,
    fresh: Arc<Fresh>,
    done: Arc<Done>,
    outputs: Outputs,
    /// Messages travel with headers.
    has_headers: bool,
    server: Mutex<Serving>,
}

/// What runs at the other end, where it is ours.
#[derive(Debug)]
enum Serving {
    Child(Box<Child>),
    Inside {
        _stopper: Stopper,
    },
    #[cfg(feature = "http-client")]
    Elsewhere,
    /// Nothing any more: we have ended it.
    Ended,
}

impl Client {
    /// What the server has said of itself.
    pub fn opened(&self) -> &Opened {
        &self.opened
    }

    /// All tools, page by page. What is no tool is left out, and the log says so.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn tools(&self) -> Result<Vec<Tool>, ClientError> {
        self.offers("tools", self.opened.capabilities.tools.is_some())?;
        let tools = self.list(List::Tools).await?;
        self.supports.note(&tools);
        self.outputs.note(&tools);
        Ok(self.mirroring(tools))
    }

    /// All resources, page by page.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn resources(&self) -> Result<Vec<Resource>, ClientError> {
        self.offers("resources", self.opened.capabilities.resources.is_some())?;
        self.list(List::Resources).await
    }

    /// All templates of resources, page by page.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn resource_templates(&self) -> Result<Vec<ResourceTemplate>, ClientError> {
        self.offers("resources", self.opened.capabilities.resources.is_some())?;
        self.list(List::Templates).await
    }

    /// All prompts, page by page.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn prompts(&self) -> Result<Vec<Prompt>, ClientError> {
        self.offers("prompts", self.opened.capabilities.prompts.is_some())?;
        self.list(List::Prompts).await
    }

    /// Calls a tool; `arguments` is an object. A tool that failed is a result with `is_error`. Where the tools have been
    /// [listed](Self::tools), the result is held to the output schema of the tool.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::Misfit`] holds the result.
    pub async fn call_tool(
        &self,
        name: &str,
        arguments: &Raw,
    ) -> Result<CallToolResult, ClientError> {
        self.offers("tools", self.opened.capabilities.tools.is_some())?;
        let params = CallToolParams {
            name: name.to_owned(),
            arguments: Some(arguments.clone()),
            ..CallToolParams::default()
        };
        let result = self.request::<CallTool>(&params).await?;
        self.check_output(name, result)
    }

    /// Reads a resource; what was read before is read again once it is no longer fresh.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn read(&self, uri: &str) -> Result<ReadResourceResult, ClientError> {
        self.offers("resources", self.opened.capabilities.resources.is_some())?;
        let asked = Asked::Contents(uri.to_owned());
        let kept = self.fresh.get(&asked);
        if let Some(kept) = kept.as_ref().and_then(|kept| kept.parts.first()) {
            return kept.decode().map_err(|error| unreadable(&error));
        }
        let ticket = self.fresh.begin(asked);
        let params = ReadResourceParams {
            uri: uri.to_owned(),
            ..ReadResourceParams::default()
        };
        let params = serde_json::to_string(&params).map_err(|error| unreadable(&error))?;
        let answered = self.in_counted_rounds(ReadResource::NAME, &params, None);
        let (raw, rounds) = answered.await?;
        let result: ReadResourceResult = self.typed(&raw)?;
        // What was answered in between is not in what it is kept under.
        if rounds == 1 {
            let known = Known {
                parts: vec![raw],
                until: fresh::until(result.ttl_ms),
                scope: result.cache_scope.unwrap_or_default(),
            };
            self.fresh.keep(ticket, &known);
        }
        Ok(result)
    }

    /// Is the server there? In the modern era, which has no such question, what it is is asked anew.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn ping(&self) -> Result<(), ClientError> {
        let method = match self.opened.revision.profile().era {
            Era::Legacy => "ping",
            Era::Modern => "server/discover",
        };
        let result = self.request_raw(method, "{}", None).await?;
        self.check_result(&result)
    }

    /// Any request, in the types of the specification; waits as long as was said when the client was connected.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn request<M>(&self, params: &M::Params) -> Result<M::Result, ClientError>
    where
        M: Method,
        M::Params: Serialize,
        M::Result: DeserializeOwned,
    {
        let params = serde_json::to_string(params).map_err(|error| unreadable(&error))?;
        let result = self.request_raw(M::NAME, &params, None).await?;
        self.typed(&result)
    }

    /// Any request as text; `params` is an object. `wait` says how long, and who hears of progress: its `total` is for the whole request,
    /// with the time that answers to its questions take. Without `wait` that time is left out in the modern era, where each round is
    /// waited for by itself. Dropping the future cancels it. A
    /// call of a tool that becomes a task is waited for like any other; see [`call_tool_as_task`](Self::call_tool_as_task). Whether what
    /// came is a result, [`check_result`](Self::check_result) knows.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn request_raw(
        &self,
        method: &str,
        params: &str,
        wait: Option<Wait>,
    ) -> Result<Raw, ClientError> {
        if self.is_known_task_only(method, params) {
            let task = Box::pin(self.ask_for_task(params)).await?;
            return Box::pin(self.as_call(task, wait)).await;
        }
        let called = self.in_rounds(method, params, wait.clone()).await;
        match self.task_of_call(method, params, called).await? {
            Called::Task(task) => Box::pin(self.as_call(task, wait)).await,
            Called::Done(result) => Ok(result),
        }
    }

    /// The same, where a task is a result.
    async fn in_rounds(
        &self,
        method: &str,
        params: &str,
        wait: Option<Wait>,
    ) -> Result<Raw, ClientError> {
        let answered = self.in_counted_rounds(method, params, wait).await;
        answered.map(|(result, _)| result)
    }

    /// The same, and how often it was asked.
    async fn in_counted_rounds(
        &self,
        method: &str,
        params: &str,
        wait: Option<Wait>,
    ) -> Result<(Raw, usize), ClientError> {
        let mut asked = params.to_owned();
        let (mut is_refreshed, mut is_sent_away) = (false, false);
        let begun = Instant::now();
        let end = wait.as_ref().and_then(|wait| Some(begun + wait.total?));
        let mut wait = wait.unwrap_or_else(|| Wait {
            total: Some(self.caller.patience()),
            ..Wait::default()
        });
        for round in 1..=MAX_ROUNDS {
            let sent = self.done.now();
            if let Some(end) = end {
                wait.total = Some(end.saturating_duration_since(Instant::now()));
            }
            let answer = self.caller.request_waiting(method, &asked, &wait).await;
            let result = match answer.map_err(ClientError::from) {
                Err(ClientError::Closed) => return Err(Box::pin(self.gone()).await),
                Err(ClientError::TimedOut(mut late)) => {
                    late.after = begun.elapsed();
                    return Err(ClientError::TimedOut(late));
                }
                // It wants arguments in headers that we do not know of, or no longer.
                Err(ClientError::Refused(error))
                    if error.code == CODE_HEADER_MISMATCH
                        && method == CallTool::NAME
                        && !is_refreshed =>
                {
                    is_refreshed = true;
                    self.fresh.doubt(method);
                    Box::pin(self.tools()).await?;
                    continue;
                }
                Err(ClientError::Refused(error)) => {
                    if !is_sent_away && Box::pin(self.has_visited(&error, sent)).await {
                        is_sent_away = true;
                        continue;
                    }
                    if lists::may_be_unknown(error.code) {
                        self.fresh.doubt(method);
                    }
                    return Err(ClientError::Refused(error));
                }
                other => other?,
            };
            let Some(needed) = input_required(&result) else {
                return Ok((result, round));
            };
            let answered = Box::pin(self.with_answers(params, needed));
            let answered = match end {
                None => answered.await,
                Some(end) => timeout_at(end, answered)
                    .await
                    .map_err(|_| ClientError::TimedOut(self.late(begun.elapsed())))?,
            };
            asked = answered?;
        }
        Err(ClientError::AsksOn(MAX_ROUNDS))
    }

    /// The parameters of the same request with answers to what the server has asked.
    async fn with_answers(
        &self,
        params: &str,
        needed: InputRequiredResult,
    ) -> Result<String, ClientError> {
        let mut members = "\"inputResponses\":{".to_owned();
        let questions = needed.input_requests.clone().unwrap_or_default();
        let mut pages = Vec::new();
        for (i, (key, question)) in questions.iter().enumerate() {
            let (method, params) = (question.method.clone(), question.params.clone());
            let Ok(answer) = self.answers.clone().answer(method, params).await else {
                return Err(ClientError::NeedsInput(Box::new(needed)));
            };
            pages.extend(visits::agreed(
                &question.method,
                question.params.as_ref(),
                &answer,
            ));
            if i > 0 {
                members.push(',');
            }
            members.push_str(&json!(key).to_string());
            members.push(':');
            members.push_str(answer.as_str());
        }
        members.push('}');
        self.visit_in_round(pages).await;
        if let Some(state) = &needed.request_state {
            members.push_str(",\"requestState\":");
            members.push_str(&json!(state).to_string());
        }
        let mut text = Vec::new();
        splice::stamp(params, &members, &mut text);
        String::from_utf8(text).map_err(|error| ClientError::Unreadable(error.to_string()))
    }

    /// How things stand for somebody who has waited so long in vain, by a bound of his own. [`ClientError::TimedOut`] has it already.
    pub fn late(&self, after: Duration) -> Late {
        self.caller.late(after)
    }

    /// Has the connection ended?
    pub fn is_closed(&self) -> bool {
        self.caller.is_closed()
    }

    /// Ends the connection, as [`close`](Self::close) does, where others hold the client too.
    pub(crate) async fn finish(&self) {
        self.caller.finish().await;
        let server = std::mem::replace(&mut *self.server.lock().await, Serving::Ended);
        if let Serving::Child(child) = server {
            child.end().await;
        }
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        *place = None;
    }

    /// Ends the connection. A server of ours is told by the end of its input, and by signals if it does not listen.
    pub async fn close(self) {
        self.finish().await;
    }

    /// How the server ended, as far as it can be said soon.
    async fn gone(&self) -> ClientError {
        match &mut *self.server.lock().await {
            Serving::Child(child) => connect::how_it_ended(child).await,
            Serving::Inside { .. } | Serving::Ended => ClientError::Closed,
            #[cfg(feature = "http-client")]
            Serving::Elsewhere => ClientError::Closed,
        }
    }

    fn offers(&self, what: &'static str, offered: bool) -> Result<(), ClientError> {
        if offered {
            Ok(())
        } else {
            Err(ClientError::NotOffered(what))
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("revision", &self.opened.revision)
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

/// What is looked for before a result is decoded.
static INPUT_REQUIRED: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("input_required"));

/// The questions of a result that is none yet.
fn input_required(result: &Raw) -> Option<InputRequiredResult> {
    INPUT_REQUIRED.find(result.as_bytes())?;
    let read: InputRequiredResult = result.decode().ok()?;
    let kind = serde_json::to_string(&read.result_type).ok()?;
    (kind == "\"input_required\"").then_some(read)
}

fn unreadable(error: &serde_json::Error) -> ClientError {
    ClientError::Unreadable(error.to_string())
}
