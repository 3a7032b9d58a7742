//! Pages that a server behind a relay sends the user to, in every pair of eras. In virtual time, but for programs.

use std::time::Duration;

use polyport::Revision;
use polyport::testing::TestPeer;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::asking::behind;
use crate::questions::{everything, text};
use crate::visits::{KINDS, Page, ask, told};

const LEGACY: Revision = Revision::V2025_11_25;
const MODERN: Revision = Revision::LATEST;

/// Answers each question to go to a page.
fn answering(peer: TestPeer, action: &'static str) -> TestPeer {
    peer.answering(move |method, asked| {
        assert_eq!(method, "elicitation/create");
        assert_eq!(asked["mode"], "url", "{asked}");
        json!({"action": action})
    })
}

/// The text of a result that failed, or the message of the error that takes its place elsewhere.
fn refusal(kind: &str, refused: &Value) -> String {
    if kind == "tools/call" {
        assert_eq!(refused["isError"], true, "{refused}");
        return text(refused).to_owned();
    }
    assert_eq!(refused["code"], -32602, "{refused}");
    refused["message"].as_str().unwrap().to_owned()
}

// req: S-RELAY-VISIT
#[tokio::test(start_paused = true)]
async fn a_modern_client_is_asked_to_go_where_a_legacy_server_wants_its_user() {
    for kind in KINDS {
        let page = Page::default();
        let peer = behind(page.server(), LEGACY, MODERN, &everything()).await;
        let asked = ask(&peer, kind).await;
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let requests = asked["inputRequests"].as_object().unwrap();
        let question = requests.values().next().unwrap();
        let url = format!("https://pay.example/{}", page.ids()[0]);
        let want = json!({"method": "elicitation/create", "params": {"mode": "url", "message": "Pay", "url": url}});
        assert_eq!((requests.len(), question), (1, &want));

        // Whoever comes back without an answer is asked the same.
        let mut bare: Value = serde_json::from_str(kind.1).unwrap();
        bare["requestState"] = asked["requestState"].clone();
        let once_more = ask(&peer, (kind.0, &bare.to_string())).await;
        assert_eq!(once_more["inputRequests"], asked["inputRequests"]);
        assert_eq!(page.ids().len(), 1, "the server is not asked for it");

        let peer = behind(page.server(), LEGACY, MODERN, &json!({})).await;
        let refused = ask(&peer, kind).await;
        assert!(
            refused["code"] == -32021 || refusal(kind.0, &refused).contains("https://pay.example/"),
            "{refused}"
        );
    }
}

// req: S-RELAY-VISIT
#[tokio::test(start_paused = true)]
async fn a_modern_client_that_comes_back_waits_for_what_its_user_does() {
    /// What the user does, some seconds after he has agreed.
    #[derive(Clone, Copy, Debug)]
    enum Does {
        Pays,
        PaysInSilence,
        Nothing,
    }
    for kind in KINDS {
        for (does, after, took) in [
            (Does::PaysInSilence, 0, 0),
            (Does::Pays, 10, 10),
            (Does::PaysInSilence, 10, 20),
            (Does::Nothing, 0, 20),
        ] {
            let at = format!("{kind:?} {does:?}");
            let page = Page::default();
            let peer = behind(page.server(), LEGACY, MODERN, &everything()).await;
            let pays = page.clone();
            let acts = move || {
                if !matches!(does, Does::Nothing) {
                    pays.pay();
                }
                if matches!(does, Does::Pays) {
                    assert!(pays.visits.lock().unwrap()[0].done());
                }
            };
            let peer = peer.answering(move |_, _| {
                let acts = acts.clone();
                if after == 0 {
                    acts();
                } else {
                    tokio::spawn(async move {
                        sleep(Duration::from_secs(after)).await;
                        acts();
                    });
                }
                json!({"action": "accept"})
            });
            let begun = Instant::now();
            let paid = ask(&peer, kind).await;
            assert_eq!(begun.elapsed().as_secs(), took, "{at}: {paid}");
            if matches!(does, Does::Nothing) {
                let said = refusal(kind.0, &paid);
                assert!(
                    said.contains("call again once it is done: https://"),
                    "{at}: {said}"
                );
            } else {
                assert!(paid.to_string().contains("paid"), "{at}: {paid}");
            }
        }
        for action in ["decline", "cancel"] {
            let page = Page::default();
            let peer = behind(page.server(), LEGACY, MODERN, &everything()).await;
            let refused = ask(&answering(peer, action), kind).await;
            assert!(refusal(kind.0, &refused).contains("did not agree"));
            assert_eq!(page.ids().len(), 1, "nobody is asked again");
        }
    }
}

// req: S-RELAY-VISIT
#[tokio::test(start_paused = true)]
async fn a_legacy_client_hears_what_its_server_says_of_pages() {
    for kind in KINDS {
        let page = Page::default();
        let peer = behind(page.server(), LEGACY, LEGACY, &everything()).await;
        let refused = ask(&peer, kind).await;
        assert_eq!(refused["code"], -32042, "{refused}");
        let id = &page.ids()[0];
        assert_eq!(refused["data"]["elicitations"][0]["elicitationId"], **id);
        assert!(page.visits.lock().unwrap()[0].done());
        assert_eq!(said(&peer).await, [told(id)]);
        page.pay();
        let paid = ask(&peer, kind).await;
        assert!(paid.to_string().contains("paid"), "{paid}");
    }
}

// req: S-RELAY-VISIT
#[tokio::test(start_paused = true)]
async fn pages_in_the_middle_of_a_call_pass() {
    for theirs in [LEGACY, MODERN] {
        for ours in [LEGACY, MODERN] {
            for (action, is_done) in [("accept", true), ("decline", false)] {
                let at = format!("{ours} to {theirs}: {action}");
                let page = Page::default();
                let peer = behind(page.server(), theirs, ours, &everything()).await;
                let ids = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
                let note = ids.clone();
                let peer = peer.answering(move |_, asked| {
                    note.lock().unwrap().push(asked["elicitationId"].clone());
                    json!({"action": action})
                });
                let result = peer.call("asks", &json!({})).await.unwrap();
                assert_eq!(result["isError"] != true, is_done, "{at}: {result}");
                let ids = ids.lock().unwrap().clone();
                assert_eq!(ids.len(), 1, "{at}");
                assert_eq!(ids[0].is_string(), ours == LEGACY, "{at}");
                if ours != LEGACY {
                    continue;
                }
                if theirs == LEGACY && is_done {
                    assert!(page.visits.lock().unwrap()[0].done(), "{at}");
                }
                // Of a modern server nothing is heard but that the call is over.
                let want: &[Value] = match is_done {
                    true => &[told(ids[0].as_str().unwrap())],
                    false => &[],
                };
                assert_eq!(said(&peer).await, want, "{at}");
            }
        }
    }
}

/// What a client has heard within a second.
async fn said(peer: &TestPeer) -> Vec<Value> {
    sleep(Duration::from_secs(1)).await;
    peer.request("ping", &json!({})).await.unwrap();
    peer.notifications()
}

/// A server of 2025-11-25 that refuses whoever calls, and tells before it that all is done at the page if `TELLS`.
#[cfg(unix)]
const REFUSES: &str = r#"
    read opening; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}'
    read initialized; read call
    [ "$TELLS" = "" ] || echo '{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"a"}}'
    echo '{"jsonrpc":"2.0","id":2,"error":{"code":-32042,"message":"first","data":{"elicitations":[{"mode":"url","elicitationId":"a","url":"https://example.test/a","message":"Connect"}]}}}'
    read call; echo '{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"connected"}]}}'
    read rest
"#;

/// A server of 2026-07-28 that sends the user to a page, whatever its client can do.
#[cfg(unix)]
const ASKS_ALL: &str = r#"
    read opening; echo '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}}'
    read call; echo '{"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"mode":"url","message":"Connect","url":"https://example.test/a"}}},"requestState":"s"}}'
    read rest
"#;

#[cfg(unix)]
async fn program(
    script: &str,
    tells: &str,
    theirs: Revision,
    ours: Revision,
    able: &Value,
) -> Value {
    use polyport::client::Connect;
    use polyport::testing::connect_to;
    use polyport::{Command, Revisions, Service};

    let command = Command::new("sh").args(["-c", script]).env("TELLS", tells);
    let client = Connect::command(command)
        .speaks(Revisions::NONE.with(theirs))
        .on_behalf_of(super::asking::facts(able));
    let relay = client.connect().await.unwrap().into_handler();
    let peer = connect_to(Service::new(relay), ours, able).await.unwrap();
    let called = ask(&peer, ("tools/call", r#"{"name":"t","arguments":{}}"#));
    tokio::time::timeout(Duration::from_secs(30), called)
        .await
        .unwrap()
}

// req: S-RELAY-VISIT
#[cfg(unix)]
#[tokio::test]
async fn who_cannot_be_sent_to_a_page_is_told_where_it_is() {
    for ours in Revision::ALL {
        for able in [json!({}), everything()] {
            for (script, theirs) in [(REFUSES, LEGACY), (ASKS_ALL, MODERN)] {
                let at = format!("{ours} to {theirs}, {able}");
                let sees = able != json!({}) && (ours == LEGACY || ours == MODERN);
                if sees {
                    continue;
                }
                let refused = program(script, "", theirs, ours, &able).await;
                if ours == MODERN {
                    assert_eq!(refused["code"], -32021, "{at}: {refused}");
                } else {
                    let said = refusal("tools/call", &refused);
                    assert!(
                        said.contains("https://example.test/a (Connect)"),
                        "{at}: {said}"
                    );
                }
            }
        }
    }
}

// req: S-RELAY-VISIT
#[cfg(unix)]
#[tokio::test]
async fn a_word_that_comes_before_the_refusal_is_not_lost() {
    let result = program(REFUSES, "yes", LEGACY, LEGACY, &everything()).await;
    assert_eq!(text(&result), "connected", "{result}");
    let refused = program(REFUSES, "", LEGACY, LEGACY, &everything()).await;
    assert_eq!(refused["code"], -32042, "{refused}");
}
