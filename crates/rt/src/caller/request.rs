//! One request: it is sent, waited for, sent once more where the server has forgotten the conversation, and cancelled when nobody waits.

use std::borrow::Cow;
use std::sync::Arc;

use polyport_model::META_LOG_LEVEL;
use polyport_proto::Era;
use polyport_proto::http::mirror::name_in;
use polyport_wire::{Kind, Raw, RequestId};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{CallError, Caller, Late, OnProgress, Request, Shared, Wait, Waiting, Why, late};

impl Caller {
    /// Asks, and once more where the server has forgotten the conversation: it has not done anything then.
    pub(super) async fn run(
        &self,
        method: &str,
        params: &str,
        meta: &str,
        wait: &Wait,
    ) -> Result<Raw, CallError> {
        let now = || {
            let state = self.shared.lock();
            (state.reopened, state.is_reopening)
        };
        let (mut reopened, is_reopening) = now();
        if is_reopening {
            Box::pin(self.reopen(reopened)).await?;
            (reopened, _) = now();
        }
        match self.once(method, params, meta, wait).await {
            Err(CallError::SessionLost) => {
                Box::pin(self.reopen(reopened)).await?;
                Box::pin(self.once(method, params, meta, wait)).await
            }
            other => other,
        }
    }

    async fn once(
        &self,
        method: &str,
        params: &str,
        meta: &str,
        wait: &Wait,
    ) -> Result<Raw, CallError> {
        let (written, revision) = {
            let mut state = self.shared.lock();
            let is_heard = wait.progress.is_some() || wait.idle.is_some();
            let mut members = meta.to_owned();
            if is_heard && meta.is_empty() {
                members = state.asking.next_token();
            }
            if let Some(level) = wait.logs
                && state.asking.revision().profile().era == Era::Modern
            {
                let comma = if members.is_empty() { "" } else { "," };
                members.push_str(&format!("{comma}\"{META_LOG_LEVEL}\":\"{level}\""));
            }
            let client = wait.on_behalf_of.as_ref();
            let written = state.asking.request_of(client, method, params, &members);
            (written, state.asking.revision())
        };
        let mirrors = revision.profile().mirrored_headers;
        let asked: Arc<str> = method.into();
        let request = Request {
            id: written.id.clone(),
            method: asked.clone(),
            name: mirrors
                .then(|| name_in(method, params).map(Cow::into_owned))
                .flatten(),
            params: written.params,
        };
        let answered = self.ask_known(asked, written.id, written.text, Some(request), wait);
        match answered.await {
            Err(CallError::Status(status)) => Err(status.meant()),
            other => other,
        }
    }

    pub(super) async fn ask(
        &self,
        method: &str,
        id: RequestId,
        message: Vec<u8>,
        wait: &Wait,
    ) -> Result<Raw, CallError> {
        self.ask_known(method.into(), id, message, None, wait).await
    }

    async fn ask_known(
        &self,
        method: Arc<str>,
        id: RequestId,
        message: Vec<u8>,
        request: Option<Request>,
        wait: &Wait,
    ) -> Result<Raw, CallError> {
        let (sender, mut receiver) = oneshot::channel();
        let begun = Instant::now();
        {
            let mut state = self.shared.lock();
            if state.carrier.is_none() {
                return Err(CallError::Closed);
            }
            // Asked for only to know that something comes, it is for nobody.
            let unheard = || wait.idle.map(|_| Arc::new(|_| {}) as OnProgress);
            let waiting = Waiting {
                method,
                begun,
                sender,
                progress: wait.progress.clone().or_else(unheard),
                answers: wait.answers.clone(),
                notes: wait.notes.clone(),
                heard: begun,
                questions: 0,
            };
            state.waiting.insert(id.clone(), waiting);
        }
        let unanswered = Unanswered {
            shared: &self.shared,
            id: &id,
            why: wait.why.as_ref(),
        };
        let end = wait.total.map(|total| begun + total);
        let sent = self
            .shared
            .send((begun, late::kind(Kind::Request)), message, request);
        match until(end.or_else(|| wait.idle.map(|idle| begun + idle)), sent).await {
            Some(Ok(())) => {}
            Some(Err(error)) => {
                // It is not on its way: there is nothing to cancel.
                self.shared.lock().waiting.remove(&id);
                return Err(error);
            }
            None => return Err(CallError::TimedOut(unanswered.late(begun).unsent())),
        }
        loop {
            let idle = wait.idle.and_then(|idle| Some(unanswered.heard()? + idle));
            let next = [end, idle].into_iter().flatten().min();
            if let Some(answer) = until(next, &mut receiver).await {
                let answer = answer.unwrap_or(Err(CallError::Closed));
                if matches!(answer, Err(CallError::AsksOn(_))) {
                    unanswered.give_up();
                }
                return answer;
            }
            let is_idle = wait.idle.zip(unanswered.heard());
            let is_idle = is_idle.is_some_and(|(idle, heard)| heard.elapsed() >= idle);
            if is_idle || end.is_some_and(|end| Instant::now() >= end) {
                return Err(CallError::TimedOut(unanswered.late(begun)));
            }
        }
    }
}

/// Waits for something, or until then.
async fn until<T>(end: Option<Instant>, what: impl Future<Output = T>) -> Option<T> {
    match end {
        Some(end) => tokio::time::timeout_at(end, what).await.ok(),
        None => Some(what.await),
    }
}

/// A request; dropped without an answer, the server is told that nobody waits.
struct Unanswered<'a> {
    shared: &'a Shared,
    id: &'a RequestId,
    why: Option<&'a Why>,
}

impl Unanswered<'_> {
    /// When something of it came last; now, while the server waits for us. None: it has been answered.
    fn heard(&self) -> Option<Instant> {
        let mut state = self.shared.lock();
        let is_asked = !state.asked.is_empty();
        let waiting = state.waiting.get_mut(self.id)?;
        if is_asked {
            waiting.heard = Instant::now();
        }
        Some(waiting.heard)
    }

    /// How things stand, now that it is no longer waited for.
    fn late(&self, begun: Instant) -> Late {
        self.shared.lock().late(begun.elapsed(), Some(self.id))
    }

    /// Tells the server that nobody waits.
    fn give_up(&self) {
        let why = self.why.and_then(|why| why());
        let mut state = self.shared.lock();
        let note = state.asking.cancel(self.id, why.as_deref());
        let note = note.map(|text| state.outgoing(late::now(Kind::Notification), text, None));
        let carrier = state.carrier.clone();
        drop(state);
        if let Some(carrier) = carrier {
            carrier.forget(self.id, note);
        }
    }
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        let waiting = self.shared.lock().waiting.remove(self.id);
        if waiting.is_some() {
            self.give_up();
        }
    }
}
