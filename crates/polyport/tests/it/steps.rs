//! Questions and steps as an author may write them: on threads, under timers, twice at once, in tools that go away meanwhile.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use polyport::schemars::JsonSchema;
use polyport::serde::Deserialize;
use polyport::{
    AskError, CancelReason, Cx, Fault, Kind, Level, Resource, Revision, Server, Tool, ToolError,
    testing,
};
use serde_json::{Value, json};

use crate::questions::{ASKS, Name, answer, everything, text};

async fn connect(server: Server, revision: Revision) -> testing::TestPeer {
    testing::connect_to(server.into_service(), revision, &everything())
        .await
        .unwrap()
        .answering(answer)
}

fn count(counter: &Arc<AtomicUsize>) -> usize {
    counter.load(Ordering::SeqCst)
}

// req: Q-THREAD
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocking_tool_may_block_on_a_question() {
    for revision in ASKS {
        let server = Server::new("t", "1").add_tool(Tool::blocking("ask", "", |cx: Cx, (): ()| {
            let who: Name = tokio::runtime::Handle::current().block_on(cx.elicit("who", "Who?"))?;
            Ok(who.name)
        }));
        let peer = connect(server, revision).await;
        for _ in 0..3 {
            let result = peer.call("ask", &json!({})).await.unwrap();
            assert_eq!(text(&result), "Ada", "{revision}: {result}");
        }
    }
}

// req: Q-STEP
#[tokio::test(start_paused = true)]
async fn a_step_that_is_cut_off_runs_again() {
    for revision in ASKS {
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = runs.clone();
        let server = Server::new("t", "1").tool("ask", "", move |cx, (): ()| {
            let runs = runs.clone();
            async move {
                let step = async {
                    let run = runs.fetch_add(1, Ordering::SeqCst);
                    tokio::time::sleep(Duration::from_secs(if run == 0 { 60 } else { 1 })).await;
                    Ok::<_, ToolError>(run)
                };
                let cut = tokio::time::timeout(Duration::from_secs(5), cx.once("s", step)).await;
                if cut.is_err() {
                    let again = async { Ok::<_, ToolError>(runs.fetch_add(1, Ordering::SeqCst)) };
                    cx.once("s", again).await?;
                }
                cx.roots("r").await?;
                let kept = cx.once("s", async {
                    Err::<usize, _>(ToolError::from(Fault::invalid_params("runs again")))
                });
                Ok(kept.await?.to_string())
            }
        });
        let peer = connect(server, revision).await;
        let result = peer.call("ask", &json!({})).await.unwrap();
        assert_eq!(text(&result), "1", "{revision}: {result}");
        assert_eq!(count(&counted), 2, "{revision}");
    }
}

// req: Q-STEP
#[tokio::test(start_paused = true)]
async fn two_steps_of_one_key_at_once_are_the_authors_fault() {
    for revision in ASKS {
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = runs.clone();
        let server = Server::new("t", "1").tool("pay", "", move |cx, (): ()| {
            let runs = runs.clone();
            async move {
                let pay = || {
                    cx.once("pay", async {
                        tokio::time::sleep(Duration::from_secs(1)).await;
                        Ok::<_, ToolError>(runs.fetch_add(1, Ordering::SeqCst))
                    })
                };
                let (one, two) = tokio::join!(pay(), pay());
                two?;
                Ok(one?.to_string())
            }
        });
        let peer = connect(server, revision).await;
        let error = peer.call("pay", &json!({})).await.unwrap_err().to_string();
        assert!(
            error.contains("-32603") && error.contains("errorId"),
            "{error}"
        );
        assert_eq!(count(&counted), 1);
    }
}

// req: Q-ROUND
#[tokio::test(start_paused = true)]
async fn a_question_in_a_step_under_a_timer_is_asked() {
    for revision in ASKS {
        let server = Server::new("t", "1").tool("ask", "", |cx, (): ()| async move {
            let step = async {
                let who: Name = cx.elicit("who", "Who?").await?;
                Ok::<_, AskError>(who.name)
            };
            let who = tokio::time::timeout(Duration::from_secs(3_000), cx.once("s", step)).await;
            match who {
                Ok(who) => Ok(who?),
                Err(_) => Ok("nobody was asked".to_owned()),
            }
        });
        let peer = connect(server, revision).await;
        let result = peer.call("ask", &json!({})).await.unwrap();
        assert_eq!(text(&result), "Ada", "{revision}: {result}");
    }
}

// req: D-06
#[tokio::test(start_paused = true)]
async fn d_06_a_panic_in_a_shielded_step_ends_its_call_only() {
    for revision in Revision::ALL {
        let server = Server::new("t", "1").tool("move", "", |cx, (): ()| async move {
            let step = async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                assert!(std::hint::black_box(false), "as it was told");
                "moved"
            };
            Ok(cx.shield(step).await)
        });
        let peer = testing::connect(server, revision).await.unwrap();
        for _ in 0..2 {
            let error = peer.call("move", &json!({})).await.unwrap_err().to_string();
            assert!(
                error.contains("errorId") && !error.contains("told"),
                "{error}"
            );
        }
        polyport::shielded().await;
    }
}

// req: BR-069
#[tokio::test(start_paused = true)]
async fn br_069_a_tool_knows_why_it_is_cancelled() {
    for revision in Revision::ALL {
        let seen = Arc::new(Mutex::new(None));
        let reason = seen.clone();
        let server = Server::new("t", "1").tool("wait", "", move |cx, (): ()| {
            let reason = reason.clone();
            async move {
                let why = cx.cancelled().await;
                *reason.lock().unwrap() = Some(why);
                Ok("")
            }
        });
        // A client that gives up says so; see also the tests of the runtime.
        let peer = testing::connect(server, revision).await.unwrap();
        assert!(
            peer.call("wait", &json!({})).await.is_err(),
            "no answer in time"
        );
        peer.stop().await;
        assert_eq!(
            *seen.lock().unwrap(),
            Some(CancelReason::Client),
            "{revision}"
        );
    }
}

fn waits(name: &'static str) -> Tool {
    Tool::new(name, "", move |cx: Cx, (): ()| async move {
        cx.roots("r").await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok(name)
    })
}

// req: S-CHANGE
#[tokio::test(start_paused = true)]
async fn a_tool_that_is_removed_while_it_is_called() {
    for revision in Revision::ALL {
        let server = Server::new("t", "1").offers(Kind::Tools);
        let handle = server.handle();
        let slow = Tool::new("slow", "", |_cx, (): ()| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok("done")
        });
        handle.add_tool(slow).unwrap();
        let peer = testing::connect(server, revision).await.unwrap();
        let nothing = json!({});
        let (ran, gone) = tokio::join!(peer.call("slow", &nothing), async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            assert!(handle.remove_tool("slow"));
            peer.call("slow", &nothing).await
        });
        assert_eq!(text(&ran.unwrap()), "done", "it ends as it began");
        let gone = gone.unwrap_err().to_string();
        assert!(gone.contains("-32602") && gone.contains("slow"), "{gone}");
    }
}

// req: S-CHANGE
#[tokio::test(start_paused = true)]
async fn a_tool_that_is_removed_between_two_rounds() {
    for revision in ASKS {
        let server = Server::new("t", "1").add_tool(waits("ask"));
        let handle = server.handle();
        let remover = handle.clone();
        let peer = testing::connect_to(server.into_service(), revision, &everything())
            .await
            .unwrap()
            .answering(move |method, params| {
                remover.remove_tool("ask");
                answer(method, params)
            });
        let result = peer.call("ask", &json!({})).await;
        if revision == Revision::LATEST {
            // The retry is a call of its own, of a tool that is no more.
            let error = result.unwrap_err().to_string();
            assert!(error.contains("-32602"), "{error}");
        } else {
            assert_eq!(text(&result.unwrap()), "ask");
        }
    }
}

// req: C-STORM
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_are_whole_while_tools_come_and_go() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let server = Server::new("t", "1").add_tool(waits("first"));
        let handle = server.handle();
        let peer = testing::connect(server, revision).await.unwrap();
        let storm = handle.clone();
        let storming = tokio::task::spawn_blocking(move || {
            for _ in 0..500 {
                storm.add_tool(waits("a")).unwrap();
                storm.add_tool(waits("b")).unwrap();
                assert!(storm.remove_tool("a"));
                assert!(storm.remove_tool("b"));
            }
            storm.add_tool(waits("last")).unwrap();
        });
        while !storming.is_finished() {
            let list = peer.request("tools/list", &json!({})).await.unwrap();
            let tools = list["tools"].as_array().unwrap().iter();
            let names: Vec<_> = tools.map(|tool| tool["name"].as_str().unwrap()).collect();
            let whole = [
                &["first"][..],
                &["first", "a"],
                &["first", "a", "b"],
                &["first", "b"],
                &["first", "last"],
            ];
            assert!(whole.contains(&&names[..]), "{names:?}");
        }
        storming.await.unwrap();
        let list = peer.request("tools/list", &json!({})).await.unwrap();
        assert_eq!(list["tools"][1]["name"], "last");
        let told = peer.notifications();
        assert_eq!(told.is_empty(), revision == Revision::LATEST, "{told:?}");
        assert!(told.len() <= 2_001);
    }
}

// req: S-CHANGE
#[tokio::test(start_paused = true)]
async fn a_kind_that_was_not_declared_is_not_told_of() {
    for revision in Revision::ALL.into_iter().filter(|r| *r != Revision::LATEST) {
        let server = Server::new("t", "1").add_tool(waits("first"));
        let handle = server.handle();
        let peer = testing::connect(server, revision).await.unwrap();
        handle.resources_changed();
        handle
            .add_resource(Resource::new("a:/1", "a", |_cx| async {
                Ok::<_, Fault>("a")
            }))
            .unwrap();
        handle.add_tool(waits("second")).unwrap();
        peer.request("ping", &json!({})).await.unwrap();
        let told = peer.notifications();
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0]["method"], "notifications/tools/list_changed");
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Optional {
    #[serde(default = "ada")]
    name: String,
    #[serde(default)]
    count: u8,
    #[serde(default = "half")]
    ratio: f64,
    #[serde(default = "yes")]
    sure: bool,
    note: Option<String>,
}

fn ada() -> String {
    "Ada".to_owned()
}

fn half() -> f64 {
    0.5
}

fn yes() -> bool {
    true
}

// req: BR-155
#[tokio::test]
async fn br_155_a_form_of_optional_fields_may_come_back_empty() {
    for revision in ASKS {
        for content in [
            json!({"content": {}}),
            json!({}),
            json!({"content": {"note": ""}}),
        ] {
            let server = Server::new("t", "1").tool("ask", "", |cx, (): ()| async move {
                let o: Optional = cx.elicit("o", "?").await?;
                Ok(format!(
                    "{} {} {} {} {:?}",
                    o.name, o.count, o.ratio, o.sure, o.note
                ))
            });
            let asked = Arc::new(Mutex::new(Value::Null));
            let (kept, filled) = (asked.clone(), content.clone());
            let peer = testing::connect_to(server.into_service(), revision, &everything())
                .await
                .unwrap()
                .answering(move |_, params| {
                    *kept.lock().unwrap() = params["requestedSchema"].clone();
                    let mut answer = filled.clone();
                    answer["action"] = "accept".into();
                    answer
                });
            let result = peer.call("ask", &json!({})).await.unwrap();
            let note = if content["content"].get("note").is_some() {
                "Some(\"\")"
            } else {
                "None"
            };
            assert_eq!(text(&result), format!("Ada 0 0.5 true {note}"), "{result}");
            let form = asked.lock().unwrap().clone();
            assert_eq!(form.get("required"), None, "{form}");
            for (field, default) in [
                ("name", json!("Ada")),
                ("count", json!(0)),
                ("ratio", json!(0.5)),
                ("sure", json!(true)),
            ] {
                assert_eq!(form["properties"][field]["default"], default, "{form}");
            }
        }
    }
}

// req: D-10
#[tokio::test]
async fn d_10_a_handle_logs_to_legacy_sessions_of_the_level_only() {
    for revision in Revision::ALL {
        let server = Server::new("t", "1").add_tool(waits("t"));
        let handle = server.handle();
        let peer = testing::connect(server, revision).await.unwrap();
        if revision == Revision::LATEST {
            // A stream of changes is no place for logs.
            let filter = json!({"notifications": {"toolsListChanged": true}});
            let logs = async {
                peer.caller().notification().await.unwrap();
                handle.log(Level::Emergency, "unheard");
                handle.remove_tool("t");
                peer.caller().notification().await.unwrap()
            };
            tokio::select! {
                ended = peer.request("subscriptions/listen", &filter) => panic!("{ended:?}"),
                told = logs => assert!(told.windows(12).any(|w| w == b"list_changed")),
            }
            assert_eq!(handle.bus().dropped_logs(), 1);
        } else {
            handle.log(Level::Emergency, "before a level was asked for");
            peer.request("logging/setLevel", &json!({"level": "error"}))
                .await
                .unwrap();
            handle.log(Level::Warning, "below it");
            handle.log(Level::Error, json!({"n": 1}));
            let told = peer.caller().notification().await.unwrap();
            let told: Value = serde_json::from_slice(&told).unwrap();
            assert_eq!(told["params"], json!({"level": "error", "data": {"n": 1}}));
            assert!(peer.notifications().is_empty());
            assert_eq!(handle.bus().dropped_logs(), 0);
        }
    }
}
