//! Reads and writes the lines of a connection, and hands each message to whoever waits for it.

use std::sync::Arc;

use bytes::Bytes;
use polyport_model::{CancelledParams, ProgressParams, ProgressToken};
use polyport_wire::{Kind, Limits, Line, Lines, Message, Raw, RequestId, batch, write};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{CallError, Shared};

/// Longest message that is taken.
const MAX_MESSAGE: usize = 64 << 20;
/// Questions of a server that are answered at once.
const MAX_ASKED: usize = 64;
const TOO_MANY: &str =
    "{\"code\":-32600,\"message\":\"Too many questions at once: wait for the answers first.\"}";
/// Characters shown of what is no message.
const SHOWN: usize = 200;

/// Reads until the connection ends.
pub(super) async fn read(shared: Arc<Shared>, mut reader: Box<dyn AsyncRead + Unpin + Send>) {
    let mut lines = Lines::new(MAX_MESSAGE);
    let mut junk = 0_u32;
    // Who answers ends with the connection.
    let mut answers = JoinSet::new();
    while let Ok(n) = reader.read_buf(lines.buffer()).await {
        if n == 0 {
            break;
        }
        while let Some(line) = lines.next_line() {
            match line {
                Line::Frame(frame) => take_frame(&shared, frame, &mut junk, &mut answers),
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
    state.asked.clear();
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

fn take_frame(shared: &Arc<Shared>, frame: Bytes, junk: &mut u32, answers: &mut JoinSet<()>) {
    let limits = Limits::default();
    // 2025-03-26, basic, Batching; in other revisions no server sends them.
    let parts = if batch::is_batch(&frame) {
        batch::split(&frame, &limits).unwrap_or_else(|_| vec![frame])
    } else {
        vec![frame]
    };
    for part in parts {
        match Message::parse(part.clone(), &limits) {
            Ok(message) => take(shared, message, answers),
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

fn take(shared: &Arc<Shared>, mut message: Message, answers: &mut JoinSet<()>) {
    let result = match message.kind() {
        Kind::Response => message.result().map(Ok),
        Kind::Failure => message.error().map(|error| Err(CallError::Refused(error))),
        Kind::Request => return answer(shared, &message, answers),
        Kind::Notification => {
            if message.method() == "notifications/cancelled" {
                cancelled(shared, &message);
            }
            return note(shared, &message);
        }
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

/// Answers a request of the server in a task of its own, if somebody answers those.
fn answer(shared: &Arc<Shared>, message: &Message, answers: &mut JoinSet<()>) {
    let Some(answerer) = shared.lock().answerer.clone() else {
        return note(shared, message);
    };
    let Some(id) = message.id().cloned() else {
        return;
    };
    while answers.try_join_next().is_some() {}
    if answers.len() >= MAX_ASKED {
        // Who floods us and reads nothing is not even refused.
        let refusal = written(&id, Err(Raw::from_static(TOO_MANY)));
        let _ = shared.out.try_send(refusal);
        return;
    }
    let answer = answerer(&message.method(), message.params().raw());
    let (whose, ours) = (shared.clone(), id.clone());
    // Under the lock: the task looks for itself there at its end.
    let mut state = shared.lock();
    let task = answers.spawn(async move {
        let text = written(&ours, answer.await);
        // A server that takes nothing more has ended, which the next read shows.
        let _ = whose.out.send(text).await;
        whose.lock().asked.remove(&ours);
    });
    state.asked.insert(id, task);
}

fn written(id: &RequestId, answer: Result<Raw, Raw>) -> Vec<u8> {
    let mut out = Vec::new();
    match answer {
        Ok(result) => {
            write::response_head(&mut out, id);
            out.extend_from_slice(result.as_bytes());
        }
        Err(error) => {
            out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
            id.write(&mut out);
            out.extend_from_slice(b",\"error\":");
            out.extend_from_slice(error.as_bytes());
        }
    }
    out.push(b'}');
    out
}

/// The server no longer waits for an answer.
fn cancelled(shared: &Shared, message: &Message) {
    let params = message.params().raw();
    let params = params.and_then(|params| params.decode::<CancelledParams>().ok());
    if let Some(id) = params.and_then(|params| params.request_id)
        && let Some(task) = shared.lock().asked.remove(&id)
    {
        task.abort();
    }
}
