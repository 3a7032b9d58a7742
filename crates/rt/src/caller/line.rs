//! Reads and writes the lines of a connection, and hands each message to whoever waits for it.

use std::sync::Arc;

use bytes::Bytes;
use polyport_model::{ProgressParams, ProgressToken};
use polyport_wire::{Kind, Limits, Line, Lines, Message, RequestId, batch, write};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::{CallError, Shared};

/// Longest message that is taken.
const MAX_MESSAGE: usize = 64 << 20;
/// Characters shown of what is no message.
const SHOWN: usize = 200;

/// Reads until the connection ends.
pub(super) async fn read(shared: Arc<Shared>, mut reader: Box<dyn AsyncRead + Unpin + Send>) {
    let mut lines = Lines::new(MAX_MESSAGE);
    let mut junk = 0_u32;
    while let Ok(n) = reader.read_buf(lines.buffer()).await {
        if n == 0 {
            break;
        }
        while let Some(line) = lines.next_line() {
            match line {
                Line::Frame(frame) => take_frame(&shared, frame, &mut junk).await,
                Line::TooLong { .. } => {
                    tracing::warn!(
                        limit = MAX_MESSAGE,
                        "the server sent a line that is too long; it is left out"
                    );
                }
            }
        }
    }
    let mut state = shared.lock();
    state.closed = true;
    state.waiting.clear();
    drop(state);
    shared.noted.notify_one();
}

/// Writes what is queued until the connection ends or nobody can queue more.
pub(super) async fn write(
    mut queue: mpsc::Receiver<Vec<u8>>,
    mut writer: Box<dyn AsyncWrite + Unpin + Send>,
) {
    while let Some(mut message) = queue.recv().await {
        message.push(b'\n');
        if writer.write_all(&message).await.is_err() {
            return;
        }
        if queue.is_empty() && writer.flush().await.is_err() {
            return;
        }
    }
}

async fn take_frame(shared: &Shared, frame: Bytes, junk: &mut u32) {
    let limits = Limits::default();
    // 2025-03-26, basic, Batching; in other revisions no server sends them.
    let parts = if batch::is_batch(&frame) {
        batch::split(&frame, &limits).unwrap_or_else(|_| vec![frame])
    } else {
        vec![frame]
    };
    for part in parts {
        match Message::parse(part.clone(), &limits) {
            Ok(message) => take(shared, message).await,
            Err(malformed) => {
                *junk += 1;
                if *junk == 1 {
                    let line = String::from_utf8_lossy(&part);
                    let line: String = line.chars().take(SHOWN).collect();
                    tracing::warn!(%malformed, ?line, "the server writes something else than messages; only the first is told");
                }
            }
        }
    }
}

async fn take(shared: &Shared, mut message: Message) {
    let result = match message.kind() {
        Kind::Response => message.result().map(Ok),
        Kind::Failure => message.error().map(|error| Err(CallError::Refused(error))),
        Kind::Request => return answer(shared, &message).await,
        Kind::Notification => return note(shared, &message),
    };
    let waiting = message
        .take_id()
        .and_then(|id| shared.lock().waiting.remove(&id));
    if let (Some(result), Some(waiting)) = (result, waiting) {
        // Nobody may be waiting any more.
        let _ = waiting.sender.send(result);
    }
}

fn note(shared: &Shared, message: &Message) {
    let mut state = shared.lock();
    if message.method() == "notifications/progress"
        && let Some(raw) = message.params().raw()
        && let Ok(progress) = raw.decode::<ProgressParams>()
        && let ProgressToken::Number(token) = progress.progress_token
        && let Some(waiting) = state.waiting.get_mut(&RequestId::Number(token))
        && let Some(on_progress) = &mut waiting.progress
    {
        waiting.heard = Instant::now();
        return on_progress(progress);
    }
    state.noted.push(message.frame());
    drop(state);
    shared.noted.notify_one();
}

/// Answers a request of the server, if somebody answers those.
async fn answer(shared: &Shared, message: &Message) {
    let Some(answerer) = shared.lock().answerer.clone() else {
        return note(shared, message);
    };
    let Some(id) = message.id() else { return };
    let mut out = Vec::new();
    match answerer(&message.method(), message.params().raw()) {
        Ok(result) => {
            write::response_head(&mut out, id);
            out.extend_from_slice(result.as_bytes());
            out.push(b'}');
        }
        Err(error) => {
            out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
            id.write(&mut out);
            out.extend_from_slice(b",\"error\":");
            out.extend_from_slice(error.as_bytes());
            out.push(b'}');
        }
    }
    // A server that takes nothing more has ended, which the next read shows.
    let _ = shared.out.send(out).await;
}
