//! A task that runs: what it says and asks while its client is elsewhere, and who waits for it meanwhile.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use polyport_proto::{Question, Revision, Task, TaskForm};
use tokio::sync::watch;

use super::store::Owner;
use crate::bus::{Alert, Listener};
use crate::context::{Context, Outlet};
use crate::question::{Asked, Asker};

/// A task that runs.
pub(super) struct Live {
    pub(super) owner: Owner,
    pub(super) revision: Revision,
    /// Of the session that began it.
    pub(super) session: Option<Weak<Listener>>,
    /// Where it stands; held while the store is told.
    pub(super) task: tokio::sync::Mutex<Task>,
    pub(super) context: OnceLock<Context>,
    id: Box<str>,
    life: Duration,
    open: Mutex<Open>,
    /// Something of it has changed: what it asks, or that it has ended.
    changed: watch::Sender<()>,
    ended: AtomicBool,
    /// Calls that wait for it, on whose streams it may speak.
    waiting: Mutex<Vec<Context>>,
}

/// Questions without an answer.
#[derive(Default)]
struct Open {
    asked: Vec<Waiting>,
    /// How often each key of the author's was used.
    used: HashMap<String, u32>,
}

struct Waiting {
    question: Question,
    asker: Asker,
    /// A call that waits for the task passes it on to the client.
    passed_on: bool,
}

impl Live {
    pub(super) fn new(owner: Owner, task: Task, context: &Context) -> Arc<Self> {
        let listener = context.outlet().listener();
        Arc::new(Self {
            owner,
            revision: context.envelope().revision(),
            session: listener.as_ref().map(Arc::downgrade),
            id: task.id().into(),
            life: Duration::from_millis(task.ttl()),
            task: tokio::sync::Mutex::new(task),
            context: OnceLock::new(),
            open: Mutex::default(),
            changed: watch::Sender::new(()),
            ended: AtomicBool::new(false),
            waiting: Mutex::default(),
        })
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    pub(super) fn tell(&self) {
        self.changed.send_replace(());
    }

    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Release);
        self.open().asked.clear();
        self.tell();
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// What it asks and nobody has answered.
    pub(super) fn questions(&self) -> Vec<Question> {
        let open = self.open();
        let waits = open.asked.iter().filter(|asked| !asked.asker.is_closed());
        waits.map(|asked| asked.question.clone()).collect()
    }

    /// Takes the asker of a question; none: it is not asked, or no more.
    pub(super) fn answers(&self, key: &str) -> Option<Asker> {
        let mut open = self.open();
        let at = open.asked.iter().position(|w| w.question.key == key)?;
        Some(open.asked.remove(at).asker)
    }

    /// Questions that nobody passes on to the client yet, without those that this one could not: from now on it does.
    pub(super) fn pass_on(&self, without: &HashSet<String>) -> Vec<Question> {
        let mut open = self.open();
        let asked = open.asked.iter_mut();
        let new = asked.filter(|w| !w.passed_on && !without.contains(&w.question.key));
        new.map(|waiting| {
            waiting.passed_on = true;
            waiting.question.clone()
        })
        .collect()
    }

    /// Another call that waits may pass it on.
    pub(super) fn give_back(&self, key: &str) {
        let mut open = self.open();
        if let Some(waiting) = open.asked.iter_mut().find(|w| w.question.key == key) {
            waiting.passed_on = false;
        }
        drop(open);
        self.tell();
    }

    pub(super) fn wait(&self, context: &Context) {
        self.waiting().push(context.clone());
    }

    pub(super) fn leave(&self, context: &Context) {
        self.waiting().retain(|waiting| !waiting.is(context));
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        // Nothing that is done under the lock leaves it half done.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Context>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The outlet of a task: what it says goes to who waits for it, what it asks is kept until it is answered.
pub(super) struct TaskOutlet(pub(super) Arc<Live>);

impl Alert for TaskOutlet {
    fn alert(&self) {}
}

impl Outlet for TaskOutlet {
    /// Only the core's form has messages of a task: on the streams of those who wait for it. What comes while nobody does is lost; the
    /// newest progress comes again with the next.
    fn note(&self, _context: &Context, message: Vec<u8>) -> Result<(), Vec<u8>> {
        let form = self.0.revision.profile().tasks;
        let waiting = self.0.waiting().first().cloned();
        match waiting.filter(|_| form == TaskForm::Core) {
            Some(waiting) => waiting.pass(of_task(message, &self.0.id)),
            None => Ok(()),
        }
    }

    fn in_task(&self) -> bool {
        true
    }

    fn transport(&self) -> &'static str {
        "task"
    }

    fn ask(&self, _context: &Context, asked: Asked) -> Result<(), Asked> {
        let Asked {
            mut question,
            asker,
        } = asked;
        {
            let mut open = self.0.open();
            let used = open.used.entry(question.key.clone()).or_default();
            *used += 1;
            let times = *used;
            if times > 1 {
                // A key is one question's for the whole life of the task.
                let mut key = format!("{}~{times}", question.key);
                while open.used.contains_key(&key) {
                    key.push('~');
                }
                open.used.insert(key.clone(), 1);
                question.key = key;
            }
            open.asked.push(Waiting {
                question,
                asker,
                passed_on: false,
            });
        }
        self.0.tell();
        Ok(())
    }

    fn unask(&self, _context: &Context) {
        self.0.open().asked.retain(|asked| !asked.asker.is_closed());
        self.0.tell();
    }

    /// As long as the task is kept.
    fn question_wait(&self) -> Duration {
        self.0.life
    }

    fn listener(&self) -> Option<Arc<Listener>> {
        self.0.session.as_ref()?.upgrade()
    }
}

/// The same notification of ours, saying to which task it belongs.
fn of_task(message: Vec<u8>, id: &str) -> Vec<u8> {
    const PARAMS: &[u8] = b"\"params\":{";
    let Some(at) = message
        .windows(PARAMS.len())
        .position(|part| part == PARAMS)
    else {
        return message;
    };
    let at = at + PARAMS.len();
    let mut out = message[..at].to_vec();
    out.extend_from_slice(b"\"_meta\":{");
    related(&mut out, id);
    out.extend_from_slice(b"},");
    out.extend_from_slice(&message[at..]);
    out
}

/// The member of `_meta` that names a task.
pub(super) fn related(out: &mut Vec<u8>, id: &str) {
    polyport_wire::write::string(out, polyport_model::META_RELATED_TASK);
    out.extend_from_slice(b":{\"taskId\":");
    polyport_wire::write::string(out, id);
    out.push(b'}');
}
