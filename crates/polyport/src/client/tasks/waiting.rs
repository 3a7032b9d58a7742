//! Waiting for what comes of a task, in both forms: looks at it, answers to what it asks, and the bounds of both.

use std::collections::HashSet;
use std::time::Duration;

use polyport_model::{InputRequest, InputRequiredResult, Object, Task as TaskState, TaskStatus};
use polyport_proto::TaskForm;
use polyport_rt::Wait;
use polyport_wire::Raw;
use tokio::time::{Instant, sleep};

use super::super::{ClientError, MAX_ROUNDS};
use super::Task;

/// Between two looks, where the server does not say.
const POLL: Duration = Duration::from_secs(1);
/// The shortest and the longest time between two looks, whatever the server says.
const POLLS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(60));
/// How long a task may wait for answers that it has been given, looked at no more often than each [`POLL`].
const SETTLING: Duration = Duration::from_secs(30);
/// How often in a row a look at a task, or the wait for its result, may break on the way.
const MAX_BROKEN: usize = 5;

impl Task<'_> {
    pub(super) async fn until_ended(&self, total: Duration) -> Result<Raw, ClientError> {
        if self.client.task_form() != TaskForm::Extension {
            return self.until_answered(total).await;
        }
        let begun = Instant::now();
        let mut end = begun + total;
        let mut answered = HashSet::new();
        let mut rounds = 0;
        let mut settling = None;
        let mut broken = 0;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let state = match self.look_within(Some(self.at_most(left))).await {
                Err(ClientError::TimedOut(mut late)) => {
                    late.after = begun.elapsed();
                    return Err(ClientError::TimedOut(late));
                }
                Err(error) if is_of_the_way(&error) && broken < MAX_BROKEN => {
                    broken += 1;
                    sleep(POLL.min(left)).await;
                    continue;
                }
                other => other?,
            };
            broken = 0;
            let mut pause = pause(&state);
            match state.status {
                TaskStatus::Completed => return ended_with(state.result, "result"),
                TaskStatus::Failed => {
                    return Err(ClientError::Refused(ended_with(state.error, "error")?));
                }
                TaskStatus::Cancelled => return Err(ClientError::Cancelled),
                TaskStatus::InputRequired => {
                    let asked = state.input_requests.unwrap_or_default();
                    let mut questions = Object::new();
                    for (key, question) in asked.iter().filter(|(key, _)| !answered.contains(*key))
                    {
                        questions.insert(key, question.clone());
                    }
                    if questions.is_empty() {
                        // It has been answered, and will go on, or never.
                        let since = *settling.get_or_insert_with(Instant::now);
                        if since.elapsed() >= SETTLING {
                            return Err(ClientError::NeedsInput(Box::new(asking(asked))));
                        }
                        pause = pause.max(POLL);
                    } else {
                        rounds += 1;
                        if rounds > MAX_ROUNDS {
                            return Err(ClientError::AsksOn(MAX_ROUNDS));
                        }
                        let asked = Instant::now();
                        answered.extend(questions.iter().map(|(key, _)| key.to_owned()));
                        self.answer(questions).await?;
                        // Who answers takes what time it takes.
                        end += asked.elapsed();
                        settling = None;
                    }
                }
                TaskStatus::Working => {}
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ClientError::TimedOut(self.client.late(begun.elapsed())));
            }
            sleep(pause.min(left)).await;
        }
    }

    /// Waits for the answer that a server of the core's form gives when the task has ended; it asks on the way of this request. That it
    /// is there at all is seen beside it.
    async fn until_answered(&self, total: Duration) -> Result<Raw, ClientError> {
        let end = Instant::now() + total;
        let params = self.params();
        let mut broken = 0;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let wait = Wait {
                total: Some(left),
                ..Wait::default()
            };
            let asked = self.client.in_rounds("tasks/result", &params, Some(wait));
            let answered = tokio::select! {
                biased;
                answered = asked => answered,
                late = self.until_silent() => return Err(late),
            };
            match answered {
                // What a way has lost the task still has.
                Err(error) if is_of_the_way(&error) && broken < MAX_BROKEN => broken += 1,
                // It has no result; why, its state says.
                Err(ClientError::Refused(_)) if self.is_cancelled().await => {
                    return Err(ClientError::Cancelled);
                }
                other => return other,
            }
            sleep(POLL.min(left)).await;
        }
    }

    async fn is_cancelled(&self) -> bool {
        let patience = self.client.caller.patience();
        let state = self.look_within(Some(self.at_most(patience))).await;
        state.is_ok_and(|state| state.status == TaskStatus::Cancelled)
    }

    /// Looks at the task until the server says nothing of it any more, or, once it has ended, not what has come of it.
    async fn until_silent(&self) -> ClientError {
        let patience = self.client.caller.patience();
        let mut rest = POLL;
        let mut broken = 0;
        loop {
            sleep(rest).await;
            match self.look_within(Some(self.at_most(patience))).await {
                Ok(state) if state.status.is_final() => {
                    sleep(patience).await;
                    return match state.status {
                        TaskStatus::Cancelled => ClientError::Cancelled,
                        _ => ClientError::TimedOut(self.client.late(patience)),
                    };
                }
                Ok(state) => (rest, broken) = (pause(&state).max(POLL), 0),
                Err(error @ ClientError::TimedOut(_)) => return error,
                // A wait whose way is dead may hear nothing of it.
                Err(error) if is_of_the_way(&error) => {
                    broken += 1;
                    if broken > MAX_BROKEN {
                        return error;
                    }
                }
                // Whoever waits for the answer hears what is wrong.
                Err(_) => rest = (rest * 2).min(POLLS.1),
            }
        }
    }

    /// No longer than a server may leave any request unanswered.
    fn at_most(&self, left: Duration) -> Wait {
        Wait {
            total: Some(left.min(self.client.caller.patience())),
            ..Wait::default()
        }
    }

    async fn answer(&self, questions: Object<InputRequest>) -> Result<(), ClientError> {
        let needed = asking(questions);
        let params = self.client.with_answers(&self.params(), needed).await?;
        let told = self.client.in_rounds("tasks/update", &params, None);
        told.await.map(drop)
    }
}

/// Has a request failed for what lies between the two ends, so that it may be made again?
fn is_of_the_way(error: &ClientError) -> bool {
    match error {
        ClientError::Broken(_) | ClientError::Unreachable(_) => true,
        ClientError::Status(status) => matches!(status.code, 502..=504),
        _ => false,
    }
}

/// Questions of a task as those of a call.
fn asking(questions: Object<InputRequest>) -> InputRequiredResult {
    InputRequiredResult {
        input_requests: Some(questions),
        ..InputRequiredResult::default()
    }
}

/// How long to wait before the next look.
fn pause(state: &TaskState) -> Duration {
    // What is below nothing says nothing.
    let said = state.poll_interval_ms;
    let said = said.and_then(|ms| u64::try_from(ms).ok());
    let (shortest, longest) = POLLS;
    said.map_or(POLL, Duration::from_millis)
        .clamp(shortest, longest)
}

fn ended_with<T>(what: Option<T>, name: &str) -> Result<T, ClientError> {
    what.ok_or_else(|| ClientError::Unreadable(format!("a task has ended without its {name}")))
}
