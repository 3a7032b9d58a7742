//! Servers that come, go and change while clients are connected, and those whose session all clients share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use polyport::client::{Change, Changes, Connect};
use polyport::model::ElicitResult;
use polyport::{
    Client, ClientError, Completer, Cx, Level, Raw, Revision, Revisions, Server, Service, TaskMode,
    Tool, Wait,
};
use polyport_gateway::{Gateway, Seen, Upstream};
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::{ERAS, client, listener, lists, more, names, resources, server, text};

const LONG: Duration = Duration::from_secs(20);

/// How often a server has been connected to.
#[derive(Clone, Default)]
struct Count(Arc<AtomicUsize>);

impl Count {
    fn now(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    fn of(&self, server: Server, name: &str, revision: Revision) -> Upstream {
        let connect = Connect::service(server.into_service());
        let count = self.0.clone();
        let opens = |text: &[u8]| {
            let text = String::from_utf8_lossy(text);
            text.contains("\"initialize\"") || text.contains("\"server/discover\"")
        };
        let connect = connect.tap(move |speaker, text| {
            if speaker == polyport::Speaker::Client && opens(text) {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        Upstream::new(name, connect.speaks(Revisions::NONE.with(revision)))
    }
}

/// A server, and what is told once it has ended.
fn ending(server: Server) -> (Server, Arc<Notify>) {
    let ended = Arc::new(Notify::new());
    let told = ended.clone();
    let server = server.on_shutdown(move || {
        told.notify_one();
        async {}
    });
    (server, ended)
}

async fn hears_of_tools(changes: &mut Changes<'_>) {
    let heard = async {
        loop {
            if changes.next().await.unwrap().unwrap().change == Change::Tools {
                return;
            }
        }
    };
    timeout(LONG, heard).await.unwrap();
}

async fn tools(client: &Client) -> Vec<String> {
    let tools = client.tools().await.unwrap();
    tools.iter().map(|tool| tool.name.to_string()).collect()
}

async fn called(client: &Client, tool: &str) -> Result<String, ClientError> {
    let result = client.call_tool(tool, &Raw::from_static("{}")).await?;
    let result = serde_json::to_value(&result).unwrap();
    Ok(text(&result).to_owned())
}

// req: S-GATE-RELOAD, BR-182
#[tokio::test]
async fn clients_hear_of_servers_that_come_and_go() {
    for theirs in ERAS {
        for ours in ERAS {
            let (count, others) = (Count::default(), Count::default());
            let one = count.of(server("a"), "one", theirs);
            let gateway = Gateway::new([one.clone()]);
            let handle = gateway.handle();
            let client = listener(gateway, ours).await;
            assert_eq!(
                tools(&client).await,
                ["same", "alpha"],
                "{ours} to {theirs}"
            );
            let mut changes = client.changes(lists()).await.unwrap();
            // One comes.
            let two = others.of(server("b"), "two", theirs);
            handle.replace([one.clone(), two.clone()]);
            hears_of_tools(&mut changes).await;
            let both = ["one__same", "alpha", "two__same", "beta"];
            assert_eq!(tools(&client).await, both, "{ours} to {theirs}");
            // What is said of one changes.
            handle.replace([one.clone().tools(Seen::all().deny(["same"]).unwrap()), two]);
            hears_of_tools(&mut changes).await;
            let three = ["alpha", "same", "beta"];
            while tools(&client).await != three {
                hears_of_tools(&mut changes).await;
            }
            assert_eq!(called(&client, "same").await.unwrap(), "b");
            // One goes.
            handle.replace([one]);
            while tools(&client).await != ["same", "alpha"] {
                hears_of_tools(&mut changes).await;
            }
            assert!(called(&client, "beta").await.is_err());
            // All go.
            handle.replace([]);
            while !tools(&client).await.is_empty() {
                hears_of_tools(&mut changes).await;
            }
            // Nobody was connected to twice.
            assert_eq!((count.now(), others.now()), (1, 1), "{ours} to {theirs}");
        }
    }
}

// req: S-GATE-RELOAD
#[tokio::test]
async fn a_call_that_runs_ends_as_it_would_have() {
    for theirs in ERAS {
        for ours in ERAS {
            let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
            let (begun, gone) = (started.clone(), go.clone());
            let slow = Tool::new("slow", "", move |_cx, (): ()| {
                let (begun, gone) = (begun.clone(), gone.clone());
                async move {
                    begun.notify_one();
                    gone.notified().await;
                    Ok("whole")
                }
            });
            let (slow, ended) = ending(Server::new("slow", "1").add_tool(slow));
            let count = Count::default();
            let slow = count.of(slow, "slow", theirs);
            let gateway = Gateway::new([slow.clone()]);
            let handle = gateway.handle();
            let client = client(gateway, ours).await;
            let none = json!({});
            let called = client.call("slow", &none);
            let change = async {
                timeout(LONG, started.notified()).await.unwrap();
                // What took its place has its connection, too, and goes as well.
                let one = count.of(server("a"), "one", theirs);
                handle.replace([slow.clone(), one.clone()]);
                let result = client.call("alpha", &json!({})).await.unwrap();
                assert_eq!(text(&result), "alpha");
                handle.replace([one]);
                let result = client.call("alpha", &json!({})).await.unwrap();
                assert_eq!(text(&result), "alpha");
                go.notify_one();
            };
            let (result, ()) = tokio::join!(called, change);
            assert_eq!(text(&result.unwrap()), "whole", "{ours} to {theirs}");
            // It is gone after that.
            timeout(LONG, ended.notified()).await.unwrap();
            assert!(client.call("slow", &json!({})).await.is_err());
        }
    }
}

// req: S-GATE-RELOAD
#[tokio::test]
async fn a_call_that_waits_for_answers_goes_on_where_it_asked() {
    for theirs in ERAS {
        for ours in ERAS {
            let (asks, ended) = ending(Server::new("asks", "1").add_tool(asking()));
            let count = Count::default();
            let asks = count.of(asks, "asks", theirs);
            let gateway = Gateway::new([asks.clone()]);
            let handle = gateway.handle();
            let service = Service::new(gateway);
            let connect = Connect::service(service.clone()).on_form(move |_| {
                // Others take its place while it waits, one after the other.
                handle.replace([asks.clone(), count.of(server("a"), "one", theirs)]);
                handle.replace([]);
                async { ElicitResult::accept(None) }
            });
            let client = connect.speaks(Revisions::NONE.with(ours));
            let client = client.connect().await.unwrap();
            let answer = called(&client, "ask").await.unwrap();
            assert!(answer.contains("Given"), "{ours} to {theirs}: {answer}");
            timeout(LONG, ended.notified()).await.unwrap();
            let unknown = called(&client, "ask").await.unwrap_err();
            assert!(unknown.to_string().contains("Unknown tool"), "{unknown}");
        }
    }
}

// req: S-GATE-RELOAD
#[tokio::test]
async fn whoever_leaves_without_an_answer_keeps_nothing_alive() {
    let theirs = ERAS[1];
    for ours in ERAS {
        let (asks, ended) = ending(Server::new("asks", "1").add_tool(asking()));
        let gateway = Gateway::new([Count::default().of(asks, "asks", theirs)]);
        let handle = gateway.handle();
        let asked = Arc::new(Notify::new());
        let tells = asked.clone();
        let connect = Connect::service(Service::new(gateway)).on_form(move |_| {
            tells.notify_one();
            std::future::pending()
        });
        let client = connect.speaks(Revisions::NONE.with(ours));
        let client = client.connect().await.unwrap();
        let call = tokio::spawn(async move {
            let _ = called(&client, "ask").await;
        });
        timeout(LONG, asked.notified()).await.unwrap();
        handle.replace([]);
        // The client goes, and its end of the gateway with it.
        call.abort();
        let _ = call.await;
        timeout(LONG, ended.notified()).await.unwrap();
    }
}

// req: S-GATE-RELOAD
#[tokio::test]
async fn a_server_that_is_started_anew_keeps_its_subscriptions() {
    for theirs in ERAS {
        for ours in ERAS {
            let (first, second) = (server("a"), server("a"));
            let (_, updates) = (first.handle(), second.handle());
            let count = Count::default();
            let gateway = Gateway::new([count.of(first, "one", theirs)]);
            let handle = gateway.handle();
            let client = listener(gateway, ours).await;
            client.resources().await.unwrap();
            let mut changes = client.changes(resources(["x://alpha"])).await.unwrap();
            handle.replace([count.of(second, "one", theirs)]);
            // It may have changed meanwhile: that is told once it is subscribed to there.
            let updated = Change::Updated("x://alpha".to_owned());
            for _ in 0..2 {
                let heard =
                    async { while changes.next().await.unwrap().unwrap().change != updated {} };
                timeout(LONG, heard).await.unwrap();
                updates.resource_updated("x://alpha");
            }
            assert_eq!(count.now(), 2, "{ours} to {theirs}");
        }
    }
}

// req: S-GATE-RELOAD
#[tokio::test]
async fn a_resource_is_told_of_under_the_address_that_was_asked_for() {
    for theirs in ERAS {
        for ours in ERAS {
            let one = server("a");
            let updates = one.handle();
            let count = Count::default();
            let both = [
                count.of(one, "one", theirs),
                count.of(server("b"), "two", theirs),
            ];
            let gateway = Gateway::new(both.clone());
            let handle = gateway.handle();
            let client = listener(gateway, ours).await;
            let listed = client.resources().await.unwrap();
            let shown = listed.iter().map(|it| it.uri.to_string());
            let shown = shown
                .filter(|uri| uri.ends_with("x://same"))
                .collect::<Vec<_>>();
            let [first, _] = &shown[..] else {
                panic!("{shown:?}");
            };
            let mut changes = client.changes(resources([first])).await.unwrap();
            let [one, two] = both;
            handle.replace([one, two, count.of(server("c"), "three", theirs)]);
            // Of a server that has come it is not told.
            while tools(&client).await.len() < 5 {}
            for _ in 0..3 {
                updates.resource_updated("x://same");
                let heard = timeout(LONG, changes.next()).await.unwrap();
                let heard = heard.unwrap().unwrap().change;
                assert_eq!(heard, Change::Updated(first.clone()), "{ours} to {theirs}");
            }
        }
    }
}

// req: S-GATE-COMMON
#[tokio::test]
async fn a_task_where_all_share_a_session_is_waited_for() {
    for theirs in ERAS {
        for ours in ERAS {
            let tool = Tool::new("slow", "", |_cx, (): ()| async { Ok("done") });
            let shared = Server::new("a", "1").add_tool(tool.task(TaskMode::Optional));
            let one = Count::default().of(shared, "one", theirs).in_common();
            let client = listener(Gateway::new([one]), ours).await;
            let result = client.request_raw("tools/call", r#"{"name":"slow"}"#, None);
            let result = result.await.unwrap();
            assert!(
                result.as_str().contains("done"),
                "{ours} to {theirs}: {result:?}"
            );
            assert!(
                !result.as_str().contains("taskId"),
                "{ours} to {theirs}: {result:?}"
            );
        }
    }
}

/// A tool that says whether it could ask.
fn asking() -> Tool {
    Tool::new("ask", "", |cx: Cx, (): ()| async move {
        let asked = cx.elicit_schema("who", "Who?", json!({"type": "object", "properties": {}}));
        Ok(match asked.answer().await {
            Ok(answer) => format!("{answer:?}"),
            Err(error) => format!("{error}"),
        })
    })
}

// req: S-GATE-COMMON
#[tokio::test]
async fn all_clients_share_one_session() {
    for theirs in ERAS {
        for ours in ERAS {
            let count = Count::default();
            let shared = server("a").add_tool(asking());
            let handle = shared.handle();
            let one = count.of(shared, "one", theirs).in_common();
            let service = Service::new(Gateway::new([one]));
            let mut clients = Vec::new();
            for n in 0..3 {
                let connect = Connect::service(service.clone());
                let connect = connect.named(&format!("client-{n}"), "1");
                let connect = connect.on_form(|_| async { ElicitResult::accept(None) });
                let connect = connect.speaks(Revisions::NONE.with(ours));
                clients.push(connect.connect().await.unwrap());
            }
            let mut listening = Vec::new();
            for client in &clients {
                assert_eq!(called(client, "alpha").await.unwrap(), "alpha");
                // Whom would it ask?
                let answer = called(client, "ask").await.unwrap();
                assert!(!answer.contains("Given"), "{answer}");
                listening.push(client.changes(lists()).await.unwrap());
            }
            let resources = &clients[0].opened().capabilities.resources;
            assert_eq!(resources.as_ref().and_then(|it| it.subscribe), None);
            handle.add_tool(more("more")).unwrap();
            for (client, changes) in clients.iter().zip(&mut listening) {
                hears_of_tools(changes).await;
                assert!(tools(client).await.contains(&"more".to_owned()));
            }
            drop(listening);
            // One that leaves takes it from nobody.
            let last = clients.pop().unwrap();
            for client in clients {
                client.close().await;
            }
            assert_eq!(called(&last, "same").await.unwrap(), "a");
            assert_eq!(count.now(), 1, "{ours} to {theirs}");
        }
    }
}

// req: S-GATE-COMMON, S-GATE-RELOAD
#[tokio::test]
async fn a_session_that_is_shared_goes_on_when_others_change() {
    let [theirs, ours] = ERAS;
    let count = Count::default();
    let one = count.of(server("a"), "one", theirs).in_common();
    let gateway = Gateway::new([one.clone()]);
    let handle = gateway.handle();
    let client = client(gateway, ours).await;
    client.call("alpha", &json!({})).await.unwrap();
    let other = Count::default();
    handle.replace([one, other.of(server("b"), "two", theirs).in_common()]);
    let list = client.request("tools/list", &json!({})).await.unwrap();
    assert_eq!(
        names(&list["tools"], "name"),
        ["one__same", "alpha", "two__same", "beta"]
    );
    assert_eq!((count.now(), other.now()), (1, 1));
}

/// What completes argument `x` of prompt `same` as a server sees it.
async fn completed(client: &Client, prompt: &str) -> serde_json::Value {
    let reference = json!({"type": "ref/prompt", "name": prompt});
    let params = json!({"ref": reference, "argument": {"name": "x", "value": ""}}).to_string();
    let result = client.request_raw("completion/complete", &params, None);
    let result: serde_json::Value = result.await.unwrap().decode().unwrap();
    result["completion"]["values"].clone()
}

/// A legacy client is told once what there is.
// req: S-GATE-RELOAD
#[tokio::test]
async fn a_server_that_comes_may_complete_and_log_for_clients_that_are_there() {
    for theirs in ERAS {
        for ours in ERAS {
            let count = Count::default();
            let one = count.of(server("a"), "one", theirs);
            let gateway = Gateway::new([one.clone()]);
            let handle = gateway.handle();
            let client = listener(gateway, ours).await;
            let declared = &client.opened().capabilities;
            assert!(declared.completions.is_some() && declared.logging.is_some());
            assert_eq!(completed(&client, "same").await, json!([]));
            if ours == ERAS[0] {
                let level = json!({"level": "info"}).to_string();
                let set = client.request_raw("logging/setLevel", &level, None).await;
                set.unwrap();
            }
            let logs = Tool::new("logs", "", |cx: Cx, (): ()| async move {
                cx.log(Level::Warning, "at work");
                Ok("logged")
            });
            let completes = Completer::of_prompt("same", "x", |_cx, _, _| async {
                Ok(vec!["done".to_owned()])
            });
            let two = server("b").add_tool(logs).completer(completes);
            handle.replace([one, count.of(two, "two", theirs)]);
            let tools = client.tools().await.unwrap();
            assert!(tools.iter().any(|tool| &*tool.name == "logs"));
            client.prompts().await.unwrap();
            assert_eq!(completed(&client, "two__same").await, json!(["done"]));
            assert_eq!(completed(&client, "one__same").await, json!([]));
            let wait = Wait {
                logs: Some(Level::Info),
                ..Wait::default()
            };
            let call = json!({"name": "logs"}).to_string();
            let called = client.request_raw("tools/call", &call, Some(wait)).await;
            called.unwrap();
            let heard = async {
                while !client
                    .notification()
                    .await
                    .unwrap()
                    .as_str()
                    .contains("at work")
                {}
            };
            timeout(LONG, heard).await.unwrap();
        }
    }
}
