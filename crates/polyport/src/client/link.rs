//! A connection that is made when it is needed, and made again after it has ended: with growing pauses while the server fails.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use polyport_proto::Revision;
use polyport_rt::{Bus, Handler as _};
use tokio::time::Instant;

use super::{ClientError, Connect, Relay, Shown};

/// Before a server that could not be connected to is tried again; twice as long after each failure.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest such pause.
const LONGEST: Duration = Duration::from_secs(60);
/// A connection that has lasted so long was a good one: after it nothing is held against the server.
const GOOD: Duration = Duration::from_secs(30);

/// A server and the connection to it, if there is one. Cheap to clone; clones are one link.
///
/// ```
/// # use polyport::{Server, client::{Connect, Health, Link}};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = Server::new("test", "1").tool("hello", "Says hello.", |_cx, (): ()| async { Ok("hello") });
/// let link = Link::new(Connect::service(server.into_service()));
/// assert!(matches!(link.health(), Health::Idle));
/// assert_eq!(link.open().await?.client().tools().await?.len(), 1);
/// assert!(matches!(link.health(), Health::Up { .. }));
/// link.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Link(Arc<Inner>);

struct Inner {
    connect: Connect,
    name: Option<Arc<str>>,
    bus: Option<Bus>,
    shown: Option<Shown>,
    /// Held by whoever connects.
    turn: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

struct State {
    open: Option<Arc<Relay>>,
    health: Health,
    /// Failures in a row.
    failures: u32,
    connected: u64,
    is_closed: bool,
}

/// How a server is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Health {
    /// Nobody has needed it yet, or it was closed.
    Idle,
    /// It is being connected to.
    Connecting,
    /// It is connected.
    Up {
        /// Since then.
        since: Instant,
        /// The revision that is spoken.
        revision: Revision,
    },
    /// It could not be connected to.
    Down {
        /// Why.
        error: Arc<ClientError>,
        /// Not tried before then: until that time it is said at once that it is down.
        again: Instant,
    },
}

/// Why there is no connection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LinkError {
    /// The server could not be connected to, now or a moment ago.
    Down {
        /// Why.
        error: Arc<ClientError>,
        /// When it is tried again.
        again: Instant,
    },
    /// The link has been closed.
    Closed,
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Down { error, again } => {
                error.fmt(f)?;
                let left = again.saturating_duration_since(Instant::now());
                write!(f, "; it is tried again in {} s", left.as_secs() + 1)
            }
            Self::Closed => f.write_str("the connection has been closed here"),
        }
    }
}

impl std::error::Error for LinkError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Down { error, .. } => Some(&**error),
            Self::Closed => None,
        }
    }
}

impl Link {
    /// A link to a server that nobody has connected to yet.
    pub fn new(connect: Connect) -> Self {
        Self::made(connect, None, None, None)
    }

    /// The same where those who ask know the server by this name, listen on a bus that there is already, and see resources under the
    /// addresses that `shown` says.
    pub fn on_bus(name: &str, connect: Connect, bus: Bus, shown: Option<Shown>) -> Self {
        Self::made(connect, Some(name.into()), Some(bus), shown)
    }

    fn made(
        connect: Connect,
        name: Option<Arc<str>>,
        bus: Option<Bus>,
        shown: Option<Shown>,
    ) -> Self {
        Self(Arc::new(Inner {
            connect,
            name,
            bus,
            shown,
            turn: tokio::sync::Mutex::new(()),
            state: Mutex::new(State {
                open: None,
                health: Health::Idle,
                failures: 0,
                connected: 0,
                is_closed: false,
            }),
        }))
    }

    /// The connection; made now if there is none, by one for all who wait. Whoever gives up waiting does not end the attempt.
    ///
    /// # Errors
    /// [`LinkError`].
    pub async fn open(&self) -> Result<Arc<Relay>, LinkError> {
        if let Some(done) = self.0.state().now() {
            return done;
        }
        let inner = self.0.clone();
        let connecting = tokio::spawn(async move { inner.connect().await });
        connecting.await.unwrap_or(Err(LinkError::Closed))
    }

    /// The connection that there is now.
    pub fn current(&self) -> Option<Arc<Relay>> {
        let mut state = self.0.state();
        state.look();
        state.open.clone()
    }

    /// How the server is.
    pub fn health(&self) -> Health {
        let mut state = self.0.state();
        state.look();
        state.health.clone()
    }

    /// How often it has been connected to.
    pub fn connected(&self) -> u64 {
        self.0.state().connected
    }

    /// Ends the connection, in bounded time, and lets nobody make another. A server of ours ends with it.
    pub async fn close(&self) {
        let open = {
            let mut state = self.0.state();
            state.is_closed = true;
            state.health = Health::Idle;
            state.open.take()
        };
        if let Some(open) = open {
            open.shutdown().await;
        }
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that is done under the lock leaves it half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn connect(&self) -> Result<Arc<Relay>, LinkError> {
        let _turn = self.turn.lock().await;
        {
            let mut state = self.state();
            if let Some(done) = state.now() {
                return done;
            }
            state.health = Health::Connecting;
        }
        let connected = self.connect.clone().connect().await;
        let relay = match connected {
            Ok(client) => {
                let bus = self.bus.clone().unwrap_or_default();
                let name = self.name.clone();
                Arc::new(client.into_handler_on(name, bus, self.shown.clone()))
            }
            Err(error) => return Err(self.state().fails(Arc::new(error))),
        };
        if !self.keep(&relay) {
            relay.shutdown().await;
            return Err(LinkError::Closed);
        }
        Ok(relay)
    }

    /// False: the link has been closed meanwhile.
    fn keep(&self, relay: &Arc<Relay>) -> bool {
        let mut state = self.state();
        if state.is_closed {
            return false;
        }
        state.connected += 1;
        state.health = Health::Up {
            since: Instant::now(),
            revision: relay.client().opened().revision,
        };
        state.open = Some(relay.clone());
        true
    }
}

impl State {
    /// What is known without connecting.
    fn now(&mut self) -> Option<Result<Arc<Relay>, LinkError>> {
        if self.is_closed {
            return Some(Err(LinkError::Closed));
        }
        self.look();
        if let Some(open) = &self.open {
            return Some(Ok(open.clone()));
        }
        match &self.health {
            Health::Down { error, again } if Instant::now() < *again => {
                Some(Err(LinkError::Down {
                    error: error.clone(),
                    again: *again,
                }))
            }
            _ => None,
        }
    }

    /// Notes that the connection has ended, if it has.
    fn look(&mut self) {
        if !self.open.as_ref().is_some_and(|open| open.is_closed()) {
            return;
        }
        self.open = None;
        let Health::Up { since, .. } = self.health else {
            return;
        };
        if since.elapsed() >= GOOD {
            self.failures = 0;
            self.health = Health::Idle;
        } else {
            // One that ends soon after it was connected to is not asked at once again.
            let _ = self.fails(Arc::new(ClientError::Closed));
        }
    }

    fn fails(&mut self, error: Arc<ClientError>) -> LinkError {
        let pause = PAUSE * 2_u32.saturating_pow(self.failures.min(6));
        // That others have the server is nothing against it.
        if !matches!(*error, ClientError::NoRoom(_)) {
            self.failures = self.failures.saturating_add(1);
        }
        let again = Instant::now() + pause.min(LONGEST);
        self.health = Health::Down {
            error: error.clone(),
            again,
        };
        LinkError::Down { error, again }
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("health", &self.health())
            .finish_non_exhaustive()
    }
}
