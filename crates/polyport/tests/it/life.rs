//! What a server does before its first client and after its last, what it keeps for a session, and layers around it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use polyport::http::{self, Config};
use polyport::layer::{AtMost, Timeout};
use polyport::testing::{connect, connect_to};
use polyport::{Call, CallError, Cx, Fault, Next, Outcome, Revision, Server};
use polyport_testkit::Log;
use serde_json::json;

use crate::{adder, peer};

type Seen = Arc<Mutex<Vec<String>>>;

fn note(seen: &Seen, what: impl Into<String>) {
    seen.lock().unwrap().push(what.into());
}

fn mortal(seen: &Seen, refuses: Option<&'static str>) -> Server {
    let say = |what: &'static str| {
        let seen = seen.clone();
        move || {
            note(&seen, what);
            std::future::ready(())
        }
    };
    let (first, second) = (say("first start"), say("second start"));
    adder()
        .on_start(move || {
            let done = first();
            async move {
                done.await;
                Ok::<_, std::io::Error>(())
            }
        })
        .on_start(move || {
            let done = second();
            async move {
                done.await;
                refuses.map_or(Ok(()), Err)
            }
        })
        .on_shutdown(say("first shutdown"))
        .on_shutdown(say("second shutdown"))
}

// req: D-09
#[tokio::test(start_paused = true)]
async fn d_09_starts_in_order_and_shuts_down_in_the_other() {
    for revision in Revision::ALL {
        let seen = Seen::default();
        let peer = peer(mortal(&seen, None), revision).await;
        peer.call("add", &json!({"a": 1, "b": 1})).await.unwrap();
        let started = ["first start", "second start"];
        assert_eq!(*seen.lock().unwrap(), started);
        peer.stop().await;
        assert_eq!(
            seen.lock().unwrap()[2..],
            ["second shutdown", "first shutdown"]
        );
    }
}

// req: D-09
#[tokio::test(start_paused = true)]
async fn d_09_what_does_not_start_serves_nothing() {
    let seen = Seen::default();
    let log = Log::at(tracing::Level::ERROR);
    let refused = connect(mortal(&seen, Some("no disk")), Revision::LATEST_LEGACY).await;
    assert!(matches!(refused, Err(CallError::Closed)), "{refused:?}");
    let why = log.events("nothing is served");
    assert_eq!(why[0].get("error"), "the server did not start: no disk");
    assert_eq!(*seen.lock().unwrap(), ["first start", "second start"]);
}

// req: D-09
// req: D-34
#[tokio::test(start_paused = true)]
async fn d_34_a_mounted_server_starts_and_shuts_down() {
    let seen = Seen::default();
    let endpoint = http::endpoint(mortal(&seen, None), Config::default()).await;
    let endpoint = endpoint.unwrap();
    assert_eq!(*seen.lock().unwrap(), ["first start", "second start"]);
    // Once is enough, at both ends.
    endpoint.start().await.unwrap();
    assert_eq!(endpoint.close().await.cut, 0);
    endpoint.close().await;
    assert_eq!(
        seen.lock().unwrap()[2..],
        ["second shutdown", "first shutdown"]
    );
    let refused = http::endpoint(mortal(&seen, Some("no disk")), Config::default()).await;
    let why = refused.unwrap_err().to_string();
    assert!(why.contains("no disk"), "{why}");
}

// req: D-09
#[tokio::test(start_paused = true)]
async fn d_09_what_is_left_out_at_the_end_is_said() {
    let words = "a server was dropped, not stopped: what on_shutdown was given is left out";
    for (server, closes, warnings) in [
        (mortal(&Seen::default(), None), false, 1),
        (mortal(&Seen::default(), None), true, 0),
        (adder(), false, 0),
    ] {
        let log = Log::at(tracing::Level::WARN);
        let endpoint = http::endpoint(server, Config::default()).await.unwrap();
        if closes {
            endpoint.close().await;
        }
        drop(endpoint);
        assert_eq!(log.events(words).len(), warnings, "{}", log.text());
    }
    // What was never served, or did not start, owes nothing.
    let log = Log::at(tracing::Level::WARN);
    drop(mortal(&Seen::default(), None));
    let refused = http::endpoint(mortal(&Seen::default(), Some("no disk")), Config::default());
    assert!(refused.await.is_err());
    assert_eq!(log.events(words).len(), 0);
}

/// A basket of one session.
#[derive(Debug, Default)]
struct Basket(Mutex<Vec<String>>);

/// Keeps a basket and a number for each session, unless it is told to refuse one of them.
fn shop(seen: &Seen, refuses: bool) -> Server {
    let (opened, closed, numbered) = (seen.clone(), seen.clone(), seen.clone());
    Server::new("shop", "1")
        .session(
            move |cx: Cx| {
                let who = cx.client().map(|client| client.name).unwrap_or_default();
                note(&opened, format!("open for {who}"));
                async { Ok(Basket::default()) }
            },
            move |basket: Arc<Basket>| {
                let seen = closed.clone();
                async move {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    note(&seen, format!("close {:?}", basket.0.lock().unwrap()));
                }
            },
        )
        .session(
            move |_cx| async move {
                if refuses {
                    Err(Fault::new(1, "closed today"))
                } else {
                    Ok(7_u32)
                }
            },
            move |number| {
                note(&numbered, format!("close {number}"));
                std::future::ready(())
            },
        )
        .tool("put", "", |cx: Cx, (): ()| async move {
            let Some(basket) = cx.session::<Basket>() else {
                return Ok("no session".to_owned());
            };
            let mut items = basket.0.lock().unwrap();
            items.push("x".to_owned());
            let number = cx.session::<u32>();
            assert_eq!((number.as_deref(), cx.session::<u64>()), (Some(&7), None));
            Ok(items.len().to_string())
        })
}

// req: D-08
#[tokio::test(start_paused = true)]
async fn d_08_a_session_keeps_values_and_puts_them_away_at_its_end() {
    for revision in Revision::ALL {
        let is_legacy = revision != Revision::LATEST;
        let seen = Seen::default();
        let last = seen.clone();
        let server = shop(&seen, false).on_shutdown(move || {
            note(&last, "shutdown");
            std::future::ready(())
        });
        let service = server.into_service();
        // Two sessions of one server know nothing of each other.
        let one = connect_to(service.clone(), revision, &json!({}))
            .await
            .unwrap();
        let two = connect_to(service, revision, &json!({})).await.unwrap();
        for (peer, count) in [(&one, "1"), (&one, "2"), (&two, "1")] {
            let got = peer.call("put", &json!({})).await.unwrap();
            let want = if is_legacy { count } else { "no session" };
            assert_eq!(got["content"][0]["text"], want, "{revision}");
        }
        if !is_legacy {
            // Discovery opens nothing.
            one.request("server/discover", &json!({})).await.unwrap();
        }
        one.stop().await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        two.stop().await;
        let open = "open for polyport-test";
        let want: &[&str] = if is_legacy {
            &[
                open,
                open,
                "close 7",
                "close [\"x\", \"x\"]",
                "close 7",
                "close [\"x\"]",
                "shutdown",
            ]
        } else {
            &["shutdown"]
        };
        assert_eq!(*seen.lock().unwrap(), want, "{revision}");
    }
}

// req: D-08
#[tokio::test(start_paused = true)]
async fn d_08_a_session_that_is_refused_keeps_nothing() {
    let seen = Seen::default();
    let refused = connect(shop(&seen, true), Revision::LATEST_LEGACY).await;
    let Err(CallError::Refused(error)) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(error.as_str(), "{\"code\":1,\"message\":\"closed today\"}");
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(
        *seen.lock().unwrap(),
        ["open for polyport-test", "close []"]
    );
}

// req: D-23
#[tokio::test(start_paused = true)]
async fn d_23_what_a_layer_answers_names_the_server_where_that_is_done() {
    let server = || {
        Server::new("s", "1")
            .tool("wait", "", |cx: Cx, (): ()| async move {
                let why = cx.cancelled().await;
                assert!(cx.is_cancelled(), "{why:?}");
                Ok("never mind")
            })
            .layer(AtMost::calls(1).patience(Duration::from_secs(1)))
            .layer(Timeout::new(Duration::from_secs(20)))
            .layer(|call: Call, next: Next| async move {
                let outcome = next.run(call).await;
                assert!(matches!(outcome, Outcome::Complete(_)));
                outcome
            })
    };
    for revision in Revision::ALL {
        let peer = Arc::new(peer(server(), revision).await);
        let first = peer.clone();
        let first = tokio::spawn(async move { first.call("wait", &json!({})).await });
        tokio::time::sleep(Duration::from_millis(1)).await;
        let busy = peer.call("wait", &json!({})).await.unwrap();
        let slow = first.await.unwrap().unwrap();
        for (got, says) in [
            (busy, "The tool wait was not run: at most 1 call"),
            (slow, "The tool wait did not answer within 20 s"),
        ] {
            let text = got["content"][0]["text"].as_str().unwrap();
            assert!(text.starts_with(says), "{revision} {text}");
            assert_eq!(got["isError"], true);
            let named = &got["_meta"]["io.modelcontextprotocol/serverInfo"]["name"];
            assert_eq!(named == "s", revision == Revision::LATEST, "{revision}");
        }
    }
}
