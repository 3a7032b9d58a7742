//! Fifty clients of both eras at five servers at once: what belongs to one of them reaches that one, and nobody else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use polyport::client::{Called, Change, Changes, Connect, Wanted};
use polyport::model::{Content, CreateMessageResult, ElicitResult};
use polyport::serde::Deserialize;
use polyport::{
    Client, Cx, Level, OnProgress, Raw, Resource, Revision, Revisions, Server, ServerHandle,
    Service, Speaker, TaskMode, Tool, ToolError, Wait,
};
use polyport_gateway::{Gateway, Upstream};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::text;

const CLIENTS: usize = 50;
/// What the servers speak; each of the first two eras is there more than once.
const SERVERS: [Revision; 5] = [
    Revision::V2025_06_18,
    Revision::V2025_11_25,
    Revision::V2026_07_28,
    Revision::V2025_11_25,
    Revision::V2026_07_28,
];
const LONG: Duration = Duration::from_secs(600);

#[derive(Deserialize, polyport::schemars::JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Tag {
    tag: String,
}

/// What a server has seen, by what tells clients apart.
#[derive(Clone, Default)]
struct Seen {
    /// How often a session was opened.
    opened: Arc<Mutex<usize>>,
    hanging: Arc<Mutex<BTreeSet<String>>>,
    given_up: Arc<Mutex<BTreeSet<String>>>,
    go: Arc<Notify>,
}

/// Notes that a call was dropped before its end.
struct Hangs(String, Seen, bool);

impl Drop for Hangs {
    fn drop(&mut self) {
        self.1.hanging.lock().unwrap().remove(&self.0);
        if !self.2 {
            self.1.given_up.lock().unwrap().insert(self.0.clone());
        }
    }
}

/// A server that asks, tells, logs, waits, and has a resource for each client.
fn asking(n: usize, seen: &Seen) -> Server {
    let hangs = seen.clone();
    let form = json!({"type": "object", "properties": {"who": {"type": "string"}}});
    let work = Tool::new("work", "", move |cx: Cx, given: Tag| {
        let form = form.clone();
        async move {
            let tag = format!("{}@{n}", given.tag);
            cx.progress_of(1.0, 2.0, &tag);
            cx.log(Level::Warning, &tag);
            let form = cx.elicit_schema("form", &tag, form).await?;
            let said = cx.sample_text("said", &tag, 10).await?;
            let name = cx.client().map(|client| client.name).unwrap_or_default();
            let who = form["who"].as_str().unwrap_or_default().to_owned();
            Ok::<_, ToolError>(format!("{tag} {who} {said} {name}"))
        }
    });
    let hang = Tool::new("hang", "", move |_cx: Cx, given: Tag| {
        let seen = hangs.clone();
        async move {
            let go = seen.go.clone();
            let mut hangs = Hangs(given.tag.clone(), seen.clone(), false);
            seen.hanging.lock().unwrap().insert(given.tag.clone());
            go.notified().await;
            hangs.2 = true;
            Ok(given.tag)
        }
    });
    let slow = Tool::new("slow", "", |_cx: Cx, given: Tag| async move {
        sleep(Duration::from_secs(3)).await;
        Ok(given.tag)
    });
    let mut server = Server::new(format!("s{n}"), "1");
    for tool in [work, hang, slow.task(TaskMode::Optional)] {
        server = server.add_tool(tool);
    }
    for client in 0..CLIENTS {
        let uri = format!("of://{n}/{client}");
        server = server.add_resource(Resource::new(uri, "r", |_cx| async { Ok("r") }));
    }
    server
}

/// A client, and what it has heard.
struct Guest {
    name: String,
    client: Client,
    /// What servers have asked it.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Guest {
    /// Every other client is a modern one. All of them are of one program but for the version.
    async fn comes(n: usize, service: Service) -> Self {
        let name = format!("c{n:02}");
        let revision = if n.is_multiple_of(2) {
            Revision::V2025_11_25
        } else {
            Revision::V2026_07_28
        };
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let (forms, samples) = (asked.clone(), asked.clone());
        let (who, said) = (name.clone(), name.clone());
        let client = Connect::service(service)
            .named(&name, "1")
            .speaks(Revisions::NONE.with(revision))
            .on_form(move |form| {
                forms.lock().unwrap().push(form.message);
                let content = json!({"who": format!("form-{who}")});
                async move { ElicitResult::accept(serde_json::from_value(content).ok()) }
            })
            .on_sample(move |sample| {
                let asked = serde_json::to_value(&sample.messages).unwrap();
                let text = asked[0]["content"]["text"].as_str().unwrap_or_default();
                samples.lock().unwrap().push(text.to_owned());
                let content = Content::text(format!("said-{said}"));
                async move { Ok(CreateMessageResult::new("m", content)) }
            });
        let client = client.connect().await.unwrap();
        if n.is_multiple_of(2) {
            let level = json!({"level": "info"}).to_string();
            let set = client.request_raw("logging/setLevel", &level, None);
            set.await.unwrap();
        }
        Self {
            name,
            client,
            asked,
        }
    }

    fn arguments(&self, tool: &str, server: usize) -> String {
        json!({"name": format!("s{server}__{tool}"), "arguments": {"tag": self.name}}).to_string()
    }

    /// A call in which everything happens that can.
    async fn works(&self, server: usize) {
        let told = Arc::<Mutex<Vec<Option<String>>>>::default();
        let hears = told.clone();
        let progress: OnProgress = Arc::new(move |it| hears.lock().unwrap().push(it.message));
        let wait = Wait {
            progress: Some(progress),
            logs: Some(Level::Info),
            ..Wait::default()
        };
        let call = self.arguments("work", server);
        let called = self.client.request_raw("tools/call", &call, Some(wait));
        let result: Value = called.await.unwrap().decode().unwrap();
        let name = &self.name;
        let want = format!("{name}@{server} form-{name} said-{name} {name}");
        assert_eq!(text(&result), want, "{result}");
        let told = told.lock().unwrap();
        let own = Some(format!("{name}@{server}"));
        assert!(
            !told.is_empty() && told.iter().all(|it| *it == own),
            "{name}: {told:?}"
        );
    }

    /// The logs that have come.
    async fn logs(&self) -> BTreeSet<String> {
        let mut logs = BTreeSet::new();
        while let Ok(Some(note)) = timeout(Duration::from_secs(2), self.client.notification()).await
        {
            let note: Value = note.decode().unwrap();
            if note["method"] == "notifications/message" {
                logs.insert(
                    note["params"]["data"]
                        .as_str()
                        .unwrap_or_default()
                        .to_owned(),
                );
            }
        }
        logs
    }

    async fn listens(&self, server: usize, number: usize) -> Changes<'_> {
        let wanted = Wanted {
            resources: vec![format!("of://{server}/{number}")],
            ..Wanted::default()
        };
        self.client.changes(wanted).await.unwrap()
    }
}

async fn together<F: Future<Output = ()> + Send + 'static>(all: impl Iterator<Item = F>) {
    let mut running: JoinSet<()> = all.collect();
    while let Some(ended) = running.join_next().await {
        ended.unwrap();
    }
}

/// Servers behind one gateway, what they see, and clients of it.
async fn crowd() -> (Vec<Seen>, Vec<ServerHandle>, Vec<Arc<Guest>>) {
    let (mut seen, mut handles, mut upstreams) = (Vec::new(), Vec::new(), Vec::new());
    for (n, revision) in SERVERS.into_iter().enumerate() {
        let sees = Seen::default();
        let server = asking(n, &sees);
        handles.push(server.handle());
        let opened = sees.opened.clone();
        let connect = Connect::service(server.into_service()).tap(move |who, text| {
            let text = String::from_utf8_lossy(text);
            let opens = text.contains("\"initialize\"") || text.contains("\"server/discover\"");
            *opened.lock().unwrap() += usize::from(who == Speaker::Client && opens);
        });
        let connect = connect.speaks(Revisions::NONE.with(revision));
        upstreams.push(Upstream::new(format!("s{n}"), connect));
        seen.push(sees);
    }
    let service = Service::new(Gateway::new(upstreams));
    let mut coming = JoinSet::new();
    for n in 0..CLIENTS {
        coming.spawn(Guest::comes(n, service.clone()));
    }
    let mut guests: Vec<_> = coming.join_all().await.into_iter().map(Arc::new).collect();
    guests.sort_by(|a, b| a.name.cmp(&b.name));
    (seen, handles, guests)
}

// req: V-310, BR-188
#[tokio::test(start_paused = true)]
async fn v_310_br_188_what_a_call_says_and_asks_is_its_clients() {
    let (seen, _handles, guests) = crowd().await;
    // Twice, since what is asked in a first call must not be what a second one is asked by.
    for _ in 0..2 {
        let all = guests.iter().map(|guest| {
            let guest = guest.clone();
            async move {
                for server in 0..SERVERS.len() {
                    guest.works(server).await;
                }
            }
        });
        together(all).await;
    }
    for guest in &guests {
        let want: BTreeSet<_> = (0..SERVERS.len())
            .map(|n| format!("{}@{n}", guest.name))
            .collect();
        assert_eq!(guest.logs().await, want, "{}", guest.name);
        let mut count = BTreeMap::<String, usize>::new();
        for asked in guest.asked.lock().unwrap().iter() {
            *count.entry(asked.clone()).or_default() += 1;
        }
        // Each form and each message to a model once in each round.
        assert_eq!(count.keys().cloned().collect::<BTreeSet<_>>(), want);
        assert!(
            count.values().all(|times| *times == 4),
            "{}: {count:?}",
            guest.name
        );
    }
    for (seen, revision) in seen.iter().zip(SERVERS) {
        assert_eq!(
            *seen.opened.lock().unwrap(),
            CLIENTS,
            "{revision}: a session for each"
        );
    }
}

// req: V-310
#[tokio::test(start_paused = true)]
async fn v_310_who_gives_a_call_up_ends_his_own() {
    let (seen, _handles, guests) = crowd().await;
    let (mut waiting, mut leaving) = (JoinSet::new(), JoinSet::new());
    for (n, guest) in guests.iter().enumerate() {
        let guest = guest.clone();
        let calling = async move {
            let server = n % SERVERS.len();
            let call = guest.arguments("hang", server);
            let called = guest.client.request_raw("tools/call", &call, None).await;
            let result: Value = called.unwrap().decode().unwrap();
            assert_eq!(text(&result), guest.name);
        };
        // Of both eras some.
        if n / 2 % 2 == 0 {
            waiting.spawn(calling);
        } else {
            leaving.spawn(calling);
        }
    }
    let hanging = || -> usize { seen.iter().map(|it| it.hanging.lock().unwrap().len()).sum() };
    let all = async {
        while hanging() < CLIENTS {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LONG, all).await.unwrap();
    leaving.shutdown().await;
    sleep(Duration::from_secs(5)).await;
    for (server, seen) in seen.iter().enumerate() {
        let gone = (0..CLIENTS).filter(|n| n % SERVERS.len() == server && n / 2 % 2 == 1);
        let gone: BTreeSet<_> = gone.map(|n| guests[n].name.clone()).collect();
        assert_eq!(*seen.given_up.lock().unwrap(), gone, "at server {server}");
        seen.go.notify_waiters();
    }
    while let Some(ended) = timeout(LONG, waiting.join_next()).await.unwrap() {
        ended.unwrap();
    }
}

// req: V-310
#[tokio::test(start_paused = true)]
async fn v_310_changes_are_told_to_who_wants_to_hear_of_them() {
    let (_seen, handles, guests) = crowd().await;
    let mut listening = Vec::new();
    for (n, guest) in guests.iter().enumerate() {
        listening.push(guest.listens(n % SERVERS.len(), n).await);
    }
    for n in (0..CLIENTS).rev() {
        for (server, handle) in handles.iter().enumerate() {
            handle.resource_updated(&format!("of://{server}/{n}"));
        }
    }
    for (n, changes) in listening.iter_mut().enumerate() {
        let heard = timeout(LONG, changes.next()).await.unwrap().unwrap();
        let own = Change::Updated(format!("of://{}/{n}", n % SERVERS.len()));
        assert_eq!(heard.unwrap().change, own);
        let more = timeout(Duration::from_secs(5), changes.next()).await;
        assert!(more.is_err(), "{n} hears {more:?}");
    }
}

// req: V-310
#[tokio::test(start_paused = true)]
async fn v_310_a_task_is_its_clients() {
    let (_seen, _handles, guests) = crowd().await;
    // Servers whose form of tasks the client's revision has, too: one of each era.
    let server = |n: usize| if n.is_multiple_of(2) { 1 } else { 2 };
    let mut tasks = Vec::new();
    for (n, guest) in guests.iter().enumerate() {
        let tag = Raw::encode(&json!({"tag": guest.name})).unwrap();
        let tool = format!("s{}__slow", server(n));
        let called = guest.client.call_tool_as_task(&tool, &tag, None).await;
        let Ok(Called::Task(task)) = called else {
            panic!("{}: {called:?}", guest.name);
        };
        tasks.push(task);
    }
    let ids: BTreeSet<_> = tasks.iter().map(|task| task.id().to_owned()).collect();
    assert_eq!(ids.len(), CLIENTS, "no two are the same");
    // In the legacy era a task is its session's, and a list shows it to nobody else.
    for (n, guest) in guests.iter().enumerate().step_by(2) {
        let listed = guest.client.request_raw("tasks/list", "{}", None).await;
        let listed: Value = listed.unwrap().decode().unwrap();
        let listed: Vec<_> = listed["tasks"].as_array().unwrap().iter().collect();
        assert_eq!(listed.len(), 1, "{}: {listed:?}", guest.name);
        assert_eq!(listed[0]["taskId"], tasks[n].id());
        let other = &tasks[(n + 2) % CLIENTS];
        for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
            let params = json!({"taskId": other.id()}).to_string();
            let foreign = guest.client.request_raw(method, &params, None).await;
            let foreign = foreign.unwrap_err().to_string();
            assert!(foreign.contains("-32602"), "{method}: {foreign}");
        }
    }
    for (guest, task) in guests.iter().zip(&tasks) {
        let result = task.result(None).await.unwrap();
        let result = serde_json::to_value(&result).unwrap();
        assert_eq!(text(&result), guest.name);
    }
}
