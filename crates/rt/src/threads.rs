//! Threads with a runtime each, among which connections are dealt out.
//!
//! What a connection asks stays on its thread. On a runtime of many threads each call wakes some of them, since whatever it spawns may
//! be stolen: measured as more than half of what a small call costs the processor.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// Threads beside that of the caller; they end when this is dropped, with what runs there.
pub struct Threads(Vec<Thread>);

struct Thread {
    handle: Handle,
    /// One more reference for each connection that is there.
    taken: Arc<()>,
    /// Dropped, the thread ends.
    _ends: oneshot::Sender<()>,
}

/// A place among the threads; it is free again when this is dropped.
#[derive(Debug)]
pub struct Seat {
    handle: Handle,
    _taken: Arc<()>,
}

impl Threads {
    /// None: all is done on the thread of the caller.
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// So many as there are processors, with that of the caller.
    ///
    /// # Errors
    /// The system gives no more threads or files.
    pub fn of_processors() -> io::Result<Self> {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        Self::new(processors - 1)
    }

    /// So many.
    ///
    /// # Errors
    /// The system gives no more threads or files.
    pub fn new(count: usize) -> io::Result<Self> {
        (1..=count)
            .map(Thread::start)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// A place where the fewest are; none: on the thread of the caller, where so many are already.
    pub fn seat(&self, here: usize) -> Option<Seat> {
        let taken = |thread: &&Thread| Arc::strong_count(&thread.taken) - 1;
        let thread = self.0.iter().min_by_key(taken)?;
        (taken(&thread) < here).then(|| Seat {
            handle: thread.handle.clone(),
            _taken: thread.taken.clone(),
        })
    }
}

impl Seat {
    /// What runs there.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Thread {
    fn start(number: usize) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (ends, ended) = oneshot::channel();
        thread::Builder::new()
            .name(format!("polyport-{number}"))
            .spawn(move || {
                // An error is the end that is waited for.
                let _ = runtime.block_on(ended);
                // One that blocks in a call is not waited for.
                runtime.shutdown_background();
            })?;
        Ok(Self {
            handle,
            taken: Arc::default(),
            _ends: ends,
        })
    }
}

impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Threads").field(&self.0.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_goes_where_the_fewest_are() {
        let threads = Threads::new(2).unwrap();
        let mut here = 0;
        let mut seats = Vec::new();
        for _ in 0..9 {
            match threads.seat(here) {
                Some(seat) => seats.push(seat),
                None => here += 1,
            }
        }
        assert_eq!((here, seats.len()), (3, 6));
        let mut names = Vec::new();
        for seat in &seats {
            let named = async { thread::current().name().map(str::to_owned) };
            names.push(seat.handle().spawn(named).await.unwrap().unwrap());
        }
        names.sort();
        let (first, second) = ("polyport-1", "polyport-2");
        assert_eq!(names, [first, first, first, second, second, second]);
        // Who leaves makes room.
        seats.drain(..2);
        assert!(threads.seat(here).is_some());
        assert!(Threads::none().seat(here).is_none());
    }

    #[tokio::test]
    async fn what_runs_there_ends_with_them() {
        let threads = Threads::new(1).unwrap();
        let seat = threads.seat(1).unwrap();
        let running = seat.handle().spawn(std::future::pending::<()>());
        drop(threads);
        assert!(running.await.unwrap_err().is_cancelled());
    }
}
