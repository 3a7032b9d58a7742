//! Carries messages as lines over a stream.

use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use polyport_wire::{Line, Lines, RequestId, splice};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::{sleep, timeout};

use super::{CallError, Carrier, Inbox, MAX_ANSWER, Outgoing};
use crate::handler::BoxFuture;

/// Messages that wait to be written; whoever has more waits.
const MAX_QUEUED: usize = 64;
/// How long what has been said may take to be written at the end.
const CLOSING: Duration = Duration::from_secs(1);

struct LineCarrier {
    /// None once it is being ended.
    out: Mutex<Option<mpsc::Sender<Vec<u8>>>>,
    reading: AbortHandle,
    writing: Mutex<Option<JoinHandle<()>>>,
}

/// How long what a peer has said already may take to come once it takes nothing more.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// What is said of one that takes nothing and says nothing more.
const TAKES_NOTHING: &str = "it has closed its input, and takes nothing more";

/// Begins to read and to write.
pub(super) fn carry(
    inbox: Inbox,
    reader: impl AsyncRead + Unpin + Send + 'static,
    writer: impl AsyncWrite + Unpin + Send + 'static,
) -> Arc<dyn Carrier> {
    let (out, queue) = mpsc::channel(MAX_QUEUED);
    let reading = tokio::spawn(read(inbox.clone(), Box::new(reader))).abort_handle();
    let writing = tokio::spawn(async move {
        if write(queue, Box::new(writer)).await.is_err() {
            sleep(LAST_WORDS).await;
            inbox.part(TAKES_NOTHING);
        }
    });
    Arc::new(LineCarrier {
        out: Mutex::new(Some(out)),
        reading,
        writing: Mutex::new(Some(writing)),
    })
}

impl LineCarrier {
    fn out(&self) -> Option<mpsc::Sender<Vec<u8>>> {
        let out = self.out.lock();
        out.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the queue, and gives whoever writes the rest of it.
    fn leave(&self) -> Option<JoinHandle<()>> {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        *out = None;
        let mut writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        writing.take()
    }
}

impl Carrier for LineCarrier {
    fn send(&self, message: Outgoing) -> BoxFuture<Result<(), CallError>> {
        let out = self.out();
        Box::pin(async move {
            let out = out.ok_or(CallError::Closed)?;
            let sent = out.send(one_line(message.text)).await;
            sent.map_err(|_| CallError::Closed)
        })
    }

    fn forget(&self, _id: &RequestId, note: Option<Outgoing>) {
        if let (Some(out), Some(note)) = (self.out(), note) {
            // Courtesy only: a peer that takes nothing more is not waited for.
            let _ = out.try_send(one_line(note.text));
        }
    }

    fn finish(&self) -> BoxFuture<()> {
        self.reading.abort();
        let writing = self.leave();
        Box::pin(async move {
            if let Some(writing) = writing {
                ended(writing).await;
            }
        })
    }

    fn abort(&self) {
        self.reading.abort();
        let Some(writing) = self.leave() else { return };
        match Handle::try_current() {
            // What has an end of its own may say so, and why, as long as the peer takes it.
            Ok(runtime) => drop(runtime.spawn(ended(writing))),
            Err(_) => writing.abort(),
        }
    }
}

/// The message without the line breaks that whoever asks may have put between its tokens (D-15).
fn one_line(text: Vec<u8>) -> Vec<u8> {
    if !splice::spans_lines(&text) {
        return text;
    }
    let mut line = Vec::new();
    splice::squeeze(&String::from_utf8_lossy(&text), &mut line);
    line
}

/// Waits until the rest is written, for a bounded time.
async fn ended(mut writing: JoinHandle<()>) {
    if timeout(CLOSING, &mut writing).await.is_err() {
        writing.abort();
    }
}

/// Reads until the connection ends.
async fn read(inbox: Inbox, mut reader: Box<dyn AsyncRead + Unpin + Send>) {
    let mut lines = Lines::new(MAX_ANSWER);
    loop {
        match reader.read_buf(lines.buffer()).await {
            Ok(0) => break,
            Ok(_) => {}
            // What is no stream of its own kind says so.
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                return inbox.break_off(&error.to_string());
            }
            // So does one that was closed with words.
            Err(error)
                if error.kind() == ErrorKind::ConnectionAborted && error.get_ref().is_some() =>
            {
                return inbox.part(&error.to_string());
            }
            Err(_) => break,
        }
        while let Some(line) = lines.next_line() {
            match line {
                Line::Frame(frame) => inbox.take(frame),
                Line::TooLong { .. } => {
                    tracing::warn!(
                        limit = MAX_ANSWER,
                        "the server sent a line that is too long; it is left out"
                    );
                    let why = format!("it is longer than {MAX_ANSWER} bytes");
                    inbox.fail_only(CallError::Unreadable(why));
                }
            }
        }
    }
    inbox.close();
}

/// Writes what is queued until nobody can queue more.
///
/// # Errors
/// The peer takes nothing more.
async fn write(
    mut queue: mpsc::Receiver<Vec<u8>>,
    mut writer: Box<dyn AsyncWrite + Unpin + Send>,
) -> io::Result<()> {
    while let Some(mut message) = queue.recv().await {
        message.push(b'\n');
        writer.write_all(&message).await?;
        if queue.is_empty() {
            writer.flush().await?;
        }
    }
    // What has an end of its own says so.
    let _ = writer.shutdown().await;
    Ok(())
}
