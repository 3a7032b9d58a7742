//! Tasks whose state is to be told to one listener: of each the newest, so that what waits is bounded by what it wants to hear of.

use polyport_model::method;
use polyport_proto::revision::seal;
use polyport_proto::{Revision, Task};
use polyport_wire::{Raw, write};

use super::write_tag;

/// States that wait to be told, the oldest first.
#[derive(Debug, Default)]
pub(super) struct News(Vec<Untold>);

/// A task, as its listener reads it.
#[derive(Debug)]
pub(super) struct Untold {
    id: Box<str>,
    /// Its members, without braces.
    members: Vec<u8>,
}

impl News {
    /// False: an older state of the same task waits still, and this one takes its place.
    pub(super) fn note(&mut self, task: &Task, revision: Revision) -> bool {
        let mut members = Vec::new();
        seal::task(task, revision, true, &mut members);
        match self.0.iter_mut().find(|untold| &*untold.id == task.id()) {
            Some(untold) => {
                untold.members = members;
                false
            }
            None => {
                self.0.push(Untold {
                    id: task.id().into(),
                    members,
                });
                true
            }
        }
    }

    pub(super) fn take(&mut self) -> impl Iterator<Item = Untold> {
        self.0.drain(..)
    }
}

/// What is said of a task: under the id of a subscription, or to its session.
pub(super) fn message(tag: Option<&Raw>, untold: &Untold) -> Vec<u8> {
    let mut params = b"{".to_vec();
    if let Some(tag) = tag {
        params.extend_from_slice(b"\"_meta\":");
        write_tag(&mut params, tag);
        params.push(b',');
    }
    params.extend_from_slice(&untold.members);
    params.push(b'}');
    let name = match tag {
        Some(_) => method::NOTIFICATIONS_TASKS,
        None => method::NOTIFICATIONS_TASKS_STATUS,
    };
    let mut out = Vec::new();
    write::notification(&mut out, name, std::str::from_utf8(&params).ok());
    out
}
