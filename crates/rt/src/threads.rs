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
    /// None: all is done on the runtime of the caller.
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// So many as there are processors. That of the caller takes connections in and hears signals, so that a call that blocks its thread
    /// holds up neither.
    ///
    /// # Errors
    /// The system gives no more threads or files.
    pub fn of_processors() -> io::Result<Self> {
        Self::new(thread::available_parallelism().map_or(1, usize::from))
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

    /// A place where the fewest are; none: there are no threads.
    pub fn seat(&self) -> Option<Seat> {
        let taken = |thread: &&Thread| Arc::strong_count(&thread.taken);
        let thread = self.0.iter().min_by_key(taken)?;
        Some(Seat {
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
        let name = async |seat: &Seat| {
            let named = async { thread::current().name().map(str::to_owned) };
            seat.handle().spawn(named).await.unwrap().unwrap()
        };
        let mut seats: Vec<_> = (0..6).map(|_| threads.seat().unwrap()).collect();
        let (first, second) = ("polyport-1", "polyport-2");
        for (nth, seat) in seats.iter().enumerate() {
            assert_eq!(name(seat).await, if nth % 2 == 0 { first } else { second });
        }
        // Who leaves makes room.
        let kept = seats[0].handle().id();
        seats.retain(|seat| seat.handle().id() == kept);
        for _ in 0..3 {
            let seat = threads.seat().unwrap();
            assert_eq!(name(&seat).await, second);
            seats.push(seat);
        }
        assert!(Threads::none().seat().is_none());
    }

    #[tokio::test]
    async fn what_runs_there_ends_with_them() {
        let threads = Threads::new(1).unwrap();
        let seat = threads.seat().unwrap();
        let running = seat.handle().spawn(std::future::pending::<()>());
        drop(threads);
        assert!(running.await.unwrap_err().is_cancelled());
    }
}
