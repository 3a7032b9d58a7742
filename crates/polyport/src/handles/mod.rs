//! State that a client comes back to with an id: a cursor, a basket, a job. It works for clients of both eras, since the id
//! travels as an argument of tools (D-08). What the state is, is its author's business.
//!
//! ```
//! use std::sync::Mutex;
//! use polyport::handles::{HandleLimits, Handles};
//! use polyport::{Cx, Server, schemars::JsonSchema, serde::Deserialize};
//!
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(crate = "polyport::serde")]
//! #[schemars(crate = "polyport::schemars")]
//! struct Put {
//!     /// The basket, as open_basket gave it.
//!     basket: String,
//!     item: String,
//! }
//!
//! let baskets: Handles<Mutex<Vec<String>>> = Handles::new(HandleLimits::default());
//! let (opening, putting) = (baskets.clone(), baskets.clone());
//! let server = Server::new("shop", "1")
//!     .tool("open_basket", "Opens a basket.", move |cx: Cx, (): ()| {
//!         let baskets = opening.clone();
//!         async move { Ok(baskets.open(&cx, Mutex::default())?) }
//!     })
//!     .tool("put", "Puts an item into a basket.", move |cx: Cx, put: Put| {
//!         let baskets = putting.clone();
//!         async move {
//!             let basket = baskets.get(&cx, &put.basket)?;
//!             basket.lock().expect("nobody panics with it").push(put.item);
//!             Ok("done")
//!         }
//!     })
//!     .on_shutdown(move || {
//!         let baskets = baskets.clone();
//!         async move { baskets.close_all().await }
//!     });
//! # let _ = server;
//! ```

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use data_encoding::HEXLOWER;
use polyport_rt::{BoxFuture, Clock};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use crate::closing::Closing;
use crate::server::context::Cx;
use table::{Entry, Table};

mod limits;
mod table;

pub use limits::{AtLimit, HandleLimits};

/// Why there is no handle. In a tool, `?` tells it to the model.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum HandleError {
    /// There is none of that id for who asks: it was never one, is somebody else's, was closed, or its time is over.
    Unknown,
    /// So many are open in all.
    TooMany(usize),
    /// So many of who asks are open.
    TooManyOfYours(usize),
    /// The system gives no randomness.
    NoRandomness,
}

impl fmt::Display for HandleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str(
                "There is no such handle, or no longer: it may have been closed or left alone for too long. Open a new one",
            ),
            Self::TooMany(limit) => write!(f, "Too many handles are open (limit {limit}): try again later"),
            Self::TooManyOfYours(limit) => write!(f, "Too many handles of yours are open (limit {limit}): close one first"),
            Self::NoRandomness => f.write_str("No handle can be made now: try again later"),
        }
    }
}

impl std::error::Error for HandleError {}

/// Why a handle was closed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum CloseReason {
    /// Somebody who may, asked for it.
    Asked,
    /// It was left alone for too long.
    Idle,
    /// Its life was over.
    Life,
    /// It made room for another one of the same principal.
    Room,
    /// All were closed.
    Shutdown,
}

/// Values under unguessable ids. Clones share them.
///
/// An id is 128 random bits as 32 hexadecimal digits. It opens its value to the principal that it was made for, and to nobody
/// else; where no principal is proven, to whoever knows it. Times pass and hooks run on the runtime in which handles are opened.
pub struct Handles<T: Send + Sync + 'static>(Arc<Inner<T>>);

type Hook<T> = Arc<dyn Fn(Arc<T>, CloseReason) -> BoxFuture<()> + Send + Sync>;

struct Inner<T: Send + Sync + 'static> {
    limits: HandleLimits,
    hook: Option<Hook<T>>,
    clock: Clock,
    closing: Closing,
    state: Mutex<State<T>>,
}

struct State<T> {
    table: Table<T>,
    /// Closes those whose time is over, while there are any.
    sweeper: Option<(Handle, AbortHandle)>,
}

impl<T: Send + Sync + 'static> Clone for Handles<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for Handles<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handles")
            .field("open", &self.len())
            .finish_non_exhaustive()
    }
}

/// Those whose time is over are looked for at most this often; nobody gets one in between.
const SWEEP: Duration = Duration::from_secs(1);

impl<T: Send + Sync + 'static> Handles<T> {
    /// How many are open.
    pub fn len(&self) -> usize {
        self.0.lock().table.0.len()
    }

    /// Is none open?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// None yet.
    pub fn new(limits: HandleLimits) -> Self {
        Self(Arc::new(Inner {
            limits,
            hook: None,
            clock: Clock::start(),
            closing: Closing::default(),
            state: Mutex::new(State {
                table: Table(HashMap::new()),
                sweeper: None,
            }),
        }))
    }

    /// What is done with a value when its handle is closed, for whatever reason. A call may still hold it. It has 5 seconds.
    ///
    /// # Panics
    /// The handles are shared already: this is said first.
    #[must_use]
    pub fn on_close<F, Fut>(mut self, hook: F) -> Self
    where
        F: Fn(Arc<T>, CloseReason) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let inner = Arc::get_mut(&mut self.0).expect("on_close is said before handles are shared");
        inner.hook = Some(Arc::new(move |value, why| Box::pin(hook(value, why))));
        self
    }

    /// Keeps a value for who asks, and gives the id under which they find it again.
    ///
    /// # Errors
    /// There is no room: see [`HandleLimits`].
    ///
    /// # Panics
    /// This is no runtime of tokio's. Functions of tools run in one, blocking ones too.
    pub fn open(&self, cx: &Cx, value: T) -> Result<String, HandleError> {
        let mut id = [0; 16];
        polyport_rt::random::fill(&mut id).map_err(|_| HandleError::NoRandomness)?;
        let (now, runtime) = (self.0.clock.now(), Handle::current());
        let principal = cx.0.envelope().principal().cloned();
        let mut state = self.0.lock();
        let mut gone = state.table.expire(&self.0.limits, now);
        let room = state.table.make_room(&self.0.limits, principal.as_ref());
        if room.is_ok() {
            state.table.0.insert(
                id,
                Entry {
                    value: Arc::new(value),
                    principal,
                    opened: now,
                    used: now,
                },
            );
            self.0.sweep_on(&mut state, &runtime);
        }
        drop(state);
        let room = room.map(|room| gone.extend(room));
        self.0.close(&runtime, gone);
        room.map(|()| HEXLOWER.encode(&id))
    }

    /// The value under an id, for who asks. Keeps the handle from being left alone for as long as the value is held.
    ///
    /// # Errors
    /// [`HandleError::Unknown`], the same for every reason.
    pub fn get(&self, cx: &Cx, id: &str) -> Result<Arc<T>, HandleError> {
        let key = self.0.key(cx, id)?;
        let mut state = self.0.lock();
        let entry = state.table.0.get_mut(&key).ok_or(HandleError::Unknown)?;
        entry.used = self.0.clock.now();
        Ok(entry.value.clone())
    }

    /// Closes a handle, and waits for what is done with its value.
    ///
    /// # Errors
    /// [`HandleError::Unknown`], the same for every reason.
    pub async fn close(&self, cx: &Cx, id: &str) -> Result<(), HandleError> {
        let key = self.0.key(cx, id)?;
        let entry = self.0.lock().table.0.remove(&key);
        let entry = entry.ok_or(HandleError::Unknown)?;
        if let Some(hook) = &self.0.hook {
            let end = ended(hook, entry, CloseReason::Asked);
            let (tell, told) = tokio::sync::oneshot::channel();
            self.0.closing.run(&Handle::current(), async move {
                end.await;
                // Who asked may be gone.
                let _ = tell.send(());
            });
            // Cut off, it says so in the log.
            let _ = told.await;
        }
        Ok(())
    }

    /// Closes all, and waits for what is done with them and with those that were closed before. For
    /// [`Server::on_shutdown`](crate::Server::on_shutdown).
    pub async fn close_all(&self) {
        let entries = std::mem::take(&mut self.0.lock().table.0);
        let gone = entries.into_values().map(|e| (e, CloseReason::Shutdown));
        self.0.close(&Handle::current(), gone.collect());
        self.0.closing.none().await;
    }
}

impl<T: Send + Sync + 'static> Inner<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The key of an id that is alive and theirs.
    fn key(&self, cx: &Cx, id: &str) -> Result<[u8; 16], HandleError> {
        let key = HEXLOWER.decode(id.as_bytes()).ok();
        let key: [u8; 16] = key
            .and_then(|key| key.try_into().ok())
            .ok_or(HandleError::Unknown)?;
        let (now, state) = (self.clock.now(), self.lock());
        let entry = state.table.0.get(&key).ok_or(HandleError::Unknown)?;
        let is_theirs = entry.principal.as_ref() == cx.0.envelope().principal();
        if is_theirs && entry.over(&self.limits, now).is_none() {
            Ok(key)
        } else {
            Err(HandleError::Unknown)
        }
    }

    /// Runs the hook for what is gone.
    fn close(&self, runtime: &Handle, gone: Vec<(Entry<T>, CloseReason)>) {
        if let Some(hook) = &self.hook {
            for (entry, why) in gone {
                self.closing.run(runtime, ended(hook, entry, why));
            }
        }
    }

    /// Closes those whose time is over; how long to wait for the next one. None: there is none.
    fn sweep(&self, runtime: &Handle) -> Option<Duration> {
        let now = self.clock.now();
        let mut state = self.lock();
        let gone = state.table.expire(&self.limits, now);
        let next = state.table.next_due(&self.limits);
        if next.is_none() {
            state.sweeper = None;
        }
        drop(state);
        self.close(runtime, gone);
        next.map(|next| next.saturating_sub(now).max(SWEEP))
    }

    /// Sees to it that somebody closes those whose time is over.
    fn sweep_on(self: &Arc<Self>, state: &mut State<T>, runtime: &Handle) {
        let sweeps = |task: &AbortHandle| !task.is_finished();
        if state.sweeper.as_ref().is_none_or(|(_, task)| !sweeps(task)) {
            let task = runtime.spawn(sweep(Arc::downgrade(self), runtime.clone()));
            state.sweeper = Some((runtime.clone(), task.abort_handle()));
        }
    }
}

/// What is done with a value at the end. The hook is asked where a panic harms nobody.
fn ended<T: Send + Sync + 'static>(
    hook: &Hook<T>,
    entry: Entry<T>,
    why: CloseReason,
) -> impl Future<Output = ()> + Send + 'static {
    let hook = hook.clone();
    async move { hook(entry.value, why).await }
}

/// Closes handles as their time is over, until there are none or nobody could ask for them.
async fn sweep<T: Send + Sync + 'static>(inner: Weak<Inner<T>>, runtime: Handle) {
    while let Some(wait) = inner.upgrade().and_then(|inner| inner.sweep(&runtime)) {
        tokio::time::sleep(wait).await;
    }
}

impl<T: Send + Sync + 'static> Drop for Inner<T> {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some((runtime, sweeper)) = state.sweeper.take() else {
            return;
        };
        sweeper.abort();
        if let Some(hook) = &self.hook {
            for entry in std::mem::take(&mut state.table.0).into_values() {
                let end = ended(hook, entry, CloseReason::Shutdown);
                self.closing.run(&runtime, end);
            }
        }
    }
}
