//! How long a call may take. At the end it is told so, dropped after a grace (D-13), and answered with a sentence that names what
//! did not answer, after how long, and what to try (D-23).

use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use polyport_proto::Outcome;

use super::told::{outcome, seconds, subject};
use super::{Layer, Next};
use crate::context::{Call, Context};
use crate::fault::{failure_saying, let_go};
use crate::handler::BoxFuture;

/// Bounds the time of calls.
///
/// The time begins with the call and ends with its outcome. It begins anew while a client is asked for something: its user may
/// think. A stream of changes is over for it when it has begun.
///
/// ```
/// # use std::time::Duration;
/// # use polyport_rt::layer::Timeout;
/// let seconds = Duration::from_secs;
/// let layer = Timeout::new(seconds(30)).of_method("resources/read", seconds(5)).of_tool("render", seconds(300)).without_tool("watch");
/// # let _ = layer;
/// ```
pub struct Timeout {
    all: Duration,
    grace: Duration,
    advice: String,
    methods: HashMap<&'static str, Option<Duration>>,
    tools: HashMap<String, Option<Duration>>,
}

impl Timeout {
    /// The same time for every call.
    pub fn new(all: Duration) -> Self {
        Self {
            all,
            grace: Duration::from_secs(2),
            advice: "Try again, ask for less, or try later".to_owned(),
            methods: HashMap::new(),
            tools: HashMap::new(),
        }
    }

    /// Another time for calls of one method.
    #[must_use]
    pub fn of_method(mut self, method: &'static str, time: Duration) -> Self {
        self.methods.insert(method, Some(time));
        self
    }

    /// No bound for calls of one method.
    #[must_use]
    pub fn without_method(mut self, method: &'static str) -> Self {
        self.methods.insert(method, None);
        self
    }

    /// Another time for one tool; it goes before that of its method.
    #[must_use]
    pub fn of_tool(mut self, tool: impl Into<String>, time: Duration) -> Self {
        self.tools.insert(tool.into(), Some(time));
        self
    }

    /// No bound for one tool.
    #[must_use]
    pub fn without_tool(mut self, tool: impl Into<String>) -> Self {
        self.tools.insert(tool.into(), None);
        self
    }

    /// How long a call may tidy up when its time is over. Defaults to 2 seconds; then it is dropped. The answer waits for it.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// What the sentence advises. Defaults to trying again, asking for less, or trying later.
    #[must_use]
    pub fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = advice.into();
        self
    }

    fn time(&self, call: &Call) -> Option<Duration> {
        if call.method == "tools/call"
            && !self.tools.is_empty()
            && let Some(time) = call.params.name().and_then(|name| self.tools.get(&*name))
        {
            return *time;
        }
        match self.methods.get(call.method) {
            Some(time) => *time,
            None => Some(self.all),
        }
    }
}

impl fmt::Debug for Timeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timeout")
            .field("all", &self.all)
            .finish_non_exhaustive()
    }
}

impl Layer for Timeout {
    fn call(self: Arc<Self>, call: Call, next: Next) -> BoxFuture<Outcome> {
        let Some(time) = self.time(&call) else {
            return next.run(call);
        };
        let (method, context) = (call.method, call.context.clone());
        let name = call.params.name().map(std::borrow::Cow::into_owned);
        let mut running = next.clone().run(call);
        Box::pin(async move {
            // What is ready at once needs no timer.
            let first = poll_fn(|cx| Poll::Ready(running.as_mut().poll(cx))).await;
            if let Poll::Ready(outcome) = first {
                return outcome;
            }
            if let Some(outcome) = within(time, &context, &mut running).await {
                return outcome;
            }
            context.expire();
            // Whatever it comes to now, it comes too late.
            let _ = tokio::time::timeout(self.grace, &mut running).await;
            let_go(Some(running), method);
            let sentence = format!(
                "{} did not answer within {} and was stopped. {}",
                subject(method, name.as_deref()),
                seconds(time),
                self.advice
            );
            let error = || failure_saying(method, sentence.clone(), "the call took too long");
            outcome(&next, &context, method, &sentence, error)
        })
    }
}

/// The outcome, if it comes in time.
async fn within(
    time: Duration,
    context: &Context,
    running: &mut BoxFuture<Outcome>,
) -> Option<Outcome> {
    let _bystander = context.marks().bystand();
    loop {
        let outcome = tokio::time::timeout(time, &mut *running).await.ok();
        if outcome.is_some() || !context.marks().is_waiting() {
            return outcome;
        }
    }
}
