//! An endpoint inside another server: as a service behind the router of axum or its like, and its end when that server stops.

use std::convert::Infallible;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::uri::PathAndQuery;
use http::{Request, Response, Uri};
use http_body::Body as HttpBody;
use polyport_rt::{BoxFuture, Ended, StartError, Started};
use tokio::task::JoinSet;
use tower_service::Service;

use crate::body::Body;
use crate::endpoint::Endpoint;

/// How often sessions whose time is over are looked for.
const SWEEP: Duration = Duration::from_secs(30);

/// Mounts an endpoint: beside other routes under its own path, or nested, where it answers on its own path below the prefix
/// and on the prefix itself. Any body will do.
///
/// Who can connect is for the server around it to decide, so an endpoint without an [`Authorize`](crate::Authorize) belongs
/// behind a listener on loopback. `Host` and `Origin` are checked here as ever: allow the name under which the server is
/// reached with [`Config::allow_host`](crate::Config::allow_host). The connection's own bounds (heads, slow readers, how many)
/// are those of the server around it.
impl<B> Service<Request<B>> for Endpoint
where
    B: HttpBody<Data = Bytes> + Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let endpoint = self.clone();
        if request.uri().path() == "/"
            && let Some(uri) = at(request.uri(), endpoint.path())
        {
            *request.uri_mut() = uri;
        }
        Box::pin(async move {
            endpoint.sweep_from_now_on();
            Ok(endpoint.handle(request).await)
        })
    }
}

/// The same target at another path.
fn at(uri: &Uri, path: &str) -> Option<Uri> {
    let mut parts = uri.clone().into_parts();
    let path = match uri.query() {
        Some(query) => format!("{path}/?{query}"),
        None => format!("{path}/"),
    };
    parts.path_and_query = Some(PathAndQuery::try_from(path).ok()?);
    Uri::from_parts(parts).ok()
}

impl Endpoint {
    /// Starts the server before its first client, as [`bind`](crate::bind) does by itself.
    ///
    /// # Errors
    /// The server does not start.
    pub async fn start(&self) -> Result<(), StartError> {
        let started = self.0.service.start().await?;
        // Started a second time, it shuts down only once all the same.
        self.started().get_or_insert(started);
        Ok(())
    }

    fn started(&self) -> MutexGuard<'_, Option<Started>> {
        let started = self.0.started.lock();
        started.unwrap_or_else(PoisonError::into_inner)
    }

    /// Comes to the end, as the server around it does: whoever asks from now on gets 503, streams that no call holds open
    /// end at once, running calls may finish within [`Limits::drain`](polyport_proto::Limits::drain) and are then told to
    /// stop, all sessions end, and at last the server shuts down. Await it where the server waits for the signal to stop, or beside its own end: a server
    /// that waits for its connections would otherwise wait for the streams of idle clients.
    ///
    /// [`Bound::serve`](crate::Bound::serve) does this by itself.
    pub async fn close(&self) -> Ended {
        self.0.closing.store(true, Ordering::Relaxed);
        let ended = self.drain(JoinSet::new()).await;
        let started = self.started().take();
        if let Some(started) = started {
            started.shutdown().await;
        }
        ended
    }

    /// Waits for the connections and the calls that run, within the drain; cuts off what is left, and ends the sessions.
    pub(crate) async fn drain(&self, mut connections: JoinSet<()>) -> Ended {
        let service = &self.0.service;
        self.close_streams();
        let limits = &service.limits;
        #[cfg(feature = "ws")]
        let mut sockets = self.0.sockets.leave();
        let calls = async {
            #[cfg(feature = "ws")]
            while sockets.join_next().await.is_some() {}
            while connections.join_next().await.is_some() {}
            // A legacy call goes on without its connection.
            service.idle().await;
        };
        let drained = async {
            tokio::select! {
                biased;
                never = service.end_streams() => match never {},
                () = calls => {}
            }
        };
        let drained = tokio::time::timeout(limits.drain, drained).await;
        let cut = if drained.is_ok() {
            0
        } else {
            service.unfinished()
        };
        self.end();
        drop(connections);
        // What was told to stop may tidy up; after its grace it is dropped.
        let _ = tokio::time::timeout(limits.cancel_grace * 2, service.idle()).await;
        // A session whose opening was under way meanwhile.
        self.end();
        Ended { cut, broken: false }
    }

    /// Looks for sessions whose time is over from the first request on, as long as the endpoint is there.
    fn sweep_from_now_on(&self) {
        if self.0.sweeps.swap(true, Ordering::Relaxed) {
            return;
        }
        let endpoint = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(SWEEP).await;
                match endpoint.upgrade() {
                    Some(inner) => Self(inner).sweep(),
                    None => return,
                }
            }
        });
    }
}
