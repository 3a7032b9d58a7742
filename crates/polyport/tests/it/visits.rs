//! Pages that users are sent to: a call that is refused until one was visited, and the word that all is done there.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use polyport::testing::{TestPeer, connect_to};
use polyport::{CallError, Fault, PromptReply, Revision, Server, Service, Visit};
use serde_json::{Value, json};

use crate::questions::{everything, text};

/// What the page at the other end knows.
#[derive(Clone, Default)]
pub(crate) struct Page {
    paid: Arc<AtomicBool>,
    pub(crate) visits: Arc<Mutex<Vec<Visit>>>,
}

impl Page {
    pub(crate) fn pay(&self) {
        self.paid.store(true, Ordering::SeqCst);
    }

    pub(crate) fn ids(&self) -> Vec<String> {
        let visits = self.visits.lock().unwrap();
        visits.iter().map(|visit| visit.id().to_owned()).collect()
    }

    /// Refuses, until it is paid.
    fn check(&self, cx: &polyport::Cx) -> Result<&'static str, Fault> {
        if self.paid.load(Ordering::SeqCst) {
            return Ok("paid");
        }
        let visit = cx.visit("pay")?;
        let url = format!("https://pay.example/{}", visit.id());
        let page = visit.page("Pay", url);
        self.visits.lock().unwrap().push(visit);
        Err(Fault::visit_first([page]))
    }

    pub(crate) fn server(&self) -> Server {
        let [tool, prompt, resource, asks] = [(); 4].map(|()| self.clone());
        Server::new("t", "1")
            .tool("pay", "", move |cx, (): ()| {
                let page = tool.clone();
                async move { Ok(page.check(&cx)?) }
            })
            .prompt("pay", "", move |cx, (): ()| {
                let page = prompt.clone();
                async move { page.check(&cx).map(|text| PromptReply::new().user(text)) }
            })
            .resource("pay:/", "pay", move |cx| {
                let page = resource.clone();
                async move { page.check(&cx) }
            })
            .tool("asks", "", move |cx, (): ()| {
                let page = asks.clone();
                async move {
                    let visit = cx.visit("pay")?;
                    page.visits.lock().unwrap().push(visit);
                    cx.elicit_url("pay", "Pay", "https://pay.example/").await?;
                    Ok("on the way")
                }
            })
            .tool("done", "", |cx, (): ()| async move {
                cx.elicit_url("pay", "Pay", "https://pay.example/").await?;
                let told = [(); 2].map(|()| cx.elicitation_complete("pay"));
                Ok(format!("{told:?} {}", cx.elicitation_complete("other")))
            })
    }
}

pub(crate) const KINDS: [(&str, &str); 3] = [
    ("tools/call", r#"{"name":"pay","arguments":{}}"#),
    ("prompts/get", r#"{"name":"pay"}"#),
    ("resources/read", r#"{"uri":"pay:/"}"#),
];

async fn client(service: Service, revision: Revision, client: &Value, action: &str) -> TestPeer {
    let action = action.to_owned();
    let peer = connect_to(service, revision, client).await.unwrap();
    peer.answering(move |_, asked| {
        assert_eq!(asked["mode"], "url", "{asked}");
        json!({"action": action})
    })
}

/// The result, or the error as `{"code", "message", "data"}`.
pub(crate) async fn ask(peer: &TestPeer, (method, params): (&str, &str)) -> Value {
    let params = serde_json::from_str(params).unwrap();
    match peer.request(method, &params).await {
        Ok(result) => result,
        Err(CallError::Refused(error)) => serde_json::from_str(error.as_str()).unwrap(),
        Err(error) => panic!("{method}: {error}"),
    }
}

// req: Q-VISIT
// req: D-29
#[tokio::test]
async fn a_call_may_be_refused_until_a_page_was_visited() {
    let form = json!({"elicitation": {"form": {}}});
    for (revision, capabilities) in Revision::ALL
        .into_iter()
        .flat_map(|revision| [(revision, everything()), (revision, form.clone())])
    {
        let able = capabilities == everything();
        for kind in KINDS {
            let page = Page::default();
            let service = page.server().into_service();
            let peer = client(service, revision, &capabilities, "accept").await;
            let refused = ask(&peer, kind).await;
            let url = format!("https://pay.example/{}", page.ids()[0]);
            let at = format!("{kind:?} in {revision}, {able}: {refused}");
            let said = refused["message"].as_str().unwrap_or_default();
            match (revision, able) {
                (Revision::V2025_11_25, true) => {
                    assert_eq!(refused["code"], -32042, "{at}");
                    let asked = json!([{"mode": "url", "message": "Pay", "url": url, "elicitationId": page.ids()[0]}]);
                    assert_eq!(refused["data"]["elicitations"], asked, "{at}");
                }
                (Revision::V2026_07_28, true) => {
                    // Asked, agreed, run again, and not paid yet: nobody is sent there twice.
                    assert_eq!(page.ids(), [page.ids()[0].clone(), page.ids()[0].clone()]);
                    if kind.0 == "tools/call" {
                        assert_eq!(refused["isError"], true, "{at}");
                        assert!(text(&refused).contains("call again"), "{at}");
                        assert!(text(&refused).contains(&url), "{at}");
                    } else {
                        assert_eq!(refused["code"], -32602, "{at}");
                        assert!(said.contains("call again"), "{at}");
                    }
                }
                (Revision::V2026_07_28, false) => {
                    assert_eq!(refused["code"], -32021, "{at}");
                    assert!(refused["data"].to_string().contains("url"), "{at}");
                }
                _ if kind.0 == "tools/call" => {
                    assert_eq!(refused["isError"], true, "{at}");
                    assert!(text(&refused).contains(&url), "{at}");
                }
                _ => {
                    assert_eq!(refused["code"], -32602, "{at}");
                    assert!(said.contains(&url), "{at}");
                }
            }
            page.pay();
            let paid = ask(&peer, kind).await;
            assert!(paid["code"].is_null(), "{paid}");
            assert!(paid.to_string().contains("paid"), "{paid}");
        }
    }
}

// req: Q-VISIT
#[tokio::test]
async fn a_modern_user_pays_on_the_way_or_says_no() {
    let page = Page::default();
    let service = page.server().into_service();
    for (action, word) in [("decline", "did not agree"), ("cancel", "did not agree")] {
        let peer = client(service.clone(), Revision::LATEST, &everything(), action).await;
        let refused = ask(&peer, KINDS[0]).await;
        assert_eq!(refused["isError"], true);
        assert!(text(&refused).contains(word), "{refused}");
        let refused = ask(&peer, KINDS[2]).await;
        assert_eq!(refused["code"], -32602, "{refused}");
    }
    let peer = connect_to(service, Revision::LATEST, &everything())
        .await
        .unwrap();
    let pays = page.clone();
    let peer = peer.answering(move |_, asked| {
        assert!(asked["elicitationId"].is_null(), "{asked}");
        pays.pay();
        json!({"action": "accept"})
    });
    for kind in KINDS {
        page.paid.store(false, Ordering::SeqCst);
        let paid = ask(&peer, kind).await;
        assert!(paid.to_string().contains("paid"), "{paid}");
    }
}

/// The word that all is done at a page.
pub(crate) fn told(id: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/elicitation/complete", "params": {"elicitationId": id}})
}

/// What a client hears before the answer to a ping.
async fn hears(peer: &TestPeer) -> Vec<Value> {
    peer.request("ping", &json!({})).await.unwrap();
    peer.notifications()
}

// req: Q-DONE
#[tokio::test]
async fn that_a_page_is_done_is_told_once_and_to_whom_was_sent_there() {
    for (tool, by_id) in [
        ("pay", false),
        ("asks", false),
        ("pay", true),
        ("asks", true),
    ] {
        let page = Page::default();
        let server = page.server();
        let handle = server.handle();
        let service = server.into_service();
        let able = everything();
        let new = || client(service.clone(), Revision::V2025_11_25, &able, "accept");
        let (first, second) = (new().await, new().await);
        for peer in [&first, &second] {
            let _ = peer.call(tool, &json!({})).await;
        }
        let visits = page.visits.lock().unwrap().clone();
        let [one, two] = &*visits else { panic!() };
        assert_ne!(one.id(), two.id());
        let done = |visit: &Visit| match by_id {
            true => handle.elicitation_complete(visit.id()),
            false => visit.done(),
        };
        assert!(done(two));
        assert!(!done(two), "once");
        assert!(!two.done() && !handle.elicitation_complete("unknown"));
        assert_eq!(hears(&first).await, [] as [Value; 0]);
        assert_eq!(hears(&second).await, [told(two.id())]);
        // Whose client is gone is told nothing.
        first.stop().await;
        assert!(!done(one));
    }
}

// req: Q-DONE
#[tokio::test]
async fn only_the_revision_that_has_the_word_is_told() {
    for revision in Revision::ALL {
        let page = Page::default();
        let server = page.server();
        let handle = server.handle();
        let peer = client(server.into_service(), revision, &everything(), "accept").await;
        for tool in ["pay", "asks", "done"] {
            let _ = peer.call(tool, &json!({})).await;
        }
        let has_it = revision == Revision::V2025_11_25;
        for id in page
            .ids()
            .into_iter()
            .collect::<std::collections::BTreeSet<_>>()
        {
            assert_eq!(handle.elicitation_complete(&id), has_it, "{revision}");
        }
        if revision != Revision::LATEST {
            // One by each of the first two tools, one by the third while it ran.
            assert_eq!(
                hears(&peer).await.len(),
                if has_it { 3 } else { 0 },
                "{revision}"
            );
        }
        if has_it || revision == Revision::LATEST {
            let told = peer.call("done", &json!({})).await.unwrap();
            assert_eq!(
                text(&told),
                format!("[{has_it}, false] false"),
                "{revision}"
            );
        }
    }
}

#[tokio::test]
async fn a_refusal_where_nothing_may_be_asked_is_an_error() {
    let server = Page::default().server();
    let server = server.completer(polyport::Completer::of_prompt(
        "pay",
        "a",
        |cx, _, _| async move {
            let visit = cx.visit("v")?;
            Err::<Vec<String>, _>(Fault::visit_first([
                visit.page("Pay", "https://pay.example/")
            ]))
        },
    ));
    let peer = client(
        server.into_service(),
        Revision::LATEST,
        &everything(),
        "accept",
    )
    .await;
    let params = r#"{"ref":{"type":"ref/prompt","name":"pay"},"argument":{"name":"a","value":""}}"#;
    let refused = ask(&peer, ("completion/complete", params)).await;
    assert_eq!(refused["code"], -32603, "{refused}");
    assert_eq!(
        refused["data"]["elicitations"][0]["url"],
        "https://pay.example/"
    );
}
