//! The listener: who may be bound to, connections with their bounds, and the drain at the end.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

#[cfg(not(feature = "http2"))]
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
#[cfg(feature = "http2")]
use hyper_util::server::conn::auto;
use polyport_rt::{CancelReason, Ended, StartError, Started, Stop, Threads};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::endpoint::Endpoint;
use crate::patient::Patient;
#[cfg(feature = "http2")]
use crate::room::Roomy;

/// hyper reads in no smaller steps than this.
const SMALLEST_HEAD: usize = 8 << 10;

/// Why there is nothing to listen on.
pub enum ListenError {
    /// Other machines could reach it and nobody checks who asks.
    Insecure(SocketAddr),
    /// The system refused.
    Io(SocketAddr, io::Error),
    /// The server did not start.
    Start(StartError),
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Insecure(address) => write!(
                f,
                "{address} can be reached from other machines and nothing checks who asks: bind to 127.0.0.1, or allow it (polyport serve: --insecure-listen; in a program: the last argument of bind)"
            ),
            Self::Io(address, error) if error.kind() == io::ErrorKind::AddrInUse => {
                write!(
                    f,
                    "port {} is in use on {}: stop what listens there, or choose another port",
                    address.port(),
                    address.ip()
                )
            }
            Self::Io(address, error) => write!(f, "cannot listen on {address}: {error}"),
            Self::Start(error) => error.fmt(f),
        }
    }
}

/// A sentence, too: it is what people see when `main` gives back the error.
impl fmt::Debug for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ListenError {}

/// A listener that is bound but does not accept yet.
#[derive(Debug)]
pub struct Bound {
    endpoint: Endpoint,
    listener: TcpListener,
    address: SocketAddr,
    started: Started,
}

/// Binds, and starts the server. Addresses other than loopback need an [`Authorize`](crate::Authorize) or `insecure`.
///
/// # Errors
/// [`ListenError`].
pub async fn bind(
    endpoint: Endpoint,
    address: SocketAddr,
    insecure: bool,
) -> Result<Bound, ListenError> {
    if !address.ip().is_loopback() && !endpoint.is_authorized() && !insecure {
        return Err(ListenError::Insecure(address));
    }
    let bound = async {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    let (listener, bound) = bound
        .await
        .map_err(|error| ListenError::Io(address, error))?;
    let started = endpoint.0.service.start().await;
    Ok(Bound {
        started: started.map_err(ListenError::Start)?,
        endpoint,
        listener,
        address: bound,
    })
}

impl Bound {
    /// Where it listens; the port is the real one.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of the endpoint.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, self.endpoint.path())
    }

    /// Serves until the stop, then lets running calls finish within the drain. At last the server shuts down.
    pub async fn serve(self, stop: Stop) -> Ended {
        self.serve_on(stop, &Threads::none()).await
    }

    /// The same with the connections dealt out among these threads, if there are any. The runtime in which this is then takes them in, and
    /// one thread is enough for that.
    pub async fn serve_on(self, mut stop: Stop, threads: &Threads) -> Ended {
        polyport_rt::heap::keep_warm();
        let limits = &self.endpoint.0.service.limits;
        let room = Arc::new(Semaphore::new(limits.connections));
        let mut connections = JoinSet::new();
        let mut sweep = tokio::time::interval(Duration::from_secs(30));
        loop {
            tokio::select! {
                biased;
                () = stop.wait() => break,
                _ = sweep.tick() => self.endpoint.sweep(),
                Some(_) = connections.join_next() => {}
                accepted = accept(&self.listener, &room, limits.response_write) => {
                    let Some((stream, permit)) = accepted else { continue };
                    let (endpoint, stop) = (self.endpoint.clone(), stop.clone());
                    let Some(seat) = threads.seat() else {
                        connections.spawn(async move {
                            connection(endpoint, stream, stop).await;
                            drop(permit);
                        });
                        continue;
                    };
                    let Ok(stream) = stream.into_std() else { continue };
                    let there = seat.handle().clone();
                    connections.spawn_on(
                        async move {
                            // It is a file of the runtime that waits for it.
                            if let Ok(stream) = TcpStream::from_std(stream) {
                                connection(endpoint, stream, stop).await;
                            }
                            drop((permit, seat));
                        },
                        &there,
                    );
                }
            }
        }
        drop(self.listener);
        let ended = self.endpoint.drain(connections).await;
        self.started.shutdown().await;
        ended
    }
}

async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
    patience: Duration,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let permit = room.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => {
            // Without it, small answers wait for the client's delayed acknowledgement.
            let _ = stream.set_nodelay(true);
            notice_death(&stream, patience);
            Some((stream, permit))
        }
        Err(error) => {
            // Too many open files, most likely: without a pause this would spin.
            tracing::warn!(%error, "cannot accept a connection");
            tokio::time::sleep(Duration::from_millis(50)).await;
            None
        }
    }
}

async fn connection<S>(endpoint: Endpoint, stream: S, mut stop: Stop)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let limits = endpoint.0.service.limits.clone();
    let patience = limits.request_read;
    // More than this of a head is never held; what fits is measured exactly once it is read.
    let head = limits.head_bytes.max(SMALLEST_HEAD);
    let io = TokioIo::new(Patient::new(stream, patience, limits.response_write));
    let service = service_fn(move |request| {
        let endpoint = endpoint.clone();
        async move {
            #[cfg_attr(not(feature = "http2"), expect(unused_mut))]
            let mut response = endpoint.handle(request).await;
            #[cfg(feature = "http2")]
            response.body_mut().take_turns();
            Ok::<_, Infallible>(response)
        }
    });
    #[cfg(feature = "http2")]
    let builder = {
        let mut builder = auto::Builder::new(Roomy(limits.response_write));
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(patience)
            .max_buf_size(head);
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(limits.requests_per_connection)
            .max_header_list_size(u32::try_from(head).unwrap_or(u32::MAX))
            .keep_alive_interval(patience);
        builder
    };
    #[cfg(not(feature = "http2"))]
    let builder = {
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(patience)
            .max_buf_size(head);
        builder
    };
    #[cfg(feature = "http2")]
    let serving = builder.serve_connection_with_upgrades(io, service);
    #[cfg(not(feature = "http2"))]
    let serving = builder.serve_connection(io, service).with_upgrades();
    let mut serving = std::pin::pin!(serving);
    let served = tokio::select! {
        biased;
        served = serving.as_mut() => served,
        () = stop.wait() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "connection ended");
    }
}

/// Ends a connection whose peer confirms nothing for so long: one that has vanished without a word. What is written to an idle
/// stream fits into the system's buffers, so that writing alone would not notice it for a quarter of an hour.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn notice_death(stream: &TcpStream, patience: Duration) {
    let set = socket2::SockRef::from(stream).set_tcp_user_timeout(Some(patience));
    if let Err(error) = set {
        tracing::debug!(%error, "no bound on unconfirmed bytes");
    }
}

/// Elsewhere the system decides.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn notice_death(_stream: &TcpStream, _patience: Duration) {}

impl Endpoint {
    /// Ends the streams that no call holds open.
    pub(crate) fn close_streams(&self) {
        let sessions: Vec<_> = self.lock_sessions().iter().cloned().collect();
        for session in sessions {
            session.close_streams();
        }
    }

    pub(crate) fn end(&self) {
        for session in self.lock_sessions().drain() {
            session.end(CancelReason::Shutdown);
        }
    }
}

#[cfg(test)]
mod tests;
