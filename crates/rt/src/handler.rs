//! What answers MCP requests: a server, a back-end, a connection to another server, a router over many.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use polyport_proto::http::HeaderParam;
use polyport_proto::{Envelope, Notice, Outcome};

use crate::bus::Bus;
use crate::context::Call;

/// A boxed future that may move between threads.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Everything that can answer an MCP request, in every revision and over every transport.
///
/// A call is polled once in place before anything is spawned for it, so an answer that is ready at once costs no task.
/// Code that blocks its thread belongs on a blocking pool: it would hold up the messages behind it.
pub trait Handler: Send + Sync + 'static {
    /// Answers one request. `server/discover` asks for capabilities, instructions and, in `_meta`, who the server is;
    /// legacy clients are told the same in answer to `initialize`.
    fn call(&self, call: Call) -> impl Future<Output = Outcome> + Send;

    /// The same as a value. Override it where a future is boxed anyway.
    fn call_boxed(self: Arc<Self>, call: Call) -> BoxFuture<Outcome>
    where
        Self: Sized,
    {
        Box::pin(async move { self.call(call).await })
    }

    /// Hears a notification that belongs to no call.
    fn notice(&self, notice: Notice) {
        drop(notice);
    }

    /// Where it tells what changes outside of calls; none: nothing does.
    fn bus(&self) -> Option<Bus> {
        None
    }

    /// The same where clients hear of different things: what changes for this one. It is a [child](Bus::child) of the other. None: all
    /// hear the same.
    fn bus_of(&self, envelope: &Envelope) -> Option<Bus> {
        let _ = envelope;
        None
    }

    /// Members of `_meta` for results that the runtime writes itself, as ready JSON text such as `"a":1`.
    fn result_meta(&self) -> String {
        String::new()
    }

    /// The arguments of a tool that HTTP clients mirror in headers (`x-mcp-header`), as who asks knows it; none where there are none.
    fn header_params(&self, tool: &str, envelope: &Envelope) -> Option<Arc<[HeaderParam]>> {
        let _ = (tool, envelope);
        None
    }

    /// Gets ready, before anything is served. See [`Service::start`](crate::Service::start).
    fn start(&self) -> impl Future<Output = Result<(), StartError>> + Send {
        std::future::ready(Ok(()))
    }

    /// Puts things away, when nothing is served any more.
    fn shutdown(&self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// Why a service does not serve.
#[derive(Clone, Eq, PartialEq)]
#[non_exhaustive]
pub enum StartError {
    /// The server said so itself.
    Failed(String),
    /// It took longer than [`Limits::start`](polyport_proto::Limits::start).
    TimedOut(Duration),
    /// It panicked; the log has more.
    Panicked,
}

impl StartError {
    /// The server cannot serve, for that reason.
    pub fn new(cause: impl fmt::Display) -> Self {
        Self::Failed(cause.to_string())
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(cause) => write!(f, "the server did not start: {cause}"),
            Self::TimedOut(after) => {
                write!(f, "the server did not start within {} s", after.as_secs())
            }
            Self::Panicked => f.write_str("the server panicked while it started"),
        }
    }
}

impl fmt::Debug for StartError {
    /// A `main` that returns it shows this.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for StartError {}

/// Any [`Handler`], behind a pointer.
pub trait DynHandler: Send + Sync + 'static {
    /// See [`Handler::call`].
    fn call_dyn(self: Arc<Self>, call: Call) -> BoxFuture<Outcome>;
    /// See [`Handler::notice`].
    fn notice_dyn(&self, notice: Notice);
    /// See [`Handler::bus`].
    fn bus_dyn(&self) -> Option<Bus>;
    /// See [`Handler::bus_of`].
    fn bus_of_dyn(&self, envelope: &Envelope) -> Option<Bus>;
    /// See [`Handler::result_meta`].
    fn result_meta_dyn(&self) -> String;
    /// See [`Handler::header_params`].
    fn header_params_dyn(&self, tool: &str, envelope: &Envelope) -> Option<Arc<[HeaderParam]>>;
    /// See [`Handler::start`].
    fn start_dyn(self: Arc<Self>) -> BoxFuture<Result<(), StartError>>;
    /// See [`Handler::shutdown`].
    fn shutdown_dyn(self: Arc<Self>) -> BoxFuture<()>;
}

impl<H: Handler> DynHandler for H {
    fn call_dyn(self: Arc<Self>, call: Call) -> BoxFuture<Outcome> {
        self.call_boxed(call)
    }

    fn notice_dyn(&self, notice: Notice) {
        self.notice(notice);
    }

    fn bus_dyn(&self) -> Option<Bus> {
        self.bus()
    }

    fn bus_of_dyn(&self, envelope: &Envelope) -> Option<Bus> {
        self.bus_of(envelope)
    }

    fn result_meta_dyn(&self) -> String {
        self.result_meta()
    }

    fn header_params_dyn(&self, tool: &str, envelope: &Envelope) -> Option<Arc<[HeaderParam]>> {
        self.header_params(tool, envelope)
    }

    fn start_dyn(self: Arc<Self>) -> BoxFuture<Result<(), StartError>> {
        Box::pin(async move { self.start().await })
    }

    fn shutdown_dyn(self: Arc<Self>) -> BoxFuture<()> {
        Box::pin(async move { self.shutdown().await })
    }
}
