//! Connections to one server: directly or through a proxy, with TLS or without. Owns redirects.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::uri::Scheme;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connect, Connection as Conn};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use polyport_rt::{BoxFuture, CallError};
use tower_service::Service;

use super::coding::TAKEN;
use super::dial::{Within, plain, tcp};
use super::direct::Direct;
use super::proxy::{Kind, Proxy};
use super::sends::{IDLE, IDLE_FOR, Sends, Unsent};
use super::target::{Target, same_origin};
use super::words;
use crate::body::Body;

/// How often one request is sent on to another place of the same server.
const REDIRECTS: usize = 3;
const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("polyport/", env!("CARGO_PKG_VERSION")));

/// Sends requests to one server.
#[derive(Clone)]
pub(crate) struct Connection {
    sends: Arc<dyn Sends>,
    target: Arc<Target>,
    /// Where the server really is, after permanent redirects.
    moved: Arc<Mutex<Uri>>,
    proxy: Option<Arc<Proxy>>,
    /// The proxy gets our requests as they are.
    is_forward: bool,
}

/// How a connection is secured, and what may be spoken over it then.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Secured {
    No,
    Any,
    Http1,
}

impl<C: Connect + Clone + Send + Sync + 'static> Sends for Client<C, Body> {
    fn send(&self, request: Request<Body>) -> BoxFuture<Result<Response<Incoming>, Unsent>> {
        let sent = self.request(request);
        Box::pin(async { sent.await.map_err(Unsent::Pooled) })
    }
}

impl Connection {
    /// Chooses the way; nothing is connected yet.
    ///
    /// # Errors
    /// There is no such way: TLS or the proxy cannot be used.
    pub(super) fn to(target: Target) -> Result<Self, CallError> {
        let uri = target.uri();
        let proxy = Proxy::to(uri)?;
        let secured = match (uri.scheme() == Some(&Scheme::HTTPS), target.is_socket()) {
            (false, _) => Secured::No,
            (true, false) => Secured::Any,
            (true, true) => Secured::Http1,
        };
        let mut is_forward = false;
        let sends = match &proxy {
            None if secured == Secured::No => match Direct::to(uri, plain()) {
                Some(direct) => Arc::new(direct),
                None => over(tcp(), secured)?,
            },
            None => over(tcp(), secured)?,
            Some(proxy) => match proxy.kind()? {
                Kind::Socks => over(proxy.socks(tcp()), secured)?,
                // What becomes a WebSocket is not for a proxy to read.
                Kind::Http if secured != Secured::No || target.is_socket() => {
                    over(proxy.tunnel(tcp()), secured)?
                }
                Kind::Http => {
                    is_forward = true;
                    over(proxy.forward(tcp()), secured)?
                }
            },
        };
        Ok(Self {
            sends,
            moved: Arc::new(Mutex::new(uri.clone())),
            target: Arc::new(target),
            proxy: proxy.map(Arc::new),
            is_forward,
        })
    }

    /// Where the server is.
    pub(crate) fn uri(&self) -> Uri {
        let moved = self.moved.lock();
        moved.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sends a message to where the server is.
    ///
    /// # Errors
    /// [`CallError::Unreachable`] if it was not sent, else [`CallError::Broken`].
    pub(super) async fn post(
        &self,
        headers: impl Fn() -> HeaderMap,
        text: Bytes,
    ) -> Result<Response<Incoming>, CallError> {
        self.request(Method::POST, self.uri(), headers, text).await
    }

    /// Sends a request to an address of the server. `headers` are made anew for each place that it is sent on to.
    ///
    /// # Errors
    /// As [`post`](Self::post).
    pub(crate) async fn request(
        &self,
        method: Method,
        mut uri: Uri,
        headers: impl Fn() -> HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, CallError> {
        for _ in 0..=REDIRECTS {
            let mut request = Request::new(Body::whole(body.clone()));
            *request.method_mut() = method.clone();
            *request.uri_mut() = uri.clone();
            *request.headers_mut() = self.dressed(headers());
            let sent = self.sends.send(request).await;
            let response = sent.map_err(|error| self.unsent(&error))?;
            let status = response.status();
            if status == StatusCode::PROXY_AUTHENTICATION_REQUIRED
                && let Some(proxy) = self.proxy.as_ref().filter(|_| self.is_forward)
            {
                return Err(proxy.failed("it wants to know who asks"));
            }
            // Others would turn a message into a question for a page.
            let is_kept = matches!(
                status,
                StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
            ) || (status.is_redirection() && method == Method::GET);
            let location = response.headers().get(header::LOCATION);
            let Some(location) = location.filter(|_| status.is_redirection()) else {
                return Ok(response);
            };
            let named = String::from_utf8_lossy(location.as_bytes());
            let next = same_origin(&uri, &named).map_err(CallError::Unreachable)?;
            if !is_kept {
                let why = format!(
                    "it sends from {} to {next} in a way that loses the message (HTTP status {}): name that address",
                    uri.path(),
                    status.as_u16()
                );
                return Err(CallError::Unreachable(why));
            }
            let mut moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
            if *moved == uri {
                *moved = next.clone();
            }
            uri = next;
        }
        let why = "it sends from one address to the next without end".to_owned();
        Err(CallError::Unreachable(why))
    }

    /// Says at which step it failed, and whose fault it is; leaves out addresses.
    fn unsent(&self, error: &Unsent) -> CallError {
        #[cfg(feature = "tls")]
        if let Some(why) = super::tls::told(error.cause(), self.target.uri()) {
            return CallError::Unreachable(why);
        }
        let why = words::of(error.cause());
        match &self.proxy {
            _ if !error.is_before() => CallError::Broken(why),
            Some(proxy) => proxy.failed(&why),
            None => CallError::Unreachable(why),
        }
    }

    fn dressed(&self, mut all: HeaderMap) -> HeaderMap {
        all.entry(header::USER_AGENT).or_insert(AGENT);
        all.entry(header::ACCEPT_ENCODING).or_insert(TAKEN);
        let theirs = self.target.headers();
        if !theirs.is_empty() {
            all.extend(theirs.clone());
        }
        if let Some(proxy) = self.proxy.as_ref().filter(|_| self.is_forward)
            && let Some(value) = proxy.authorization()
        {
            all.insert(header::PROXY_AUTHORIZATION, value);
        }
        all
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

fn over<C>(connector: C, secured: Secured) -> Result<Arc<dyn Sends>, CallError>
where
    C: Service<Uri> + Clone + Send + Sync + Unpin + 'static,
    C::Response: Conn + Read + Write + Send + Unpin + 'static,
    C::Future: Send + Unpin + 'static,
    C::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut client = Client::builder(TokioExecutor::new());
    client
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_max_idle_per_host(IDLE)
        .pool_idle_timeout(IDLE_FOR);
    if secured == Secured::No {
        return Ok(Arc::new(client.build(Within(connector))));
    }
    #[cfg(feature = "tls")]
    {
        // A WebSocket begins with HTTP/1.1.
        let connector = super::tls::over(connector, secured == Secured::Http1)?;
        Ok(Arc::new(client.build(Within(connector))))
    }
    #[cfg(not(feature = "tls"))]
    {
        let why = "this program has been built without TLS (feature tls)".to_owned();
        Err(CallError::Unreachable(why))
    }
}
