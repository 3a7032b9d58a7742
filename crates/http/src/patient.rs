//! A connection whose peer must begin to speak, and take what is written to it, within a time. What it says after that is
//! bounded by hyper.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Bytes after which it is known which version of HTTP a peer speaks (RFC 9113, 3.4); until then nobody but us bounds the wait.
const PREFACE: usize = 24;

/// A stream that ends when the peer does not say for so long what it speaks, or takes nothing of what is written for so long.
#[derive(Debug)]
pub(crate) struct Patient<S> {
    stream: S,
    patience: Duration,
    /// Runs while a write waits.
    waiting: Option<Pin<Box<Sleep>>>,
    /// Runs until the first bytes have come.
    opening: Option<Pin<Box<Sleep>>>,
    /// How many of the first bytes have not come.
    missing: usize,
}

impl<S> Patient<S> {
    /// `opening` bounds the wait for the first bytes, `patience` that for each write.
    pub(crate) fn new(stream: S, opening: Duration, patience: Duration) -> Self {
        Self {
            stream,
            patience,
            waiting: None,
            opening: Some(Box::pin(sleep(opening))),
            missing: PREFACE,
        }
    }

    /// Passes on what became of a write; a wait that is too long is an error.
    fn judge<T>(&mut self, cx: &mut Context<'_>, poll: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if poll.is_ready() {
            self.waiting = None;
            return poll;
        }
        let patience = self.patience;
        let waiting = self
            .waiting
            .get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(waiting.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the client takes nothing",
        )))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let poll = Pin::new(&mut self.stream).poll_read(cx, buf);
        let Some(opening) = &mut self.opening else {
            return poll;
        };
        if poll.is_pending() {
            ready!(opening.as_mut().poll(cx));
            return Poll::Ready(Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the client says nothing",
            )));
        }
        self.missing = self.missing.saturating_sub(buf.filled().len() - before);
        if self.missing == 0 {
            self.opening = None;
        }
        poll
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.judge(cx, poll)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.judge(cx, poll)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.stream).poll_flush(cx);
        self.judge(cx, poll)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.judge(cx, poll)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    fn patient<S>(stream: S) -> Patient<S> {
        Patient::new(stream, Duration::from_secs(20), Duration::from_secs(30))
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_says_nothing_is_left() {
        for said in [&b""[..], &b"PRI * HTTP/2.0"[..]] {
            let (ours, mut theirs) = tokio::io::duplex(100);
            theirs.write_all(said).await.unwrap();
            let mut stream = patient(ours);
            let begun = tokio::time::Instant::now();
            let error = stream.read_exact(&mut [0; PREFACE]).await.unwrap_err();
            assert_eq!(
                (error.kind(), begun.elapsed().as_secs()),
                (io::ErrorKind::TimedOut, 20)
            );
        }
        // One that has begun is waited for: hyper bounds the rest.
        let (ours, mut theirs) = tokio::io::duplex(100);
        theirs.write_all(&[0; PREFACE]).await.unwrap();
        let mut stream = patient(ours);
        stream.read_exact(&mut [0; PREFACE]).await.unwrap();
        let more = tokio::time::timeout(Duration::from_secs(900), stream.read_u8()).await;
        assert!(more.is_err(), "{more:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_takes_nothing_is_left() {
        let (ours, _theirs) = tokio::io::duplex(10);
        let mut stream = patient(ours);
        let begun = tokio::time::Instant::now();
        let error = stream.write_all(&[0; 100]).await.unwrap_err();
        assert_eq!(
            (error.kind(), begun.elapsed().as_secs()),
            (io::ErrorKind::TimedOut, 30)
        );
        // A peer that takes something now and then is waited for.
        let (ours, mut theirs) = tokio::io::duplex(10);
        let mut stream = patient(ours);
        let slow = tokio::spawn(async move {
            let mut taken = 0;
            while taken < 50 {
                sleep(Duration::from_secs(20)).await;
                taken += theirs.read(&mut [0; 10]).await.unwrap();
            }
        });
        stream.write_all(&[0; 50]).await.unwrap();
        slow.await.unwrap();
    }
}
