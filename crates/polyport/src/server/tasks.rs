//! Tools that run as tasks: when a call becomes one, and what may be asked of it then. How it runs, and where it is kept, is the
//! runtime's business.

use std::fmt;
use std::future::{poll_fn, ready};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use polyport_model::EXTENSION_TASKS;
use polyport_proto::outcome::task::task_id;
use polyport_proto::revision::seal;
use polyport_proto::{Code, Outcome, Revision, RpcError, Task, TaskForm};
use polyport_rt::fault::internal;
use polyport_rt::tasks::TasksInMemory;
use polyport_rt::{BoxFuture, Bus, DynHandler, TaskLimits, TaskStore, Tasks};
use polyport_wire::{Params, Raw, splice, write};

use super::as_task::TaskMode;
use super::context::Cx;
use super::reply::meta;
use super::tools::Registered;
use super::{Facts, Server};
use crate::cursor;

/// Where tasks are to be kept, and within which bounds.
#[derive(Default)]
pub(super) struct Keeping {
    store: Option<Arc<dyn TaskStore>>,
    limits: TaskLimits,
}

impl Keeping {
    pub(super) fn tasks(self, bus: Bus) -> Tasks {
        let store = self
            .store
            .unwrap_or_else(|| Arc::new(TasksInMemory::default()));
        Tasks::new(store, self.limits, bus)
    }
}

impl fmt::Debug for Keeping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeping")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// The bounds of tasks: for how long they are kept, and how many.
    #[must_use]
    pub fn task_limits(mut self, limits: TaskLimits) -> Self {
        self.facts.keeping.limits = limits;
        self
    }

    /// Where tasks are kept. Defaults to [`tasks::TasksInMemory`](crate::tasks::TasksInMemory).
    #[must_use]
    pub fn task_store(mut self, store: Arc<dyn TaskStore>) -> Self {
        self.facts.keeping.store = Some(store);
        self
    }
}

impl Cx {
    /// From here on the call is a task: its client is answered, and comes back for the result. For tools with
    /// [`task_later`](crate::Tool::task_later), after what they asked.
    ///
    /// The function is run anew as a task, as it is after a round of questions: what was answered is there at once, and what must be
    /// done once belongs behind this line. False: the call is not to become a task, and goes on as it is.
    ///
    /// ```
    /// use polyport::{Cx, Server, TaskMode, Tool, ToolError};
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Name {
    ///     name: String,
    /// }
    ///
    /// let rename = Tool::new("rename", "Renames everything.", |cx: Cx, (): ()| async move {
    ///     let to: Name = cx.elicit("to", "To what?").await?;
    ///     cx.become_task().await;
    ///     Ok::<_, ToolError>(format!("All is called {} now.", to.name))
    /// });
    /// let server = Server::new("names", "1.0.0").add_tool(rename.task(TaskMode::Optional).task_later());
    /// ```
    pub async fn become_task(&self) -> bool {
        if self.0.in_task() {
            return true;
        }
        if self.0.wish_task() {
            // Whoever runs this drops it now.
            std::future::pending::<()>().await;
        }
        false
    }

    /// Does this run as a task?
    pub fn in_task(&self) -> bool {
        self.0.in_task()
    }
}

/// Calls a tool of a server that has tasks.
pub(super) fn call(
    handler: Arc<dyn DynHandler>,
    facts: &Arc<Facts>,
    tool: &Arc<Registered>,
    cx: Cx,
    params: Params,
) -> BoxFuture<Outcome> {
    let plain = |cx, params| (tool.run)(facts.clone(), cx, params);
    if cx.in_task() {
        return plain(cx, params);
    }
    let Some(tasks) = &facts.tasks else {
        let cause = "a tool that runs as a task came to a server that had none when it was served";
        return match tool.as_task.mode {
            TaskMode::Required => Box::pin(ready(internal("tools/call", cause))),
            TaskMode::Forbidden | TaskMode::Optional => plain(cx, params),
        };
    };
    match decide(tool, &cx, &params) {
        Ok(None) => plain(cx, params),
        Ok(Some(life)) => {
            let new = NewTask {
                handler,
                facts: facts.clone(),
                tool: tool.clone(),
                tasks: tasks.clone(),
                life,
            };
            if tool.as_task.later && form(&cx) == TaskForm::Extension {
                Box::pin(new.later(cx, params))
            } else {
                Box::pin(new.begin(cx, params))
            }
        }
        Err(error) => Box::pin(ready(Outcome::Failed(error))),
    }
}

/// Which form tasks have for this client. A client of a session that cannot be found again has none.
fn form(cx: &Cx) -> TaskForm {
    match cx.revision().profile().tasks {
        TaskForm::Core if !cx.0.has_session() => TaskForm::Absent,
        form => form,
    }
}

/// For how long a task is to be kept, where the call is to be one.
type Life = Option<Duration>;

fn decide(tool: &Registered, cx: &Cx, params: &Params) -> Result<Option<Life>, RpcError> {
    let mode = tool.as_task.mode;
    match form(cx) {
        TaskForm::Extension if mode == TaskMode::Forbidden => Ok(None),
        TaskForm::Extension => match (declares(cx), mode) {
            (true, _) => Ok(Some(None)),
            (false, TaskMode::Required) => Err(undeclared()),
            (false, _) => Ok(None),
        },
        TaskForm::Core => match (wanted(params)?, mode) {
            (Some(_), TaskMode::Forbidden) => Err(RpcError::new(
                Code::MethodNotFound,
                "tools/call: this tool does not run as a task: leave out `task`",
            )),
            (None, TaskMode::Required) => Err(RpcError::new(
                Code::MethodNotFound,
                "tools/call: this tool runs as a task only: add `task`",
            )),
            (wanted, _) => Ok(wanted),
        },
        TaskForm::Absent if mode == TaskMode::Required => Err(undeclared()),
        TaskForm::Absent => Ok(None),
    }
}

/// Does the client know the extension?
fn declares(cx: &Cx) -> bool {
    cx.capabilities().extension(EXTENSION_TASKS).is_some()
}

fn undeclared() -> RpcError {
    RpcError::missing_capability("{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}")
}

/// The error for who uses the extension without having declared it.
pub(super) fn check_declared(cx: &Cx) -> Result<(), RpcError> {
    if form(cx) != TaskForm::Extension || declares(cx) {
        Ok(())
    } else {
        Err(undeclared())
    }
}

/// What the core's form asks for: a task, and for how long.
fn wanted(params: &Params) -> Result<Option<Life>, RpcError> {
    let mut task = None;
    splice::members(params.text().unwrap_or("{}"), |key, value| {
        if key == "task" && value != "null" {
            task = Some(value);
        }
    });
    let Some(task) = task else { return Ok(None) };
    let bad = || {
        RpcError::invalid_params("tools/call: task must be an object; its ttl is in milliseconds")
    };
    let task: polyport_model::TaskMetadata = serde_json::from_str(task).map_err(|_| bad())?;
    let life = task.ttl.map(u64::try_from).transpose().map_err(|_| bad())?;
    Ok(Some(life.map(Duration::from_millis)))
}

/// A call that is to become a task.
struct NewTask {
    handler: Arc<dyn DynHandler>,
    facts: Arc<Facts>,
    tool: Arc<Registered>,
    tasks: Tasks,
    life: Life,
}

impl NewTask {
    async fn begin(self, cx: Cx, params: Params) -> Outcome {
        let (facts, tool) = (self.facts.clone(), self.tool);
        let (inside, asked) = (tool.clone(), params.clone());
        let run = move |context| (inside.run)(facts, Cx(context), asked);
        let begun = self.tasks.begin(self.handler, cx.0.clone(), self.life, run);
        match begun.await {
            Ok(Some(outcome)) => outcome,
            Ok(None)
                if form(&cx) == TaskForm::Extension && tool.as_task.mode == TaskMode::Optional =>
            {
                (tool.run)(self.facts, cx, params).await
            }
            Ok(None) => {
                cx.0.turn_away();
                Outcome::Failed(RpcError::new(
                    Code::InvalidRequest,
                    "Too many tasks are kept: retry when one of them has had its time",
                ))
            }
            Err(error) => Outcome::Failed(error),
        }
    }

    /// Runs the tool as a plain call until it says that it is a task.
    async fn later(self, cx: Cx, params: Params) -> Outcome {
        cx.0.allow_task();
        let mut call = (self.tool.run)(self.facts.clone(), cx.clone(), params.clone());
        let ended = poll_fn(|waker| match call.as_mut().poll(waker) {
            Poll::Pending if cx.0.wishes_task() => Poll::Ready(None),
            polled => polled.map(Some),
        });
        match ended.await {
            Some(outcome) => outcome,
            None => {
                drop(call);
                self.begin(cx, params).await
            }
        }
    }
}

/// Those of these tasks that there are for this client.
pub(super) async fn known(tasks: &Tasks, cx: &Cx, ids: Vec<String>) -> Vec<String> {
    let mut known = Vec::new();
    for id in ids {
        if tasks.get(&cx.0, &id).await.is_ok() {
            known.push(id);
        }
    }
    known
}

/// What a server with tasks declares, as a further member of its capabilities.
pub(super) fn capability(cx: &Cx) -> &'static str {
    match cx.revision().profile().tasks {
        TaskForm::Absent => "",
        TaskForm::Core => {
            ",\"tasks\":{\"list\":{},\"cancel\":{},\"requests\":{\"tools\":{\"call\":{}}}}"
        }
        TaskForm::Extension => ",\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}",
    }
}

/// Answers a request about tasks.
pub(super) async fn answer(facts: Arc<Facts>, cx: Cx, params: Params) -> Outcome {
    let answered = match &facts.tasks {
        Some(tasks) => answered(&facts, tasks, &cx, &params).await,
        None => Err(RpcError::method_not_found(cx.0.method())),
    };
    match answered {
        Ok(result) => Outcome::Complete(result),
        Err(error) => Outcome::Failed(error),
    }
}

async fn answered(facts: &Facts, tasks: &Tasks, cx: &Cx, params: &Params) -> Result<Raw, RpcError> {
    check_declared(cx)?;
    let method = cx.0.method();
    if method == "tasks/list" {
        return list(facts, tasks, cx, params).await;
    }
    let id = task_id(params).ok_or_else(|| {
        RpcError::invalid_params(format!("{method}: taskId is missing or not a text"))
    })?;
    let is_core = form(cx) != TaskForm::Extension;
    match method {
        "tasks/get" => Ok(facts.task(&tasks.get(&cx.0, &id).await?, cx)),
        "tasks/update" => {
            tasks.update(&cx.0, &id, params).await?;
            Ok(facts.acknowledge(cx))
        }
        "tasks/cancel" => {
            let before = tasks.cancel(&cx.0, &id).await?;
            if !is_core {
                return Ok(facts.acknowledge(cx));
            }
            if before.end().is_some() {
                let status = before.status();
                return Err(RpcError::invalid_params(format!(
                    "The task cannot be cancelled: it is {} already",
                    status.as_str()
                )));
            }
            Ok(facts.task(&tasks.get(&cx.0, &id).await?, cx))
        }
        _ => tasks.result(&cx.0, &id).await,
    }
}

async fn list(facts: &Facts, tasks: &Tasks, cx: &Cx, params: &Params) -> Result<Raw, RpcError> {
    let after = match params.cursor() {
        None => None,
        Some(text) => Some(place(&text).ok_or_else(|| {
            RpcError::invalid_params("tasks/list: the cursor is not one of ours")
        })?),
    };
    let (page, next) = tasks.list(&cx.0, after).await;
    let mut out = b"{\"tasks\":[".to_vec();
    for (i, task) in page.iter().enumerate() {
        out.extend_from_slice(if i == 0 { b"{" } else { b",{" });
        seal::task(task, cx.revision(), false, &mut out);
        out.push(b'}');
    }
    out.push(b']');
    if let Some(next) = next {
        out.extend_from_slice(b",\"nextCursor\":");
        write::string(&mut out, &cursor::encode(0, &next.to_string()));
    }
    facts.close(&mut out, cx.revision());
    Ok(Raw::trusted(out))
}

fn place(text: &str) -> Option<u64> {
    let (part, inner) = cursor::decode(text)?;
    (part == 0).then(|| inner.parse().ok())?
}

impl Facts {
    fn task(&self, task: &Task, cx: &Cx) -> Raw {
        let mut out = b"{".to_vec();
        seal::task(task, cx.revision(), true, &mut out);
        self.close(&mut out, cx.revision());
        Raw::trusted(out)
    }

    fn acknowledge(&self, cx: &Cx) -> Raw {
        let mut rest = Vec::new();
        self.close(&mut rest, cx.revision());
        // Nothing stands before it.
        let rest = rest.strip_prefix(b",").unwrap_or(&rest);
        Raw::trusted([b"{".as_slice(), rest].concat())
    }

    /// Ends an object that says who the server is, where the revision wants that.
    fn close(&self, out: &mut Vec<u8>, revision: Revision) {
        meta(out, None, revision.profile(), &self.info);
        out.push(b'}');
    }
}
