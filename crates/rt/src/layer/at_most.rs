//! How many calls may run at once: in all, of one tool, of one principal. Who finds no place waits for it, within a bound, and is
//! then told so.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use polyport_proto::{Code, Outcome, Principal, RpcError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::told::{outcome, seconds, subject};
use super::{Layer, Next};
use crate::context::Call;
use crate::handler::BoxFuture;

/// Bounds how many calls run at once. Discovery needs no place, and a stream of changes has one only while it begins.
///
/// ```
/// # use std::time::Duration;
/// # use polyport_rt::layer::AtMost;
/// let layer = AtMost::calls(64).of_tool("render", 2).of_principal(8).patience(Duration::from_secs(5)).queue(100);
/// # let _ = layer;
/// ```
pub struct AtMost {
    all: Places,
    tools: HashMap<String, Places>,
    per_principal: Option<usize>,
    principals: Mutex<HashMap<Arc<Principal>, Arc<Semaphore>>>,
    patience: Duration,
    queue: usize,
    waiting: AtomicUsize,
}

#[derive(Clone)]
struct Places {
    count: usize,
    free: Arc<Semaphore>,
}

impl Places {
    fn new(count: usize) -> Self {
        let count = count.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            count,
            free: Arc::new(Semaphore::new(count)),
        }
    }
}

impl AtMost {
    /// So many calls at once in all, at least one.
    pub fn calls(count: usize) -> Self {
        Self {
            all: Places::new(count),
            tools: HashMap::new(),
            per_principal: None,
            principals: Mutex::default(),
            patience: Duration::from_secs(5),
            queue: 256,
            waiting: AtomicUsize::new(0),
        }
    }

    /// So many calls of one tool at once.
    #[must_use]
    pub fn of_tool(mut self, tool: impl Into<String>, count: usize) -> Self {
        self.tools.insert(tool.into(), Places::new(count));
        self
    }

    /// So many calls of one principal at once. Who is not known is not told apart, and only bound by the others.
    #[must_use]
    pub fn of_principal(mut self, count: usize) -> Self {
        self.per_principal = Some(count.clamp(1, Semaphore::MAX_PERMITS));
        self
    }

    /// How long a call waits for its places. Defaults to 5 seconds; then it is told that there is none.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// How many calls may wait. Defaults to 256; one more is told at once that there is no place.
    #[must_use]
    pub fn queue(mut self, calls: usize) -> Self {
        self.queue = calls;
        self
    }

    /// The places that the call needs, the scarcest first: who waits for those holds none of the others.
    fn needs(self: &Arc<Self>, call: &Call) -> Held {
        let mut held = Held {
            wanted: VecDeque::with_capacity(3),
            permits: Vec::with_capacity(3),
            principal: None,
            of: self.clone(),
        };
        if call.method == "tools/call"
            && let Some(places) = call.params.name().and_then(|name| self.tools.get(&*name))
        {
            held.wanted.push_back((places.clone(), Of::Tool));
        }
        let principal = call.context.envelope().principal();
        if let (Some(count), Some(principal)) = (self.per_principal, principal) {
            let free = self
                .lock()
                .entry(principal.clone())
                .or_insert_with(|| Arc::new(Semaphore::new(count)))
                .clone();
            held.wanted
                .push_back((Places { count, free }, Of::Principal));
            held.principal = Some(principal.clone());
        }
        held.wanted.push_back((self.all.clone(), Of::All));
        held
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<Principal>, Arc<Semaphore>>> {
        self.principals
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the places, waiting for them if need be.
    async fn take(&self, held: &mut Held) -> Result<(), Full> {
        let deadline = Instant::now() + self.patience;
        while let Some((places, of)) = held.wanted.pop_front() {
            let count = places.count;
            let full = |waited| Full { count, of, waited };
            let permit = match places.free.clone().try_acquire_owned() {
                Ok(permit) => permit,
                Err(_) => {
                    let _queued = self.queued().ok_or_else(|| full(false))?;
                    let permit =
                        tokio::time::timeout_at(deadline, places.free.acquire_owned()).await;
                    permit.map_err(|_| full(true))?.map_err(|_| full(true))?
                }
            };
            held.permits.push(permit);
        }
        Ok(())
    }

    fn queued(&self) -> Option<Queued<'_>> {
        let room = |waiting| (waiting < self.queue).then_some(waiting + 1);
        let queued = self
            .waiting
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, room);
        queued.ok().map(|_| Queued(&self.waiting))
    }

    fn sentence(&self, full: Full, subject: &str) -> String {
        let Full { count, of, waited } = full;
        let calls = if count == 1 { "call" } else { "calls" };
        let of = match of {
            Of::All => "",
            Of::Tool => " of this tool",
            Of::Principal => " of yours",
        };
        let since = if waited {
            format!(
                ", and no place became free within {}",
                seconds(self.patience)
            )
        } else {
            ", and too many wait already".to_owned()
        };
        format!(
            "{subject} was not run: at most {count} {calls}{of} may run at once{since}. Try again when others have finished"
        )
    }
}

impl fmt::Debug for AtMost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtMost")
            .field("calls", &self.all.count)
            .field("waiting", &self.waiting)
            .finish_non_exhaustive()
    }
}

/// Whose places they are.
#[derive(Clone, Copy)]
enum Of {
    All,
    Tool,
    Principal,
}

/// Why a call was not let in.
#[derive(Clone, Copy)]
struct Full {
    count: usize,
    of: Of,
    waited: bool,
}

/// One waiting call.
struct Queued<'a>(&'a AtomicUsize);

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The places of a call: those that it waits for, and those that it has.
struct Held {
    wanted: VecDeque<(Places, Of)>,
    permits: Vec<OwnedSemaphorePermit>,
    principal: Option<Arc<Principal>>,
    of: Arc<AtMost>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.wanted.clear();
        self.permits.clear();
        let Some(principal) = &self.principal else {
            return;
        };
        // A principal of whom nothing runs or waits is forgotten.
        let mut principals = self.of.lock();
        if principals
            .get(principal)
            .is_some_and(|free| Arc::strong_count(free) == 1)
        {
            principals.remove(principal);
        }
    }
}

impl Layer for AtMost {
    fn call(self: Arc<Self>, call: Call, next: Next) -> BoxFuture<Outcome> {
        if call.method == "server/discover" {
            return next.run(call);
        }
        let mut held = self.needs(&call);
        Box::pin(async move {
            let full = match self.take(&mut held).await {
                Ok(()) => {
                    let outcome = next.run(call).await;
                    drop(held);
                    return outcome;
                }
                Err(full) => full,
            };
            call.context.turn_away();
            let subject = subject(call.method, call.params.name().as_deref());
            let sentence = self.sentence(full, &subject);
            let error = || RpcError::new(Code::InvalidRequest, sentence.clone());
            outcome(&next, &call.context, call.method, &sentence, error)
        })
    }
}
