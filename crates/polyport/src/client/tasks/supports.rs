//! What the list of tools says of calling each as a task, as far as it has been asked for. Not where else servers decide that.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use polyport_model::{TaskSupport, Tool};

/// What was said last of each tool.
#[derive(Debug, Default)]
pub(in crate::client) struct Supports(Mutex<Listed>);

#[derive(Debug, Default)]
struct Listed {
    tools: HashMap<String, TaskSupport>,
    /// One of them runs as a task only.
    has_required: bool,
}

impl Supports {
    pub(in crate::client) fn note(&self, tools: &[Tool]) {
        // basic/utilities/tasks: what says nothing forbids it.
        let support = |tool: &Tool| {
            let said = tool.execution.as_ref().and_then(|e| e.task_support.clone());
            (tool.name.clone(), said.unwrap_or(TaskSupport::Forbidden))
        };
        let tools: HashMap<_, _> = tools.iter().map(support).collect();
        let has_required = tools
            .values()
            .any(|support| *support == TaskSupport::Required);
        *self.listed() = Listed {
            tools,
            has_required,
        };
    }

    /// None: the list has not been asked for, or does not have it.
    pub(super) fn of(&self, tool: &str) -> Option<TaskSupport> {
        self.listed().tools.get(tool).cloned()
    }

    /// Most servers have none: their calls need not be read for it.
    pub(super) fn has_required(&self) -> bool {
        self.listed().has_required
    }

    fn listed(&self) -> MutexGuard<'_, Listed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
