//! Connections to one server: directly or through a proxy of the environment, with TLS or without. Owns redirects.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::uri::Scheme;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connect, Connected, Connection as Conn, HttpConnector};
use hyper_util::client::legacy::{Client, Error};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use polyport_rt::{BoxFuture, CallError};
use tokio::net::TcpStream;
use tower_service::Service;

use super::coding::TAKEN;
use super::target::{Target, same_origin};
use crate::body::Body;

/// How long a connection may take to be made.
const CONNECTING: Duration = Duration::from_secs(10);
/// Connections that are kept although nothing is asked, and for how long.
const IDLE: usize = 8;
const IDLE_FOR: Duration = Duration::from_secs(60);
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
    /// For a proxy that gets our requests as they are.
    proxy_authorization: Option<HeaderValue>,
    /// The proxy between us and the server.
    through: Option<String>,
}

/// How a connection is secured, and what may be spoken over it then.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Secured {
    No,
    Any,
    Http1,
}

trait Sends: Send + Sync {
    fn send(&self, request: Request<Body>) -> BoxFuture<Result<Response<Incoming>, Error>>;
}

impl<C: Connect + Clone + Send + Sync + 'static> Sends for Client<C, Body> {
    fn send(&self, request: Request<Body>) -> BoxFuture<Result<Response<Incoming>, Error>> {
        Box::pin(self.request(request))
    }
}

impl Connection {
    /// Chooses the way; nothing is connected yet.
    ///
    /// # Errors
    /// There is no such way: TLS or the proxy cannot be used.
    pub(super) fn to(target: Target) -> Result<Self, CallError> {
        let uri = target.uri();
        let proxy = if is_loopback(uri.host().unwrap_or_default()) {
            None
        } else {
            Matcher::from_env().intercept(uri)
        };
        let secured = match (uri.scheme() == Some(&Scheme::HTTPS), target.is_socket()) {
            (false, _) => Secured::No,
            (true, false) => Secured::Any,
            (true, true) => Secured::Http1,
        };
        let mut proxy_authorization = None;
        let through = proxy.as_ref().map(|proxy| {
            let (scheme, at) = (proxy.uri().scheme_str(), proxy.uri().authority());
            // Without the user that may stand in it.
            let at = at.map_or("", |at| at.as_str()).rsplit('@').next();
            format!("{}://{}", scheme.unwrap_or("http"), at.unwrap_or_default())
        });
        let sends = match proxy {
            None => over(tcp(), secured)?,
            Some(proxy) => match proxy.uri().scheme_str() {
                Some("socks5" | "socks5h") => over(socks(&proxy), secured)?,
                // What becomes a WebSocket is not for a proxy to read.
                Some("http") if secured != Secured::No || target.is_socket() => {
                    over(tunnel(&proxy), secured)?
                }
                Some("http") => {
                    proxy_authorization = proxy.basic_auth().cloned();
                    over(Forward(tcp(), proxy.uri().clone()), secured)?
                }
                other => {
                    let scheme = other.unwrap_or_default();
                    let why = format!(
                        "the environment names a proxy of the kind {scheme:?}; http and socks5 can be used, and NO_PROXY leaves a host out"
                    );
                    return Err(CallError::Unreachable(why));
                }
            },
        };
        Ok(Self {
            sends,
            moved: Arc::new(Mutex::new(uri.clone())),
            target: Arc::new(target),
            proxy_authorization,
            through,
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
        headers: HeaderMap,
        text: Bytes,
    ) -> Result<Response<Incoming>, CallError> {
        self.request(Method::POST, self.uri(), headers, text).await
    }

    /// Sends a request to an address of the server.
    ///
    /// # Errors
    /// As [`post`](Self::post).
    pub(crate) async fn request(
        &self,
        method: Method,
        mut uri: Uri,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, CallError> {
        for _ in 0..=REDIRECTS {
            let mut request = Request::new(Body::whole(body.clone()));
            *request.method_mut() = method.clone();
            *request.uri_mut() = uri.clone();
            *request.headers_mut() = self.dressed(&headers);
            let sent = self.sends.send(request).await;
            let response = sent.map_err(|error| unsent(&error, self.through.as_deref()))?;
            let status = response.status();
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

    fn dressed(&self, headers: &HeaderMap) -> HeaderMap {
        let mut all = headers.clone();
        all.entry(header::USER_AGENT).or_insert(AGENT);
        all.entry(header::ACCEPT_ENCODING).or_insert(TAKEN);
        all.extend(self.target.headers().clone());
        if let Some(value) = &self.proxy_authorization {
            all.insert(header::PROXY_AUTHORIZATION, value.clone());
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

/// A proxy would not reach this machine's own addresses, or another one of the same name.
fn is_loopback(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost")
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.is_loopback())
}

fn tcp() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECTING));
    tcp.set_keepalive(Some(IDLE_FOR));
    tcp
}

fn tunnel(proxy: &Intercept) -> Tunnel<HttpConnector> {
    let tunnel = Tunnel::new(proxy.uri().clone(), tcp());
    match proxy.basic_auth() {
        Some(value) => tunnel.with_auth(value.clone()),
        None => tunnel,
    }
}

fn socks(proxy: &Intercept) -> SocksV5<HttpConnector> {
    let socks = SocksV5::new(proxy.uri().clone(), tcp());
    match proxy.raw_auth() {
        Some((user, password)) => socks.with_auth(user.to_owned(), password.to_owned()),
        None => socks,
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
        return Ok(Arc::new(client.build(connector)));
    }
    #[cfg(feature = "tls")]
    {
        let roots = hyper_rustls::HttpsConnectorBuilder::new().with_native_roots();
        let roots = roots.map_err(|error| {
            CallError::Unreachable(format!(
                "no certificates that could be trusted on this machine: {error}"
            ))
        })?;
        let roots = roots.https_only().enable_http1();
        let connector = match secured {
            // A WebSocket begins with HTTP/1.1.
            Secured::Http1 => roots.wrap_connector(connector),
            _ => roots.enable_http2().wrap_connector(connector),
        };
        Ok(Arc::new(client.build(connector)))
    }
    #[cfg(not(feature = "tls"))]
    {
        let why = "this program has been built without TLS (feature tls)".to_owned();
        Err(CallError::Unreachable(why))
    }
}

/// Says at which step it failed, and leaves out addresses.
fn unsent(error: &Error, through: Option<&str>) -> CallError {
    let mut why = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !why.contains(&text) {
            why = format!("{why}: {text}");
        }
        cause = inner.source();
    }
    let why = why
        .trim_start_matches("client error (Connect): ")
        .to_owned();
    if error.is_connect() {
        CallError::Unreachable(match through {
            Some(proxy) => format!("through the proxy {proxy}, which the environment names: {why}"),
            None => why,
        })
    } else {
        CallError::Broken(why)
    }
}

/// Connects to a proxy that gets our requests as they are.
#[derive(Clone)]
struct Forward(HttpConnector, Uri);

impl Service<Uri> for Forward {
    type Response = Forwarded;
    type Error = <HttpConnector as Service<Uri>>::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Forwarded, Self::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let connecting = self.0.call(self.1.clone());
        Box::pin(async { Ok(Forwarded(connecting.await?)) })
    }
}

/// A connection to a proxy, over which requests name the whole address.
struct Forwarded(TokioIo<TcpStream>);

impl Conn for Forwarded {
    fn connected(&self) -> Connected {
        self.0.connected().proxy(true)
    }
}

impl Read for Forwarded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl Write for Forwarded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
