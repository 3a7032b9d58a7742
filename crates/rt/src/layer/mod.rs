//! Layers: what stands between the edges and a handler and sees every call and its outcome. Not what a handler does.
//!
//! A layer is put around a handler with [`Service::layer`](crate::Service::layer). One that has nothing to do with a call hands
//! it on with [`Next::run`], which costs neither a task nor an allocation.
//!
//! ```
//! use std::sync::Arc;
//! use polyport_proto::{Outcome, RpcError};
//! use polyport_rt::{BoxFuture, Call, Layer, Next};
//!
//! /// Lets only some people call some tools.
//! struct Allow {
//!     tool: &'static str,
//!     subject: &'static str,
//! }
//!
//! impl Layer for Allow {
//!     fn call(self: Arc<Self>, call: Call, next: Next) -> BoxFuture<Outcome> {
//!         let is_theirs = call.context.envelope().principal().is_some_and(|p| *p.subject == *self.subject);
//!         if call.method != "tools/call" || is_theirs || call.params.name().as_deref() != Some(self.tool) {
//!             return next.run(call);
//!         }
//!         // As if it did not exist: whoever may not call it learns nothing.
//!         let unknown = RpcError::invalid_params(format!("Unknown tool: {}", self.tool));
//!         Box::pin(std::future::ready(unknown.into()))
//!     }
//! }
//! ```

mod at_most;
mod timeout;
pub(crate) mod told;
mod trace;

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use polyport_proto::http::HeaderParam;
use polyport_proto::{Envelope, Notice, Outcome, RpcError};

use crate::bus::Bus;
use crate::context::Call;
use crate::handler::{BoxFuture, DynHandler, Handler, StartError};

pub use at_most::AtMost;
pub use timeout::Timeout;
pub use trace::Trace;

/// What stands around a handler.
///
/// An async function or closure from [`Call`] and [`Next`] to [`Outcome`] is one, too.
pub trait Layer: Send + Sync + 'static {
    /// Sees a call on its way in, and its outcome on the way out; it may answer in the handler's place.
    fn call(self: Arc<Self>, call: Call, next: Next) -> BoxFuture<Outcome>;

    /// Sees a notification that belongs to no call. Defaults to handing it on.
    fn notice(&self, notice: Notice, next: &Next) {
        next.notice(notice);
    }
}

impl<F, Fut> Layer for F
where
    F: Fn(Call, Next) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Outcome> + Send + 'static,
{
    fn call(self: Arc<Self>, call: Call, next: Next) -> BoxFuture<Outcome> {
        Box::pin(self(call, next))
    }
}

/// What a layer stands around.
#[derive(Clone)]
pub struct Next(Arc<dyn DynHandler>);

impl Next {
    /// Lets the call in.
    pub fn run(self, call: Call) -> BoxFuture<Outcome> {
        self.0.call_dyn(call)
    }

    /// Hands on a notification.
    pub fn notice(&self, notice: Notice) {
        self.0.notice_dyn(notice);
    }

    /// Answers a call in the handler's place with a sentence: the model is told by a result with `isError`, where a tool was
    /// called; else the client by the error.
    pub fn tell(&self, call: &Call, sentence: &str, error: RpcError) -> Outcome {
        told::outcome(self, &call.context, call.method, sentence, || error)
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Next")
    }
}

/// A handler with a layer around it.
pub(crate) struct Layered<L> {
    layer: Arc<L>,
    inner: Next,
}

impl<L: Layer> Layered<L> {
    pub(crate) fn new(layer: L, inner: Arc<dyn DynHandler>) -> Self {
        Self {
            layer: Arc::new(layer),
            inner: Next(inner),
        }
    }
}

impl<L: Layer> Handler for Layered<L> {
    async fn call(&self, call: Call) -> Outcome {
        self.layer.clone().call(call, self.inner.clone()).await
    }

    fn call_boxed(self: Arc<Self>, call: Call) -> BoxFuture<Outcome> {
        self.layer.clone().call(call, self.inner.clone())
    }

    fn notice(&self, notice: Notice) {
        self.layer.notice(notice, &self.inner);
    }

    fn header_params(&self, tool: &str, envelope: &Envelope) -> Option<Arc<[HeaderParam]>> {
        self.inner.0.header_params_dyn(tool, envelope)
    }

    fn bus(&self) -> Option<Bus> {
        self.inner.0.bus_dyn()
    }

    fn bus_of(&self, envelope: &Envelope) -> Option<Bus> {
        self.inner.0.bus_of_dyn(envelope)
    }

    fn result_meta(&self) -> String {
        self.inner.0.result_meta_dyn()
    }

    async fn start(&self) -> Result<(), StartError> {
        self.inner.0.clone().start_dyn().await
    }

    async fn shutdown(&self) {
        self.inner.0.clone().shutdown_dyn().await;
    }
}
