//! Calls that go on by themselves: begun from a call, run apart from it, and asked for by an id, in the core's form and in that of the
//! extension (basic/utilities/tasks; extension `io.modelcontextprotocol/tasks`).

mod limits;
mod live;
mod memory;
mod owner;
mod result;
mod store;
mod wish;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use polyport_proto::outcome::NewTask;
use polyport_proto::{Code, Era, Outcome, Question, RpcError, Task, TaskEnd};
use polyport_wire::{Params, Raw, splice, write};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::bus::Bus;
use crate::context::{CancelReason, Context};
use crate::fault::{failure, failure_saying};
use crate::handler::{BoxFuture, DynHandler};
use crate::layer::told::told;
use crate::random::{self, NoRandomness};
use crate::run::Guarded;

pub use limits::TaskLimits;
use live::{Live, TaskOutlet};
pub use memory::TasksInMemory;
pub use store::{NoRoom, Owner, TaskStore};

/// How long a cancelled task may take to tidy up.
const GRACE: Duration = Duration::from_secs(2);

/// The tasks of one server. Cheap to clone; clones are the same.
#[derive(Clone)]
pub struct Tasks(Arc<Inner>);

struct Inner {
    store: Arc<dyn TaskStore>,
    limits: TaskLimits,
    bus: Bus,
    live: Mutex<HashMap<Box<str>, Arc<Live>>>,
    /// The last of them has ended.
    idle: Notify,
    /// Held while a session gets its id.
    naming: Mutex<()>,
}

impl Tasks {
    /// Tasks that are kept in this store; the bus is told what becomes of them.
    pub fn new(store: Arc<dyn TaskStore>, limits: TaskLimits, bus: Bus) -> Self {
        Self(Arc::new(Inner {
            store,
            limits,
            bus,
            live: Mutex::default(),
            idle: Notify::new(),
            naming: Mutex::default(),
        }))
    }

    /// How many run.
    pub fn running(&self) -> usize {
        self.0.live().len()
    }

    /// Lets a call go on as a task; `run` begins it within its new surroundings. `life` is what its client asks for. None: there is no
    /// room for one more.
    ///
    /// # Errors
    /// The system gave no random bytes.
    pub async fn begin(
        &self,
        handler: Arc<dyn DynHandler>,
        context: Context,
        life: Option<Duration>,
        run: impl FnOnce(Context) -> BoxFuture<Outcome> + Send + 'static,
    ) -> Result<Option<Outcome>, RpcError> {
        let limits = &self.0.limits;
        let no_bytes = |error: NoRandomness| failure(context.method(), &error.to_string());
        let owner = self.owner(&context).map_err(no_bytes)?;
        let life = life.unwrap_or(limits.life).min(limits.max_life);
        let id = mint().map_err(no_bytes)?;
        let task = Task::new(id, now(), millis(life), millis(limits.poll));
        let until = Instant::now() + life;
        let added = self.0.store.add(owner.clone(), task.clone(), limits);
        if added.await == Err(NoRoom) {
            return Ok(None);
        }
        let live = Live::new(owner, task.clone(), &context);
        let inside = context.as_task(Arc::new(TaskOutlet(live.clone())));
        let _ = live.context.set(inside.clone());
        self.0.live().insert(live.id().into(), live.clone());
        let meta = handler.result_meta_dyn();
        let surroundings = inside.clone();
        // Begun where its panics are caught.
        let future: BoxFuture<_> = Box::pin(async move { run(surroundings).await });
        let future = Guarded::new(handler.clone(), inside, future);
        tokio::spawn(self.clone().drive(handler, live, future, until));
        Ok(Some(Outcome::Task(Box::new(NewTask { task, meta }))))
    }

    /// Runs a task to its end, or to the end of its time.
    async fn drive(
        self,
        handler: Arc<dyn DynHandler>,
        live: Arc<Live>,
        mut future: Guarded,
        until: Instant,
    ) {
        let Some(context) = live.context.get().cloned() else {
            return;
        };
        let mut changes = live.changes();
        let outcome = {
            let mut cut = std::pin::pin!(context.cancelled_for(GRACE));
            let mut over = std::pin::pin!(tokio::time::sleep_until(until));
            let mut in_time = true;
            loop {
                tokio::select! {
                    biased;
                    outcome = &mut future => break Some(outcome),
                    () = &mut cut => break None,
                    () = &mut over, if in_time => {
                        in_time = false;
                        context.cancel(CancelReason::TimedOut);
                    }
                    _ = changes.changed() => self.0.note_questions(&live).await,
                }
            }
        };
        drop(future);
        for held_back in context.finish() {
            let _ = context.outlet().note(&context, held_back);
        }
        let end = match outcome {
            None => TaskEnd::Cancelled,
            Some(outcome) => end(&*handler, &context, outcome),
        };
        self.0.end(&live, end).await;
    }

    /// The state of a task.
    ///
    /// # Errors
    /// There is no such task for who asks.
    pub async fn get(&self, context: &Context, id: &str) -> Result<Task, RpcError> {
        let owner = self.owner_of_old(context).ok_or_else(unknown)?;
        self.0.store.get(owner, id).await.ok_or_else(unknown)
    }

    /// Gives answers to what a task asks; those to something else are passed over.
    ///
    /// # Errors
    /// There is no such task for who asks, or an answer is none to its question; then none is taken.
    pub async fn update(
        &self,
        context: &Context,
        id: &str,
        params: &Params,
    ) -> Result<(), RpcError> {
        self.get(context, id).await?;
        let mut responses = None;
        splice::members(params.text().unwrap_or("{}"), |key, value| {
            if key == "inputResponses" && value.starts_with('{') {
                responses = Some(value);
            }
        });
        let responses = responses.ok_or_else(|| {
            RpcError::invalid_params(
                "tasks/update: inputResponses must be an object: one answer under the key of each question",
            )
        })?;
        let Some(live) = self.0.one(id) else {
            return Ok(());
        };
        let questions = live.questions();
        let mut answers = Vec::new();
        let mut wrong = None;
        splice::members(responses, |key, value| {
            let Some(question) = questions.iter().find(|q| q.key == key) else {
                return;
            };
            let answer = params.slice(value);
            match Question::check_answer(question.method, &answer) {
                Ok(()) => answers.push((key.to_owned(), answer)),
                Err(why) => {
                    let key = polyport_proto::outcome::shorten(key);
                    wrong = Some(format!("inputResponses: the answer under {key:?}: {why}"));
                }
            }
        });
        if let Some(wrong) = wrong {
            return Err(RpcError::invalid_params(wrong));
        }
        for (key, answer) in answers {
            if let Some(asker) = live.answers(&key) {
                // Whoever asked may have lost interest meanwhile.
                let _ = asker.send(Ok(Ok(answer)));
            }
        }
        self.0.note_questions(&live).await;
        Ok(())
    }

    /// Gives a task up: it is cancelled when this returns, and its handler hears of it. The state before that is given back.
    ///
    /// # Errors
    /// There is no such task for who asks.
    pub async fn cancel(&self, context: &Context, id: &str) -> Result<Task, RpcError> {
        let task = self.get(context, id).await?;
        if let Some(live) = self.0.one(id) {
            self.0.cancel(&live, CancelReason::Client).await;
        }
        Ok(task)
    }

    /// A page of the tasks of who asks: those after a place; with the place after which there are more.
    pub async fn list(&self, context: &Context, after: Option<u64>) -> (Vec<Task>, Option<u64>) {
        let page = self.0.limits.page.max(1);
        let Some(owner) = self.owner_of_old(context) else {
            return (Vec::new(), None);
        };
        let mut found = self.0.store.list(owner, after, page + 1).await;
        let more = found.len() > page;
        found.truncate(page);
        let next = found.last().filter(|_| more).map(|(place, _)| *place);
        (found.into_iter().map(|(_, task)| task).collect(), next)
    }

    /// Ends all that run: the server stops. They have the grace of a cancelled call.
    pub async fn stop(&self) {
        let all: Vec<_> = self.0.live().values().cloned().collect();
        for live in all {
            self.0.cancel(&live, CancelReason::Shutdown).await;
        }
        let idle = async {
            loop {
                let idle = self.0.idle.notified();
                if self.running() == 0 {
                    return;
                }
                idle.await;
            }
        };
        let _ = tokio::time::timeout(GRACE * 2, idle).await;
    }
}

impl Inner {
    fn live(&self) -> MutexGuard<'_, HashMap<Box<str>, Arc<Live>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn one(&self, id: &str) -> Option<Arc<Live>> {
        self.live().get(id).cloned()
    }

    /// Cancels what belongs to a session that is over.
    async fn abandon(&self, owner: &Owner) {
        let theirs: Vec<_> = {
            let live = self.live();
            live.values()
                .filter(|live| live.owner == *owner)
                .cloned()
                .collect()
        };
        for live in theirs {
            self.cancel(&live, CancelReason::Disconnected).await;
        }
    }

    async fn cancel(&self, live: &Arc<Live>, reason: CancelReason) {
        let mut task = live.task.lock().await;
        if task.ends(TaskEnd::Cancelled, now()) {
            self.keep(live, &task).await;
        }
        drop(task);
        live.end();
        if let Some(context) = live.context.get() {
            context.cancel(reason);
        }
    }

    /// Notes what a task asks now.
    async fn note_questions(&self, live: &Arc<Live>) {
        let mut task = live.task.lock().await;
        if task.asks(live.questions(), now()) {
            self.keep(live, &task).await;
        }
    }

    async fn end(&self, live: &Arc<Live>, end: TaskEnd) {
        let mut task = live.task.lock().await;
        let before = task.clone();
        let mut kept = !task.ends(end, now()) || self.keep(live, &task).await;
        if !kept {
            let sentence = "The result is too long to be kept: ask for less at once".to_owned();
            let cause = "there is no room for the result of a task";
            let failed = TaskEnd::Failed(failure_saying("a task", sentence, cause));
            *task = before.clone();
            task.ends(failed, now());
            kept = self.keep(live, &task).await;
        }
        if !kept {
            // This needs no room.
            *task = before;
            task.ends(TaskEnd::Cancelled, now());
            self.keep(live, &task).await;
        }
        drop(task);
        live.end();
        let mut all = self.live();
        all.remove(live.id());
        if all.is_empty() {
            self.idle.notify_waiters();
        }
    }

    /// Writes the state of a task down and tells who wants to hear of it. False: there is no room for it.
    async fn keep(&self, live: &Live, task: &Task) -> bool {
        let kept = self
            .store
            .put(live.owner.clone(), task.clone(), &self.limits);
        if kept.await == Err(NoRoom) {
            return false;
        }
        self.bus.task_changed(task, live.session.as_ref());
        true
    }
}

/// How a task has ended by what its handler came to.
fn end(handler: &dyn DynHandler, context: &Context, outcome: Outcome) -> TaskEnd {
    match outcome {
        Outcome::Complete(result) => TaskEnd::Result(result),
        Outcome::Failed(error)
            if error.code == Code::MissingCapability
                && context.envelope().profile().era == Era::Legacy =>
        {
            // As a plain call of this era is answered: a sentence for the model.
            let sentence = error.message.to_string();
            match told(handler, context, context.method(), &sentence, || error) {
                Outcome::Complete(result) => TaskEnd::Result(result),
                Outcome::Failed(error) => TaskEnd::Failed(error),
                _ => TaskEnd::Cancelled,
            }
        }
        Outcome::Failed(error) => TaskEnd::Failed(error),
        _ => {
            let cause = "a task ended with questions, or as another task";
            TaskEnd::Failed(failure(context.method(), cause))
        }
    }
}

/// A task that is not there, or is somebody else's: nobody can tell which.
fn unknown() -> RpcError {
    RpcError::invalid_params("There is no such task, or it is no longer kept")
}

/// 128 random bits as 32 hexadecimal digits.
fn mint() -> Result<String, NoRandomness> {
    let mut id = [0; 16];
    random::fill(&mut id)?;
    Ok(id.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Milliseconds since 1970, for people.
fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, millis)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A question as it is passed on in the core's form: it names its task.
fn of_task(question: Question, id: &str) -> Question {
    let params = question.params.as_ref().map_or("{}", Raw::as_str);
    let mut members = b"\"_meta\":{".to_vec();
    live::related(&mut members, id);
    members.push(b'}');
    let members = String::from_utf8(members).unwrap_or_default();
    let mut out = Vec::new();
    splice::stamp(params, &members, &mut out);
    Question {
        params: Some(Raw::trusted(out)),
        ..question
    }
}

/// The result of a task, naming it in its `_meta`.
pub fn naming(result: &Raw, id: &str) -> Raw {
    let mut meta = b"{".to_vec();
    live::related(&mut meta, id);
    let mut out = b"{".to_vec();
    splice::members(result.as_str(), |key, value| {
        if key == "_meta" && value.starts_with('{') {
            splice::members(value, |key, value| {
                if key != polyport_model::META_RELATED_TASK {
                    meta.push(b',');
                    write::string(&mut meta, key);
                    meta.push(b':');
                    meta.extend_from_slice(value.as_bytes());
                }
            });
            return;
        }
        write::string(&mut out, key);
        out.push(b':');
        out.extend_from_slice(value.as_bytes());
        out.push(b',');
    });
    meta.push(b'}');
    out.extend_from_slice(b"\"_meta\":");
    out.extend_from_slice(&meta);
    out.push(b'}');
    Raw::trusted(out)
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tasks")
            .field("running", &self.running())
            .finish_non_exhaustive()
    }
}
