//! Runs a call through its rounds: sees when only questions are left, ends the round, and in the legacy era asks for a handler that
//! gave back its questions instead of waiting for them.

use std::collections::HashSet;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as TaskContext, Poll, Wake, Waker};
use std::time::Duration;

use polyport_proto::{NeedInput, Outcome, RpcError};
use tokio::time::{Instant, Sleep};

use crate::ask::refusal;
use crate::context::{Call, Context};
use crate::fault::internal;
use crate::handler::{BoxFuture, DynHandler};
use crate::service::Service;

/// How long a call whose question is open may go on with something else before its round ends: what else wakes it cannot always
/// be told from the question.
const QUIET: Duration = Duration::from_secs(1);
/// Rounds of one legacy call whose handler gives back its questions.
const MAX_ROUNDS: u32 = 16;

/// Passes on a wake-up, and shows by its count of holders who else could wake a future.
struct Probe {
    waker: Waker,
    /// Somebody did already.
    woken: AtomicBool,
}

impl Wake for Probe {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.waker.wake_by_ref();
    }
}

/// Watches a call that has questions open.
#[derive(Default)]
pub(crate) struct Watch {
    /// How many questions were open, and when the round ends if nothing more comes.
    quiet: Option<(usize, Pin<Box<Sleep>>)>,
}

impl Watch {
    /// Polls a call of which questions are open. Pending becomes ready with those questions when nothing else can wake it, or
    /// when nothing else has come of it for a while.
    pub(crate) fn poll(
        &mut self,
        future: &mut BoxFuture<Outcome>,
        context: &Context,
        cx: &mut TaskContext<'_>,
    ) -> Poll<Outcome> {
        let probe = Arc::new(Probe {
            waker: cx.waker().clone(),
            woken: AtomicBool::new(false),
        });
        let waker = Waker::from(probe.clone());
        if let Poll::Ready(outcome) = future.as_mut().poll(&mut TaskContext::from_waker(&waker)) {
            return Poll::Ready(outcome);
        }
        let (asking, stepping, ours) = {
            let rounds = context.rounds();
            rounds.as_ref().map_or((0, false, 0), |rounds| {
                let ours = rounds.holders(&waker) + context.marks().bystanders();
                (rounds.asking(), rounds.is_stepping(), ours)
            })
        };
        drop(waker);
        if asking == 0 {
            self.quiet = None;
            return Poll::Pending;
        }
        // One holder is this function; the others that are not questions are timers, sockets, other tasks.
        let woken = probe.woken.load(Ordering::Acquire);
        let only_questions = !woken && Arc::strong_count(&probe) == 1 + ours;
        if only_questions || self.is_quiet(asking, stepping, cx) {
            return Poll::Ready(Outcome::NeedInput(NeedInput {
                questions: context.end_round(),
                ..NeedInput::default()
            }));
        }
        Poll::Pending
    }

    fn is_quiet(&mut self, asking: usize, stepping: bool, cx: &mut TaskContext<'_>) -> bool {
        let until = Instant::now() + QUIET;
        let (seen, sleep) = self
            .quiet
            .get_or_insert_with(|| (asking, Box::pin(tokio::time::sleep_until(until))));
        if *seen != asking || stepping {
            *seen = asking;
            sleep.as_mut().reset(until);
        }
        sleep.as_mut().poll(cx).is_ready()
    }
}

/// What is wrong with questions that a handler gave back.
pub(crate) fn check(context: &Context, need: &NeedInput) -> Result<(), Outcome> {
    let method = context.method();
    if !context.may_ask() {
        return Err(internal(
            method,
            "only calls of tools, prompts and resources may ask",
        ));
    }
    if need.questions.is_empty() && need.state.is_none() {
        return Err(internal(
            method,
            "the handler asks nothing and gives no state",
        ));
    }
    let mut keys = HashSet::new();
    if let Some(twice) = need.questions.iter().find(|q| !keys.insert(&q.key)) {
        return Err(internal(
            method,
            &format!("the handler asks twice under the key {:?}", twice.key),
        ));
    }
    let client = context.envelope().client().capabilities();
    let profile = context.envelope().profile();
    for question in &need.questions {
        if let Some(capability) = question.missing(profile, &client) {
            return Err(Outcome::Failed(RpcError::missing_capability(capability)));
        }
    }
    Ok(())
}

/// Asks a legacy client what the handler gave back as questions, and runs the handler again with the answers.
pub(crate) fn ask_and_rerun(
    handler: Arc<dyn DynHandler>,
    context: Context,
    need: NeedInput,
    round: u32,
) -> BoxFuture<Outcome> {
    Box::pin(async move {
        if round > MAX_ROUNDS {
            return internal(context.method(), "the handler asks without end");
        }
        begin_round(&context);
        if need.questions.is_empty() {
            // The handler waits for something else than the client: longer each time.
            tokio::time::sleep(Duration::from_millis(250) * round).await;
        }
        if let Some(rounds) = context.rounds().as_mut() {
            // Whoever asks again wants another answer.
            for question in &need.questions {
                rounds.answers.remove(&question.key);
            }
        }
        let mut asks: Vec<_> = need
            .questions
            .into_iter()
            .map(|question| Some(Box::pin(context.ask(question))))
            .collect();
        let answered = poll_fn(|cx| {
            let mut pending = false;
            for slot in &mut asks {
                let Some(ask) = slot else { continue };
                match ask.as_mut().poll(cx) {
                    Poll::Pending => pending = true,
                    Poll::Ready(Ok(_)) => *slot = None,
                    Poll::Ready(Err(no)) => return Poll::Ready(Err(no)),
                }
            }
            if pending {
                Poll::Pending
            } else {
                Poll::Ready(Ok(()))
            }
        });
        if let Err(no) = answered.await {
            return Outcome::Failed(refusal(&no));
        }
        drop(asks);
        begin_round(&context);
        context.rounds().get_or_insert_default().state = need.state;
        handler
            .call_dyn(Call {
                method: context.method(),
                params: context.params().clone(),
                context,
            })
            .await
    })
}

fn begin_round(context: &Context) {
    if let Some(rounds) = context.rounds().as_mut() {
        rounds.rerun();
    }
}

impl Service {
    /// Reads what a modern client brought back from the round before.
    pub(crate) fn resume(&self, call: &Call) -> Result<(), RpcError> {
        let context = &call.context;
        if context.may_ask() && context.is_modern() {
            let rounds = self.states.resume(context, &call.params)?;
            *context.rounds() = Some(Box::new(rounds));
        }
        Ok(())
    }

    /// Seals the state of a round that has ended. Other outcomes stay as they are.
    pub(crate) fn seal(&self, context: &Context, outcome: Outcome) -> Outcome {
        let Outcome::NeedInput(mut need) = outcome else {
            return outcome;
        };
        let rounds = context.rounds().take().unwrap_or_default();
        need.state = need.state.or_else(|| rounds.state.clone());
        need.meta = self.handler.result_meta_dyn();
        match self.states.keep(context, need, &rounds, &self.limits) {
            Ok(need) => Outcome::NeedInput(need),
            Err(error) => Outcome::Failed(error),
        }
    }
}
