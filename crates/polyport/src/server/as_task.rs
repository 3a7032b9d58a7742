//! Whether a tool runs as a task, as its author says it. When a call of it becomes one: see `tasks`.

use polyport_model::{TaskSupport, ToolExecution};

/// Whether a tool runs as a task.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum TaskMode {
    /// Never.
    #[default]
    Forbidden,
    /// For clients that know tasks; for others it is a plain call.
    Optional,
    /// Always; clients that know no tasks are refused.
    Required,
}

/// How a tool runs as a task.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AsTask {
    pub(super) mode: TaskMode,
    /// Only when its function says so.
    pub(super) later: bool,
}

impl AsTask {
    pub(crate) fn is_allowed(self) -> bool {
        self.mode != TaskMode::Forbidden
    }

    /// As it is said in the list of tools.
    pub(super) fn execution(self) -> Option<ToolExecution> {
        let support = match self.mode {
            TaskMode::Forbidden => return None,
            TaskMode::Optional => TaskSupport::Optional,
            TaskMode::Required => TaskSupport::Required,
        };
        Some(ToolExecution {
            task_support: Some(support),
            ..ToolExecution::default()
        })
    }
}
