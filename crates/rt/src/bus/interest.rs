//! In what listeners have an interest, counted, so that a watcher hears of beginnings and ends.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock};

use super::lock;

/// Hears which resources somebody is subscribed to, and whether anybody wants the changes of their list.
pub trait Watcher: Send + Sync + 'static {
    /// The first subscription to this resource has begun (`true`), or the last has ended (`false`). It must not block, nor use the
    /// bus itself.
    fn watch(&self, uri: &str, on: bool);

    /// The first who wants to hear of changes of the list of resources has come (`true`), or the last has gone (`false`). The same
    /// rules; nothing is done unless it is written.
    fn watch_list(&self, on: bool) {
        let _ = on;
    }

    /// The first who listens to this task has come (`true`), or the last has gone (`false`). The same rules; nothing is done unless it is
    /// written.
    fn watch_task(&self, id: &str, on: bool) {
        let _ = (id, on);
    }
}

/// The counts.
#[derive(Default)]
pub(super) struct Interest {
    /// How many listeners are subscribed to each resource. Held while the watcher is told, so that it hears in order.
    uris: Mutex<HashMap<String, usize>>,
    /// How many listen to each task. Held in the same way.
    tasks: Mutex<HashMap<String, usize>>,
    /// How many want the changes of the list of resources. Held in the same way.
    lists: Mutex<usize>,
    watcher: OnceLock<Arc<dyn Watcher>>,
}

impl Interest {
    pub(super) fn set_watcher(&self, watcher: Arc<dyn Watcher>) -> bool {
        self.watcher.set(watcher).is_ok()
    }

    pub(super) fn has(&self, uri: &str) -> bool {
        lock(&self.uris).contains_key(uri)
    }

    pub(super) fn uris(&self) -> Vec<String> {
        lock(&self.uris).keys().cloned().collect()
    }

    pub(super) fn len(&self) -> usize {
        lock(&self.uris).len()
    }

    pub(super) fn in_one(&self, uri: &str, on: bool) {
        let mut uris = lock(&self.uris);
        if counted(&mut uris, uri, on) {
            self.tell_watcher(|watcher| watcher.watch(uri, on));
        }
    }

    pub(super) fn tasks(&self) -> Vec<String> {
        lock(&self.tasks).keys().cloned().collect()
    }

    pub(super) fn in_task(&self, id: &str, on: bool) {
        let mut tasks = lock(&self.tasks);
        if counted(&mut tasks, id, on) {
            self.tell_watcher(|watcher| watcher.watch_task(id, on));
        }
    }

    pub(super) fn in_list(&self, on: bool) {
        let mut count = lock(&self.lists);
        *count = if on {
            *count + 1
        } else {
            count.saturating_sub(1)
        };
        if *count == usize::from(on) {
            self.tell_watcher(|watcher| watcher.watch_list(on));
        }
    }

    fn tell_watcher(&self, tell: impl FnOnce(&dyn Watcher)) {
        if let Some(watcher) = self.watcher.get()
            && catch_unwind(AssertUnwindSafe(|| tell(&**watcher))).is_err()
        {
            tracing::error!("the watcher of subscriptions panicked");
        }
    }
}

/// Counts one more or one less. True: it is the first, or there is none any more.
fn counted(counts: &mut HashMap<String, usize>, of: &str, on: bool) -> bool {
    let count = counts.entry(of.to_owned()).or_default();
    if on {
        *count += 1;
    } else {
        *count = count.saturating_sub(1);
    }
    let (first, last) = (on && *count == 1, *count == 0);
    if last {
        counts.remove(of);
    }
    first || last
}
