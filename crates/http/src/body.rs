//! The bodies of our responses: whole, or a stream of events with comments while nothing happens.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use polyport_rt::{CancelReason, Context};

use crate::exchange::Exchange;

/// The body of a response.
pub struct Body(Kind);

enum Kind {
    Whole(Option<Bytes>),
    Events(Box<Events>),
}

impl Body {
    /// A body that is there already.
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self(Kind::Whole((!bytes.is_empty()).then_some(bytes)))
    }

    /// The events of an exchange. It begins with a comment, so that proxies pass on the head at once (BR-086).
    pub(crate) fn events(
        exchange: Arc<Exchange>,
        keep_alive: Duration,
        on_close: Option<CancelOnDrop>,
    ) -> Self {
        let first = exchange.take_events();
        let begin = if first.0.is_none() {
            Some(Bytes::from_static(b": open\n\n"))
        } else {
            first.0
        };
        Self(Kind::Events(Box::new(Events {
            exchange,
            begin,
            over: first.1,
            keep_alive,
            wait: None,
            on_close,
        })))
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Whole(_) => "Body::Whole",
            Kind::Events(_) => "Body::Events",
        })
    }
}

struct Events {
    exchange: Arc<Exchange>,
    begin: Option<Bytes>,
    over: bool,
    keep_alive: Duration,
    /// True: woken; false: nothing happened for the time of a keep-alive.
    wait: Option<Pin<Box<dyn Future<Output = bool> + Send>>>,
    on_close: Option<CancelOnDrop>,
}

impl Events {
    fn poll(&mut self, cx: &mut TaskContext<'_>) -> Poll<Option<Bytes>> {
        if let Some(begin) = self.begin.take() {
            return Poll::Ready(Some(begin));
        }
        while !self.over {
            let (exchange, keep_alive) = (self.exchange.clone(), self.keep_alive);
            let wait = self.wait.get_or_insert_with(|| {
                Box::pin(async move {
                    tokio::time::timeout(keep_alive, exchange.woken())
                        .await
                        .is_ok()
                })
            });
            let Poll::Ready(woken) = wait.as_mut().poll(cx) else {
                return Poll::Pending;
            };
            self.wait = None;
            if !woken {
                return Poll::Ready(Some(Bytes::from_static(b": keep-alive\n\n")));
            }
            let (events, over) = self.exchange.take_events();
            self.over = over;
            if events.is_some() {
                return Poll::Ready(events);
            }
        }
        if let Some(guard) = self.on_close.take() {
            guard.disarm();
        }
        Poll::Ready(None)
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut TaskContext<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match &mut self.0 {
            Kind::Whole(bytes) => Poll::Ready(bytes.take()),
            Kind::Events(events) => events.poll(cx),
        };
        next.map(|bytes| bytes.map(|b| Ok(Frame::data(b))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, Kind::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |b| b.len() as u64))
            }
            Kind::Events(_) => SizeHint::default(),
        }
    }
}

/// Cancels a call when dropped: its client has closed the response, where that means so.
pub(crate) struct CancelOnDrop(Option<Context>);

impl CancelOnDrop {
    pub(crate) fn new(context: Context) -> Self {
        Self(Some(context))
    }

    pub(crate) fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(context) = self.0.take() {
            context.cancel(CancelReason::Disconnected);
        }
    }
}
