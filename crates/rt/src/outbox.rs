//! What waits to be written to one line-framed peer: notifications of calls and answers of calls that took their time.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use polyport_proto::{Limits, Outcome};
use polyport_wire::RequestId;
use tokio::sync::Notify;

use crate::bus::{Alert, Listener};
use crate::context::{Context, Outlet};
use crate::question::Asked;

/// One thing to write.
#[derive(Debug)]
pub enum Item {
    /// A notification of a call; left out if that call is cancelled meanwhile.
    Note(Context, Vec<u8>),
    /// The end of a call; none: it did not end in the grace of its cancel.
    Done(Context, RequestId, Option<Outcome>),
    /// A request to the client.
    Ask(Context, Asked),
    /// This call carries what a listener hears.
    Attach(Context, Arc<Listener>),
}

/// A bounded queue. Answers are always taken: there are no more of them than calls.
#[derive(Debug)]
pub struct Outbox {
    queue: Mutex<Queue>,
    filled: AtomicBool,
    wake: Notify,
    /// Of the legacy session, once there is one.
    listener: OnceLock<Arc<Listener>>,
    /// The name of the transport.
    transport: &'static str,
    question_wait: Duration,
    max_messages: usize,
    max_bytes: usize,
}

#[derive(Debug, Default)]
struct Queue {
    items: VecDeque<Item>,
    bytes: usize,
}

impl Outbox {
    /// An empty one, of a connection over this transport.
    pub fn new(limits: &Limits, transport: &'static str) -> Self {
        Self {
            transport,
            queue: Mutex::default(),
            filled: AtomicBool::new(false),
            wake: Notify::new(),
            listener: OnceLock::new(),
            question_wait: limits.question_wait,
            max_messages: limits.queue_messages,
            max_bytes: limits.queue_bytes,
        }
    }

    /// The end of a call.
    pub fn done(&self, context: Context, id: RequestId, outcome: Option<Outcome>) {
        let held = context.finish();
        let mut queue = self.lock();
        let held = held
            .into_iter()
            .map(|note| Item::Note(context.clone(), note));
        queue.items.extend(held);
        queue.items.push_back(Item::Done(context, id, outcome));
        self.fill(queue);
    }

    /// The legacy session on this connection hears of changes from now on.
    pub(crate) fn set_listener(&self, listener: Arc<Listener>) {
        let _ = self.listener.set(listener);
    }

    /// Takes out all that waits. None: nobody has alerted it since the last time.
    pub fn take(&self) -> Option<VecDeque<Item>> {
        if !self.filled.load(Ordering::Acquire) {
            return None;
        }
        let mut queue = self.lock();
        self.filled.store(false, Ordering::Release);
        queue.bytes = 0;
        Some(std::mem::take(&mut queue.items))
    }

    /// Waits until there is something.
    pub async fn filled(&self) {
        while !self.filled.load(Ordering::Acquire) {
            self.wake.notified().await;
        }
    }

    /// There is room for everything that is bounded otherwise.
    fn push(&self, item: Item) {
        let mut queue = self.lock();
        queue.items.push_back(item);
        self.fill(queue);
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fill(&self, queue: MutexGuard<'_, Queue>) {
        self.filled.store(true, Ordering::Release);
        drop(queue);
        self.wake.notify_one();
    }
}

impl Outlet for Outbox {
    fn note(&self, context: &Context, message: Vec<u8>) -> Result<(), Vec<u8>> {
        let mut queue = self.lock();
        if queue.items.len() >= self.max_messages || queue.bytes + message.len() > self.max_bytes {
            return Err(message);
        }
        queue.bytes += message.len();
        queue.items.push_back(Item::Note(context.clone(), message));
        self.fill(queue);
        Ok(())
    }

    fn transport(&self) -> &'static str {
        self.transport
    }

    fn ask(&self, context: &Context, asked: Asked) -> Result<(), Asked> {
        self.push(Item::Ask(context.clone(), asked));
        Ok(())
    }

    fn unask(&self, _context: &Context) {
        self.alert();
    }

    fn question_wait(&self) -> Duration {
        self.question_wait
    }

    fn listener(&self) -> Option<Arc<Listener>> {
        self.listener.get().cloned()
    }

    fn attach(&self, context: &Context, listener: Arc<Listener>) {
        self.push(Item::Attach(context.clone(), listener));
    }
}

impl Alert for Outbox {
    fn alert(&self) {
        self.filled.store(true, Ordering::Release);
        self.wake.notify_one();
    }
}
