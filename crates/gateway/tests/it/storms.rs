//! Servers that say all the time that something has changed, configurations that change all the time, and servers that are waited for in
//! vain.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use polyport::client::{Change, Connect, Target};
use polyport::{Client, Cx, Raw, Revision, Revisions, Tool};
use polyport_gateway::{Gateway, Seen, Upstream};
use polyport_testkit::Web;
use polyport_testkit::web::{Reply, Then};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use crate::faults::as_usual;
use crate::{ERAS, changing, client, listener, lists, more, server, text, upstream};

const LISTS: [&str; 3] = ["tools", "prompts", "resources"];

/// So many words that each list has changed, as events.
fn storm(words: usize, of: &str) -> String {
    let mut text = String::new();
    for n in 0..words {
        let list = LISTS[n % LISTS.len()];
        text.push_str(&format!(
            "data: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/{list}/list_changed\"{of}}}\n\n"
        ));
    }
    text
}

/// A server that says ten thousand times that its lists have changed, to whoever listens; and so again after each list, if it `loops`.
async fn stormy(loops: bool) -> Web {
    Web::serve(move |asked| {
        let message = asked.message();
        match (asked.method.as_str(), message["method"].as_str()) {
            ("GET", _) => Reply::events("", &storm(10_000, ""), Then::Silence),
            (_, Some("subscriptions/listen")) => {
                let id = &message["id"];
                let of = format!(
                    ",\"params\":{{\"_meta\":{{\"io.modelcontextprotocol/subscriptionId\":{id}}}}}"
                );
                let taken = json!({
                    "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                    "params": {"notifications": {"toolsListChanged": true}, "_meta": {"io.modelcontextprotocol/subscriptionId": id}},
                });
                let text = format!("data: {taken}\n\n{}", storm(10_000, &of));
                Reply::events("", &text, Then::Silence)
            }
            (_, Some("server/discover")) => {
                let found = json!({
                    "resultType": "complete", "supportedVersions": ["2026-07-28"],
                    "capabilities": {"tools": {"listChanged": true}},
                });
                Reply::json(&json!({"jsonrpc": "2.0", "id": message["id"], "result": found}))
            }
            (_, Some("tools/list")) if loops => {
                let tools = json!({"tools": [], "resultType": "complete"});
                let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": tools});
                let text = format!("{}data: {answer}\n\n", storm(30, ""));
                Reply::events("", &text, Then::End)
            }
            _ => as_usual(asked, "s"),
        }
    })
    .await
}

async fn listening(web: &Web, theirs: Revision, ours: Revision) -> Client {
    let connect = Connect::http(Target::new(&web.url("/mcp")).unwrap());
    let connect = connect.speaks(Revisions::NONE.with(theirs));
    let gateway = Gateway::new([
        Upstream::new("storm", connect),
        upstream(server("a"), "calm", theirs),
    ]);
    listener(gateway, ours).await
}

/// A client that looks at the list whenever it is told to, for a while: how often it was told, and how often the server was asked.
async fn follows(loops: bool, theirs: Revision, ours: Revision) -> (usize, usize) {
    let web = stormy(loops).await;
    let client = listening(&web, theirs, ours).await;
    let mut changes = client.changes(lists()).await.unwrap();
    let mut told = 0;
    let none = Raw::from_static("{}");
    let looks = async {
        loop {
            let change = changes.next().await.unwrap().unwrap().change;
            if change != Change::Tools {
                continue;
            }
            told += 1;
            client.request_raw("tools/list", "{}", None).await.unwrap();
            client.call_tool("alpha", &none).await.unwrap();
        }
    };
    let _ = timeout(Duration::from_secs(3), looks).await;
    let asked = web.heard().iter().filter(|it| *it == "tools/list").count();
    (told, asked)
}

// req: V-413
#[tokio::test]
async fn v_413_a_storm_of_changes_is_a_few_changes() {
    let mut running = tokio::task::JoinSet::new();
    for theirs in ERAS {
        for ours in ERAS {
            for loops in [false, true] {
                running.spawn(async move {
                    let (told, asked) = follows(loops, theirs, ours).await;
                    let shown =
                        format!("{ours} to {theirs}, loops: {loops}: told {told}, asked {asked}");
                    (told, asked, shown)
                });
            }
        }
    }
    for (told, asked, shown) in running.join_all().await {
        assert!(told >= 1 && asked >= 1, "{shown}");
        // In three seconds: at once, and once in each second after it; and the first look.
        assert!(told <= 4 && asked <= 5, "{shown}");
    }
}

// req: V-413
#[tokio::test(start_paused = true)]
async fn v_413_the_last_change_is_told_too_and_others_are_not_held_up() {
    for theirs in ERAS {
        for ours in ERAS {
            let (handle, gateway) = changing(theirs);
            let client = listener(gateway, ours).await;
            let mut changes = client.changes(lists()).await.unwrap();
            client.tools().await.unwrap();
            // The word that it listens is on its way to the server.
            sleep(Duration::from_secs(5)).await;
            let (begun, none) = (Instant::now(), Raw::from_static("{}"));
            for n in 0..5 {
                handle.add_tool(more(format!("more-{n}"))).unwrap();
                let heard = timeout(Duration::from_secs(9), changes.next()).await;
                assert_eq!(heard.unwrap().unwrap().unwrap().change, Change::Tools);
                let tools = client.tools().await.unwrap();
                assert_eq!(tools.len(), 4 + n + 1, "{ours} to {theirs}");
                // What is there is called at once, whether that has been told or not.
                client.call_tool("more-0", &none).await.unwrap();
            }
            assert_eq!(begun.elapsed().as_secs(), 4, "{ours} to {theirs}");
        }
    }
}

/// A server that does not answer stops neither a storm of configurations nor the calls to others meanwhile.
// req: BR-198
#[tokio::test(start_paused = true)]
async fn br_198_configurations_that_change_all_the_time_are_waited_for_by_nobody() {
    for ours in ERAS {
        let hangs = || {
            let connect = Connect::service(
                server("b")
                    .on_start(std::future::pending::<std::io::Result<()>>)
                    .into_service(),
            );
            Upstream::new("hangs", connect.speaks(Revisions::NONE.with(ERAS[0])))
        };
        let stays = upstream(server("a"), "stays", ERAS[0]);
        let gateway = Gateway::new([stays.clone(), hangs()]);
        let handle = gateway.handle();
        let client = client(gateway, ours).await;
        let begun = Instant::now();
        for n in 0..1_000 {
            let renamed = stays
                .clone()
                .tools(Seen::all().rename("alpha", format!("alpha{n}")));
            handle.replace([renamed, hangs()]);
            if n % 100 == 0 {
                let result = client.call(&format!("alpha{n}"), &json!({})).await.unwrap();
                assert_eq!(text(&result), "alpha", "{ours} after {n}");
            }
        }
        let result = client.call("alpha999", &json!({})).await.unwrap();
        assert_eq!(text(&result), "alpha", "{ours}");
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "{:?}",
            begun.elapsed()
        );
        assert!(client.call("alpha0", &json!({})).await.is_err());
    }
}

/// A call that takes too long ends in time, and its server hears that nobody waits for it.
// req: BR-194
#[tokio::test(start_paused = true)]
async fn br_194_who_is_waited_for_in_vain_is_told_so() {
    for theirs in ERAS {
        for ours in ERAS {
            let ended = Arc::new(AtomicUsize::new(0));
            let counts = ended.clone();
            let sleeps = Tool::new("sleeps", "", move |cx: Cx, (): ()| {
                let counts = counts.clone();
                async move {
                    let told = timeout(Duration::from_secs(60), cx.cancelled()).await;
                    counts.fetch_add(usize::from(told.is_ok()), Ordering::SeqCst);
                    Ok("late")
                }
            });
            let connect = Connect::service(server("a").add_tool(sleeps).into_service());
            let connect = connect.idle(Duration::from_secs(1));
            let one = Upstream::new("one", connect.speaks(Revisions::NONE.with(theirs)));
            let gateway = Gateway::new([one, upstream(server("b"), "two", theirs)]);
            let client = client(gateway, ours).await;
            let begun = Instant::now();
            let late = client.call("sleeps", &json!({})).await.unwrap_err();
            assert!(
                late.to_string().contains(r#"The server \"one\" behind"#),
                "{late}"
            );
            assert_eq!(begun.elapsed().as_secs(), 1, "{ours} to {theirs}");
            sleep(Duration::from_secs(5)).await;
            assert_eq!(ended.load(Ordering::SeqCst), 1, "{ours} to {theirs}");
        }
    }
}
