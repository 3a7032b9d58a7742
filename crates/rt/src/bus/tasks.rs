//! Tasks whose state is to be told to one listener: of each the newest, so that what waits is bounded by what it wants to hear of.

use polyport_model::{META_SERVER_INFO, META_SUBSCRIPTION_ID, method};
use polyport_proto::revision::seal;
use polyport_proto::{Revision, Task};
use polyport_wire::{Raw, splice, write};

use super::write_tag;

/// States that wait to be told, the oldest first.
#[derive(Debug, Default)]
pub(super) struct News(Vec<Untold>);

/// A task, as its listener reads it.
#[derive(Debug)]
pub(super) struct Untold {
    id: Box<str>,
    /// Its members, without braces, and without `_meta`.
    members: Vec<u8>,
    /// Those of its `_meta`, likewise.
    meta: Vec<u8>,
}

impl News {
    /// False: an older state of the same task waits still, and this one takes its place.
    pub(super) fn note(&mut self, task: &Task, revision: Revision) -> bool {
        let mut members = Vec::new();
        seal::task(task, revision, true, &mut members);
        self.put(task.id(), members, Vec::new())
    }

    /// The same of a state that somebody else has written: the parameters of `notifications/tasks`, or the result of `tasks/get`.
    pub(super) fn pass(&mut self, id: &str, state: &Raw) -> bool {
        let (mut members, mut meta) = (Vec::new(), Vec::new());
        splice::members(state.as_str(), |key, value| match key {
            "_meta" if value.starts_with('{') => splice::members(value, |key, value| {
                if ![META_SUBSCRIPTION_ID, META_SERVER_INFO].contains(&key) {
                    write::member(&mut meta, key, value.as_bytes());
                }
            }),
            "_meta" | "resultType" => {}
            _ => write::member(&mut members, key, value.as_bytes()),
        });
        self.put(id, members, meta)
    }

    fn put(&mut self, id: &str, members: Vec<u8>, meta: Vec<u8>) -> bool {
        let known = self.0.iter_mut().find(|untold| &*untold.id == id);
        let is_new = known.is_none();
        let id = id.into();
        let state = Untold { id, members, meta };
        match known {
            Some(untold) => *untold = state,
            None => self.0.push(state),
        }
        is_new
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
        if !untold.meta.is_empty() {
            params.pop();
            params.push(b',');
            params.extend_from_slice(&untold.meta);
            params.push(b'}');
        }
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
