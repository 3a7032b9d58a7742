//! What waits to be written to one line-framed peer: notifications of calls and answers of calls that took their time.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use polyport_proto::{Limits, Outcome};
use polyport_wire::RequestId;
use tokio::sync::Notify;

use crate::context::{Context, Outlet};

/// One thing to write.
#[derive(Debug)]
pub enum Item {
    /// A notification of a call; left out if that call is cancelled meanwhile.
    Note(Context, Vec<u8>),
    /// The end of a call; none: it did not end in the grace of its cancel.
    Done(Context, RequestId, Option<Outcome>),
}

/// A bounded queue. Answers are always taken: there are no more of them than calls.
#[derive(Debug)]
pub struct Outbox {
    queue: Mutex<Queue>,
    filled: AtomicBool,
    wake: Notify,
    max_messages: usize,
    max_bytes: usize,
}

#[derive(Debug, Default)]
struct Queue {
    items: VecDeque<Item>,
    bytes: usize,
}

impl Outbox {
    /// An empty one.
    pub fn new(limits: &Limits) -> Self {
        Self {
            queue: Mutex::default(),
            filled: AtomicBool::new(false),
            wake: Notify::new(),
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

    /// Takes out all that waits.
    pub fn take(&self) -> VecDeque<Item> {
        if !self.filled.load(Ordering::Acquire) {
            return VecDeque::new();
        }
        let mut queue = self.lock();
        self.filled.store(false, Ordering::Release);
        queue.bytes = 0;
        std::mem::take(&mut queue.items)
    }

    /// Waits until there is something.
    pub async fn filled(&self) {
        while !self.filled.load(Ordering::Acquire) {
            self.wake.notified().await;
        }
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
        "stdio"
    }
}
