//! Tasks of which a server says what nobody can read, or says it of another: in both forms.

use std::sync::Mutex;

use polyport::client::{Client, Connect, Target};
use polyport::{ClientError, Era, Revisions};
use polyport_testkit::Web;
use polyport_testkit::web::{Asked, Reply};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::*;

/// Only what hangs takes so long.
const HANGS: Duration = Duration::from_secs(30);

/// What a member is to be said as; none: it is left out.
type Change = (&'static str, Option<Value>);

/// A task in the words of the extension or of the core, but for one member.
fn task(era: Era, status: &str, (name, value): &Change) -> Value {
    let mut task = json!({"taskId": "t-1", "status": status, "createdAt": "2026-01-01T00:00:00Z",
        "lastUpdatedAt": "2026-01-01T00:00:00Z"});
    let life = if era == Era::Modern { "ttlMs" } else { "ttl" };
    task[life] = Value::Null;
    if status == "completed" && era == Era::Modern {
        task["result"] = json!({"content": []});
    }
    match value {
        Some(value) => task[*name] = value.clone(),
        None => drop(task.as_object_mut().unwrap().remove(*name)),
    }
    task
}

/// A server whose calls become tasks, said as it is told.
async fn serves(era: Era, said: &Arc<Mutex<(Change, Change)>>) -> (Web, Client) {
    let (ended, _) = unbounded_channel();
    serves_until(era, said, ended).await
}

/// The same, which tells of the tasks that are given up.
async fn serves_until(
    era: Era,
    said: &Arc<Mutex<(Change, Change)>>,
    ended: UnboundedSender<Value>,
) -> (Web, Client) {
    let said = said.clone();
    let web = Web::serve(move |asked: &Asked| {
        let message = asked.message();
        let method = message["method"].as_str().unwrap_or_default();
        let (created, got) = said.lock().unwrap().clone();
        if method == "tasks/cancel" {
            let _ = ended.send(message["params"]["taskId"].clone());
        }
        let mut result = match method {
            "tools/call" if era == Era::Modern => {
                let mut task = task(era, "working", &created);
                task["resultType"] = json!("task");
                task
            }
            "tools/call" => json!({"task": task(era, "working", &created)}),
            "tasks/get" => task(era, "completed", &got),
            "tasks/result" => json!({"content": []}),
            "" => return Reply::empty("405 Method Not Allowed"),
            _ if method.starts_with("notifications/") => return Reply::empty("202 Accepted"),
            _ => {
                json!({"supportedVersions": [Revision::LATEST.name()], "protocolVersion": Revision::LATEST_LEGACY.name(),
                "serverInfo": {"name": "s", "version": "1"}, "tools": [], "ttlMs": 0, "cacheScope": "private",
                "capabilities": {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}},
                    "extensions": {"io.modelcontextprotocol/tasks": {}}}})
            }
        };
        if era == Era::Modern && result["resultType"].is_null() {
            result["resultType"] = json!("complete");
        }
        Reply::json(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
    })
    .await;
    let connect = Connect::http(Target::new(&web.url("/mcp")).unwrap());
    let connect = connect.speaks(Revisions::of(era));
    (web, connect.connect().await.unwrap())
}

/// What is said of a member, and what is wrong with that; none: nothing.
fn changes(era: Era) -> Vec<(Change, Option<String>)> {
    let (life, pause) = match era {
        Era::Modern => ("ttlMs", "pollIntervalMs"),
        Era::Legacy => ("ttl", "pollInterval"),
    };
    let millis = "neither a whole number of milliseconds nor null";
    let sound = [
        ("more", None),
        (pause, Some(json!("soon"))),
        (pause, Some(json!(-7))),
        (pause, Some(json!(1.5))),
        (pause, Some(json!(1e300))),
        (pause, Some(json!({"ms": 1}))),
        (pause, Some(Value::Null)),
    ];
    let missing = ["taskId", "status", life, "createdAt"].map(|name| {
        let want = format!("has no {name}");
        ((name, None), Some(want))
    });
    let odd = [
        ("taskId", json!(7), "no text"),
        ("status", json!("resting"), "none that a task may have"),
        (life, json!("an hour"), millis),
        (life, json!(0.5), millis),
        ("lastUpdatedAt", json!(0), "no text"),
        ("statusMessage", json!(["x"]), "neither a text nor null"),
        ("_meta", json!(1), "no object"),
    ];
    let odd = odd.map(|(name, value, why)| {
        let want = format!("has the {name} {value}, which is {why}");
        ((name, Some(value)), Some(want))
    });
    let sound = sound.map(|change| (change, None));
    sound.into_iter().chain(missing).chain(odd).collect()
}

/// What is wrong with a task is said of the member with which it is wrong, wherever the task is said; a wish is left out.
// req: T-MALFORMED
#[tokio::test]
async fn what_cannot_be_read_of_a_task_is_named() {
    const SOUND: Change = ("more", None);
    for era in [Era::Modern, Era::Legacy] {
        let said = Arc::new(Mutex::new((SOUND, SOUND)));
        let (_web, client) = serves(era, &said).await;
        for ((name, value), want) in changes(era) {
            let change = (name, value);
            let shown = format!("{era:?} {change:?}");
            for (created, got) in [(change.clone(), SOUND), (SOUND, change)] {
                let is_created = got.0 == "more" && got.1.is_none();
                *said.lock().unwrap() = (created, got);
                let called = match era {
                    Era::Modern => client.call_tool("any", &Raw::from_static("{}")).await,
                    Era::Legacy => match client.call_as_task_raw(r#"{"name":"any"}"#, None).await {
                        Ok(raw) => Ok(raw.decode().unwrap()),
                        Err(error) => Err(error),
                    },
                };
                let looked = client.task("t-1").look().await.map(drop);
                // The older form looks at it only to see that it is there.
                let of_call = if is_created || era == Era::Modern {
                    want.as_ref()
                } else {
                    None
                };
                let of_look = if is_created { None } else { want.as_ref() };
                for (got, want) in [(called.map(drop), of_call), (looked, of_look)] {
                    match (got, want) {
                        (Ok(()), None) => {}
                        (Err(ClientError::Unreadable(why)), Some(want)) => {
                            assert_eq!(why, format!("the task {want}"), "{shown}");
                        }
                        (other, want) => panic!("{shown}: {other:?}, {want:?}"),
                    }
                }
            }
        }
        client.close().await;
    }
}

/// A state of another task says nothing of this one, and its id is not told on.
// req: T-OTHER
#[tokio::test]
async fn the_state_of_another_task_is_not_taken() {
    for era in [Era::Modern, Era::Legacy] {
        for other in ["t-2", "", "T-1", "t-1 "] {
            let sound = ("more", None);
            let said = Arc::new(Mutex::new((sound, ("taskId", Some(json!(other))))));
            let (_web, client) = serves(era, &said).await;
            let task = client.task("t-1");
            let mut ends = vec![task.look().await.map(drop)];
            if era == Era::Modern {
                ends.push(task.result(None).await.map(drop));
                let called = client.call_tool("any", &Raw::from_static("{}")).await;
                ends.push(called.map(drop));
            }
            for end in ends {
                match end {
                    Err(ClientError::Unreadable(why)) => {
                        assert!(why.contains("another task") && !why.contains("t-"), "{why}");
                    }
                    other => panic!("{era:?}: {other:?}"),
                }
            }
        }
    }
}

/// A task of which nobody can read how it stands runs for nobody.
// req: T-MALFORMED-ENDED
#[tokio::test]
async fn a_task_that_cannot_be_read_is_given_up() {
    for era in [Era::Modern, Era::Legacy] {
        let sound = ("more", None);
        let said = Arc::new(Mutex::new((sound.clone(), sound.clone())));
        let (ended, mut endings) = unbounded_channel();
        let (_web, client) = serves_until(era, &said, ended).await;
        for ((name, value), want) in changes(era) {
            let shown = format!("{era:?} {name} {value:?}");
            *said.lock().unwrap() = ((name, value), sound.clone());
            let called = match era {
                Era::Modern => client
                    .call_tool("any", &Raw::from_static("{}"))
                    .await
                    .map(drop),
                Era::Legacy => {
                    let called = client.call_as_task_raw(r#"{"name":"any"}"#, None);
                    called.await.map(drop)
                }
            };
            assert_eq!(called.is_err(), want.is_some(), "{shown}: {called:?}");
            // Without its id nothing can be said of it.
            if want.is_some() && name != "taskId" {
                let ended = tokio::time::timeout(HANGS, endings.recv()).await;
                assert_eq!(ended.unwrap(), Some(json!("t-1")), "{shown}");
            }
        }
        client.close().await;
        assert!(endings.try_recv().is_err(), "{era:?}: another was given up");
    }
}
