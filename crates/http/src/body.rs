//! The bodies of our responses: whole, or a stream of events with comments while nothing happens.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
#[cfg(feature = "http2")]
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use polyport_rt::stats::Live;
use polyport_rt::{CancelReason, Context};
use tokio::time::{Sleep, sleep};

use crate::reader::Reader;
#[cfg(feature = "http2")]
use crate::room::Turn;

/// The body of a response.
pub struct Body {
    kind: Kind,
    /// Whose turn it is, over HTTP/2.
    #[cfg(feature = "http2")]
    turn: Option<Arc<Turn>>,
}

enum Kind {
    Whole(Option<Bytes>),
    Events(Box<Events>),
}

impl Body {
    /// A body that is there already.
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self::of(Kind::Whole((!bytes.is_empty()).then_some(bytes)))
    }

    /// What a reader gets. It begins with `opening`, or with a comment where there is nothing to say, so that proxies pass on
    /// the head at once (BR-086).
    pub(crate) fn events(
        reader: Reader,
        opening: Option<Bytes>,
        keep_alive: Duration,
        on_close: OnClose,
        live: Live,
    ) -> Self {
        Self::of(Kind::Events(Box::new(Events {
            reader,
            opening: Some(opening.unwrap_or_default()),
            over: false,
            keep_alive,
            idle: None,
            on_close,
            _live: live,
        })))
    }
}

impl Body {
    fn of(kind: Kind) -> Self {
        Self {
            kind,
            #[cfg(feature = "http2")]
            turn: None,
        }
    }

    /// Notes from now on whose turn it is, where that is asked.
    #[cfg(feature = "http2")]
    pub(crate) fn take_turns(&mut self) {
        self.turn = Turn::current();
    }

    #[cfg(feature = "http2")]
    fn poll_next(&mut self, cx: &mut TaskContext<'_>) -> Poll<Option<Bytes>> {
        let Some(turn) = &self.turn else {
            return self.kind.poll(cx);
        };
        let next = match &mut self.kind {
            Kind::Whole(bytes) => Poll::Ready(Turn::piece(bytes)),
            events @ Kind::Events(_) => events.poll(cx),
        };
        turn.note(&next);
        next
    }

    #[cfg(not(feature = "http2"))]
    fn poll_next(&mut self, cx: &mut TaskContext<'_>) -> Poll<Option<Bytes>> {
        self.kind.poll(cx)
    }
}

impl Kind {
    fn poll(&mut self, cx: &mut TaskContext<'_>) -> Poll<Option<Bytes>> {
        match self {
            Self::Whole(bytes) => Poll::Ready(bytes.take()),
            Self::Events(events) => events.poll(cx),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            Kind::Whole(_) => "Body::Whole",
            Kind::Events(_) => "Body::Events",
        })
    }
}

struct Events {
    // Dropped first: what is done on close looks whether somebody reads.
    reader: Reader,
    /// None: it has begun.
    opening: Option<Bytes>,
    over: bool,
    keep_alive: Duration,
    /// Runs while nothing happens.
    idle: Option<Pin<Box<Sleep>>>,
    on_close: OnClose,
    _live: Live,
}

impl Events {
    fn poll(&mut self, cx: &mut TaskContext<'_>) -> Poll<Option<Bytes>> {
        if let Some(opening) = self.opening.take() {
            return Poll::Ready(Some(self.begin(opening)));
        }
        if !self.over {
            match self.reader.poll(cx) {
                Poll::Ready(None) => self.over = true,
                Poll::Ready(events) => {
                    self.idle = None;
                    return Poll::Ready(events);
                }
                Poll::Pending => return self.poll_idle(cx),
            }
        }
        self.on_close.disarm();
        Poll::Ready(None)
    }

    fn begin(&mut self, opening: Bytes) -> Bytes {
        let (first, over) = self.reader.take();
        self.over = over;
        match first {
            Some(first) if opening.is_empty() => first,
            Some(first) => [opening, first].concat().into(),
            None if opening.is_empty() => Bytes::from_static(b": open\n\n"),
            None => opening,
        }
    }

    fn poll_idle(&mut self, cx: &mut TaskContext<'_>) -> Poll<Option<Bytes>> {
        let keep_alive = self.keep_alive;
        let idle = self.idle.get_or_insert_with(|| Box::pin(sleep(keep_alive)));
        if idle.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.idle = None;
        Poll::Ready(Some(Bytes::from_static(b": keep-alive\n\n")))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut TaskContext<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.poll_next(cx);
        next.map(|bytes| bytes.map(|b| Ok(Frame::data(b))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.kind, Kind::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |b| b.len() as u64))
            }
            Kind::Events(_) => SizeHint::default(),
        }
    }
}

/// What happens when a response is closed before its end; for a call, where that means its cancel.
pub(crate) enum OnClose {
    Nothing,
    Cancel(Context),
    /// Something of the session, also at the end.
    Do(Option<Box<dyn FnOnce() + Send>>),
}

impl OnClose {
    /// The call has ended.
    pub(crate) fn disarm(&mut self) {
        if matches!(self, Self::Cancel(_)) {
            *self = Self::Nothing;
        }
    }
}

impl Drop for OnClose {
    fn drop(&mut self) {
        match self {
            Self::Nothing => {}
            Self::Cancel(context) => context.cancel(CancelReason::Disconnected),
            Self::Do(close) => {
                if let Some(close) = close.take() {
                    close();
                }
            }
        }
    }
}
