//! Asking the client in the middle of a call: one future in both eras. In the legacy one it waits for the answer to a request of
//! ours; in the modern one for the round to end, whereupon the whole call is run again with the answers.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use polyport_model::method;
use polyport_proto::{Answer, Code, Question, RpcError};
use polyport_wire::Raw;
use tokio::sync::oneshot;

use crate::clock::Clock;
use crate::context::Context;
use crate::fault::failure;
use crate::handler::BoxFuture;
use crate::question::{Asked, NoAnswer};

impl Context {
    /// Asks the client something. Its key is its own within the call.
    ///
    /// In the legacy era the future waits for the answer. In the modern one it stays pending until only questions are open; then
    /// the call is dropped, the client gets all of them as one round, and the handler runs again when the answers are there.
    pub fn ask(&self, question: Question) -> Ask {
        Ask::new(self.clone(), question)
    }

    /// Hands a question to the edge once more, which kept it until the client was ready.
    pub fn ask_again(&self, asked: Asked) {
        // Where it cannot be asked any more, whoever asked learns it because the asker is dropped.
        let _ = self.outlet().ask(self, asked);
    }

    /// The answer that an earlier round brought under this key.
    pub fn answer(&self, key: &str) -> Option<Raw> {
        self.rounds().as_ref()?.answers.get(key).cloned()
    }

    /// The text that the handler gave with its questions in the round before.
    pub fn state(&self) -> Option<String> {
        self.rounds().as_ref()?.state.clone()
    }

    /// What a step came to that has run in an earlier round, or in this one. None: it is to run now; tell its end to
    /// [`end_step`](Self::end_step).
    ///
    /// # Errors
    /// A step of this key runs already: both would do what is to be done once.
    pub fn begin_step(&self, key: &str) -> Result<Option<Raw>, NoAnswer> {
        let mut rounds = self.rounds();
        let rounds = rounds.get_or_insert_default();
        let done = rounds.steps.get(key).cloned();
        if done.is_none() && !rounds.stepping.insert(key.to_owned()) {
            return Err(NoAnswer::KeyUsedTwice(key.to_owned()));
        }
        Ok(done)
    }

    /// Polls a step: what it asks meanwhile is a question of its own, so that a round may end while it waits for the answer.
    pub fn within_step<T>(&self, key: &str, poll: impl FnOnce() -> T) -> T {
        self.rounds()
            .get_or_insert_default()
            .within
            .push(key.to_owned());
        let polled = poll();
        if let Some(rounds) = self.rounds().as_mut() {
            rounds.within.pop();
        }
        polled
    }

    /// A step has ended; it runs no more once it has come to something.
    pub fn end_step(&self, key: &str, result: Option<Raw>) {
        let mut rounds = self.rounds();
        let rounds = rounds.get_or_insert_default();
        rounds.stepping.remove(key);
        if let Some(result) = result {
            rounds.steps.insert(key.to_owned(), result);
        }
    }

    /// May this call ask? basic/patterns/mrtr: in the modern era the three whose results may. In the legacy one any request but the
    /// handshake has a stream on which it can.
    pub fn may_ask(&self) -> bool {
        match self.method() {
            method::TOOLS_CALL | method::PROMPTS_GET | method::RESOURCES_READ => true,
            other => !self.is_modern() && other != method::SERVER_DISCOVER,
        }
    }

    /// Uses a key: its answer, where there is one.
    fn claim(&self, Question { key, method, .. }: &Question) -> Result<Option<Raw>, NoAnswer> {
        let mut rounds = self.rounds();
        let rounds = rounds.get_or_insert_default();
        if !rounds.claim(key) {
            return Err(NoAnswer::KeyUsedTwice(key.clone()));
        }
        if let Some(answer) = rounds.answers.get(key) {
            return Ok(Some(answer.clone()));
        }
        let fits = |answer: &Raw| Question::check_answer(method, answer).is_ok();
        let offered = rounds.offered.remove(key).filter(fits);
        if let Some(answer) = &offered {
            rounds.answers.insert(key.clone(), answer.clone());
        }
        Ok(offered)
    }

    /// Holds a question open for the end of the round. False: there will be none any more.
    pub(crate) fn open(&self, question: &Question, waker: &Waker) -> bool {
        let mut rounds = self.rounds();
        let rounds = rounds.get_or_insert_default();
        let before = rounds.asking();
        if self.is_over() || !rounds.open(question, waker) {
            return false;
        }
        self.set_asking(true);
        if self.is_settled() {
            rounds.close(&question.key);
            return false;
        }
        if rounds.asking() > before {
            self.tell_asked();
        }
        true
    }

    pub(crate) fn close(&self, key: &str) {
        if let Some(rounds) = self.rounds().as_mut() {
            rounds.close(key);
            self.set_asking(rounds.asking() > 0);
        }
    }

    pub(crate) fn keep_answer(&self, key: &str, answer: &Raw) {
        let mut rounds = self.rounds();
        let rounds = rounds.get_or_insert_default();
        rounds.answers.insert(key.to_owned(), answer.clone());
    }

    /// Ends the round: what is asked.
    pub(crate) fn end_round(&self) -> Vec<Question> {
        let mut rounds = self.rounds();
        self.set_asking(false);
        rounds.as_mut().map_or_else(Vec::new, |rounds| rounds.end())
    }
}

/// A question that waits for its answer. Nothing is asked before it is polled.
pub struct Ask {
    context: Context,
    question: Question,
    state: State,
}

enum State {
    New,
    /// The modern era: open until the round ends.
    Round,
    /// The legacy era: sent, with what ends the wait for it.
    Sent(
        oneshot::Receiver<Result<Answer, NoAnswer>>,
        BoxFuture<NoAnswer>,
    ),
    Done,
}

impl Ask {
    pub(crate) fn new(context: Context, question: Question) -> Self {
        Self {
            context,
            question,
            state: State::New,
        }
    }

    /// The answer where it is there already, or why there will be none; none: it must be waited for.
    fn begin(&mut self) -> Option<Result<Raw, NoAnswer>> {
        let context = &self.context;
        if !context.may_ask() {
            return Some(Err(NoAnswer::NotHere));
        }
        match context.claim(&self.question) {
            Err(no) => return Some(Err(no)),
            Ok(Some(answer)) => return Some(Ok(answer)),
            Ok(None) => {}
        }
        let client = context.envelope().client().capabilities();
        let profile = context.envelope().profile();
        if let Some(capability) = self.question.missing(profile, &client) {
            return Some(Err(NoAnswer::Unsupported(capability)));
        }
        if context.asks_in_rounds() {
            self.state = State::Round;
            return None;
        }
        let (asker, receiver) = oneshot::channel();
        let asked = Asked {
            question: self.question.clone(),
            asker,
        };
        if context.outlet().ask(context, asked).is_err() {
            return Some(Err(NoAnswer::Unsupported(
                "its request takes no stream on which to ask (text/event-stream)",
            )));
        }
        context.sent_to_page(&self.question);
        context.marks().count_waiting(true);
        self.state = State::Sent(receiver, Box::pin(no_answer(context.clone())));
        None
    }

    fn read(&self, answer: Answer) -> Result<Raw, NoAnswer> {
        match answer {
            Ok(result) => match Question::check_answer(self.question.method, &result) {
                Ok(()) => Ok(result),
                Err(why) => Err(NoAnswer::Malformed(why)),
            },
            Err(error) => {
                let error: serde_json::Value = error.decode().unwrap_or_default();
                let message = error.get("message").and_then(serde_json::Value::as_str);
                Err(NoAnswer::Refused {
                    code: error
                        .get("code")
                        .and_then(serde_json::Value::as_i64)
                        .unwrap_or(0),
                    message: polyport_proto::outcome::shorten(message.unwrap_or("no reason")),
                })
            }
        }
    }
}

impl Future for Ask {
    type Output = Result<Raw, NoAnswer>;

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if matches!(this.state, State::New)
            && let Some(done) = this.begin()
        {
            this.state = State::Done;
            return Poll::Ready(done);
        }
        let context = &this.context;
        let polled = match &mut this.state {
            State::Round if context.open(&this.question, cx.waker()) => return Poll::Pending,
            State::Round | State::New | State::Done => Err(NoAnswer::Over),
            State::Sent(receiver, patience) => match Pin::new(receiver).poll(cx) {
                Poll::Ready(Ok(answered)) => answered,
                // The edge let go of it: its connection or session has ended.
                Poll::Ready(Err(_)) if context.is_cancelled() => Err(NoAnswer::Over),
                Poll::Ready(Err(_)) => Err(NoAnswer::Gone),
                Poll::Pending => match patience.as_mut().poll(cx) {
                    Poll::Ready(no) => Err(no),
                    Poll::Pending => return Poll::Pending,
                },
            },
        };
        let result = polled.and_then(|answer| this.read(answer));
        if let Ok(answer) = &result {
            context.keep_answer(&this.question.key, answer);
        }
        let was = std::mem::replace(&mut this.state, State::Done);
        this.let_go(was);
        Poll::Ready(result)
    }
}

impl Ask {
    /// Tells those who should know that nobody waits for the answer any more.
    fn let_go(&self, was: State) {
        match was {
            State::Round => self.context.close(&self.question.key),
            State::Sent(receiver, _) => {
                // Closed, so that the edge sees it: only then is the client told.
                drop(receiver);
                self.context.marks().count_waiting(false);
                self.context.outlet().unask(&self.context);
            }
            State::New | State::Done => {}
        }
    }
}

impl Drop for Ask {
    fn drop(&mut self) {
        let was = std::mem::replace(&mut self.state, State::Done);
        self.let_go(was);
    }
}

impl fmt::Debug for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ask")
            .field("key", &self.question.key)
            .field("method", &self.question.method)
            .finish_non_exhaustive()
    }
}

/// What ends the wait for an answer: the time, the end of the call, or a client that has left it.
async fn no_answer(context: Context) -> NoAnswer {
    tokio::select! {
        () = tokio::time::sleep(context.question_wait()) => NoAnswer::TimedOut,
        () = context.ended() => NoAnswer::Over,
        () = left_alone(&context) => NoAnswer::Gone,
    }
}

/// Waits until nobody has read the stream of the call for too long.
async fn left_alone(context: &Context) {
    let asked = Clock::start();
    loop {
        match context.outlet().patience(asked.now()) {
            None => std::future::pending().await,
            Some(Duration::ZERO) => return,
            // Until then somebody may have left and come back.
            Some(more) => tokio::time::sleep(more).await,
        }
    }
}

/// The error towards the client of a question that the handler's author could not ask, or that has no answer; the era's codec
/// words it further.
pub fn refusal(no: &NoAnswer) -> RpcError {
    match no {
        NoAnswer::Unsupported(capability) if capability.starts_with('{') => {
            RpcError::missing_capability(capability)
        }
        // The codec of the legacy era, the only one that asks and waits, lets a tool say this to the model.
        NoAnswer::Unsupported(_) | NoAnswer::Refused { code: -32601, .. } => {
            RpcError::new(Code::MissingCapability, no.to_string())
        }
        no if no.is_internal() => failure("a question", &no.to_string()),
        no => RpcError::invalid_params(no.to_string()),
    }
}
