//! What layers and questions note on a running call, for each other, for our statistics and for our log. Not its cancellation.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

/// Notes on one call.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// Its time is over.
    expired: AtomicBool,
    /// There was no room for it; its outcome says so.
    turned_away: AtomicBool,
    /// [`NO_TASK`], [`MAY`] or [`WISHES`].
    task: AtomicU8,
    bystanders: AtomicUsize,
    waiting: AtomicUsize,
}

const NO_TASK: u8 = 0;
const MAY: u8 = 1;
const WISHES: u8 = 2;

impl Marks {
    pub(crate) fn expire(&self) {
        self.expired.store(true, Ordering::Release);
    }

    pub(crate) fn is_expired(&self) -> bool {
        self.expired.load(Ordering::Acquire)
    }

    pub(crate) fn turn_away(&self) {
        self.turned_away.store(true, Ordering::Release);
    }

    pub(crate) fn is_turned_away(&self) -> bool {
        self.turned_away.load(Ordering::Acquire)
    }

    /// It may go on as a task.
    pub(crate) fn allow_task(&self) {
        let _ = self.change_task(NO_TASK, MAY);
    }

    /// It should. False: it cannot.
    pub(crate) fn wish_task(&self) -> bool {
        self.change_task(MAY, WISHES)
    }

    pub(crate) fn wishes_task(&self) -> bool {
        self.task.load(Ordering::Acquire) == WISHES
    }

    fn change_task(&self, from: u8, to: u8) -> bool {
        self.task
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    /// Says that a layer around the call holds a waker of its own, until this is dropped. Without it, that would look like
    /// something else than questions that the call waits for.
    pub(crate) fn bystand(&self) -> Tally<'_> {
        Tally::new(&self.bystanders)
    }

    pub(crate) fn bystanders(&self) -> usize {
        self.bystanders.load(Ordering::Acquire)
    }

    /// One more question waits for the client's answer on its connection, or one less.
    pub(crate) fn count_waiting(&self, more: bool) {
        if more {
            self.waiting.fetch_add(1, Ordering::AcqRel);
        } else {
            self.waiting.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Does a question wait for the client's answer on its connection?
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.load(Ordering::Acquire) > 0
    }
}

/// One more in a count, until it is dropped.
pub(crate) struct Tally<'a>(&'a AtomicUsize);

impl<'a> Tally<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(count)
    }
}

impl Drop for Tally<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
