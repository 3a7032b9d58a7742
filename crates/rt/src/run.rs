//! Runs a call: polled once in place, spawned only if it is not ready. Panics end the call, not the server.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};

use polyport_proto::{Code, NeedInput, Outcome};
use polyport_wire::Member;

use crate::context::{Call, Context};
use crate::end::End;
use crate::fault::{internal, let_go};
use crate::handler::{BoxFuture, DynHandler};
use crate::journal::Entry;
use crate::listen::{self, is_subscription};
use crate::pages;
use crate::service::Service;
use crate::settle::{Watch, ask_and_rerun, check};

/// A call that has been polled once.
pub enum Begun {
    /// It had its answer at once.
    Ready(Outcome),
    /// It goes on.
    Pending(Running),
}

/// A call that goes on.
pub struct Running {
    future: Guarded,
    entry: Option<Entry>,
}

/// Begins a call.
pub fn begin(service: &Service, call: Call) -> Begun {
    let context = call.context.clone();
    let entry = Entry::open(&context);
    service.counters.begun();
    let outcome = match guard(service, call) {
        Ok(mut future) => {
            // A spawned future is polled again at once with a real waker, so that no wake-up of this poll can be lost.
            let mut cx = TaskContext::from_waker(Waker::noop());
            match Pin::new(&mut future).poll(&mut cx) {
                Poll::Ready(outcome) => service.seal(&context, outcome),
                Poll::Pending => return Begun::Pending(Running { future, entry }),
            }
        }
        Err(outcome) => outcome,
    };
    close(service, &context, entry, Some(&outcome));
    Begun::Ready(outcome)
}

/// A call has ended; none: it did not end in the grace of its cancel.
fn close(service: &Service, context: &Context, entry: Option<Entry>, outcome: Option<&Outcome>) {
    let end = End::of(context, outcome);
    service.counters.ended(end);
    if let Some(entry) = entry {
        entry.close(context, end, outcome, &service.shown);
    }
}

/// The future of a call.
///
/// # Errors
/// There is none: the handler panicked, or what the client brought back is not of this call.
#[inline]
fn guard(service: &Service, call: Call) -> Result<Guarded, Outcome> {
    let params = &call.params;
    if params.has(Member::RequestState) || params.has(Member::InputResponses) {
        service.resume(&call).map_err(Outcome::Failed)?;
    }
    let context = call.context.clone();
    let handler = Arc::clone(&service.handler);
    let begun = catch_unwind(AssertUnwindSafe(|| {
        if is_subscription(call.method) {
            listen::run(service, call)
        } else {
            Arc::clone(&handler).call_dyn(call)
        }
    }));
    match begun {
        Ok(future) => Ok(Guarded::new(handler, context, future)),
        Err(panic) => Err(panicked(context.method(), &*panic)),
    }
}

impl Running {
    /// Goes on in a task of its own. `done` hears the outcome; none: the call was cancelled and did not end in its grace.
    pub fn spawn(self, service: &Service, done: impl FnOnce(Option<Outcome>) + Send + 'static) {
        let counted = service.count();
        let service = service.clone();
        let grace = service.limits.cancel_grace;
        tokio::spawn(async move {
            let _counted = counted;
            let Self { mut future, entry } = self;
            let context = future.context.clone();
            let mut cut = pin!(context.cancelled_for(grace));
            let outcome = loop {
                tokio::select! {
                    biased;
                    outcome = &mut future => break Some(service.seal(&context, outcome)),
                    () = &mut cut => break None,
                    () = context.asked() => {}
                }
            };
            drop(future);
            close(&service, &context, entry, outcome.as_ref());
            done(outcome);
        });
    }
}

impl std::fmt::Debug for Begun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Ready(_) => "Begun::Ready",
            Self::Pending(_) => "Begun::Pending",
        })
    }
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running")
            .field("context", &self.future.context)
            .finish_non_exhaustive()
    }
}

/// A call whose panic is an outcome, also when it panics while it is dropped, and whose open questions are one, too.
pub(crate) struct Guarded {
    future: Option<BoxFuture<Outcome>>,
    handler: Arc<dyn DynHandler>,
    context: Context,
    watch: Watch,
    /// Rounds of a legacy call whose handler gives back its questions.
    round: u32,
}

impl Guarded {
    pub(crate) fn new(
        handler: Arc<dyn DynHandler>,
        context: Context,
        future: BoxFuture<Outcome>,
    ) -> Self {
        Self {
            future: Some(future),
            handler,
            context,
            watch: Watch::default(),
            round: 0,
        }
    }

    fn let_go(&mut self) {
        let_go(self.future.take(), self.context.method());
    }

    /// What becomes of questions that a handler gave back; none: they are asked, and it is to be polled again.
    fn need(&mut self, need: NeedInput) -> Option<Outcome> {
        match check(&self.context, &need) {
            Err(outcome) => return Some(outcome),
            Ok(()) if self.context.asks_in_rounds() => return Some(Outcome::NeedInput(need)),
            Ok(()) => {}
        }
        self.let_go();
        self.round += 1;
        let (handler, context) = (self.handler.clone(), self.context.clone());
        self.future = Some(ask_and_rerun(handler, context, need, self.round));
        None
    }

    fn poll_once(&mut self, cx: &mut TaskContext<'_>) -> Poll<Outcome> {
        let Some(future) = &mut self.future else {
            return Poll::Pending;
        };
        if !self.context.is_asking() {
            let polled = future.as_mut().poll(cx);
            if polled.is_ready() || !self.context.is_asking() {
                return polled;
            }
            // A question has been opened: is it all that is waited for?
        }
        self.watch.poll(future, &self.context, cx)
    }
}

impl Future for Guarded {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Outcome> {
        loop {
            let method = self.context.method();
            let outcome = match catch_unwind(AssertUnwindSafe(|| self.poll_once(cx))) {
                Ok(Poll::Pending) => return Poll::Pending,
                Ok(Poll::Ready(Outcome::Complete(result))) if !result.is_object() => {
                    internal(method, "the handler gave a result that is no object")
                }
                Ok(Poll::Ready(Outcome::NeedInput(need))) => match self.need(need) {
                    Some(outcome) => outcome,
                    None => continue,
                },
                Ok(Poll::Ready(Outcome::Failed(error))) if error.code == Code::VisitFirst => {
                    match pages::first(&self.context, &*self.handler, error) {
                        Outcome::NeedInput(need) => match self.need(need) {
                            Some(outcome) => outcome,
                            None => continue,
                        },
                        outcome => outcome,
                    }
                }
                Ok(Poll::Ready(outcome)) => outcome,
                Err(panic) => panicked(method, &*panic),
            };
            self.let_go();
            return Poll::Ready(outcome);
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.let_go();
        self.context.settle();
    }
}

fn panicked(method: &'static str, panic: &(dyn Any + Send)) -> Outcome {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    internal(
        method,
        &format!("the handler panicked: {}", text.unwrap_or("no message")),
    )
}
