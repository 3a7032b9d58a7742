//! Questions of a server behind a relay, in every pair of eras; and calls that are parked meanwhile. In virtual time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use polyport::client::Connect;
use polyport::testing::{TestPeer, connect_to};
use polyport::{ClientFacts, Cx, Raw, Revision, Revisions, Server, Service, ToolError};
use serde_json::{Value, json};

use crate::questions::{ASKS, Name, answer, everything, text};

const S: fn(u64) -> Duration = Duration::from_secs;

fn server(begun: &Arc<AtomicUsize>, dropped: &Arc<AtomicUsize>) -> Server {
    let (begun, dropped) = (begun.clone(), dropped.clone());
    Server::new("asks", "1")
        .tool("one", "", |cx: Cx, (): ()| async move {
            let name: Name = cx.elicit("who", "Who?").await?;
            Ok(format!("Hello {}", name.name))
        })
        .tool("three", "", |cx: Cx, (): ()| async move {
            let name: Name = cx.elicit("who", "Who?").await?;
            let city = cx.sample_text("city", "Where?", 10).await?;
            let roots = cx.roots("where").await?;
            Ok(format!("{} {city} {}", name.name, roots[0].uri))
        })
        .tool("both", "", |cx: Cx, (): ()| async move {
            let who = cx.elicit::<Name>("who", "Who?");
            let (who, city) = cx
                .ask_all((who, cx.sample_text("city", "Where?", 10)))
                .await?;
            Ok(format!("{} {city}", who.name))
        })
        .tool("no", "", |cx: Cx, (): ()| async move {
            let name: Name = cx.elicit("who", "no").await?;
            Ok(name.name)
        })
        .tool("counts", "", move |cx: Cx, (): ()| {
            let (begun, dropped) = (begun.clone(), dropped.clone());
            async move {
                begun.fetch_add(1, Ordering::SeqCst);
                let _ends = Ends(dropped);
                let name: Name = cx.elicit("who", "Who?").await?;
                tokio::time::sleep(S(3)).await;
                Ok::<_, ToolError>(name.name)
            }
        })
}

struct Ends(Arc<AtomicUsize>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

pub(super) fn facts(capabilities: &Value) -> ClientFacts {
    ClientFacts {
        info: Some(Raw::from_static("{\"name\":\"outer\",\"version\":\"1\"}")),
        capabilities: Raw::encode(capabilities).unwrap(),
    }
}

/// A client that can do this, of a relay to a server in that revision.
pub(super) async fn behind(
    server: Server,
    theirs: Revision,
    ours: Revision,
    able: &Value,
) -> TestPeer {
    let client = Connect::service(server.into_service())
        .speaks(Revisions::NONE.with(theirs))
        .on_behalf_of(facts(able));
    let relay = client.connect().await.unwrap().into_handler();
    connect_to(Service::new(relay), ours, able).await.unwrap()
}

async fn ask(peer: &TestPeer, method: &str, params: Value) -> Value {
    let result = peer.request(method, &params).await;
    result.unwrap_or_else(|error| json!({"error": error.to_string()}))
}

// req: S-RELAY-ASK
#[tokio::test(start_paused = true)]
async fn a_server_behind_asks_whoever_asked() {
    for theirs in ASKS {
        for ours in ASKS {
            let none = Arc::default();
            let peer = behind(server(&none, &none), theirs, ours, &everything()).await;
            let peer = peer.answering(answer);
            for (tool, want) in [
                ("one", "Hello Ada"),
                ("three", "Ada Paris file:///work"),
                ("both", "Ada Paris"),
            ] {
                let result = peer.call(tool, &json!({})).await.unwrap();
                assert_eq!(text(&result), want, "{tool}: {ours} to {theirs}: {result}");
            }
            let result = peer.call("no", &json!({})).await.unwrap();
            assert_eq!(result["isError"], true, "{ours} to {theirs}: {result}");
        }
    }
}

/// Some say of themselves what the revision that they speak does not have.
// req: S-RELAY-ASK
#[tokio::test(start_paused = true)]
async fn who_cannot_be_asked_in_his_revision_is_not_believed_that_he_can() {
    for theirs in ASKS {
        for ours in [Revision::V2024_11_05, Revision::V2025_03_26] {
            let none = Arc::default();
            let peer = behind(server(&none, &none), theirs, ours, &everything()).await;
            let peer = peer.answering(answer);
            let result = ask(&peer, "tools/call", json!({"name": "one"})).await;
            assert_eq!(result["isError"], true, "{ours} to {theirs}: {result}");
        }
    }
}

/// Two modern clients that say the same of themselves share a connection, on which no question says whose it is.
// req: S-RELAY-ASK
#[tokio::test(start_paused = true)]
async fn no_question_reaches_somebody_else() {
    for theirs in ASKS {
        let none = Arc::default();
        let client = Connect::service(server(&none, &none).into_service())
            .speaks(Revisions::NONE.with(theirs))
            .on_behalf_of(facts(&everything()));
        let relay = Service::new(client.connect().await.unwrap().into_handler());
        let modern = Revision::V2026_07_28;
        let asked = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
        let mut peers = Vec::new();
        for asked in &asked {
            let peer = connect_to(relay.clone(), modern, &everything())
                .await
                .unwrap();
            let asked = asked.clone();
            peers.push(peer.answering(move |method, params| {
                asked.fetch_add(1, Ordering::SeqCst);
                answer(method, params)
            }));
        }
        let call = |peer| ask(peer, "tools/call", json!({"name": "one"}));
        let (first, second) = tokio::join!(call(&peers[0]), call(&peers[1]));
        for (asked, result) in asked.iter().zip([first, second]) {
            // Either it was asked itself, or nobody was asked for it.
            let was_asked = asked.load(Ordering::SeqCst);
            let is_done = text(&result) == "Hello Ada";
            assert_eq!(was_asked, usize::from(is_done), "{theirs}: {result}");
        }
        // Alone, each is asked.
        for peer in &peers {
            assert_eq!(text(&call(peer).await), "Hello Ada", "{theirs}");
        }
    }
}

// req: S-RELAY-ASK
#[tokio::test(start_paused = true)]
async fn who_can_be_asked_nothing_is_not_asked() {
    for theirs in ASKS {
        for ours in ASKS {
            let none = Arc::default();
            let peer = behind(server(&none, &none), theirs, ours, &json!({})).await;
            let result = ask(&peer, "tools/call", json!({"name": "one"})).await;
            let refused = result["isError"] == true || result["error"].is_string();
            assert!(refused, "{ours} to {theirs}: {result}");
        }
    }
}

// req: S-RELAY-ASK
#[tokio::test(start_paused = true)]
async fn what_a_client_foresees_is_not_asked() {
    let modern = Revision::V2026_07_28;
    let none = Arc::default();
    let peer = behind(server(&none, &none), modern, modern, &everything()).await;
    let who = json!({"action": "accept", "content": {"name": "Ada"}});
    let call = |tool: &str| json!({"name": tool, "inputResponses": {"who": who, "more": {}}});
    let result = ask(&peer, "tools/call", call("one")).await;
    assert_eq!(text(&result), "Hello Ada", "{result}");
    // The rest is asked, and what was foreseen is not forgotten.
    let asked = ask(&peer, "tools/call", call("both")).await;
    let questions = asked["inputRequests"].as_object().unwrap();
    assert!(questions.contains_key("city"), "{asked}");
    assert_eq!(questions.len(), 1, "{asked}");
    let mut again = again(&asked);
    again["name"] = json!("both");
    let done = ask(&peer, "tools/call", again).await;
    assert!(text(&done).starts_with("Ada "), "{done}");
}

async fn parked() -> (TestPeer, Arc<AtomicUsize>, Arc<AtomicUsize>, Value) {
    let (begun, dropped) = (Arc::default(), Arc::default());
    let server = server(&begun, &dropped);
    let (theirs, ours) = (Revision::V2025_11_25, Revision::V2026_07_28);
    let peer = behind(server, theirs, ours, &everything()).await;
    let asked = ask(&peer, "tools/call", json!({"name": "counts"})).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    (peer, begun, dropped, asked)
}

fn again(asked: &Value) -> Value {
    let (key, question) = asked["inputRequests"]
        .as_object()
        .unwrap()
        .iter()
        .next()
        .unwrap();
    let answer = answer(question["method"].as_str().unwrap(), &question["params"]);
    json!({"name": "counts", "requestState": asked["requestState"], "inputResponses": {key: answer}})
}

// req: S-RELAY-PARK
#[tokio::test(start_paused = true)]
async fn a_call_is_parked_and_runs_once() {
    let (peer, begun, dropped, asked) = parked().await;
    // Without an answer it is asked again, the same.
    let bare = json!({"name": "counts", "requestState": asked["requestState"]});
    let once_more = ask(&peer, "tools/call", bare).await;
    assert_eq!(once_more["inputRequests"], asked["inputRequests"]);
    let done = ask(&peer, "tools/call", again(&asked)).await;
    assert_eq!(text(&done), "Ada", "{done}");
    assert_eq!(
        (begun.load(Ordering::SeqCst), dropped.load(Ordering::SeqCst)),
        (1, 1)
    );
    // Whose answer was lost brings the same once more, for a while.
    let lost = ask(&peer, "tools/call", again(&asked)).await;
    assert_eq!(text(&lost), "Ada", "{lost}");
    tokio::time::sleep(S(30)).await;
    let late = ask(&peer, "tools/call", again(&asked)).await;
    assert!(late["error"].as_str().unwrap().contains("-32602"), "{late}");
    // Another call cannot take its place.
    let mut other = again(&asked);
    other["name"] = json!("one");
    assert!(ask(&peer, "tools/call", other).await["error"].is_string());
}

// req: S-RELAY-PARK
#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_comes_back_for_ends() {
    let (peer, begun, dropped, asked) = parked().await;
    tokio::time::sleep(S(9 * 60)).await;
    assert_eq!(dropped.load(Ordering::SeqCst), 0);
    tokio::time::sleep(S(2 * 60)).await;
    assert_eq!(dropped.load(Ordering::SeqCst), 1, "the server was told");
    let late = ask(&peer, "tools/call", again(&asked)).await;
    assert!(late["error"].as_str().unwrap().contains("-32602"), "{late}");
    assert_eq!(begun.load(Ordering::SeqCst), 1);
}

// req: S-RELAY-PARK
#[tokio::test(start_paused = true)]
async fn the_last_who_comes_back_has_the_call() {
    let (peer, begun, _dropped, asked) = parked().await;
    let (first, second) = (again(&asked), again(&asked));
    let (one, other) = tokio::join!(ask(&peer, "tools/call", first), async {
        tokio::time::sleep(S(1)).await;
        ask(&peer, "tools/call", second).await
    });
    assert!(one["error"].as_str().unwrap().contains("-32602"), "{one}");
    assert_eq!(text(&other), "Ada", "{other}");
    assert_eq!(begun.load(Ordering::SeqCst), 1);
}

// req: S-RELAY-PARK
#[tokio::test(start_paused = true)]
async fn who_gives_a_call_up_ends_it_behind() {
    for ours in ASKS {
        for theirs in ASKS {
            let (begun, dropped) = (Arc::default(), Arc::default());
            let peer = behind(server(&begun, &dropped), theirs, ours, &everything()).await;
            let peer = peer.answering(answer);
            let call = ask(&peer, "tools/call", json!({"name": "counts"}));
            // It is given up while it sleeps, after the answer.
            let given_up = tokio::time::timeout(S(1), call).await;
            let ran = begun.load(Ordering::SeqCst);
            assert!(
                given_up.is_err() && ran > 0,
                "{ours} to {theirs}: {given_up:?}"
            );
            tokio::time::sleep(S(12)).await;
            assert_eq!(dropped.load(Ordering::SeqCst), ran, "{ours} to {theirs}");
        }
    }
}
