//! Calls of modern clients at a legacy server that asks in the middle of them: the call waits here, under a handle that only its client
//! can bring back, with the answers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use polyport_proto::{NeedInput, Outcome, Question, RpcError};
use polyport_rt::{BoxFuture, Call, CancelReason, Context, random};
use polyport_wire::Raw;
use tokio::sync::{Mutex as Turn, mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::sleep;

use super::Shared;
use super::ask::{self, Asking, Asks};

/// Calls that are parked at once.
const MAX_PARKED: usize = 256;
/// Questions of one call that are open at once.
const MAX_OPEN: usize = 16;
/// How long a call stays parked: people think.
const WAITS: Duration = Duration::from_secs(10 * 60);
/// How long a call is kept whose client has gone away while it ran, and its result when that was sent: it may come again.
const COMES_BACK: Duration = Duration::from_secs(10);
/// What a server asks within this time is asked together.
const TOGETHER: Duration = Duration::from_millis(5);
const UNKNOWN: &str =
    "requestState is unknown or expired: the call it belonged to is over. Send it again without";

/// The calls that are parked.
#[derive(Default)]
pub(super) struct Parked(Mutex<HashMap<String, Arc<Held>>>);

/// A call that runs at the server, whoever waits for it.
pub(super) struct Held {
    /// Who waits now. None: it is parked.
    attached: Mutex<Option<Context>>,
    /// What its client has declared, and in which revision.
    first: Context,
    asks: mpsc::Sender<Asked>,
    turn: Turn<Driven>,
    /// How often somebody has taken it over: the last who has drives it.
    owner: watch::Sender<u64>,
    end: watch::Sender<Option<Outcome>>,
    running: Mutex<Option<AbortHandle>>,
    /// What ends it if nobody comes.
    timer: Mutex<Option<AbortHandle>>,
}

/// A question and who waits for its answer.
struct Asked {
    question: Question,
    reply: oneshot::Sender<Result<Raw, Raw>>,
}

/// What who drives a call needs.
struct Driven {
    asked: mpsc::Receiver<Asked>,
    open: Vec<Asked>,
    /// Under which it is parked, once it has been.
    handle: Option<String>,
}

/// Runs a call, or goes on with the one that its client brings back under a handle.
pub(super) async fn run(shared: Arc<Shared>, call: Call, handle: Option<String>) -> Outcome {
    let context = call.context.clone();
    let held = match handle {
        Some(handle) => match shared.parked.get(&handle) {
            Some(held) => held,
            None => return Outcome::Failed(RpcError::invalid_params(UNKNOWN)),
        },
        None => begin(&shared, call),
    };
    drive(&shared, held, context).await
}

fn begin(shared: &Arc<Shared>, call: Call) -> Arc<Held> {
    let (asks, asked) = mpsc::channel(MAX_OPEN);
    let held = Arc::new(Held {
        attached: Mutex::new(Some(call.context.clone())),
        first: call.context.clone(),
        asks,
        turn: Turn::new(Driven {
            asked,
            open: Vec::new(),
            handle: None,
        }),
        owner: watch::Sender::new(0),
        end: watch::Sender::new(None),
        running: Mutex::default(),
        timer: Mutex::default(),
    });
    let (ours, theirs) = (shared.clone(), held.clone());
    let running = tokio::spawn(async move {
        let asking: Asking = theirs.clone();
        let _running = ours.running.enter(&call.context, asking.clone());
        let outcome = ours.request(&call, asking).await;
        theirs.end.send_replace(Some(outcome));
    });
    *lock(&held.running) = Some(running.abort_handle());
    held
}

async fn drive(shared: &Arc<Shared>, held: Arc<Held>, context: Context) -> Outcome {
    let mut ours = 0;
    held.owner.send_modify(|owner| {
        *owner += 1;
        ours = *owner;
    });
    let mut left = Left {
        shared,
        held: &held,
        context: &context,
        ours,
        is_over: false,
    };
    held.stop_timer();
    let mut owner = held.owner.subscribe();
    let taken_over = owner.wait_for(|owner| *owner != ours);
    let driving = async {
        let mut driven = held.turn.lock().await;
        *lock(&held.attached) = Some(context.clone());
        go_on(shared, &held, &mut driven, &context).await
    };
    let outcome = tokio::select! {
        biased;
        _ = taken_over => Outcome::Failed(RpcError::invalid_params(
            "The same answers came again, and that request goes on with the call.",
        )),
        outcome = driving => outcome,
    };
    left.is_over = true;
    outcome
}

/// Gives the answers that have come, and waits for the end or for more questions.
async fn go_on(
    shared: &Arc<Shared>,
    held: &Arc<Held>,
    driven: &mut Driven,
    context: &Context,
) -> Outcome {
    driven.answer(context);
    let mut end = held.end.subscribe();
    // Once it has ended, nothing that it asked is open any more.
    while driven.open.is_empty() || end.borrow().is_some() {
        tokio::select! {
            outcome = ended(&mut end) => {
                if driven.handle.is_some() {
                    shared.keep_for(held, driven.handle.clone(), COMES_BACK);
                }
                return outcome.unwrap_or_else(|| Outcome::Failed(RpcError::invalid_params(UNKNOWN)));
            }
            asked = driven.asked.recv() => {
                driven.open.extend(asked);
                sleep(TOGETHER).await;
                while let Ok(more) = driven.asked.try_recv() {
                    driven.open.push(more);
                }
                driven.open.retain(|asked| !asked.reply.is_closed());
                if !driven.open.is_empty() && !shared.park(held, driven) {
                    driven.refuse();
                }
            }
        }
    }
    *lock(&held.attached) = None;
    shared.keep_for(held, driven.handle.clone(), WAITS);
    let questions = driven.open.iter().map(|asked| asked.question.clone());
    Outcome::NeedInput(NeedInput {
        questions: questions.collect(),
        state: driven.handle.clone(),
        ..NeedInput::default()
    })
}

/// How a call ended, once it has.
async fn ended(end: &mut watch::Receiver<Option<Outcome>>) -> Option<Outcome> {
    let ended = end.wait_for(Option::is_some).await;
    ended.ok().and_then(|outcome| outcome.clone())
}

impl Driven {
    /// Hands out the answers that there are. What nobody waits for any more is open no longer.
    fn answer(&mut self, context: &Context) {
        for asked in std::mem::take(&mut self.open) {
            match context.answer(&asked.question.key) {
                // The server may have lost interest.
                Some(answer) => _ = asked.reply.send(Ok(answer)),
                None if asked.reply.is_closed() => {}
                None => self.open.push(asked),
            }
        }
    }

    fn refuse(&mut self) {
        for asked in self.open.drain(..) {
            let full = "Too many calls wait for answers of their clients: ask again later.";
            let _ = asked.reply.send(Err(ask::error(-32603, full)));
        }
    }
}

impl Asks for Held {
    fn context(&self) -> Option<Context> {
        lock(&self.attached).clone()
    }

    /// The answer comes whenever its client brings it.
    fn ask(&self, method: &str, params: Option<Raw>) -> BoxFuture<Result<Raw, Raw>> {
        let (reply, answer) = oneshot::channel();
        let sent = ask::question(method, params, &self.first).and_then(|question| {
            let sent = self.asks.try_send(Asked { question, reply });
            sent.map_err(|_| {
                let full = "Too many questions are open in this call: wait for the answers first.";
                ask::error(-32603, full)
            })
        });
        Box::pin(async move {
            sent?;
            let over = || ask::error(-32603, "Nobody answered: the call is over.");
            answer.await.unwrap_or_else(|_| Err(over()))
        })
    }
}

impl Held {
    fn stop_timer(&self) {
        if let Some(timer) = lock(&self.timer).take() {
            timer.abort();
        }
    }

    fn end(&self) {
        self.stop_timer();
        if let Some(running) = lock(&self.running).take() {
            running.abort();
        }
        self.end.send_if_modified(|end| {
            let is_new = end.is_none();
            end.get_or_insert_with(|| Outcome::Failed(RpcError::invalid_params(UNKNOWN)));
            is_new
        });
    }
}

impl Parked {
    fn get(&self, handle: &str) -> Option<Arc<Held>> {
        lock(&self.0).get(handle).cloned()
    }

    /// Ends them all: the relay does.
    pub(super) fn end(&self) {
        for (_, held) in lock(&self.0).drain() {
            held.end();
        }
    }
}

impl Shared {
    /// Parks a call under a handle of its own. False: there is no room, or no random handle.
    fn park(&self, held: &Arc<Held>, driven: &mut Driven) -> bool {
        if driven.handle.is_some() {
            return true;
        }
        let mut id = [0; 16];
        let mut parked = lock(&self.parked.0);
        if parked.len() >= MAX_PARKED || random::fill(&mut id).is_err() {
            return false;
        }
        let handle: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        parked.insert(handle.clone(), held.clone());
        driven.handle = Some(handle);
        true
    }

    /// Ends a call, unless somebody comes for it before.
    fn keep_for(self: &Arc<Self>, held: &Arc<Held>, handle: Option<String>, time: Duration) {
        let (ours, theirs) = (Arc::downgrade(self), held.clone());
        let timer = tokio::spawn(async move {
            sleep(time).await;
            if let (Some(shared), Some(handle)) = (ours.upgrade(), handle) {
                lock(&shared.parked.0).remove(&handle);
            }
            // This is the timer itself: it is not to be stopped.
            *lock(&theirs.timer) = None;
            theirs.end();
        });
        held.stop_timer();
        *lock(&held.timer) = Some(timer.abort_handle());
    }
}

/// Somebody who drives a call; dropped before it is over, the client has left.
struct Left<'a> {
    shared: &'a Arc<Shared>,
    held: &'a Arc<Held>,
    context: &'a Context,
    ours: u64,
    is_over: bool,
}

impl Drop for Left<'_> {
    fn drop(&mut self) {
        if self.is_over || *self.held.owner.borrow() != self.ours {
            return;
        }
        let handle = self.held.turn.try_lock().ok();
        let handle = handle.and_then(|driven| driven.handle.clone());
        let has_said_so = self.context.cancel_reason() == Some(CancelReason::Client);
        if let Some(handle) = &handle
            && has_said_so
        {
            lock(&self.shared.parked.0).remove(handle);
        }
        if handle.is_none() || has_said_so {
            self.held.end();
        } else {
            // It may have lost its connection, and brings the answers once more.
            self.shared.keep_for(self.held, handle, COMES_BACK);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that is done under these locks leaves it half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
