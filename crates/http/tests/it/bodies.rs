//! Bodies of requests: those that come too slowly, those that are too long, and too much at once.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body::{Body, Frame, SizeHint};
use polyport_http::Endpoint;
use polyport_proto::Limits;
use polyport_testkit::handlers::Puppet;

use crate::{Got, INITIALIZE, PLAIN, call, endpoint, endpoint_with, got, open};

/// A body in two pieces; perhaps its end never comes.
struct Pieces {
    left: VecDeque<Bytes>,
    promised: u64,
    stalls: bool,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.left.pop_front() {
            None if self.stalls => Poll::Pending,
            piece => Poll::Ready(piece.map(|piece| Ok(Frame::data(piece)))),
        }
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = SizeHint::default();
        hint.set_lower(self.promised);
        hint
    }
}

/// Posts a message with spaces behind it, of so many KiB in all.
async fn post(endpoint: &Endpoint, session: &str, message: &str, kib: usize, stalls: bool) -> Got {
    let text = message.to_owned() + &" ".repeat((kib << 10) - message.len());
    let promised = if stalls { 0 } else { text.len() };
    pieces(endpoint, session, &text, promised, stalls).await
}

/// Posts a text in two pieces, and promises so many bytes before.
async fn pieces(
    endpoint: &Endpoint,
    session: &str,
    text: &str,
    promised: usize,
    stalls: bool,
) -> Got {
    let (one, two) = text.as_bytes().split_at(text.len() / 2);
    let mut request = Request::post("/mcp");
    for (name, value) in PLAIN {
        request = request.header(*name, *value);
    }
    if !session.is_empty() {
        request = request.header("mcp-session-id", session);
    }
    let body = Pieces {
        left: [one, two].map(Bytes::copy_from_slice).into(),
        promised: promised as u64,
        stalls,
    };
    let request = request.body(body).unwrap();
    got(endpoint.handle(request).await).await
}

// req: D-35
#[tokio::test(start_paused = true)]
async fn d_35_a_body_that_does_not_come_in_time_is_408() {
    let begun = tokio::time::Instant::now();
    let got = post(&endpoint(), "", INITIALIZE, 1, true).await;
    assert_eq!((got.status, got.text.as_str()), (408, ""));
    assert_eq!(begun.elapsed().as_secs(), 30);
}

// req: D-35
#[tokio::test(start_paused = true)]
async fn d_35_too_much_at_once_is_503() {
    let mut limits = Limits::default();
    limits.bodies_bytes = 200 << 10;
    let endpoint = endpoint_with(Puppet::default(), limits);
    let session = open(&endpoint).await;
    let slow = call(1, "slow");
    // What is still coming counts, and so does what a call was made of.
    for (session, message, stalls) in [("", INITIALIZE, true), (&*session, &slow, false)] {
        let held = post(&endpoint, session, message, 150, stalls);
        let others = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let large = post(&endpoint, "", INITIALIZE, 150, false).await;
            let small = post(&endpoint, "", INITIALIZE, 60, false).await;
            (large, small)
        };
        let (held, (large, small)) = tokio::join!(held, others);
        assert_eq!(held.status, if stalls { 408 } else { 200 });
        assert_eq!((large.status, large.code()), (503, Some(-32600)));
        assert_eq!(large.headers["retry-after"], "1");
        assert_eq!(small.status, 200);
        assert_eq!(
            post(&endpoint, "", INITIALIZE, 150, false).await.status,
            200
        );
    }
}

// req: D-35
#[tokio::test(start_paused = true)]
async fn d_35_a_promise_shuts_nobody_out() {
    let mut limits = Limits::default();
    limits.bodies_bytes = 200 << 10;
    let promised = limits.message_bytes;
    let endpoint = endpoint_with(Puppet::default(), limits);
    let held = pieces(&endpoint, "", INITIALIZE, promised, true);
    let others = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        post(&endpoint, "", INITIALIZE, 150, false).await.status
    };
    let (held, status) = tokio::join!(held, others);
    assert_eq!((held.status, status), (408, 200));
}
