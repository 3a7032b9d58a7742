//! Where tasks are kept: the trait, and who a task belongs to. The store in memory: see `memory`.

use std::fmt;
use std::sync::Arc;

use polyport_proto::{Principal, Task};

use super::limits::TaskLimits;
use crate::handler::BoxFuture;

/// Who a task belongs to. Everybody else is told that there is no such task.
#[derive(Clone, Eq, Hash, PartialEq)]
pub enum Owner {
    /// A proven principal, in all of its sessions.
    Principal(Arc<Principal>),
    /// A legacy session of nobody in particular, by a random id.
    Session([u8; 16]),
    /// Whoever knows the id, which cannot be guessed.
    Anyone,
}

impl fmt::Debug for Owner {
    /// The id of a session is nobody's business.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Principal(principal) => f.debug_tuple("Principal").field(principal).finish(),
            Self::Session(_) => f.write_str("Session"),
            Self::Anyone => f.write_str("Anyone"),
        }
    }
}

/// There is no room for one more task, or for its result.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NoRoom;

/// Keeps tasks. A task is kept until its time is over, never for a shorter while: what does not fit is refused, not made room for.
///
/// Questions and cancellation reach a task only in the process that runs it. Where replicas share a store, what is asked of a running
/// task has to be routed there; over HTTP the header `Mcp-Name` names it.
pub trait TaskStore: Send + Sync + 'static {
    /// Keeps a new task. It is found by [`get`](Self::get) from then on.
    fn add(&self, owner: Owner, task: Task, limits: &TaskLimits) -> BoxFuture<Result<(), NoRoom>>;

    /// Keeps the new state of a task. One that is not there any more is not made anew, and that is no error.
    fn put(&self, owner: Owner, task: Task, limits: &TaskLimits) -> BoxFuture<Result<(), NoRoom>>;

    /// A task of that owner. None: there is none of that id, it is somebody else's, or its time is over; nobody can tell which.
    fn get(&self, owner: Owner, id: &str) -> BoxFuture<Option<Task>>;

    /// The tasks of that owner in the order of their beginning, at most so many, each with its place in that order; only those after a
    /// place.
    fn list(&self, owner: Owner, after: Option<u64>, most: usize) -> BoxFuture<Vec<(u64, Task)>>;
}
