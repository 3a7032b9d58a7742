//! The proxy that the environment names for a server: which it is, the ways through it, and how its failures are told apart from the
//! server's.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::uri::{Authority, Scheme};
use http::{HeaderValue, Uri};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connected, Connection as Conn, HttpConnector};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use polyport_rt::CallError;
use tokio::net::TcpStream;
use tower_service::Service;

/// A proxy between us and a server.
#[derive(Debug)]
pub(super) struct Proxy(Intercept);

/// What a proxy is spoken to in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Http,
    Socks,
}

impl Proxy {
    /// The one that the environment names for a server; none leads to this machine's own addresses, which would be the proxy's.
    ///
    /// # Errors
    /// What the environment names cannot be read: without it, what was to go through a proxy would go past it.
    pub(super) fn to(server: &Uri) -> Result<Option<Self>, CallError> {
        if is_loopback(server.host().unwrap_or_default()) {
            return Ok(None);
        }
        if let Some(variable) = unreadable(server) {
            return Err(CallError::Unreachable(format!(
                "the variable {variable} holds no address of a proxy: write it as http://host:port or socks5://host:port, or take it out; NO_PROXY leaves a server out"
            )));
        }
        Ok(Matcher::from_env().intercept(server).map(Self))
    }

    /// What it speaks.
    ///
    /// # Errors
    /// Nothing that we do.
    pub(super) fn kind(&self) -> Result<Kind, CallError> {
        match self.0.uri().scheme_str().unwrap_or_default() {
            "http" => Ok(Kind::Http),
            "socks5" | "socks5h" => Ok(Kind::Socks),
            scheme => Err(CallError::Unreachable(format!(
                "the environment names a proxy of the kind {scheme:?}; http and socks5 can be used, and NO_PROXY leaves a host out"
            ))),
        }
    }

    /// Its name and password, for a proxy that gets our requests as they are.
    pub(super) fn authorization(&self) -> Option<HeaderValue> {
        self.0.basic_auth().cloned()
    }

    /// Through it, which knows the server only by its address.
    pub(super) fn tunnel(&self, tcp: HttpConnector) -> Ported<Tunnel<HttpConnector>> {
        let tunnel = Tunnel::new(self.0.uri().clone(), tcp);
        Ported(match self.0.basic_auth() {
            Some(value) => tunnel.with_auth(value.clone()),
            None => tunnel,
        })
    }

    /// The same with a proxy of another kind.
    pub(super) fn socks(&self, tcp: HttpConnector) -> Ported<SocksV5<HttpConnector>> {
        let socks = SocksV5::new(self.0.uri().clone(), tcp);
        Ported(match self.0.raw_auth() {
            Some((user, password)) => socks.with_auth(user.to_owned(), password.to_owned()),
            None => socks,
        })
    }

    /// To it, which sends our requests on.
    pub(super) fn forward(&self, tcp: HttpConnector) -> Forward {
        Forward(tcp, self.0.uri().clone())
    }

    /// That it does not lead to the server. Its name and password stay where they are.
    pub(super) fn failed(&self, why: &str) -> CallError {
        let scheme = self.0.uri().scheme_str().unwrap_or_default();
        let place = self.0.uri().authority().map_or("", Authority::as_str);
        CallError::Unreachable(format!(
            "the proxy {scheme}://{place}, which the environment names, does not lead to it: {why} (user:password@ goes before its host; NO_PROXY leaves a server out)"
        ))
    }
}

/// The variable that should name the proxy of a server and does not.
fn unreadable(server: &Uri) -> Option<&'static str> {
    let own = match server.scheme_str() {
        Some("https") => ["HTTPS_PROXY", "https_proxy"],
        _ => ["HTTP_PROXY", "http_proxy"],
    };
    // In programs that a web server starts, requests set such variables: none of them counts.
    if std::env::var_os("REQUEST_METHOD").is_some() {
        return None;
    }
    let set = |names: [&'static str; 2]| {
        let found = names
            .into_iter()
            .find_map(|name| Some((name, std::env::var_os(name)?)));
        found.filter(|(_, value)| !value.is_empty())
    };
    let (name, value) = set(own).or_else(|| set(["ALL_PROXY", "all_proxy"]))?;
    let leads = |proxy: &str| {
        let no = set(["NO_PROXY", "no_proxy"]).map(|(_, value)| value);
        let no = no.and_then(|value| value.into_string().ok());
        let matcher = Matcher::builder().all(proxy).no(no.unwrap_or_default());
        matcher.build().intercept(server).is_some()
    };
    let is_wanted = leads("http://localhost");
    let is_read = value.to_str().is_some_and(leads);
    (is_wanted && !is_read).then_some(name)
}

fn is_loopback(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost")
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.is_loopback())
}

/// Names the port in every address, since proxies are told one whatever the scheme is.
#[derive(Clone)]
pub(super) struct Ported<C>(C);

impl<C: Service<Uri>> Service<Uri> for Ported<C> {
    type Response = C::Response;
    type Error = C::Error;
    type Future = C::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, server: Uri) -> Self::Future {
        self.0.call(ported(&server).unwrap_or(server))
    }
}

fn ported(server: &Uri) -> Option<Uri> {
    if server.port().is_some() {
        return None;
    }
    let standard = if server.scheme() == Some(&Scheme::HTTPS) {
        443
    } else {
        80
    };
    let mut parts = server.clone().into_parts();
    parts.authority = format!("{}:{standard}", server.host()?).parse().ok();
    Uri::from_parts(parts).ok()
}

/// Connects to a proxy that gets our requests as they are.
#[derive(Clone)]
pub(super) struct Forward(HttpConnector, Uri);

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
pub(super) struct Forwarded(TokioIo<TcpStream>);

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
