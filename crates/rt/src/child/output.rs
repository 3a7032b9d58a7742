//! What a child says on its standard output: it ends with the child, also where somebody who has left its process group holds it open.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::process::ChildStdout;
use tokio::sync::watch;
use tokio::time::sleep;

use super::End;

/// How long nothing more must come of a child that has ended: what it had written is in the pipe by then.
const QUIET: Duration = Duration::from_millis(50);

/// The standard output of a [`Child`](super::Child).
pub struct Output {
    pipe: ChildStdout,
    /// Ready once the child has ended and the pipe has had time to be read; none: it was.
    over: Option<Pin<Box<dyn Future<Output = ()> + Send + Sync>>>,
}

impl Output {
    pub(super) fn new(pipe: ChildStdout, mut ended: watch::Receiver<Option<End>>) -> Self {
        let over = async move {
            let _ = ended.wait_for(Option::is_some).await;
            sleep(QUIET).await;
        };
        Self {
            pipe,
            over: Some(Box::pin(over)),
        }
    }
}

impl AsyncRead for Output {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.pipe).poll_read(cx, buf);
        if read.is_ready() {
            return read;
        }
        if let Some(over) = &mut self.over {
            std::task::ready!(over.as_mut().poll(cx));
            self.over = None;
        }
        Poll::Ready(Ok(()))
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output")
            .field("is_over", &self.over.is_none())
            .finish_non_exhaustive()
    }
}
