//! Owns tasks as one revision has them in the core (`basic/utilities/tasks`), and their states, which
//! the extension took over. The rest of the extension is in `tasks.rs`.

use crate::shape::object;
use crate::word::word;
use crate::{Cursor, Object};

/// In a request's params: the caller wants a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskMetadata {
    /// For how long it should be kept, in milliseconds.
    pub ttl: Option<i64>,
    /// Members unknown here.
    pub extra: Object,
}

object!(TaskMetadata {
    optional ttl "ttl",
});

/// In `_meta`, under [`crate::META_RELATED_TASK`]: the task a message belongs to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RelatedTask {
    /// The task.
    pub task_id: String,
    /// Members unknown here.
    pub extra: Object,
}

object!(RelatedTask {
    required task_id "taskId",
});

/// A request that goes on by itself. Also the result of `tasks/get` and `tasks/cancel`, and params
/// of `notifications/tasks/status`.
#[derive(Clone, Debug, PartialEq)]
pub struct CoreTask {
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
    pub ttl: Option<i64>,
    /// How long to wait between two looks, in milliseconds.
    pub poll_interval: Option<i64>,
    /// The `_meta` object, when it is a result or params.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(CoreTask {
    required task_id "taskId",
    required status "status",
    optional status_message "statusMessage",
    required created_at "createdAt",
    required last_updated_at "lastUpdatedAt",
    required ttl "ttl",
    optional poll_interval "pollInterval",
    optional meta "_meta",
});

/// Where a task stands, in the extension and in the core.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum TaskStatus {
    /// Work goes on.
    Working,
    /// It waits for answers.
    InputRequired,
    /// It has a result.
    Completed,
    /// It has an error.
    Failed,
    /// It was given up.
    Cancelled,
}

word!(TaskStatus {
    Working = "working",
    InputRequired = "input_required",
    Completed = "completed",
    Failed = "failed",
    Cancelled = "cancelled",
});

impl TaskStatus {
    /// Whether it will never change again.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// Result of a request that became a task.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateCoreTaskResult {
    /// The task.
    pub task: CoreTask,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(CreateCoreTaskResult {
    required task "task",
    optional meta "_meta",
});

/// Result of `tasks/list`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListCoreTasksResult {
    /// The tasks of this page.
    pub tasks: Vec<CoreTask>,
    /// Where the next page starts; absent on the last one.
    pub next_cursor: Option<Cursor>,
    /// The `_meta` object.
    pub meta: Option<Object>,
    /// Members unknown here.
    pub extra: Object,
}

object!(ListCoreTasksResult {
    required tasks "tasks",
    optional next_cursor "nextCursor",
    optional meta "_meta",
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_states_are_final() {
        let finals: Vec<_> = TaskStatus::ALL
            .iter()
            .filter(|status| status.is_final())
            .map(TaskStatus::as_str)
            .collect();
        assert_eq!(finals, ["completed", "failed", "cancelled"]);
    }
}
