//! The steps that a job may have, in the words of the SDK.

use std::io::{self, BufRead as _};
use std::sync::Arc;
use std::time::Duration;

use polyport::client::{Called, Change, Client, Connect, Heard, Target, Wanted};
use polyport::model::{CallTool, Complete, GetPrompt, Method};
use polyport::{ClientError, Command, Era, Patience, Raw, Revision, Revisions, Wait};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::heard::Notes;
use super::{Fault, Job, Seen, told};

const UPDATED: &str = "notifications/resources/updated";
const LOGGED: &str = "notifications/message";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// For how long a task is kept.
const TASK: Duration = Duration::from_secs(60);
/// Between two looks whether a server has come to something.
const LOOK: Duration = Duration::from_millis(50);
/// What still comes after the end of a call comes within this.
const AFTER: Duration = Duration::from_millis(50);

/// The other side of a conversation.
pub(crate) struct Peer {
    job: Job,
    heard: Notes,
    client: Option<Arc<Client>>,
    /// Takes the notifications.
    listening: Option<JoinHandle<()>>,
}

impl Peer {
    pub(crate) fn new(job: Job) -> Self {
        Self {
            job,
            heard: Notes::default(),
            client: None,
            listening: None,
        }
    }

    pub(crate) async fn step(&mut self, step: &Value) -> Seen {
        self.heard.begin(step);
        match text(&step["do"]) {
            "connect" => self.connect().await,
            "list" => self.list(text(&step["what"])).await,
            "pages" => self.pages(text(&step["method"]), text(&step["what"])).await,
            "call" => self.call(step).await,
            "read" => seen(&self.client()?.read(text(&step["uri"])).await?),
            "prompt" => {
                let params = json!({"name": step["prompt"], "arguments": step["arguments"]});
                self.ask::<GetPrompt>(&params).await
            }
            "complete" => {
                let mut params = json!({"ref": step["ref"], "argument": step["argument"]});
                if step["context"].is_object() {
                    params["context"] = step["context"].clone();
                }
                self.ask::<Complete>(&params).await
            }
            "level" => {
                let params = json!({"level": step["level"]});
                self.raw("logging/setLevel", &params, None).await
            }
            "ping" => {
                self.client()?.ping().await?;
                Ok(json!({}))
            }
            "cancel" => self.cancel(step).await,
            "task" => self.task(step).await,
            "many" => self.many(step).await,
            "subscribe" | "changes" => {
                // They take the notifications themselves.
                self.deafen().await;
                let seen = match text(&step["do"]) {
                    "subscribe" => self.subscribe(step).await,
                    _ => self.changes(step).await,
                };
                self.listen();
                seen
            }
            "restart" => self.restart(step).await,
            "gone" => self.gone(step).await,
            "close" => self.close().await,
            other => Err(Fault::Other(format!("there is no step {other}"))),
        }
    }

    fn client(&self) -> Result<&Arc<Client>, Fault> {
        let client = self.client.as_ref();
        client.ok_or_else(|| Fault::Other("there is no connection any more".to_owned()))
    }

    fn is_modern(&self) -> Result<bool, Fault> {
        Ok(self.client()?.opened().revision.profile().era == Era::Modern)
    }

    async fn connect(&mut self) -> Seen {
        let connect = match (&self.job.command, &self.job.url) {
            (Some(words), _) => {
                let [program, arguments @ ..] = words.as_slice() else {
                    return Err(Fault::Other("the command is empty".to_owned()));
                };
                Connect::command(Command::new(program).args(arguments))
            }
            (None, Some(url)) => {
                Connect::http(Target::new(url).map_err(|error| error.to_string())?)
            }
            (None, None) => return Err(Fault::Other("there is no server to ask".to_owned())),
        };
        let seconds = Duration::from_secs(self.job.step_seconds);
        let patience = Patience {
            handshake: seconds,
            request: seconds,
            ..Patience::default()
        };
        let connect = connect.speaks(self.speaks()?).patience(patience);
        let connect = connect.named("polyport-peer", "1.0.0");
        let client = Arc::new(self.heard.answering(connect).connect().await?);
        let opened = client.opened();
        let got = json!({
            "revision": opened.revision.name(),
            "server": seen(&opened.server)?,
            "capabilities": seen(&opened.capabilities)?,
            "instructions": opened.instructions,
        });
        self.client = Some(client);
        self.listen();
        Ok(got)
    }

    /// Takes the notifications from now on.
    fn listen(&mut self) {
        let Some(client) = self.client.clone() else {
            return;
        };
        let heard = self.heard.clone();
        self.listening = Some(tokio::spawn(async move {
            while let Some(note) = client.notification().await {
                heard.notification(&note);
            }
        }));
    }

    /// Takes them no longer.
    async fn deafen(&mut self) {
        if let Some(listening) = self.listening.take() {
            listening.abort();
            // Aborted, that is how it ends.
            let _ = listening.await;
        }
    }

    fn speaks(&self) -> Result<Revisions, Fault> {
        let Some(name) = &self.job.speaks else {
            return Ok(Revisions::ALL);
        };
        let revision = Revision::ALL.into_iter().find(|one| one.name() == name);
        let revision = revision.ok_or_else(|| format!("{name} is no revision"))?;
        Ok(Revisions::NONE.with(revision))
    }

    async fn list(&self, what: &str) -> Seen {
        let client = self.client()?;
        let items = match what {
            "tools" => seen(&client.tools().await?)?,
            "resources" => seen(&client.resources().await?)?,
            "resourceTemplates" => seen(&client.resource_templates().await?)?,
            "prompts" => seen(&client.prompts().await?)?,
            other => return Err(Fault::Other(format!("there is no list {other}"))),
        };
        Ok(json!({"items": items}))
    }

    /// How many entries each page has; the client itself follows the pages.
    async fn pages(&self, method: &str, member: &str) -> Seen {
        let (mut sizes, mut params) = (Vec::new(), json!({}));
        loop {
            let page = self.raw(method, &params, None).await?;
            sizes.push(page[member].as_array().map_or(0, Vec::len));
            if page["nextCursor"].is_null() {
                return Ok(json!({"sizes": sizes}));
            }
            params = json!({"cursor": page["nextCursor"]});
        }
    }

    /// The result of a call, and what came before it.
    async fn call(&self, step: &Value) -> Seen {
        let mut params = json!({"name": step["tool"], "arguments": arguments(step)});
        let watch = text(&step["watch"]);
        if watch == "logs" {
            if self.is_modern()? {
                params["_meta"] = json!({LOG_LEVEL: "debug"});
            } else {
                let level = json!({"level": "debug"});
                self.raw("logging/setLevel", &level, None).await?;
            }
        }
        let mut result = if watch == "progress" {
            let heard = self.heard.clone();
            let wait = Wait {
                total: Some(Duration::from_secs(self.job.step_seconds)),
                progress: Some(Arc::new(move |told| {
                    let params = json!({"progress": told.progress, "total": told.total, "message": told.message});
                    heard.note(json!({"method": "progress", "params": params}));
                })),
                ..Wait::default()
            };
            self.raw(CallTool::NAME, &params, Some(wait)).await?
        } else if watch == "logs" {
            let result = self.raw(CallTool::NAME, &params, None).await?;
            sleep(AFTER).await;
            result
        } else {
            self.ask::<CallTool>(&params).await?
        };
        match watch {
            "progress" => result["progress"] = Value::Array(self.heard.of("progress")),
            "logs" => result["logs"] = Value::Array(self.heard.of(LOGGED)),
            _ => {}
        }
        if step["answers"].is_object() {
            result["asked"] = Value::Array(self.heard.asked());
        }
        Ok(result)
    }

    /// Gives a call up, and then calls another; `changes` says that this goes on until its text is no longer what it was before.
    async fn cancel(&self, step: &Value) -> Seen {
        let mut before = Value::Null;
        if step["changes"] == true {
            before = self.call(&step["then"]).await?["content"][0]["text"].take();
        }
        let params = json!({"name": step["tool"], "arguments": arguments(step)});
        let running = self.ask::<CallTool>(&params);
        let wait = Duration::from_millis(step["after_ms"].as_u64().unwrap_or(200));
        if let Ok(early) = timeout(wait, running).await {
            return Ok(json!({"ended": "answered", "early": early?}));
        }
        loop {
            let then = self.call(&step["then"]).await?;
            if then["content"][0]["text"] != before {
                return Ok(json!({"ended": "given up", "then": then}));
            }
            sleep(LOOK).await;
        }
    }

    /// A call that the server goes on with by itself, and its result unless `cancel` says that it is given up.
    async fn task(&self, step: &Value) -> Seen {
        let arguments = Raw::trusted(arguments(step).to_string());
        let client = self.client()?;
        let called = client.call_tool_as_task(text(&step["tool"]), &arguments, Some(TASK));
        let Called::Task(task) = called.await? else {
            return Err(Fault::Other("it was answered at once".to_owned()));
        };
        let begun = seen(&task.look().await?.status)?;
        let mut result = json!({});
        if step["cancel"] == true {
            task.cancel().await?;
        } else {
            result = seen(&task.result(None).await?)?;
        }
        result["begun"] = begun;
        result["ended"] = seen(&task.look().await?.status)?;
        Ok(result)
    }

    /// The same call many times at once.
    async fn many(&self, step: &Value) -> Seen {
        let count = step["count"].as_u64().unwrap_or(10);
        let mut calls = JoinSet::new();
        for i in 0..count {
            let client = self.client()?.clone();
            let name = text(&step["tool"]).to_owned();
            let arguments = arguments(step).to_string().replace("{i}", &i.to_string());
            calls
                .spawn(async move { (i, client.call_tool(&name, &Raw::trusted(arguments)).await) });
        }
        let mut texts = vec![Value::Null; usize::try_from(count).unwrap_or_default()];
        while let Some(done) = calls.join_next().await {
            let (i, result) = done.map_err(|error| error.to_string())?;
            let text = seen(&result?)?["content"][0]["text"].take();
            if let Some(place) = usize::try_from(i).ok().and_then(|i| texts.get_mut(i)) {
                *place = text;
            }
        }
        Ok(json!({"texts": texts}))
    }

    /// Subscribed, a call brings a notice; no longer subscribed, it brings none.
    async fn subscribe(&self, step: &Value) -> Seen {
        let quiet = Duration::from_millis(step["quiet_ms"].as_u64().unwrap_or(200));
        let client = self.client()?;
        let uri = text(&step["uri"]).to_owned();
        let wanted = Wanted {
            resources: vec![uri.clone()],
            ..Wanted::default()
        };
        let mut changes = client.changes(wanted).await?;
        if !changes.told().resources.contains(&uri) {
            return Err(Fault::Other("the server does not tell of it".to_owned()));
        }
        let mut during = Vec::new();
        for _ in 0..step["times"].as_u64().unwrap_or(1) {
            self.call(&step["then"]).await?;
            during.extend(updated(changes.next().await?));
        }
        while let Ok(Some(heard)) = timeout(quiet, changes.next()).await.unwrap_or(Ok(None)) {
            during.extend(updated(Some(heard)));
        }
        changes.end().await?;
        self.call(&step["then"]).await?;
        let mut after = Vec::new();
        while let Ok(Some(note)) = timeout(quiet, client.notification()).await {
            if note.as_str().contains(UPDATED) {
                after.push(note);
            }
        }
        Ok(json!({"during": during, "after": after}))
    }

    /// Each call changes a list: a notice, and then the list is another.
    async fn changes(&self, step: &Value) -> Seen {
        let what = text(&step["what"]);
        let wanted = Wanted {
            lists: true,
            ..Wanted::default()
        };
        let mut changes = self.client()?.changes(wanted).await?;
        let mut lists = Vec::new();
        for made in step["calls"].as_array().into_iter().flatten() {
            self.call(made).await?;
            loop {
                match changes.next().await? {
                    Some(heard) if heard.change == Change::Tools => break,
                    Some(_) => {}
                    None => return Err(Fault::Other("the server tells no more".to_owned())),
                }
            }
            lists.push(self.list(what).await?["items"].take());
        }
        changes.end().await?;
        Ok(json!({"lists": lists}))
    }

    /// Has the server ended and started anew by whoever started it, and then calls it.
    async fn restart(&self, step: &Value) -> Seen {
        super::print(&json!({"step": step["name"], "need": "restart"}))
            .map_err(|error| error.to_string())?;
        let answered = tokio::task::spawn_blocking(|| {
            let mut line = String::new();
            io::stdin().lock().read_line(&mut line).map(|_| line)
        });
        let line = answered.await.map_err(|error| error.to_string())?;
        let line = line.map_err(|error| error.to_string())?;
        if line.trim() != "ready" {
            return Err(Fault::Other(format!("the server is not back: {line}")));
        }
        self.ended_or(self.call(&step["then"]).await)
    }

    /// The server ends in the middle of a call: that call fails at once, and so do those after it.
    async fn gone(&self, step: &Value) -> Seen {
        let first = self.ended_or(self.call(step).await)?;
        let second = self.ended_or(self.call(step).await)?;
        Ok(json!({"first": first, "second": second}))
    }

    fn ended_or(&self, seen: Seen) -> Seen {
        match seen {
            Err(Fault::Client(error)) if !matches!(error, ClientError::Refused(_)) => {
                Ok(json!({"fault": told(&error)}))
            }
            other => other,
        }
    }

    async fn close(&mut self) -> Seen {
        if let Some(listening) = self.listening.take() {
            listening.abort();
            // Aborted, that is how it ends.
            let _ = listening.await;
        }
        let client = self
            .client
            .take()
            .and_then(|client| Arc::try_unwrap(client).ok());
        let client = client.ok_or_else(|| Fault::Other("the client is still used".to_owned()))?;
        client.close().await;
        Ok(json!({}))
    }

    /// Asks in the types of the method, and shows the result as it is written again.
    async fn ask<M>(&self, params: &Value) -> Seen
    where
        M: Method,
        M::Params: Serialize + serde::de::DeserializeOwned,
        M::Result: Serialize + serde::de::DeserializeOwned,
    {
        let params: M::Params = serde_json::from_str(&params.to_string())?;
        seen(&self.client()?.request::<M>(&params).await?)
    }

    async fn raw(&self, method: &str, params: &Value, wait: Option<Wait>) -> Seen {
        let params = params.to_string();
        let result = self.client()?.request_raw(method, &params, wait).await?;
        Ok(serde_json::from_str(result.as_str())?)
    }
}

/// What a change of a resource is about.
fn updated(heard: Option<Heard>) -> Option<Value> {
    match heard?.change {
        Change::Updated(uri) => Some(json!({"uri": uri})),
        _ => None,
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn arguments(step: &Value) -> Value {
    match &step["arguments"] {
        Value::Null => json!({}),
        other => other.clone(),
    }
}

fn seen(value: &impl Serialize) -> Seen {
    Ok(serde_json::from_str(&serde_json::to_string(value)?)?)
}
