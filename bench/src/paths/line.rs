//! The driver of line-framed connections on a connection that is memory: lines are always there, answers are always taken.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use polyport_rt::{Stop, driver};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Given;
use super::ask::{Ask, Era};

/// Gives an opening and then the same line so many times, one line per read at most.
struct Feed {
    line: Bytes,
    /// What is being read.
    now: Bytes,
    left: u32,
}

impl AsyncRead for Feed {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.now.is_empty() && self.left > 0 {
            self.left -= 1;
            self.now = self.line.clone();
        }
        let n = self.now.len().min(buf.remaining());
        buf.put_slice(&self.now[..n]);
        self.now.advance(n);
        Poll::Ready(Ok(()))
    }
}

/// Counts what is written, and keeps the last of it if told so.
struct Sink {
    given: Given,
    keep: bool,
}

impl AsyncWrite for Sink {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.given.bytes += buf.len();
        if self.keep {
            self.given.last = buf.to_vec();
        }
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Asks so many times.
pub(super) async fn run(era: Era, ask: Ask, rounds: u32, keep: bool) -> Given {
    let opening: String = era.opening(ask).iter().map(|m| format!("{m}\n")).collect();
    let mut feed = Feed {
        line: (ask.message(era) + "\n").into(),
        now: opening.into(),
        left: rounds,
    };
    let mut sink = Sink {
        given: Given::default(),
        keep,
    };
    let service = ask.server().into_service();
    driver::drive(&service, &mut feed, &mut sink, Stop::never()).await;
    sink.given
}
