//! Tasks kept in this process, until their time is over.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::future::ready;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use polyport_proto::{Task, TaskEnd};
use tokio::time::Instant;

use super::limits::TaskLimits;
use super::store::{NoRoom, Owner, TaskStore};
use crate::handler::BoxFuture;

/// Keeps tasks in memory, within the limits of who uses it. What has had its time goes whenever somebody looks.
#[derive(Default)]
pub struct TasksInMemory(Mutex<State>);

#[derive(Default)]
struct State {
    tasks: HashMap<Box<str>, Kept>,
    /// By the end of their time.
    ends: BTreeSet<(Instant, Box<str>)>,
    /// The tasks of those who are told apart, by their place.
    owned: HashMap<Owner, BTreeMap<u64, Box<str>>>,
    bytes: usize,
    next: u64,
}

struct Kept {
    owner: Owner,
    place: u64,
    task: Task,
}

impl TasksInMemory {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that is done under the lock leaves it half done.
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.sweep(Instant::now());
        state
    }

    /// How many are kept, and the bytes of their results.
    pub fn kept(&self) -> (usize, usize) {
        let state = self.state();
        (state.tasks.len(), state.bytes)
    }
}

impl State {
    /// Lets go of those whose time is over.
    fn sweep(&mut self, now: Instant) {
        while let Some((until, _)) = self.ends.first() {
            if *until > now {
                return;
            }
            let Some((_, id)) = self.ends.pop_first() else {
                return;
            };
            let Some(kept) = self.tasks.remove(&id) else {
                continue;
            };
            self.bytes -= size(&kept.task);
            if let Some(owned) = self.owned.get_mut(&kept.owner) {
                owned.remove(&kept.place);
                if owned.is_empty() {
                    self.owned.remove(&kept.owner);
                }
            }
        }
    }

    fn add(&mut self, owner: Owner, task: Task, limits: &TaskLimits) -> Result<(), NoRoom> {
        let owned = self.owned.get(&owner).map_or(0, BTreeMap::len);
        if self.tasks.len() >= limits.in_all || owned >= limits.per_owner {
            return Err(NoRoom);
        }
        let until = Instant::now() + Duration::from_millis(task.ttl());
        let (place, id) = (self.next, Box::<str>::from(task.id()));
        self.next += 1;
        self.ends.insert((until, id.clone()));
        if owner != Owner::Anyone {
            let owned = self.owned.entry(owner.clone()).or_default();
            owned.insert(place, id.clone());
        }
        self.tasks.insert(id, Kept { owner, place, task });
        Ok(())
    }

    fn put(&mut self, owner: &Owner, task: Task, limits: &TaskLimits) -> Result<(), NoRoom> {
        let Some(kept) = self.tasks.get_mut(task.id()) else {
            return Ok(());
        };
        if kept.owner != *owner || kept.task.end().is_some() {
            return Ok(());
        }
        let bytes = self.bytes - size(&kept.task) + size(&task);
        if bytes > limits.bytes && bytes > self.bytes {
            return Err(NoRoom);
        }
        self.bytes = bytes;
        kept.task = task;
        Ok(())
    }
}

/// What of a task has no bound of its own.
fn size(task: &Task) -> usize {
    match task.end() {
        Some(TaskEnd::Result(result)) => result.as_bytes().len(),
        Some(TaskEnd::Failed(error)) => {
            error.message.len() + error.data.as_ref().map_or(0, |data| data.as_bytes().len())
        }
        Some(TaskEnd::Cancelled) | None => 0,
    }
}

impl TaskStore for TasksInMemory {
    fn add(&self, owner: Owner, task: Task, limits: &TaskLimits) -> BoxFuture<Result<(), NoRoom>> {
        Box::pin(ready(self.state().add(owner, task, limits)))
    }

    fn put(&self, owner: Owner, task: Task, limits: &TaskLimits) -> BoxFuture<Result<(), NoRoom>> {
        Box::pin(ready(self.state().put(&owner, task, limits)))
    }

    fn get(&self, owner: Owner, id: &str) -> BoxFuture<Option<Task>> {
        let state = self.state();
        let kept = state.tasks.get(id).filter(|kept| kept.owner == owner);
        Box::pin(ready(kept.map(|kept| kept.task.clone())))
    }

    fn list(&self, owner: Owner, after: Option<u64>, most: usize) -> BoxFuture<Vec<(u64, Task)>> {
        let state = self.state();
        let from = after.map_or(0, |place| place.saturating_add(1));
        let owned = state.owned.get(&owner);
        let found = owned.into_iter().flat_map(|owned| owned.range(from..));
        let found =
            found.filter_map(|(place, id)| Some((*place, state.tasks.get(id)?.task.clone())));
        Box::pin(ready(found.take(most).collect()))
    }
}

impl fmt::Debug for TasksInMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tasks, bytes) = self.kept();
        write!(f, "TasksInMemory({tasks} tasks, {bytes} bytes)")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use polyport_wire::Raw;

    use super::*;

    fn limits() -> TaskLimits {
        TaskLimits {
            in_all: 4,
            per_owner: 2,
            bytes: 100,
            ..TaskLimits::default()
        }
    }

    fn task(id: &str, ttl: u64) -> Task {
        Task::new(id, 0, ttl, 1)
    }

    fn ended(id: &str, ttl: u64, bytes: usize) -> Task {
        let mut task = task(id, ttl);
        let result = format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - 8));
        task.ends(TaskEnd::Result(Raw::trusted(result)), 0);
        task
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_is_kept_for_its_time_and_not_longer() {
        let (store, limits) = (TasksInMemory::default(), limits());
        let owner = Owner::Session([1; 16]);
        store
            .add(owner.clone(), task("a", 1_000), &limits)
            .await
            .unwrap();
        store
            .put(owner.clone(), ended("a", 1_000, 60), &limits)
            .await
            .unwrap();
        tokio::time::advance(Duration::from_millis(999)).await;
        assert!(store.get(owner.clone(), "a").await.is_some());
        assert_eq!(store.kept(), (1, 60));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(store.get(owner.clone(), "a").await.is_none());
        assert_eq!(store.kept(), (0, 0));
        assert!(store.list(owner, None, 9).await.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_does_not_fit_is_refused_and_nothing_makes_room_for_it() {
        let (store, limits) = (TasksInMemory::default(), limits());
        let (ann, bob) = (Owner::Session([1; 16]), Owner::Session([2; 16]));
        for id in ["a", "b"] {
            store
                .add(ann.clone(), task(id, 1_000), &limits)
                .await
                .unwrap();
        }
        assert_eq!(
            store.add(ann.clone(), task("c", 1), &limits).await,
            Err(NoRoom)
        );
        for id in ["d", "e"] {
            store
                .add(bob.clone(), task(id, 9_000), &limits)
                .await
                .unwrap();
        }
        let anyone = store.add(Owner::Anyone, task("f", 1), &limits).await;
        assert_eq!(anyone, Err(NoRoom));
        // Their results share one bound.
        store
            .put(ann.clone(), ended("a", 1_000, 80), &limits)
            .await
            .unwrap();
        let more = store.put(ann.clone(), ended("b", 1_000, 30), &limits).await;
        assert_eq!(more, Err(NoRoom));
        store
            .put(ann.clone(), ended("b", 1_000, 20), &limits)
            .await
            .unwrap();
        assert_eq!(store.kept(), (4, 100));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(store.kept(), (2, 0));
        store.add(ann, task("c", 1), &limits).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn lists_have_what_is_the_owners_in_order() {
        let (store, limits) = (TasksInMemory::default(), TaskLimits::default());
        let (ann, bob) = (Owner::Session([1; 16]), Owner::Session([2; 16]));
        for n in 0..6 {
            let owner = if n % 2 == 0 { &ann } else { &bob };
            store
                .add(owner.clone(), task(&n.to_string(), 1_000), &limits)
                .await
                .unwrap();
        }
        let ids = |page: &[(u64, Task)]| -> Vec<String> {
            page.iter().map(|(_, task)| task.id().to_owned()).collect()
        };
        let first = store.list(ann.clone(), None, 2).await;
        assert_eq!(ids(&first), ["0", "2"]);
        let rest = store.list(ann, Some(first[1].0), 2).await;
        assert_eq!(ids(&rest), ["4"]);
    }
}
