//! Connections of HTTP/1.1 without TLS and proxies, kept to be used again. Most servers on one machine are reached so, and a pool for all
//! kinds of connections costs more there than what it is asked for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, ThreadId};

use http::{HeaderValue, Request, Response, Uri, header};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::client::legacy::connect::HttpConnector;
use polyport_rt::BoxFuture;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};
use tower_service::Service;

use super::dial::Within;
use super::sends::{IDLE, IDLE_FOR, Sends, Unsent};
use crate::body::Body;

/// The server at one address.
pub(super) struct Direct {
    server: Uri,
    /// What its connections say that they want.
    host: HeaderValue,
    connector: Within<HttpConnector>,
    kept: Arc<Kept>,
}

#[derive(Default)]
struct Kept(Mutex<All>);

#[derive(Default)]
struct All {
    connections: Vec<Idle>,
    /// What ends those that nobody uses.
    sweeping: Option<AbortHandle>,
}

/// A connection on which nothing is asked now, or on which the last answer is still being read.
struct Idle {
    sender: SendRequest<Body>,
    since: Instant,
    /// That on which it is driven.
    thread: ThreadId,
}

impl Direct {
    /// None: the address names no host that can be said.
    pub(super) fn to(server: &Uri, connector: Within<HttpConnector>) -> Option<Self> {
        let authority = server.authority()?;
        let host = match authority.port_u16() {
            None | Some(80) => authority.host(),
            Some(_) => authority.as_str(),
        };
        Some(Self {
            server: server.clone(),
            host: HeaderValue::from_str(host).ok()?,
            connector,
            kept: Arc::default(),
        })
    }
}

impl Sends for Direct {
    fn send(&self, mut request: Request<Body>) -> BoxFuture<Result<Response<Incoming>, Unsent>> {
        let host = self.host.clone();
        request.headers_mut().entry(header::HOST).or_insert(host);
        // A server is asked for a path (RFC 9112, 3.2.1); redirects lead nowhere else.
        let path = request.uri().path_and_query().cloned();
        *request.uri_mut() = path.map_or_else(|| Uri::from_static("/"), Uri::from);
        let (kept, server, connector) = (
            self.kept.clone(),
            self.server.clone(),
            self.connector.clone(),
        );
        Box::pin(async move {
            while let Some(mut idle) = kept.take() {
                match idle.sender.try_send_request(request).await {
                    Ok(response) => {
                        kept.keep(idle);
                        return Ok(response);
                    }
                    // It has been closed meanwhile, and nothing of this is on its way.
                    Err(mut refused) => match refused.take_message() {
                        Some(unsent) => request = unsent,
                        None => return Err(Unsent::Broken(refused.into_error())),
                    },
                }
            }
            let mut idle = Box::pin(connect(connector, server)).await?;
            let response = idle.sender.send_request(request).await;
            let response = response.map_err(Unsent::Broken)?;
            kept.keep(idle);
            Ok(response)
        })
    }
}

async fn connect(mut connector: Within<HttpConnector>, server: Uri) -> Result<Idle, Unsent> {
    let stream = connector.call(server).await.map_err(Unsent::NoConnection)?;
    let (sender, connection) = http1::handshake(stream).await.map_err(Unsent::Broken)?;
    // Ends with the last one who could ask on it. What is wrong with it is told to whoever has asked.
    tokio::spawn(connection.with_upgrades());
    Ok(Idle {
        sender,
        since: Instant::now(),
        thread: thread::current().id(),
    })
}

impl Kept {
    fn lock(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One that can be asked now, of this thread if there is one: another would have to be woken.
    fn take(&self) -> Option<Idle> {
        let here = thread::current().id();
        let all = &mut self.lock().connections;
        let is_ready = |idle: &Idle| idle.sender.is_ready();
        let own = all.iter().rposition(|it| it.thread == here && is_ready(it));
        let found = own.or_else(|| all.iter().rposition(is_ready))?;
        Some(all.remove(found))
    }

    fn keep(self: &Arc<Self>, mut idle: Idle) {
        if idle.sender.is_closed() {
            return;
        }
        idle.since = Instant::now();
        let mut all = self.lock();
        if all.connections.len() >= IDLE {
            all.connections.retain(|idle| !idle.sender.is_closed());
        }
        if all.connections.len() >= IDLE {
            all.connections.remove(0);
        }
        all.connections.push(idle);
        if all.sweeping.is_none() {
            let sweeping = tokio::spawn(sweep(Arc::downgrade(self)));
            all.sweeping = Some(sweeping.abort_handle());
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let sweeping = self.lock().sweeping.take();
        if let Some(sweeping) = sweeping {
            sweeping.abort();
        }
    }
}

/// Ends connections that nobody uses, as long as there are any.
async fn sweep(kept: Weak<Kept>) {
    loop {
        sleep(IDLE_FOR / 2).await;
        let Some(kept) = kept.upgrade() else { return };
        let mut all = kept.lock();
        let is_used = |idle: &Idle| idle.since.elapsed() < IDLE_FOR && !idle.sender.is_closed();
        all.connections.retain(is_used);
        if all.connections.is_empty() {
            all.sweeping = None;
            return;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use bytes::Bytes;
    use http_body_util::BodyExt;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::Notify;
    use tokio::task::JoinSet;

    use super::super::dial::plain;
    use super::*;

    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

    /// What has become of the connections to a server.
    #[derive(Default)]
    struct Seen {
        begun: AtomicUsize,
        ended: AtomicUsize,
        changed: Notify,
    }

    impl Seen {
        async fn has(&self, begun: usize, ended: usize) {
            loop {
                let changed = self.changed.notified();
                let now = [&self.begun, &self.ended].map(|n| n.load(Ordering::SeqCst));
                if now == [begun, ended] {
                    return;
                }
                changed.await;
            }
        }
    }

    /// A server that answers so many requests on each connection, and then ends it without having said so.
    async fn server(most: usize) -> (Direct, Arc<Seen>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Seen::default());
        let noted = seen.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                noted.begun.fetch_add(1, Ordering::SeqCst);
                let noted = noted.clone();
                tokio::spawn(async move {
                    answer(stream, most).await;
                    noted.ended.fetch_add(1, Ordering::SeqCst);
                    noted.changed.notify_one();
                });
            }
        });
        let uri: Uri = format!("http://{address}/mcp").parse().unwrap();
        (Direct::to(&uri, plain()).unwrap(), seen)
    }

    async fn answer(mut stream: TcpStream, most: usize) {
        for _ in 0..most {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                match stream.read_u8().await {
                    Ok(byte) => head.push(byte),
                    Err(_) => return,
                }
            }
            assert!(head.starts_with(b"GET /mcp?a=1 HTTP/1.1\r\n"));
            let head = String::from_utf8(head).unwrap();
            assert!(
                head.to_lowercase().contains("\r\nhost: 127.0.0.1:"),
                "{head}"
            );
            stream.write_all(ANSWER).await.unwrap();
        }
    }

    impl Direct {
        fn is_ready(&self) -> bool {
            let all = self.kept.lock();
            all.connections.iter().any(|idle| idle.sender.is_ready())
        }
    }

    async fn ask(direct: &Direct) -> Response<Incoming> {
        let mut request = Request::new(Body::whole(Bytes::new()));
        *request.uri_mut() = "http://127.0.0.1/mcp?a=1".parse().unwrap();
        direct.send(request).await.ok().unwrap()
    }

    async fn read(response: Response<Incoming>) -> Bytes {
        response.into_body().collect().await.unwrap().to_bytes()
    }

    #[tokio::test]
    async fn one_connection_is_used_again_and_one_that_has_ended_is_not() {
        for most in [1, 2, usize::MAX] {
            let (direct, seen) = server(most).await;
            for nth in 1..=5_usize {
                assert_eq!(read(ask(&direct).await).await, "{}", "{most}");
                let begun = nth.div_ceil(most);
                let ended = nth / most;
                seen.has(begun, ended).await;
                if ended == begun {
                    // The end has to arrive here, too.
                    while direct.is_ready() {
                        tokio::task::yield_now().await;
                    }
                }
            }
        }
    }

    #[tokio::test]
    async fn connections_that_nobody_uses_end_and_there_are_only_so_many() {
        let (direct, seen) = server(usize::MAX).await;
        let direct = Arc::new(direct);
        let mut asking = JoinSet::new();
        for _ in 0..IDLE + 5 {
            let direct = direct.clone();
            asking.spawn(async move { read(ask(&direct).await).await });
        }
        asking.join_all().await;
        seen.has(IDLE + 5, 5).await;
        tokio::time::pause();
        tokio::time::advance(IDLE_FOR * 2).await;
        seen.has(IDLE + 5, IDLE + 5).await;
        assert!(direct.kept.lock().sweeping.is_none());
    }

    #[tokio::test]
    async fn with_whoever_asks_the_connections_end() {
        let (direct, seen) = server(usize::MAX).await;
        read(ask(&direct).await).await;
        seen.has(1, 0).await;
        drop(direct);
        seen.has(1, 1).await;
    }
}
