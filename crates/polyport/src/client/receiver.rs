//! What a server asks that the client answers later: tasks of the core's form, of which the client is the receiver. Not what is
//! answered: see `answers`.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use polyport_model::{
    Cursor, META_RELATED_TASK, TaskMetadata, method::ELICITATION_CREATE,
    method::SAMPLING_CREATE_MESSAGE,
};
use polyport_proto::revision::seal;
use polyport_proto::{Code, Revision, RpcError, Task, TaskEnd, TaskForm};
use polyport_rt::{BoxFuture, random, tasks};
use polyport_wire::{Raw, splice};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::answers::Answers;

/// Tasks that a server may have with us at once.
const MAX_TASKS: usize = 32;
/// For how long one is kept where the server does not say, and at most.
const LIVES: (Duration, Duration) = (Duration::from_secs(5 * 60), Duration::from_secs(60 * 60));
/// How long the server should wait between two looks.
const POLL: Duration = Duration::from_secs(1);

/// Answers a server, at once or as a task.
#[derive(Clone)]
pub(super) struct Receiver {
    answers: Answers,
    revision: Revision,
    held: Arc<Mutex<Held>>,
}

/// The tasks of one connection, which end with it.
#[derive(Default)]
struct Held {
    tasks: HashMap<String, Kept>,
    next: u64,
}

struct Kept {
    task: Task,
    /// In the order of their beginning.
    place: u64,
    until: Instant,
    /// The result or the error object, once it is there.
    end: watch::Receiver<Option<Result<Raw, Raw>>>,
    answering: AbortHandle,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.answering.abort();
    }
}

/// What is read of the parameters of a question, or of a request about a task.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Asked {
    task: Option<Raw>,
    task_id: Option<String>,
    cursor: Option<Cursor>,
    #[serde(rename = "_meta")]
    meta: Option<Value>,
}

impl Receiver {
    pub(super) fn new(answers: Answers, revision: Revision) -> Self {
        Self {
            answers,
            revision,
            held: Arc::default(),
        }
    }

    /// The result for what a server asks, or the error object.
    pub(super) fn answer(&self, method: &str, params: Option<Raw>) -> BoxFuture<Result<Raw, Raw>> {
        let this = self.clone();
        let method = method.to_owned();
        if self.revision.profile().tasks != TaskForm::Core {
            return Box::pin(this.answers.answer(method, params));
        }
        Box::pin(async move {
            let asked = params.as_ref().map(Raw::decode::<Asked>);
            let asked = asked.and_then(Result::ok).unwrap_or_default();
            match &*method {
                SAMPLING_CREATE_MESSAGE | ELICITATION_CREATE if let Some(task) = &asked.task => {
                    this.begin(method, params, task)
                }
                "tasks/get" => this.with(asked.task_id, |kept| Ok(this.written(&kept.task))),
                "tasks/cancel" => this.cancel(asked.task_id),
                "tasks/list" => this.list(asked.cursor.as_ref()),
                "tasks/result" => this.result(asked.task_id).await,
                _ => {
                    let related = asked.meta.and_then(|mut meta| {
                        let task = meta.get_mut(META_RELATED_TASK)?.get_mut("taskId")?.take();
                        task.as_str().map(str::to_owned)
                    });
                    let result = this.answers.answer(method, params).await?;
                    Ok(match related {
                        Some(id) => tasks::naming(&result, &id),
                        None => result,
                    })
                }
            }
        })
    }

    fn begin(&self, method: String, params: Option<Raw>, task: &Raw) -> Result<Raw, Raw> {
        if !self.answers.offers(&method) {
            return Err(error(
                -32601,
                "This client has not declared that it answers this.",
            ));
        }
        let Ok(wanted) = task.decode::<TaskMetadata>() else {
            return Err(error(
                -32602,
                "task must be an object; its ttl is in milliseconds",
            ));
        };
        let (usual, longest) = LIVES;
        let life = wanted.ttl.and_then(|ttl| u64::try_from(ttl).ok());
        let life = life.map_or(usual, Duration::from_millis).min(longest);
        let mut held = self.held();
        if held.tasks.len() >= MAX_TASKS {
            return Err(error(
                -32600,
                "Too many tasks at once: wait for one of them first.",
            ));
        }
        let id = mint().map_err(|_| error(-32603, "No id could be made."))?;
        let task = Task::new(id.as_str(), now(), millis(life), millis(POLL));
        let (tell, end) = watch::channel(None);
        let (answers, ours) = (self.answers.clone(), Arc::downgrade(&self.held));
        let name = id.clone();
        let answering = tokio::spawn(async move {
            let answered = tokio::time::timeout(life, answers.answer(method, params)).await;
            let (Ok(answered), Some(ours)) = (answered, ours.upgrade()) else {
                return;
            };
            let mut held = ours.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(kept) = held.tasks.get_mut(&name)
                && kept.task.ends(ended(&answered), now())
            {
                tell.send_replace(Some(answered));
            }
        });
        let created = format!("{{\"task\":{}}}", self.written(&task).as_str());
        let place = held.next;
        held.next += 1;
        let kept = Kept {
            task,
            place,
            until: Instant::now() + life,
            end,
            answering: answering.abort_handle(),
        };
        held.tasks.insert(id, kept);
        Ok(Raw::trusted(created))
    }

    async fn result(&self, id: Option<String>) -> Result<Raw, Raw> {
        let name = id.clone().unwrap_or_default();
        let mut end = self.with(id, |kept| Ok(kept.end.clone()))?;
        // It ends without an answer when it is cancelled, or when its time is over.
        let answered = end.wait_for(Option::is_some).await;
        let answered = answered.ok().and_then(|answered| answered.clone());
        match answered {
            Some(Ok(result)) => Ok(tasks::naming(&result, &name)),
            Some(Err(error)) => Err(error),
            None => Err(error(-32602, "The task was cancelled: it has no result")),
        }
    }

    fn cancel(&self, id: Option<String>) -> Result<Raw, Raw> {
        self.with(id, |kept| {
            if !kept.task.ends(TaskEnd::Cancelled, now()) {
                let why = "The task cannot be cancelled: it has ended already";
                return Err(error(-32602, why));
            }
            kept.answering.abort();
            Ok(self.written(&kept.task))
        })
    }

    /// There is one page.
    fn list(&self, cursor: Option<&Cursor>) -> Result<Raw, Raw> {
        if cursor.is_some() {
            return Err(error(-32602, "tasks/list: the cursor is not one of ours"));
        }
        let held = self.held();
        let mut all: Vec<_> = held.tasks.values().collect();
        all.sort_by_key(|kept| kept.place);
        let all: Vec<_> = all.iter().map(|kept| self.written(&kept.task)).collect();
        Raw::encode(&json!({"tasks": all})).map_err(|why| error(-32603, &why.to_string()))
    }

    fn with<T>(
        &self,
        id: Option<String>,
        what: impl FnOnce(&mut Kept) -> Result<T, Raw>,
    ) -> Result<T, Raw> {
        let mut held = self.held();
        match id.and_then(|id| held.tasks.get_mut(&id)) {
            Some(kept) => what(kept),
            None => Err(error(
                -32602,
                "There is no such task, or it is no longer kept",
            )),
        }
    }

    fn written(&self, task: &Task) -> Raw {
        let mut out = b"{".to_vec();
        seal::task(task, self.revision, false, &mut out);
        out.push(b'}');
        Raw::trusted(out)
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // Nothing that is done under the lock leaves it half done.
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        held.tasks.retain(|_, kept| kept.until > now);
        held
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("answers", &self.answers)
            .finish_non_exhaustive()
    }
}

fn ended(answered: &Result<Raw, Raw>) -> TaskEnd {
    match answered {
        Ok(result) => TaskEnd::Result(result.clone()),
        Err(error) => {
            let mut message = None;
            splice::members(error.as_str(), |key, value| {
                if key == "message" {
                    message = serde_json::from_str::<String>(value).ok();
                }
            });
            TaskEnd::Failed(RpcError::new(Code::Internal, message.unwrap_or_default()))
        }
    }
}

fn error(code: i32, message: &str) -> Raw {
    let error: Value = json!({"code": code, "message": message});
    Raw::trusted(error.to_string())
}

/// 128 random bits as 32 hexadecimal digits.
fn mint() -> Result<String, random::NoRandomness> {
    let mut id = [0; 16];
    random::fill(&mut id)?;
    Ok(id.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Milliseconds since 1970, for people.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, millis)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use polyport_model::{ElicitFormParams, ElicitResult};

    use super::super::answers::boxed;
    use super::*;

    fn receiver() -> Receiver {
        let answers = Answers {
            form: Some(boxed(|form: ElicitFormParams| async move {
                if form.message == "never" {
                    std::future::pending::<()>().await;
                }
                tokio::time::sleep(Duration::from_secs(10)).await;
                ElicitResult::decline()
            })),
            ..Answers::default()
        };
        Receiver::new(answers, Revision::V2025_11_25)
    }

    async fn ask(receiver: &Receiver, method: &str, params: Value) -> Value {
        let answered = receiver.answer(method, Raw::encode(&params).ok()).await;
        let value = |raw: Raw| raw.decode::<Value>().unwrap();
        answered.map_or_else(|error| json!({"error": value(error)}), value)
    }

    fn form(message: &str) -> Value {
        json!({"message": message, "requestedSchema": {"type": "object", "properties": {}}})
    }

    async fn begin(receiver: &Receiver, message: &str, ttl: i64) -> String {
        let mut params = form(message);
        params["task"] = json!({"ttl": ttl});
        let begun = ask(receiver, "elicitation/create", params).await;
        assert_eq!(begun["task"]["status"], "working", "{begun}");
        begun["task"]["taskId"].as_str().unwrap().to_owned()
    }

    // req: T-RECEIVER
    #[tokio::test(start_paused = true)]
    async fn a_server_is_answered_later() {
        let receiver = receiver();
        let id = begin(&receiver, "Who?", 60_000).await;
        let look = ask(&receiver, "tasks/get", json!({"taskId": id})).await;
        assert_eq!(
            (&look["status"], &look["ttl"]),
            (&json!("working"), &json!(60_000))
        );
        let result = ask(&receiver, "tasks/result", json!({"taskId": id})).await;
        assert_eq!(result["action"], "decline");
        assert_eq!(result["_meta"][META_RELATED_TASK], json!({"taskId": id}));
        let list = ask(&receiver, "tasks/list", json!({})).await;
        assert_eq!(list["tasks"][0]["status"], "completed", "{list}");
        let refused = ask(&receiver, "tasks/cancel", json!({"taskId": id})).await;
        assert_eq!(refused["error"]["code"], -32602);
        tokio::time::sleep(Duration::from_secs(60)).await;
        let gone = ask(&receiver, "tasks/get", json!({"taskId": id})).await;
        assert_eq!(gone["error"]["code"], -32602);
    }

    // req: T-RECEIVER
    #[tokio::test(start_paused = true)]
    async fn what_nobody_answers_ends_all_the_same() {
        let receiver = receiver();
        let (one, other) = (
            begin(&receiver, "never", 60_000).await,
            begin(&receiver, "never", 60_000).await,
        );
        let waiting = receiver.clone();
        let (first, id) = (one.clone(), other.clone());
        let wait = tokio::spawn(async move {
            let cancelled = ask(&waiting, "tasks/result", json!({"taskId": first})).await;
            (
                cancelled,
                ask(&waiting, "tasks/result", json!({"taskId": id})).await,
            )
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        let cancelled = ask(&receiver, "tasks/cancel", json!({"taskId": one})).await;
        assert_eq!(cancelled["status"], "cancelled");
        let (cancelled, over) = tokio::time::timeout(Duration::from_secs(90), wait)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            (&cancelled["error"]["code"], &over["error"]["code"]),
            (&json!(-32602), &json!(-32602))
        );
    }

    // req: T-RECEIVER
    #[tokio::test(start_paused = true)]
    async fn only_what_is_declared_is_taken_and_only_so_much() {
        let receiver = receiver();
        let params = json!({"messages": [], "maxTokens": 1, "task": {}});
        let refused = ask(&receiver, "sampling/createMessage", params).await;
        assert_eq!(refused["error"]["code"], -32601);
        let mut bad = form("Who?");
        bad["task"] = json!(7);
        let refused = ask(&receiver, "elicitation/create", bad).await;
        assert_eq!(refused["error"]["code"], -32602);
        for _ in 0..MAX_TASKS {
            begin(&receiver, "never", 60_000).await;
        }
        let mut more = form("never");
        more["task"] = json!({});
        let refused = ask(&receiver, "elicitation/create", more).await;
        assert_eq!(refused["error"]["code"], -32600, "{refused}");
        // Elsewhere `task` says nothing.
        let other = Receiver::new(receiver.answers.clone(), Revision::V2025_06_18);
        let mut params = form("Who?");
        params["task"] = json!({});
        assert_eq!(
            ask(&other, "elicitation/create", params).await["action"],
            "decline"
        );
        assert!(ask(&other, "tasks/list", json!({})).await["error"].is_object());
    }
}
