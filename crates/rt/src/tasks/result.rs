//! Waiting for a task in the core's form: until it has ended, and as the way on which its questions reach the client.

use std::collections::HashSet;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use polyport_proto::{RpcError, TaskEnd};
use polyport_wire::Raw;

use super::live::Live;
use super::{Tasks, naming, of_task, unknown};
use crate::ask::Ask;
use crate::context::Context;
use crate::question::NoAnswer;

impl Tasks {
    /// Waits until a task has ended and answers as its call would have been answered. What it asks meanwhile is asked on the stream of
    /// this call.
    ///
    /// # Errors
    /// There is no such task for who asks, or it has ended with an error.
    pub async fn result(&self, context: &Context, id: &str) -> Result<Raw, RpcError> {
        self.get(context, id).await?;
        if let Some(live) = self.0.one(id) {
            Attending::new(live, context).until_ended().await;
        }
        let task = self.get(context, id).await?;
        match task.end() {
            Some(TaskEnd::Result(result)) => Ok(naming(result, id)),
            Some(TaskEnd::Failed(error)) => Err(error.clone()),
            Some(TaskEnd::Cancelled) => Err(RpcError::invalid_params(
                "The task was cancelled: it has no result",
            )),
            None => Err(unknown()),
        }
    }
}

/// A call that waits for a task.
struct Attending<'a> {
    live: Arc<Live>,
    context: &'a Context,
    /// Questions that are on their way to the client.
    asking: Vec<(String, Pin<Box<Ask>>)>,
    /// Those that could not be asked here.
    failed: HashSet<String>,
}

impl<'a> Attending<'a> {
    fn new(live: Arc<Live>, context: &'a Context) -> Self {
        live.wait(context);
        Self {
            live,
            context,
            asking: Vec::new(),
            failed: HashSet::new(),
        }
    }

    async fn until_ended(mut self) {
        let mut changes = self.live.changes();
        while !self.live.has_ended() {
            changes.mark_unchanged();
            let open: HashSet<_> = self.live.questions().into_iter().map(|q| q.key).collect();
            self.asking.retain(|(key, _)| open.contains(key));
            for question in self.live.pass_on(&self.failed) {
                let key = question.key.clone();
                let question = of_task(question, self.live.id());
                self.asking
                    .push((key, Box::pin(self.context.ask(question))));
            }
            if self.live.has_ended() {
                return;
            }
            let answered = tokio::select! {
                _ = changes.changed() => None,
                answered = first(&mut self.asking) => Some(answered),
                _ = self.context.cancelled() => return,
            };
            if let Some((key, answer)) = answered {
                self.take(&key, answer);
            }
        }
    }

    /// Hands on an answer, or leaves the question to the next who waits.
    fn take(&mut self, key: &str, answer: Result<Raw, NoAnswer>) {
        let handed = match answer {
            Ok(answer) => Ok(Ok(answer)),
            Err(NoAnswer::Refused { code, message }) => {
                let error = serde_json::json!({"code": code, "message": message});
                Ok(Err(Raw::trusted(error.to_string())))
            }
            Err(no @ (NoAnswer::Malformed(_) | NoAnswer::Unsupported(_))) => Err(no),
            Err(_) => {
                self.failed.insert(key.to_owned());
                return self.live.give_back(key);
            }
        };
        if let Some(asker) = self.live.answers(key) {
            // Whoever asked may have lost interest meanwhile.
            let _ = asker.send(handed);
        }
        self.live.tell();
    }
}

impl Drop for Attending<'_> {
    fn drop(&mut self) {
        self.live.leave(self.context);
        for (key, _) in self.asking.drain(..) {
            self.live.give_back(&key);
        }
    }
}

/// Waits for the first answer; without questions, for ever.
async fn first(asking: &mut Vec<(String, Pin<Box<Ask>>)>) -> (String, Result<Raw, NoAnswer>) {
    poll_fn(|cx| {
        let answered =
            asking
                .iter_mut()
                .enumerate()
                .find_map(|(at, (_, ask))| match ask.as_mut().poll(cx) {
                    Poll::Ready(answer) => Some((at, answer)),
                    Poll::Pending => None,
                });
        match answered {
            Some((at, answer)) => Poll::Ready((asking.remove(at).0, answer)),
            None => Poll::Pending,
        }
    })
    .await
}
