//! Reads what a server says of a task, in both forms: a wish of its that cannot be read is left out, and what is wrong with the rest is
//! said of the member with which it is wrong.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use polyport_model::{
    CallTool, CoreTask, InputRequest, Method, Object, RpcError, Task as TaskState, TaskStatus,
};
use polyport_proto::TaskForm;
use polyport_wire::{Raw, splice};
use serde::de::DeserializeOwned;

use super::super::ClientError;

/// Characters of a value that are shown.
const SHOWN: usize = 80;

/// What is looked for before a result is walked through.
static TASK: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"task\""));

/// The id of the task that a call has become without having been asked to; none: it is answered.
///
/// # Errors
/// It says that it is a task, and is none.
pub(super) fn became(
    form: TaskForm,
    method: &str,
    result: &Raw,
) -> Result<Option<String>, ClientError> {
    if method != CallTool::NAME
        || form != TaskForm::Extension
        || TASK.find(result.as_bytes()).is_none()
    {
        return Ok(None);
    }
    let mut is_task = false;
    splice::members(result.as_str(), |name, value| {
        is_task |= name == "resultType" && value == "\"task\"";
    });
    if !is_task {
        return Ok(None);
    }
    Ok(Some(read(form, result)?.task_id))
}

/// The id of the task that a call was asked to become.
///
/// # Errors
/// It is none.
pub(super) fn created(form: TaskForm, result: &Raw) -> Result<String, ClientError> {
    let created: Object = result.decode().map_err(|_| wrong("is no object"))?;
    let Some(task) = created.get("task") else {
        return Err(wrong("is not there, though it was asked for"));
    };
    Ok(read(form, task)?.task_id)
}

/// The id of a task that was created, whatever else is wrong with what is said of it.
pub(super) fn id(form: TaskForm, created: &Raw) -> Option<String> {
    let said: Object = created.decode().ok()?;
    let task = match form {
        TaskForm::Core => said.get("task")?.decode().ok()?,
        TaskForm::Absent | TaskForm::Extension => said,
    };
    task.get("taskId")?.decode().ok()
}

/// The state of a task, in the words of the extension.
///
/// # Errors
/// It is none.
pub(super) fn read(form: TaskForm, state: &Raw) -> Result<TaskState, ClientError> {
    if form == TaskForm::Extension {
        return typed(state, &EXTENSION);
    }
    typed(state, &CORE).map(widened)
}

/// What the two forms call the same.
struct Words {
    life: &'static str,
    pause: &'static str,
}

const EXTENSION: Words = Words {
    life: "ttlMs",
    pause: "pollIntervalMs",
};

const CORE: Words = Words {
    life: "ttl",
    pause: "pollInterval",
};

fn typed<T: DeserializeOwned>(state: &Raw, words: &Words) -> Result<T, ClientError> {
    let error = match state.decode() {
        Ok(state) => return Ok(state),
        Err(error) => error,
    };
    let mut members: Object = state.decode().map_err(|_| wrong("is no object"))?;
    if let Some(pause) = members.remove(words.pause) {
        // It is a wish; there is a pace of our own.
        tracing::debug!(pause = %shown(&pause), "the server wants a task to be looked at as nobody can");
    }
    if let Some(fault) = fault(&members, words) {
        return Err(wrong(&fault));
    }
    let rest = Raw::encode(&members).ok();
    let rest = rest.and_then(|rest| rest.decode().ok());
    rest.ok_or_else(|| wrong(&format!("is none: {error}")))
}

/// The first member that is missing, or is not what it has to be.
fn fault(members: &Object, words: &Words) -> Option<String> {
    let is = |name: &'static str, is_right: fn(&Raw) -> bool, want: &str| {
        let value = members.get(name)?;
        let shown = || format!("has the {name} {}, which is {want}", shown(value));
        (!is_right(value)).then(shown)
    };
    let has = |name: &'static str, is_right, want: &str| {
        if members.contains(name) {
            is(name, is_right, want)
        } else {
            Some(format!("has no {name}"))
        }
    };
    let (text, optional) = ("no text", "neither a text nor null");
    has("taskId", reads::<String>, text)
        .or_else(|| has("status", reads::<TaskStatus>, "none that a task may have"))
        .or_else(|| is("statusMessage", reads::<Option<String>>, optional))
        .or_else(|| has("createdAt", reads::<String>, text))
        .or_else(|| has("lastUpdatedAt", reads::<String>, text))
        .or_else(|| {
            let want = "neither a whole number of milliseconds nor null";
            has(words.life, reads::<Option<i64>>, want)
        })
        .or_else(|| {
            let reads = reads::<Option<Object<InputRequest>>>;
            is("inputRequests", reads, "no object of questions")
        })
        .or_else(|| is("error", reads::<Option<RpcError>>, "no error object"))
        .or_else(|| is("_meta", reads::<Option<Object>>, "no object"))
}

fn reads<T: DeserializeOwned>(value: &Raw) -> bool {
    value.decode::<T>().is_ok()
}

fn shown(value: &Raw) -> String {
    value.as_str().chars().take(SHOWN).collect()
}

fn wrong(why: &str) -> ClientError {
    ClientError::Unreadable(format!("the task {why}"))
}

/// The core's form in the words of the extension.
fn widened(core: CoreTask) -> TaskState {
    TaskState {
        result_type: None,
        task_id: core.task_id,
        status: core.status,
        status_message: core.status_message,
        created_at: core.created_at,
        last_updated_at: core.last_updated_at,
        ttl_ms: core.ttl,
        poll_interval_ms: core.poll_interval,
        input_requests: None,
        result: None,
        error: None,
        meta: core.meta,
        extra: core.extra,
    }
}
