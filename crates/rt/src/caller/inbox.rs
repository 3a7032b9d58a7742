//! Hands each message of a server to whoever waits for it, and has its questions answered.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use polyport_model::{CancelledParams, ProgressParams, ProgressToken, RpcError};
use polyport_proto::Asking;
use polyport_proto::http::HeaderParam;
use polyport_wire::{Kind, Limits, Malformed, Message, Raw, RequestId, batch, write};
use tokio::time::Instant;

use super::{CallError, MAX_QUESTIONS, Shared, Speaker, late};

/// Questions of a server that are answered at once.
const MAX_ASKED: usize = 64;
const TOO_MANY: &str =
    "{\"code\":-32600,\"message\":\"Too many questions at once: wait for the answers first.\"}";
/// What some programs begin a text with.
const MARK: &[u8] = b"\xef\xbb\xbf";
/// Characters shown of what is no message.
const SHOWN: usize = 200;

/// Where a carrier brings what the server sends.
#[derive(Clone)]
pub struct Inbox(Arc<Shared>);

impl Inbox {
    pub(super) fn of(shared: Arc<Shared>) -> Self {
        Self(shared)
    }

    /// Takes one message, or a batch of them. What is no message is told of once, and left out.
    pub fn take(&self, frame: Bytes) {
        self.take_on(None, frame);
    }

    /// The same for what comes on the stream of a request.
    pub fn take_on(&self, request: Option<&RequestId>, frame: Bytes) {
        let tap = self.0.lock().tap.clone();
        if let Some(tap) = tap {
            tap(Speaker::Server, &frame);
        }
        let limits = Limits::default();
        // 2025-03-26, basic, Batching; in other revisions no server sends them.
        if batch::is_batch(&frame) {
            let parts = batch::split(&frame, &limits).unwrap_or_else(|_| vec![frame]);
            for part in parts {
                self.take_one(request, &part, &limits);
            }
        } else {
            self.take_one(request, &frame, &limits);
        }
    }

    /// A request has failed on its way.
    pub fn fail(&self, id: &RequestId, error: CallError) {
        let waiting = self.0.lock().waiting.remove(id);
        if let Some(waiting) = waiting {
            // Nobody may be waiting any more.
            let _ = waiting.sender.send(Err(error));
        }
    }

    /// Something has come that cannot be taken. Where one request alone waits, it was its answer.
    pub fn fail_only(&self, error: CallError) {
        let mut state = self.0.lock();
        if state.waiting.len() != 1 {
            return;
        }
        let waiting = state.waiting.pop_first();
        drop(state);
        if let Some((_, waiting)) = waiting {
            let _ = waiting.sender.send(Err(error));
        }
    }

    /// Does somebody wait for the answer to this request?
    pub fn is_waited_for(&self, id: &RequestId) -> bool {
        self.0.lock().waiting.contains_key(id)
    }

    /// The arguments of a tool that are mirrored in headers, as far as is known.
    pub fn mirrored(&self, tool: &str) -> Option<Arc<[HeaderParam]>> {
        self.0.lock().mirrored.get(tool).cloned()
    }

    /// The server has forgotten the session, though nobody has asked anything since.
    pub fn lose_session(&self) {
        self.0.lock().is_forgotten = true;
        self.0.forgotten.notify_waiters();
    }

    /// The server has broken the rules of the transport: whoever waits hears of it, and the connection ends.
    pub fn break_off(&self, why: &str) {
        let waiting = std::mem::take(&mut self.0.lock().waiting);
        for (_, waiting) in waiting {
            let _ = waiting
                .sender
                .send(Err(CallError::Unreadable(why.to_owned())));
        }
        self.close();
    }

    /// The server has ended the connection and said why: whoever waits hears of it.
    pub fn part(&self, why: &str) {
        let waiting = std::mem::take(&mut self.0.lock().waiting);
        for (_, waiting) in waiting {
            let _ = waiting.sender.send(Err(CallError::Broken(why.to_owned())));
        }
        self.close();
    }

    /// The connection has ended; nothing comes any more.
    pub fn close(&self) {
        let mut state = self.0.lock();
        state.waiting.clear();
        state.asked.clear();
        state.answers.abort_all();
        let carrier = state.carrier.take();
        drop(state);
        self.0.noted.notify_one();
        self.0.closed.notify_waiters();
        if let Some(carrier) = carrier {
            carrier.abort();
        }
    }

    fn take_one(&self, request: Option<&RequestId>, frame: &Bytes, limits: &Limits) {
        let parsed = Message::parse(frame.clone(), limits);
        if parsed.is_err() {
            self.0.lock().heard = Some((Instant::now(), "something that is no message"));
        }
        match parsed {
            Ok(message) => self.give(request, message),
            // Broken, and yet a message: if anybody waits for one alone, it was that.
            Err(malformed) if is_meant(frame) && !is_asked(&malformed) => {
                self.fail_only(CallError::Unreadable(malformed.to_string()));
            }
            Err(malformed) => {
                if frame.starts_with(MARK) && is_meant(&frame.slice(MARK.len()..)) {
                    let odd =
                        "the server began a line with a byte order mark, which no message may";
                    self.0.lock().odd = Some((Instant::now(), odd.to_owned()));
                }
                if !std::mem::replace(&mut self.0.lock().junk, true) {
                    let line = String::from_utf8_lossy(frame);
                    let line: String = line.chars().take(SHOWN).collect();
                    let line = line.as_str();
                    tracing::warn!(%malformed, line, "the server writes something else than messages; only the first is told");
                }
            }
        }
    }

    fn give(&self, request: Option<&RequestId>, mut message: Message) {
        let result = match message.kind() {
            Kind::Response => message.result().map(Ok),
            Kind::Failure => message.error().map(|error| Err(CallError::Refused(error))),
            Kind::Request => return self.answer(request, &message),
            Kind::Notification => {
                if message.method() == "notifications/cancelled" {
                    self.cancelled(&message);
                }
                return self.note(request, &message);
            }
        };
        let id = message.take_id();
        let mut state = self.0.lock();
        state.questions = 0;
        state.heard = Some(late::now(message.kind()));
        let waiting = id.as_ref().and_then(|id| state.waiting.remove(id));
        match (result, waiting) {
            (Some(result), Some(waiting)) => {
                drop(state);
                // Nobody may be waiting any more.
                let _ = waiting.sender.send(result);
            }
            (Some(result), None) => {
                let odd = odd(id.as_ref(), result.err(), &state.asking);
                state.odd = Some((Instant::now(), odd));
            }
            (None, _) => {}
        }
    }

    fn note(&self, request: Option<&RequestId>, message: &Message) {
        let now = Instant::now();
        let mut state = self.0.lock();
        state.heard = Some((now, late::what(message)));
        if message.method() == "notifications/progress"
            && let Some(raw) = message.params().raw()
            && let Ok(progress) = raw.decode::<ProgressParams>()
            && let ProgressToken::Number(token) = progress.progress_token
            && let Some(waiting) = state.waiting.get_mut(&RequestId::Number(token))
            // A token that somebody else has chosen may be the number of a request.
            && let Some(hears) = waiting.progress.clone()
        {
            waiting.heard = now;
            drop(state);
            if catch_unwind(AssertUnwindSafe(|| hears(progress))).is_err() {
                tracing::error!(
                    "the function that hears of progress has panicked; the call goes on"
                );
            }
            return;
        }
        if let Some(hears) = state.hears.clone() {
            drop(state);
            let params = message.params().raw();
            if catch_unwind(AssertUnwindSafe(|| {
                hears(&message.method(), params.as_ref())
            }))
            .is_err()
            {
                tracing::error!("the function that hears of notifications has panicked");
            }
            state = self.0.lock();
        }
        let waiting = match request {
            Some(id) => state.waiting.get(id),
            None => state.only_hearing(),
        };
        if let Some(hears) = waiting.and_then(|waiting| waiting.notes.clone()) {
            drop(state);
            match catch_unwind(AssertUnwindSafe(|| hears(message))) {
                Ok(true) => return,
                Ok(false) => {}
                Err(_) => tracing::error!(
                    "the function that hears of notifications has panicked; the call goes on"
                ),
            }
            state = self.0.lock();
        }
        state.noted.push(message.frame());
        drop(state);
        self.0.noted.notify_one();
    }

    /// Answers a request of the server in a task of its own, if somebody answers those.
    fn answer(&self, request: Option<&RequestId>, message: &Message) {
        self.count(request, &message.method());
        let mut state = self.0.lock();
        state.heard = Some((Instant::now(), late::what(message)));
        let waiting = request.and_then(|id| state.waiting.get(id));
        let of_request = waiting.and_then(|waiting| waiting.answers.clone());
        let Some(answerer) = of_request.or_else(|| state.answerer.clone()) else {
            drop(state);
            return self.note(request, message);
        };
        let Some(id) = message.id().cloned() else {
            return;
        };
        while state.answers.try_join_next().is_some() {}
        let answering = state.answers.len();
        drop(state);
        let (whose, ours) = (self.0.clone(), id.clone());
        if answering >= MAX_ASKED {
            // Who floods us and reads nothing is not even refused.
            if answering < MAX_ASKED * 2 {
                self.spawn(None, async move {
                    let refusal = written(&ours, Err(Raw::from_static(TOO_MANY)));
                    let _ = whose.send(late::now(Kind::Failure), refusal, None).await;
                });
            }
            return;
        }
        let answer = answerer(&message.method(), message.params().raw());
        self.spawn(Some(id), async move {
            let answer = answer.await;
            let kind = if answer.is_ok() {
                Kind::Response
            } else {
                Kind::Failure
            };
            let text = written(&ours, answer);
            // A server that takes nothing more has ended, which the next read shows.
            let _ = whose.send(late::now(kind), text, None).await;
            whose.lock().asked.remove(&ours);
        });
    }

    /// Counts a question. Whoever waits for a server that never has enough is told.
    fn count(&self, request: Option<&RequestId>, method: &str) {
        // What asks nobody anything may come as long as a call runs.
        if method == "ping" || method.starts_with("tasks/") {
            return;
        }
        let mut state = self.0.lock();
        let of_request = request.and_then(|id| state.waiting.get_mut(id));
        let questions = match of_request {
            Some(waiting) => &mut waiting.questions,
            None => &mut state.questions,
        };
        *questions += 1;
        if *questions <= MAX_QUESTIONS {
            return;
        }
        *questions = 0;
        let ids: Vec<RequestId> = match request.filter(|id| state.waiting.contains_key(id)) {
            Some(id) => vec![id.clone()],
            None => state.waiting.keys().cloned().collect(),
        };
        drop(state);
        for id in ids {
            self.fail(&id, CallError::AsksOn(MAX_QUESTIONS));
        }
    }

    fn spawn(&self, id: Option<RequestId>, answer: impl Future<Output = ()> + Send + 'static) {
        // Under the lock: the task looks for itself there at its end.
        let mut state = self.0.lock();
        if state.carrier.is_none() {
            return;
        }
        let task = state.answers.spawn(answer);
        if let Some(id) = id {
            state.asked.insert(id, task);
        }
    }

    /// The server no longer waits for an answer.
    fn cancelled(&self, message: &Message) {
        let params = message.params().raw();
        let params = params.and_then(|params| params.decode::<CancelledParams>().ok());
        if let Some(id) = params.and_then(|params| params.request_id)
            && let Some(task) = self.0.lock().asked.remove(&id)
        {
            task.abort();
        }
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").finish_non_exhaustive()
    }
}

/// An answer that fits no request, in words.
fn odd(id: Option<&RequestId>, error: Option<CallError>, asking: &Asking) -> String {
    if let Some(id) = id {
        let is_old = asking.has_had(id);
        let mut text = Vec::new();
        id.write(&mut text);
        let id: String = String::from_utf8_lossy(&text).chars().take(SHOWN).collect();
        let any_more = if is_old { " any more" } else { "" };
        return format!("the server answered id {id}, which nothing waits for{any_more}");
    }
    let refused = match error {
        Some(CallError::Refused(raw)) => raw.decode::<RpcError>().ok(),
        _ => None,
    };
    let why = refused.map_or_else(String::new, |error| format!(": {error}"));
    let why: String = why.chars().take(SHOWN).collect();
    format!("the server answered with an error that has no id{why}")
}

/// Has it a method, so that it is no answer to anybody?
fn is_asked(malformed: &Malformed) -> bool {
    (malformed.id.is_some() || malformed.notification) && !malformed.answer
}

/// Is it what a server would say, and no line of a log?
fn is_meant(frame: &Bytes) -> bool {
    let beginning = &frame[..frame.len().min(SHOWN)];
    let end = &frame[frame.len().saturating_sub(SHOWN)..];
    let word = b"\"jsonrpc\"";
    let says = |part: &[u8]| part.windows(word.len()).any(|it| it == word);
    frame.trim_ascii_start().starts_with(b"{") && (says(beginning) || says(end))
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
