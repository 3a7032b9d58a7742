//! What a server says outside of calls: changes, logs and the rest, for those who listen to the relay; and what it is subscribed to for
//! them.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use polyport_model::{
    ElicitationCompleteParams, GetTask, Level, LogParams, Method, SetLevel, SetLevelParams, method,
};
use polyport_proto::{Era, Revision, TaskForm, addresses};
use polyport_rt::{Context, Wait, Watcher};
use polyport_wire::{Limits, Message, Params, Raw};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::sleep;

use super::super::changes::{Change, Changes, Heard, Wanted};
use super::super::{Client, ClientError};
use super::Shared;
use super::calm::{Calm, Listed};

/// Before changes are listened to again, where the stream of them has ended.
const PAUSE: Duration = Duration::from_secs(5);
/// Wishes that wait to be told to the server.
const MAX_WISHES: usize = 1_024;
/// How long a server may take to say how a task stands.
const LOOK: Duration = Duration::from_secs(30);
/// No level has been asked for: none is as high.
const NONE: u8 = u8::MAX;

/// Hears a server, as long as it is not dropped.
pub(super) struct Hearing {
    wishes: mpsc::Sender<Wish>,
    task: AbortHandle,
    level: Arc<AtomicU8>,
}

enum Wish {
    Subscribe(String, Option<Told>),
    Unsubscribe(String),
    /// To these tasks; where it is said of which of them the server tells.
    Listen(Vec<String>, Option<oneshot::Sender<Vec<String>>>),
    Leave(String),
    Log(Level, Told),
}

/// Where it is said what the server answered to a wish.
type Told = oneshot::Sender<Result<(), ClientError>>;

impl Hearing {
    pub(super) fn begin(shared: &Arc<Shared>) -> Self {
        let (wishes, wished) = mpsc::channel(MAX_WISHES);
        shared.bus.set_watcher(Arc::new(Watch(wishes.downgrade())));
        let ear = Ear {
            shared: Arc::downgrade(shared),
        };
        let task = tokio::spawn(hear(ear, wished)).abort_handle();
        Self {
            wishes,
            task,
            level: Arc::new(AtomicU8::new(NONE)),
        }
    }

    pub(super) fn end(&self) {
        self.task.abort();
    }

    /// Has the server tell of changes of a resource.
    pub(super) async fn subscribe(&self, uri: &str) -> Result<(), ClientError> {
        let (told, answer) = oneshot::channel();
        let wish = Wish::Subscribe(uri.to_owned(), Some(told));
        let sent = self.wishes.send(wish).await;
        sent.map_err(|_| ClientError::Closed)?;
        answer.await.map_err(|_| ClientError::Closed)?
    }

    /// Somebody begins or ends to want to hear of a resource.
    pub(super) fn watch(&self, uri: &str, on: bool) {
        watch(&self.wishes, uri, on);
    }

    /// Has the server tell of these tasks; of which of them it does.
    pub(super) async fn listen_to_tasks(&self, ids: Vec<String>) -> Vec<String> {
        let (told, answer) = oneshot::channel();
        let sent = self.wishes.send(Wish::Listen(ids, Some(told))).await;
        match sent {
            Ok(()) => answer.await.unwrap_or_default(),
            Err(_) => Vec::new(),
        }
    }

    /// Somebody begins or ends to listen to a task.
    pub(super) fn watch_task(&self, id: &str, on: bool) {
        watch_task(&self.wishes, id, on);
    }

    /// Has a legacy server log at this level at least. What nobody has asked for is left out where it is heard.
    pub(super) async fn log(&self, level: Level) {
        if self.level.load(Ordering::Relaxed) <= level.as_u8() {
            return;
        }
        let (told, answer) = oneshot::channel();
        if self.wishes.send(Wish::Log(level, told)).await.is_ok()
            && matches!(answer.await, Ok(Ok(())))
        {
            self.level.store(level.as_u8(), Ordering::Relaxed);
        }
    }
}

impl Drop for Hearing {
    fn drop(&mut self) {
        self.end();
    }
}

/// Tells the server when nobody is interested in a resource any more.
struct Watch(mpsc::WeakSender<Wish>);

impl Watcher for Watch {
    fn watch(&self, uri: &str, on: bool) {
        if let Some(wishes) = self.0.upgrade() {
            watch(&wishes, uri, on);
        }
    }

    fn watch_task(&self, id: &str, on: bool) {
        if let Some(wishes) = self.0.upgrade() {
            watch_task(&wishes, id, on);
        }
    }
}

fn watch(wishes: &mpsc::Sender<Wish>, uri: &str, on: bool) {
    let uri = uri.to_owned();
    let wish = if on {
        Wish::Subscribe(uri, None)
    } else {
        Wish::Unsubscribe(uri)
    };
    wish_for(wishes, wish);
}

fn watch_task(wishes: &mpsc::Sender<Wish>, id: &str, on: bool) {
    let id = id.to_owned();
    let wish = if on {
        Wish::Listen(vec![id], None)
    } else {
        Wish::Leave(id)
    };
    wish_for(wishes, wish);
}

fn wish_for(wishes: &mpsc::Sender<Wish>, wish: Wish) {
    if matches!(
        wishes.try_send(wish),
        Err(mpsc::error::TrySendError::Full(_))
    ) {
        tracing::warn!(
            limit = MAX_WISHES,
            "a change of what is subscribed to is not told to the server"
        );
    }
}

/// What who hears needs of the relay, without keeping it.
struct Ear {
    shared: Weak<Shared>,
}

async fn hear(ear: Ear, mut wished: mpsc::Receiver<Wish>) {
    let mut wanted = Wanted {
        lists: true,
        others: true,
        ..Wanted::default()
    };
    // The first may be answered by subscribing to it from the beginning.
    loop {
        let Some(shared) = ear.shared.upgrade() else {
            return;
        };
        let client = &shared.client;
        if client.opened.revision.profile().era == Era::Modern {
            // They come with the calls that ask for them.
            wanted.logs = Some(Level::Debug);
        }
        let flow = match tells(client) {
            true => match client.follow(wanted.clone()).await {
                Ok(changes) => follow(&shared, changes, &mut wished, &mut wanted).await,
                Err(ClientError::Refused(error)) => {
                    tracing::warn!(%error, "the server tells of no changes, though it said that it would");
                    only_notes(&shared, &mut wished).await
                }
                Err(error) => {
                    tracing::debug!(%error, "changes cannot be listened to now");
                    ControlFlow::Continue(())
                }
            },
            false => only_notes(&shared, &mut wished).await,
        };
        if flow.is_break() || client.is_closed() {
            return;
        }
        drop(shared);
        sleep(PAUSE).await;
        // What happened meanwhile is not known.
        if let Some(shared) = ear.shared.upgrade() {
            shared.tell_all();
        }
    }
}

/// Does the server say that it tells of any changes?
fn tells(client: &Client) -> bool {
    let offers = &client.opened.capabilities;
    let listed = |changed: Option<bool>| changed == Some(true);
    // A legacy server is asked nothing for it.
    client.opened.revision.profile().era == Era::Legacy
        || offers.has_resource_subscriptions()
        || listed(offers.tools.as_ref().and_then(|list| list.list_changed))
        || listed(offers.prompts.as_ref().and_then(|list| list.list_changed))
        || listed(offers.resources.as_ref().and_then(|list| list.list_changed))
        || client.offers_tasks()
}

/// Hears changes and fulfils wishes, until the stream of changes or the relay ends.
async fn follow(
    shared: &Arc<Shared>,
    mut changes: Changes<'_>,
    wished: &mut mpsc::Receiver<Wish>,
    wanted: &mut Wanted,
) -> ControlFlow<()> {
    let mut calm = Calm::default();
    // Of a stream before this one.
    catch_up(shared, &changes);
    loop {
        let wish = tokio::select! {
            heard = changes.next() => {
                match heard {
                    Ok(Some(heard)) => {
                        shared.tell(&heard, &mut calm);
                        if heard.change == Change::Reopened {
                            catch_up(shared, &changes);
                        }
                    }
                    Ok(None) | Err(_) => break,
                }
                continue;
            }
            () = calm.due() => {
                calm.tell(&shared.bus);
                continue;
            }
            wish = wished.recv() => wish,
        };
        match wish {
            None => return ControlFlow::Break(()),
            Some(Wish::Subscribe(uri, told)) => answer(told, changes.add(uri).await),
            Some(Wish::Unsubscribe(uri)) => answer(None, changes.leave(&uri).await),
            Some(Wish::Listen(ids, told)) => {
                let taken = changes.add_tasks(&ids).await;
                let taken = taken.unwrap_or_else(|error| {
                    tracing::warn!(%error, "the server tells of no tasks, though it has some");
                    Vec::new()
                });
                if told.is_some_and(|told| told.send(taken).is_err()) {
                    // Whoever wished it is gone, and somebody else may be there.
                    let listened = shared.bus.tasks();
                    for id in ids.iter().filter(|id| !listened.contains(id)) {
                        answer(None, changes.leave_task(id).await);
                    }
                }
            }
            Some(Wish::Leave(id)) => answer(None, changes.leave_task(&id).await),
            Some(Wish::Log(level, told)) => {
                let set = set_level(&shared.client, level).await;
                if set.is_ok() {
                    changes.hear_logs(level);
                }
                answer(Some(told), set);
            }
        }
    }
    *wanted = changes.into_wanted();
    ControlFlow::Continue(())
}

/// Tells how those tasks stand whose changes may have been missed.
fn catch_up(shared: &Arc<Shared>, changes: &Changes<'_>) {
    let ids = changes.told().tasks.clone();
    if !ids.is_empty() {
        let shared = shared.clone();
        tokio::spawn(async move { shared.look(&ids).await });
    }
}

/// The same at a server that tells of no changes.
async fn only_notes(shared: &Shared, wished: &mut mpsc::Receiver<Wish>) -> ControlFlow<()> {
    let client = &shared.client;
    loop {
        tokio::select! {
            note = client.caller.notification() => {
                let Some(note) = note else {
                    return ControlFlow::Break(());
                };
                if let Ok(message) = Message::parse(note, &Limits::default()) {
                    shared.pass_on(&message);
                }
            }
            wish = wished.recv() => match wish {
                None => return ControlFlow::Break(()),
                Some(Wish::Subscribe(_, told)) => {
                    answer(told, Err(ClientError::NotOffered("subscriptions to resources")));
                }
                Some(Wish::Listen(_, told)) => _ = told.map(|told| told.send(Vec::new())),
                Some(Wish::Unsubscribe(_) | Wish::Leave(_)) => {}
                Some(Wish::Log(level, told)) => answer(Some(told), set_level(client, level).await),
            },
        }
    }
}

async fn set_level(client: &Client, level: Level) -> Result<(), ClientError> {
    if client.opened.capabilities.logging.is_none() {
        return Ok(());
    }
    let params = SetLevelParams::new(level);
    let params =
        serde_json::to_string(&params).map_err(|error| super::super::unreadable(&error))?;
    client
        .in_rounds(SetLevel::NAME, &params, None)
        .await
        .map(drop)
}

fn answer(told: Option<Told>, result: Result<(), ClientError>) {
    match (told, result) {
        // Who wished it may be gone.
        (Some(told), result) => _ = told.send(result),
        (None, Err(error)) => {
            tracing::warn!(%error, "the server has not taken a change of what is subscribed to")
        }
        (None, Ok(())) => {}
    }
}

impl Shared {
    fn tell(&self, heard: &Heard, calm: &mut Calm) {
        let (bus, changed) = (&self.bus, &self.changed);
        match &heard.change {
            Change::Tools => {
                changed.tools.fetch_add(1, Ordering::Release);
                calm.changed(Listed::Tools, bus);
            }
            Change::Prompts => {
                changed.prompts.fetch_add(1, Ordering::Release);
                calm.changed(Listed::Prompts, bus);
            }
            Change::Resources => {
                changed.resources.fetch_add(1, Ordering::Release);
                calm.changed(Listed::Resources, bus);
            }
            Change::Updated(uri) => match &self.shown {
                Some(shown) => bus.updated_or_part(&shown(uri)),
                None => bus.updated_or_part(uri),
            },
            Change::Reopened => self.tell_all(),
            Change::Task(id) => {
                let message = heard.message.as_ref().and_then(parsed);
                if let Some(state) = message.as_ref().and_then(|message| message.params().raw()) {
                    self.tell_task(id, &state);
                }
            }
            Change::Log(log) => self.log(log),
            Change::Other => {
                if let Some(message) = heard.message.as_ref().and_then(parsed) {
                    self.pass_on(&message);
                }
            }
        }
    }

    /// Asks how these tasks stand, and tells it.
    pub(super) async fn look(&self, ids: &[String]) {
        for id in ids {
            let params = json!({"taskId": id}).to_string();
            let wait = Wait {
                on_behalf_of: self.client.behalf.clone(),
                total: Some(LOOK),
                ..Wait::default()
            };
            let state = self
                .client
                .request_raw(GetTask::NAME, &params, Some(wait))
                .await;
            match state {
                Ok(state) => self.tell_task(id, &state),
                Err(error) => {
                    tracing::debug!(%error, "a task that is listened to cannot be asked for")
                }
            }
        }
    }

    fn tell_task(&self, id: &str, state: &Raw) {
        let state = match &self.shown {
            Some(shown) => addresses::shown(state.clone(), |uri| {
                Some(shown(uri)).filter(|shown| shown != uri)
            }),
            None => state.clone(),
        };
        self.bus.task_passed(id, &state);
    }

    /// Everything may have changed.
    fn tell_all(&self) {
        let changed = &self.changed;
        for list in [&changed.tools, &changed.prompts, &changed.resources] {
            list.fetch_add(1, Ordering::Release);
        }
        self.bus.tools_changed();
        self.bus.prompts_changed();
        self.bus.resources_changed();
        self.bus.all_updated();
    }

    /// A log message that belonged to no call when it came is for the sessions that want such.
    fn log(&self, log: &LogParams) {
        self.bus
            .log(log.level, log.logger.as_deref(), log.data.as_str());
    }

    /// Passes on what is no change, in the words in which it came.
    fn pass_on(&self, message: &Message) {
        match &*message.method() {
            "notifications/message" => {
                let log = message.params().raw();
                if let Some(Ok(log)) = log.map(|log| log.decode::<LogParams>()) {
                    self.log(&log);
                }
            }
            method::NOTIFICATIONS_ELICITATION_COMPLETE => {
                let done = message.params().raw();
                if let Some(Ok(done)) = done.map(|done| done.decode::<ElicitationCompleteParams>())
                {
                    self.bus.visited(&done.elicitation_id);
                }
            }
            // Of this connection alone, or of a call that is over.
            "notifications/cancelled"
            | "notifications/progress"
            | "notifications/initialized"
            | "notifications/subscriptions/acknowledged" => {}
            name => {
                let is_task = name == method::NOTIFICATIONS_TASKS_STATUS;
                let fits = move |revision: Revision| {
                    !is_task || revision.profile().tasks == TaskForm::Core
                };
                if self.era() == Era::Legacy {
                    self.bus.pass(message.frame(), fits);
                }
            }
        }
    }
}

fn parsed(message: &Raw) -> Option<Message> {
    Message::parse(message.clone().into_bytes(), &Limits::default()).ok()
}

/// Says a log message of the server in a call, if that wants it.
pub(super) fn log_in(context: &Context, params: &Params) {
    let log = params.raw().map(|raw| raw.decode::<LogParams>());
    if let Some(Ok(log)) = log {
        context.log(log.level, log.logger.as_deref(), log.data.as_str());
    }
}
