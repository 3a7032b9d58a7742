//! Makes connections, within the time that one may take.

use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use polyport_rt::BoxFuture;
use tokio::time::timeout;
use tower_service::Service;

/// How long a connection may take to be made: until it is there, and until proxy and TLS have agreed to it.
const CONNECTING: Duration = Duration::from_secs(10);
/// How long nothing may come before the system asks whether the other side is there.
const ALIVE: Duration = Duration::from_secs(60);

/// Makes connections without TLS.
pub(super) fn plain() -> Within<HttpConnector> {
    Within(tcp())
}

/// What connects, and nothing more.
pub(super) fn tcp() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECTING));
    tcp.set_keepalive(Some(ALIVE));
    tcp
}

/// Connects within the time that a connection may take.
#[derive(Clone)]
pub(super) struct Within<C>(pub(super) C);

impl<C> Service<Uri> for Within<C>
where
    C: Service<Uri>,
    C::Future: Send + 'static,
    C::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = C::Response;
    type Error = Box<dyn std::error::Error + Send + Sync>;
    type Future = BoxFuture<Result<C::Response, Self::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, server: Uri) -> Self::Future {
        let connecting = self.0.call(server);
        Box::pin(async {
            match timeout(CONNECTING, connecting).await {
                Ok(connected) => connected.map_err(Into::into),
                Err(_) => Err(format!("no connection after {CONNECTING:?}").into()),
            }
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Connects, and then nothing more comes.
    #[derive(Clone)]
    struct Hangs;

    impl Service<Uri> for Hangs {
        type Response = ();
        type Error = std::io::Error;
        type Future = std::future::Pending<Result<(), std::io::Error>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Uri) -> Self::Future {
            std::future::pending()
        }
    }

    // req: S-GONE
    #[tokio::test(start_paused = true)]
    async fn a_proxy_or_tls_that_never_agrees_is_given_up() {
        let begun = tokio::time::Instant::now();
        let connecting = Within(Hangs).call("https://localhost/".parse().unwrap());
        let connected = timeout(CONNECTING * 100, connecting).await.unwrap();
        assert_eq!(begun.elapsed(), CONNECTING);
        assert!(connected.unwrap_err().to_string().contains("10s"));
    }
}
