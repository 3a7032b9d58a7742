//! Owns the tasks extension (`io.modelcontextprotocol/tasks`). Tasks as the core once had them,
//! and the states that both have, are in `core_tasks.rs`.

use polyport_wire::Raw;

use crate::shape::object;
use crate::{InputRequest, Object, ResultType, RpcError, TaskStatus};

/// A call that goes on by itself. Result of a `tools/call` that became a task and of `tasks/get`,
/// and params of `notifications/tasks`.
///
/// The last three members before `_meta` go with the status: `input_requests` with input_required,
/// `result` with completed, `error` with failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// `task` when a call became a task, `complete` when asked for.
    pub result_type: Option<ResultType>,
    /// Names it.
    pub task_id: String,
    /// Where it stands.
    pub status: TaskStatus,
    /// Where it stands, for people.
    pub status_message: Option<String>,
    /// When it was made, as an ISO 8601 time.
    pub created_at: String,
    /// When it last changed, as an ISO 8601 time.
    pub last_updated_at: String,
    /// For how long after it was made it will be kept, in milliseconds; `None` (null) for ever.
    pub ttl_ms: Option<i64>,
    /// How long to wait between two looks, in milliseconds.
    pub poll_interval_ms: Option<i64>,
    /// The questions that wait for an answer.
    pub input_requests: Option<Object<InputRequest>>,
    /// The result of the call.
    pub result: Option<Raw>,
    /// Why the call failed.
    pub error: Option<RpcError>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(Task {
    optional result_type "resultType",
    required task_id "taskId",
    required status "status",
    optional status_message "statusMessage",
    required created_at "createdAt",
    required last_updated_at "lastUpdatedAt",
    required ttl_ms "ttlMs",
    optional poll_interval_ms "pollIntervalMs",
    optional input_requests "inputRequests",
    optional result "result",
    optional error "error",
    optional meta "_meta",
});

/// Params of `tasks/get`, `tasks/cancel` and the core's `tasks/result`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskParams {
    /// The task.
    pub task_id: String,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(TaskParams {
    required task_id "taskId",
    optional meta "_meta",
});

/// Params of `tasks/update`: answers to a task's questions. Some may be left for later.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UpdateTaskParams {
    /// The task.
    pub task_id: String,
    /// The answers, by question.
    pub input_responses: Object,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(UpdateTaskParams {
    required task_id "taskId",
    required input_responses "inputResponses",
    optional meta "_meta",
});

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_task_says_for_how_long_it_is_kept_even_when_that_is_for_ever() {
        let text =
            r#"{"taskId":"t","status":"working","createdAt":"a","lastUpdatedAt":"b","ttlMs":null}"#;
        let task: Task = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&task).unwrap(), text);
        assert!(serde_json::from_str::<Task>(&text.replace(r#","ttlMs":null"#, "")).is_err());
        assert!(serde_json::from_str::<Task>(&text.replace("working", "resting")).is_err());
    }
}
