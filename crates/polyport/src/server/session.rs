//! State of legacy sessions: made when one opens, shared by its calls, put away when it ends (D-08). Modern clients have no
//! sessions; what serves both is [`Handles`](crate::Handles).

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use polyport_rt::BoxFuture;
use tokio::runtime::Handle;

use super::Server;
use super::context::Cx;
use crate::closing::Closing;
use crate::error::Fault;

type Open = Box<dyn Fn(Cx, Closing) -> BoxFuture<Result<(), Fault>> + Send + Sync>;

/// What is done when a session opens.
#[derive(Default)]
pub(super) struct Sessions {
    open: Vec<Open>,
    closing: Closing,
}

impl Sessions {
    /// Does the call open a session for which something is to be done?
    pub(super) fn opens(&self, cx: &Cx) -> bool {
        let session = cx.0.envelope().session();
        !self.open.is_empty() && session.is_some_and(|session| !session.kept.is_over())
    }

    pub(super) async fn open(&self, cx: Cx) -> Result<(), Fault> {
        for open in &self.open {
            open(cx.clone(), self.closing.clone()).await?;
        }
        Ok(())
    }

    /// Waits until what is done for sessions that have ended is done.
    pub(super) async fn closed(&self) {
        self.closing.none().await;
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sessions({})", self.open.len())
    }
}

impl Server {
    /// A value for each legacy session, which [`Cx::session`] gives to its calls. One for each type.
    ///
    /// `open` is asked when a client opens a session; its fault refuses the session. `close` gets the value when the session ends: at
    /// the end of input, by the client, by time, or with the server. Calls that run then have been told so and may still hold it.
    /// It has 5 seconds.
    ///
    /// Modern clients have no sessions, and neither have legacy ones over HTTP where sessions are off: state for all of them is
    /// that of [`Handles`](crate::Handles).
    #[must_use]
    pub fn session<T, O, Opened, C, Closed>(mut self, open: O, close: C) -> Self
    where
        T: Send + Sync + 'static,
        O: Fn(Cx) -> Opened + Send + Sync + 'static,
        Opened: Future<Output = Result<T, Fault>> + Send + 'static,
        C: Fn(Arc<T>) -> Closed + Send + Sync + 'static,
        Closed: Future<Output = ()> + Send + 'static,
    {
        let close = Arc::new(close);
        self.sessions.open.push(Box::new(move |cx, closing| {
            let (opened, close) = (open(cx.clone()), close.clone());
            Box::pin(async move {
                let value = opened.await?;
                // Whoever ends a session need not do it within the runtime.
                let runtime = Handle::current();
                if let Some(session) = cx.0.envelope().session() {
                    session.kept.keep(value, move |value| {
                        // The hook is asked where a panic harms nobody.
                        closing.run(&runtime, async move { close(value).await });
                    });
                }
                Ok(())
            })
        }));
        self
    }
}

impl Cx {
    /// The value that [`Server::session`] keeps for this client's session. None: the client is a modern one, or the session is
    /// over.
    pub fn session<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.0.envelope().session()?.kept.get()
    }
}
