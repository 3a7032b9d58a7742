//! Whose the tasks of one client are, as far as it was seen.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use polyport::Outcome;
use polyport_wire::splice;

use crate::addresses::text_of;

/// Tasks of a client whose server is remembered; the oldest are forgotten, and looked for again.
const MAX_TASKS: usize = 1_000;

#[derive(Debug, Default)]
pub(crate) struct Tasks(Mutex<VecDeque<(String, usize)>>);

impl Tasks {
    pub(crate) fn server(&self, id: &str) -> Option<usize> {
        let known = self.known();
        let found = known.iter().rev().find(|(known, _)| known == id);
        found.map(|(_, server)| *server)
    }

    /// The same where the servers stand in other places; what is of none any more is forgotten.
    pub(crate) fn moved(&self, to: impl Fn(usize) -> Option<usize>) -> Self {
        let known = self.known();
        let moved = known
            .iter()
            .filter_map(|(id, server)| Some((id.clone(), to(*server)?)));
        Self(Mutex::new(moved.collect()))
    }

    pub(crate) fn note(&self, id: String, server: usize) {
        let mut known = self.known();
        known.retain(|(known, _)| *known != id);
        if known.len() >= MAX_TASKS {
            known.pop_front();
        }
        known.push_back((id, server));
    }

    /// Notes a task that has come of a call.
    pub(crate) fn made(&self, outcome: &Outcome, server: usize) {
        let (Outcome::Complete(result) | Outcome::Passed(result)) = outcome else {
            return;
        };
        // Most make none, and may be long.
        if !result.as_str().contains("\"taskId\"") {
            return;
        }
        // Either era: the id is that of the result, or of the task in it.
        let mut id = text_of(result.as_str(), "taskId");
        splice::members(result.as_str(), |key, value| {
            if key == "task" && value.starts_with('{') {
                id = text_of(value, "taskId");
            }
        });
        if let Some(id) = id {
            self.note(id, server);
        }
    }

    fn known(&self) -> MutexGuard<'_, VecDeque<(String, usize)>> {
        // Nothing that is done under the lock leaves it half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
