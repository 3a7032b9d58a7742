//! Calls that a server goes on with by itself: begun, looked at and given up, the same in both forms of tasks.

mod state;
mod supports;
mod waiting;

use std::fmt;
use std::sync::LazyLock;
use std::time::Duration;

use memchr::memmem::Finder;
use polyport_model::{
    CallTool, CallToolParams, CallToolResult, EXTENSION_TASKS, Method, Object, Task as TaskState,
    TaskMetadata, TaskSupport,
};
use polyport_proto::TaskForm;
use polyport_rt::Wait;
use polyport_wire::{Raw, splice};
use serde_json::json;

use super::{Client, ClientError, unreadable};
pub(super) use supports::Supports;

/// How long a task is waited for where nothing is said: no longer than servers keep one.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// What is looked for before a result is decoded.
static IS_ERROR: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"isError\""));

/// What has become of a call that might be a task.
#[derive(Debug)]
pub enum Called<'a, T = CallToolResult> {
    /// The server has answered at once.
    Done(T),
    /// It goes on by itself.
    Task(Task<'a>),
}

/// A task of a server. Dropping it changes nothing: the task goes on, and [`Client::task`] finds it again by its id.
///
/// ```
/// # use polyport::{Raw, Server, TaskMode, Tool, client::{Called, Connect}};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), polyport::ClientError> {
/// # let build = Tool::new("build", "", |_cx, (): ()| async { Ok("built") }).task(TaskMode::Optional);
/// # let server = Server::new("forge", "1").add_tool(build);
/// let client = Connect::service(server.into_service()).connect().await?;
/// let nothing = Raw::from_static("{}");
/// let result = match client.call_tool_as_task("build", &nothing, None).await? {
///     Called::Task(task) => task.result(None).await?,
///     Called::Done(result) => result,
/// };
/// # assert_eq!(result.content.len(), 1);
/// # Ok(())
/// # }
/// ```
pub struct Task<'a> {
    client: &'a Client,
    id: String,
}

impl fmt::Debug for Task<'_> {
    /// Who knows the id may be taken for the one who asked.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").finish_non_exhaustive()
    }
}

impl Client {
    /// Calls a tool so that it may go on by itself. Where servers decide that, this one may as well answer at once. `life` is for how
    /// long the task should be kept, where the client has a say in that.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::NotOffered`] if the server has no tasks, or none for this tool, of which its list is asked for where
    /// nobody has yet.
    pub async fn call_tool_as_task(
        &self,
        name: &str,
        arguments: &Raw,
        life: Option<Duration>,
    ) -> Result<Called<'_>, ClientError> {
        self.offers("tools", self.opened.capabilities.tools.is_some())?;
        self.offers("tasks", self.offers_tasks())?;
        let is_core = self.task_form() == TaskForm::Core;
        if is_core {
            self.offers_task_of(name).await?;
        }
        let ttl = life.map(|life| i64::try_from(life.as_millis()).unwrap_or(i64::MAX));
        let params = CallToolParams {
            task: is_core.then(|| TaskMetadata {
                ttl,
                extra: Object::new(),
            }),
            ..CallToolParams::new(name, Some(arguments.clone()))
        };
        let params = serde_json::to_string(&params).map_err(|error| unreadable(&error))?;
        let result = self.in_rounds(CallTool::NAME, &params, None).await?;
        let form = self.task_form();
        let id = if is_core {
            Some(self.read_or_cancelled(&result, state::created(form, &result))?)
        } else {
            self.read_or_cancelled(&result, state::became(form, CallTool::NAME, &result))?
        };
        match id {
            Some(id) => Ok(Called::Task(self.task(id))),
            None => Ok(Called::Done(self.typed(&result)?)),
        }
    }

    /// The same as text, and waited for to its end, as [`request_raw`](Self::request_raw) waits for any call: `params` are those of
    /// `tools/call`.
    ///
    /// # Errors
    /// As [`call_tool_as_task`](Self::call_tool_as_task).
    pub async fn call_as_task_raw(
        &self,
        params: &str,
        wait: Option<Wait>,
    ) -> Result<Raw, ClientError> {
        self.offers("tasks", self.offers_tasks())?;
        if self.task_form() == TaskForm::Core
            && let Some(name) = called(params)
        {
            self.offers_task_of(&name).await?;
        }
        self.call_as_task_anyway_raw(params, wait).await
    }

    /// The same, whatever the list of tools says of this one and tasks: the server decides.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::NotOffered`] if the server has no tasks.
    pub async fn call_as_task_anyway_raw(
        &self,
        params: &str,
        wait: Option<Wait>,
    ) -> Result<Raw, ClientError> {
        self.offers("tasks", self.offers_tasks())?;
        if self.task_form() != TaskForm::Core {
            // There the server decides which calls are tasks.
            return self.request_raw(CallTool::NAME, params, wait).await;
        }
        let task = self.ask_for_task(params).await?;
        self.as_call(task, wait).await
    }

    /// A task of which the id is known, from an earlier connection perhaps. Nobody is asked for it yet.
    pub fn task(&self, id: impl Into<String>) -> Task<'_> {
        Task {
            client: self,
            id: id.into(),
        }
    }

    /// Does the server have tasks?
    pub(super) fn offers_tasks(&self) -> bool {
        let offered = &self.opened.capabilities;
        match self.task_form() {
            TaskForm::Absent => false,
            TaskForm::Core => offered.tasks.as_ref().is_some_and(|t| t.for_tools()),
            TaskForm::Extension => offered.extension(EXTENSION_TASKS).is_some(),
        }
    }

    /// Does the list of tools let this one be called as a task? Of one that is not in it the server says itself what is wrong.
    async fn offers_task_of(&self, tool: &str) -> Result<(), ClientError> {
        if self.supports.of(tool).is_none() {
            self.tools().await?;
        }
        let is_allowed = self
            .supports
            .of(tool)
            .is_none_or(|support| matches!(support, TaskSupport::Optional | TaskSupport::Required));
        self.offers("tasks for this tool", is_allowed)
    }

    fn task_form(&self) -> TaskForm {
        self.opened.revision.profile().tasks
    }

    /// What has become of a call that was not asked to be a task. Where clients ask for tasks, a tool may refuse to be anything else:
    /// then it is asked for.
    pub(super) async fn task_of_call(
        &self,
        method: &str,
        params: &str,
        called: Result<Raw, ClientError>,
    ) -> Result<Called<'_, Raw>, ClientError> {
        let result = match called {
            Err(ClientError::Refused(error))
                if self.may_want_task(method, error.code)
                    && Box::pin(self.is_task_only(params)).await? =>
            {
                let task = Box::pin(self.ask_for_task(params)).await?;
                return Ok(Called::Task(task));
            }
            Ok(result)
                if told_code(&result).is_some_and(|code| self.may_want_task(method, code))
                    && Box::pin(self.is_task_only(params)).await? =>
            {
                let task = Box::pin(self.ask_for_task(params)).await?;
                return Ok(Called::Task(task));
            }
            other => other?,
        };
        let became = state::became(self.task_form(), method, &result);
        Ok(match self.read_or_cancelled(&result, became)? {
            Some(id) => Called::Task(self.task(id)),
            None => Called::Done(result),
        })
    }

    /// Calls a tool with the wish for a task.
    pub(super) async fn ask_for_task(&self, params: &str) -> Result<Task<'_>, ClientError> {
        let mut asked = Vec::new();
        splice::stamp(params, "\"task\":{}", &mut asked);
        let asked = String::from_utf8_lossy(&asked);
        let created = self.in_rounds(CallTool::NAME, &asked, None).await?;
        let id = state::created(self.task_form(), &created);
        Ok(self.task(self.read_or_cancelled(&created, id)?))
    }

    /// What was read of a task that was created. Where it could not be, nobody will ask for that task, and the server is told.
    fn read_or_cancelled<T>(
        &self,
        created: &Raw,
        read: Result<T, ClientError>,
    ) -> Result<T, ClientError> {
        if read.is_err()
            && let Some(id) = state::id(self.task_form(), created)
        {
            drop(GivenUp(Some(&self.task(id))));
        }
        read
    }

    /// Has the list of tools said that the tool of this call runs as a task only?
    pub(super) fn is_known_task_only(&self, method: &str, params: &str) -> bool {
        method == CallTool::NAME
            && self.task_form() == TaskForm::Core
            && self.offers_tasks()
            && self.is_listed_task_only(params)
    }

    fn may_want_task(&self, method: &str, code: i32) -> bool {
        // One page has the one code, one the other.
        matches!(code, -32_601 | -32_600)
            && method == CallTool::NAME
            && self.task_form() == TaskForm::Core
            && self.offers_tasks()
    }

    /// Does the tool of a call run as a task only?
    async fn is_task_only(&self, params: &str) -> Result<bool, ClientError> {
        self.tools().await?;
        Ok(self.is_listed_task_only(params))
    }

    fn is_listed_task_only(&self, params: &str) -> bool {
        self.supports.has_required()
            && called(params)
                .is_some_and(|tool| self.supports.of(&tool) == Some(TaskSupport::Required))
    }

    /// Waits for a call that has become a task as for one that has not: within the bounds of the call, and given up with it.
    pub(super) async fn as_call(
        &self,
        task: Task<'_>,
        wait: Option<Wait>,
    ) -> Result<Raw, ClientError> {
        let total = wait.map_or_else(|| Some(self.caller.patience()), |wait| wait.total);
        let mut given_up = GivenUp(Some(&task));
        let result = task.until_ended(total.unwrap_or(LONGEST)).await;
        let goes_on = matches!(
            result,
            Err(ClientError::TimedOut(_) | ClientError::NeedsInput(_) | ClientError::AsksOn(_))
        );
        if !goes_on {
            given_up.0 = None;
        }
        result
    }
}

/// The tool of a call that wishes for no task yet.
fn called(params: &str) -> Option<String> {
    let call: CallToolParams = serde_json::from_str(params).ok()?;
    call.task.is_none().then_some(call.name)
}

/// A task that nobody waits for any more once this is dropped.
struct GivenUp<'a>(Option<&'a Task<'a>>);

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        if let Some(task) = self.0 {
            task.client.caller.say("tasks/cancel", &task.params());
        }
    }
}

impl Task<'_> {
    /// Names it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Where it stands. In the core's form that is without its questions and its result.
    ///
    /// # Errors
    /// [`ClientError`]; the server does not know it, or no longer.
    pub async fn look(&self) -> Result<TaskState, ClientError> {
        self.look_within(None).await
    }

    async fn look_within(&self, wait: Option<Wait>) -> Result<TaskState, ClientError> {
        let params = self.params();
        let state = self.client.in_rounds("tasks/get", &params, wait).await?;
        self.client.check_state(&state)?;
        let state = state::read(self.client.task_form(), &state)?;
        if state.task_id != self.id {
            // Neither is named: who knows the id of a task may be taken for the one who began it.
            let why = "it is the state of another task than the one that was asked for";
            return Err(ClientError::Unreadable(why.to_owned()));
        }
        Ok(state)
    }

    /// Waits for its result; what it asks meanwhile is answered as in any call, in 16 rounds at most. None: as long as the server keeps it,
    /// a day at most.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::Refused`] with the error in which it ended. After [`ClientError::TimedOut`] it goes on, and after
    /// [`ClientError::NeedsInput`], which also comes where it has had all answers for half a minute and still waits for them.
    pub async fn result(&self, wait: Option<Duration>) -> Result<CallToolResult, ClientError> {
        let result = self.until_ended(wait.unwrap_or(LONGEST)).await?;
        self.client.typed(&result)
    }

    /// Gives it up. That it has ended already is no error.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn cancel(&self) -> Result<(), ClientError> {
        let params = self.params();
        match self.client.in_rounds("tasks/cancel", &params, None).await {
            Err(ClientError::Refused(error)) => match self.look().await {
                Ok(task) if task.status.is_final() => Ok(()),
                _ => Err(ClientError::Refused(error)),
            },
            other => self.client.check_result(&other?),
        }
    }

    fn params(&self) -> String {
        json!({"taskId": self.id}).to_string()
    }
}

/// A result that says nothing but that is no longer.
const REFUSAL: usize = 4_096;

/// The code in the text of a failure: the most widely used SDK for servers says as the result of a tool what it refuses a call for.
fn told_code(result: &Raw) -> Option<i32> {
    let text = result.as_bytes();
    if text.len() > REFUSAL || IS_ERROR.find(text).is_none() {
        return None;
    }
    let result: CallToolResult = result.decode().ok()?;
    let text = result.content.first().and_then(|content| content.as_text());
    let text = text.filter(|_| result.is_error == Some(true))?;
    let code = text.strip_prefix("MCP error ")?.split(':').next()?;
    code.parse().ok()
}
