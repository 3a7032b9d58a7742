//! Runs a call: polled once in place, spawned only if it is not ready. Panics end the call, not the server.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};

use polyport_proto::Outcome;

use crate::context::{Call, Context};
use crate::fault::internal;
use crate::handler::BoxFuture;
use crate::journal::Entry;
use crate::service::Service;

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
    context: Context,
    entry: Option<Entry>,
}

/// Begins a call.
pub fn begin(service: &Service, call: Call) -> Begun {
    let entry = Entry::open(&call);
    let context = call.context.clone();
    let handler = Arc::clone(&service.handler);
    let method = call.method;
    let begun = catch_unwind(AssertUnwindSafe(|| handler.call_dyn(call)));
    let polled = begun.map(|future| {
        let mut future = Guarded {
            future: Some(future),
            method,
        };
        // A spawned future is polled again at once with a real waker, so that no wake-up of this poll can be lost.
        match Pin::new(&mut future).poll(&mut TaskContext::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => Ok(outcome),
            Poll::Pending => Err(future),
        }
    });
    let outcome = match polled {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(future)) => {
            return Begun::Pending(Running {
                future,
                context,
                entry,
            });
        }
        Err(panic) => panicked(method, &*panic),
    };
    if let Some(entry) = entry {
        entry.close(Some(&outcome));
    }
    Begun::Ready(outcome)
}

impl Running {
    /// Goes on in a task of its own. `done` hears the outcome; none: the call was cancelled and did not end in its grace.
    pub fn spawn(self, service: &Service, done: impl FnOnce(Option<Outcome>) + Send + 'static) {
        let counted = service.count();
        let grace = service.limits.cancel_grace;
        tokio::spawn(async move {
            let _counted = counted;
            let Self {
                future,
                context,
                entry,
            } = self;
            let outcome = tokio::select! {
                biased;
                outcome = future => Some(outcome),
                () = context.cancelled_for(grace) => None,
            };
            if let Some(entry) = entry {
                entry.close(outcome.as_ref());
            }
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
            .field("context", &self.context)
            .finish_non_exhaustive()
    }
}

/// A future whose panic is an outcome, also when it panics while it is dropped.
struct Guarded {
    future: Option<BoxFuture<Outcome>>,
    method: &'static str,
}

impl Guarded {
    fn let_go(&mut self) {
        let future = self.future.take();
        if catch_unwind(AssertUnwindSafe(|| drop(future))).is_err() {
            tracing::error!(method = self.method, "a call panicked while it was dropped");
        }
    }
}

impl Future for Guarded {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Outcome> {
        let Some(future) = &mut self.future else {
            return Poll::Pending;
        };
        let outcome = match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(Outcome::Complete(result))) if !result.is_object() => {
                internal(self.method, "the handler gave a result that is no object")
            }
            Ok(Poll::Ready(outcome)) => outcome,
            Err(panic) => panicked(self.method, &*panic),
        };
        self.let_go();
        Poll::Ready(outcome)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.let_go();
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
