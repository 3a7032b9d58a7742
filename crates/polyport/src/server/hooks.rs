//! What a server does besides answering: before its first client, after its last, around its calls; and how closely it looks at
//! its own results.

use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};

use polyport_rt::{BoxFuture, Layer, Service, StartError};

use super::Server;

type Start = Box<dyn Fn() -> BoxFuture<Result<(), StartError>> + Send + Sync>;
type Shutdown = Box<dyn Fn() -> BoxFuture<()> + Send + Sync>;
type Around = Box<dyn FnOnce(Service) -> Service + Send>;

/// What is done before the first client and after the last.
#[derive(Default)]
pub(super) struct Hooks {
    start: Vec<Start>,
    shutdown: Vec<Shutdown>,
    owed: Owed,
}

/// Is there something to be done after the last client, and not yet done? Nothing can be awaited while it is dropped, so what is left
/// out then is at least said.
#[derive(Default)]
struct Owed(AtomicBool);

impl Drop for Owed {
    fn drop(&mut self) {
        if *self.0.get_mut() {
            tracing::warn!(
                "a server was dropped, not stopped: what on_shutdown was given is left out"
            );
        }
    }
}

impl Hooks {
    pub(super) async fn start(&self) -> Result<(), StartError> {
        for hook in &self.start {
            hook().await?;
        }
        let owes = !self.shutdown.is_empty();
        self.owed.0.store(owes, Ordering::Relaxed);
        Ok(())
    }

    /// What was said last is done first.
    pub(super) async fn shutdown(&self) {
        self.owed.0.store(false, Ordering::Relaxed);
        for hook in self.shutdown.iter().rev() {
            hook().await;
        }
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hooks({}, {})", self.start.len(), self.shutdown.len())
    }
}

/// The layers of a server, the innermost first.
#[derive(Default)]
pub(super) struct Layers(Vec<Around>);

impl Layers {
    pub(super) fn around(self, service: Service) -> Service {
        let Self(layers) = self;
        layers
            .into_iter()
            .fold(service, |service, layer| layer(service))
    }
}

impl Server {
    /// Something to do before the first client is served, in the order in which it was said. If it fails, nothing is served, and
    /// whoever serves gets the error. All together have 30 seconds ([`Limits::start`](crate::Limits::start)); what is cut off or
    /// fails tidies up after itself.
    ///
    /// ```
    /// # use polyport::Server;
    /// let server = Server::new("notes", "1")
    ///     .on_start(|| async { std::fs::create_dir_all("notes") })
    ///     .on_shutdown(|| async { eprintln!("good night") });
    /// # let _ = server;
    /// ```
    #[must_use]
    pub fn on_start<F, Fut, E>(mut self, function: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), E>> + Send + 'static,
        E: fmt::Display,
    {
        self.hooks.start.push(Box::new(move || {
            let future = function();
            Box::pin(async move { future.await.map_err(StartError::new) })
        }));
        self
    }

    /// Something to do after the last client: at the end of input, SIGTERM or Ctrl-C, when running calls have ended and sessions are
    /// closed. What was said last is done first. All together have 10 seconds ([`Limits::shutdown`](crate::Limits::shutdown)).
    ///
    /// It is left out, and our log warns of it, where the future that serves is dropped before its end (in a `select!` that something
    /// else has won, say), and where an endpoint in an application is dropped without its `close`. Serve until a
    /// [`Stop`](crate::Stop) instead.
    #[must_use]
    pub fn on_shutdown<F, Fut>(mut self, function: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.hooks
            .shutdown
            .push(Box::new(move || Box::pin(function())));
        self
    }

    /// Puts a layer around all calls, such as [`layer::Timeout`](crate::layer::Timeout) or one of your own. The one that is put
    /// there last sees a call first.
    #[must_use]
    pub fn layer(mut self, layer: impl Layer) -> Self {
        self.layers.0.push(Box::new(|service| service.layer(layer)));
        self
    }

    /// Whether structured results are checked against the output schema of their tool. One that does not fit becomes an internal
    /// error, and our log says which tool, where and by which rule. Defaults to true in debug builds and to false in others; that
    /// there is a structured value at all is checked always.
    #[must_use]
    pub fn check_output(mut self, check: bool) -> Self {
        self.facts.checks_output = check;
        self
    }
}
