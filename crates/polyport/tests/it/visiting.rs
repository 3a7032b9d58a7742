//! A client that is refused until its user has visited pages sends him there, and asks once more.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use polyport::client::Connect;
use polyport::model::{ElicitResult, ElicitUrlParams, Object};
use polyport::{Client, ClientError, Command, Fault, Raw, Revision, Revisions, Server, Speaker};
use tokio::time::{Instant, sleep};

use crate::visits::Page;

/// Nothing in these tests takes so long.
const LONG: Duration = Duration::from_secs(30);

/// What the user does at the page, some time after he has agreed.
#[derive(Clone, Copy, Debug)]
enum Does {
    /// Pays, and the server tells.
    Pays,
    /// Pays, and the server says nothing.
    PaysInSilence,
    Nothing,
}

/// Connects in 2025-11-25 with a user who agrees. The requests are counted.
async fn open(page: &Page, after: Duration, does: Does) -> (Connect, Arc<Mutex<Vec<String>>>) {
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let (note, pays) = (asked.clone(), page.clone());
    let connect = Connect::service(page.server().into_service())
        .speaks(Revisions::NONE.with(Revision::V2025_11_25))
        .tap(move |speaker, text| {
            let message: serde_json::Value = serde_json::from_slice(text).unwrap();
            if let (Speaker::Client, Some(method)) = (speaker, message["method"].as_str()) {
                note.lock().unwrap().push(method.to_owned());
            }
        })
        .on_page(move |asked: ElicitUrlParams| {
            assert!(
                asked
                    .url
                    .ends_with(asked.elicitation_id.as_deref().unwrap())
            );
            let page = pays.clone();
            tokio::spawn(async move {
                sleep(after).await;
                match does {
                    Does::Pays => {
                        page.pay();
                        for visit in page.visits.lock().unwrap().drain(..) {
                            assert!(visit.done());
                        }
                    }
                    Does::PaysInSilence => page.pay(),
                    Does::Nothing => {}
                }
            });
            async { ElicitResult::accept(None) }
        });
    (connect, asked)
}

async fn pay(client: &Client, kind: &str) -> Result<String, ClientError> {
    match kind {
        "tools/call" => {
            let paid = client.call_tool("pay", &Raw::from_static("{}")).await?;
            Ok(format!("{:?}", paid.content))
        }
        "prompts/get" => {
            let paid = client.prompt("pay", Object::new()).await?;
            Ok(format!("{:?}", paid.messages))
        }
        _ => Ok(format!("{:?}", client.read("pay:/").await?.contents)),
    }
}

const KINDS: [&str; 3] = ["tools/call", "prompts/get", "resources/read"];

// req: Q-SENT
#[tokio::test(start_paused = true)]
async fn a_request_is_sent_once_more_when_all_is_done_at_the_page() {
    let (five, thirty) = (Duration::from_secs(300), Duration::from_secs(30));
    let nothing = Duration::ZERO;
    let rows = [
        (Does::Pays, thirty, thirty, true),
        (Does::Pays, nothing, nothing, true),
        // Not every server tells.
        (Does::PaysInSilence, thirty, five, true),
        (Does::Nothing, nothing, five, false),
    ];
    for kind in KINDS {
        for (does, after, took, is_paid) in rows {
            let at = format!("{kind} {does:?} {after:?}");
            let page = Page::default();
            let (connect, asked) = open(&page, after, does).await;
            let client = connect.connect().await.unwrap();
            asked.lock().unwrap().clear();
            let begun = Instant::now();
            let paid = pay(&client, kind).await;
            assert_eq!(begun.elapsed().as_secs(), took.as_secs(), "{at}");
            assert_eq!(*asked.lock().unwrap(), [kind, kind], "{at}");
            match paid {
                Ok(paid) => assert!(is_paid && paid.contains("paid"), "{at}: {paid}"),
                Err(error) => {
                    assert!(!is_paid, "{at}: {error:?}");
                    assert_eq!(error.pages().len(), 1, "{at}: {error:?}");
                }
            }
        }
    }
}

// req: Q-SENT
#[tokio::test(start_paused = true)]
async fn the_user_or_the_program_ends_the_wait() {
    let seven = Duration::from_secs(7);
    let page = Page::default();
    let (connect, _) = open(&page, Duration::ZERO, Does::PaysInSilence).await;
    let connect = connect.until_visited(move |pages| async move {
        assert_eq!(pages[0].message, "Pay");
        sleep(seven).await;
    });
    let client = connect.connect().await.unwrap();
    let begun = Instant::now();
    pay(&client, "tools/call").await.unwrap();
    assert_eq!(begun.elapsed().as_secs(), 7);

    let page = Page::default();
    let (connect, _) = open(&page, Duration::ZERO, Does::PaysInSilence).await;
    let client = connect.visiting(seven).connect().await.unwrap();
    let begun = Instant::now();
    pay(&client, "tools/call").await.unwrap();
    assert_eq!(begun.elapsed().as_secs(), 7);
}

// req: Q-SENT
#[tokio::test(start_paused = true)]
async fn one_word_is_for_all_who_wait_and_for_nobody_who_comes_later() {
    let paid = Arc::new(AtomicBool::new(false));
    let pays = paid.clone();
    // It names the same page by the same id each time.
    let server = Server::new("t", "1").tool("pay", "", move |_cx, (): ()| {
        let is_paid = pays.load(Ordering::SeqCst);
        async move {
            if is_paid {
                return Ok("paid");
            }
            Err(Fault::visit_first([ElicitUrlParams {
                message: "Pay".to_owned(),
                url: "https://pay.example/".to_owned(),
                elicitation_id: Some("same".to_owned()),
                ..ElicitUrlParams::default()
            }])
            .into())
        }
    });
    let handle = server.handle();
    let client = Connect::service(server.into_service())
        .speaks(Revisions::NONE.with(Revision::V2025_11_25))
        .on_page(|_page| async { ElicitResult::accept(None) })
        .connect()
        .await
        .unwrap();
    for after in [30, 10] {
        paid.store(false, Ordering::SeqCst);
        let begun = Instant::now();
        let (one, other, ()) = tokio::join!(
            pay(&client, "tools/call"),
            pay(&client, "tools/call"),
            async {
                sleep(Duration::from_secs(after)).await;
                paid.store(true, Ordering::SeqCst);
                assert!(handle.elicitation_complete("same"));
            }
        );
        for called in [one, other] {
            assert!(called.unwrap().contains("paid"), "after {after} s");
        }
        assert_eq!(begun.elapsed().as_secs(), after);
    }
}

// req: Q-SENT
#[tokio::test(start_paused = true)]
async fn a_modern_call_goes_on_when_the_user_says_so() {
    // Who says when, if anybody; how long that is waited for; and when the call goes on.
    for (says, waits, took, is_paid) in [
        (Some(7), 300, 7, true),
        (Some(7), 3, 3, false),
        (None, 300, 0, false),
    ] {
        for kind in KINDS {
            let at = format!("{kind} {says:?} {waits}");
            let page = Page::default();
            let mut connect = Connect::service(page.server().into_service())
                .speaks(Revisions::NONE.with(Revision::LATEST))
                .visiting(Duration::from_secs(waits))
                .on_page(|_page| async { ElicitResult::accept(None) });
            if let Some(says) = says {
                let page = page.clone();
                connect = connect.until_visited(move |pages| {
                    assert_eq!((pages.len(), &pages[0].elicitation_id), (1, &None));
                    let page = page.clone();
                    async move {
                        sleep(Duration::from_secs(says)).await;
                        page.pay();
                    }
                });
            }
            let client = connect.connect().await.unwrap();
            let begun = Instant::now();
            let paid = match pay(&client, kind).await {
                Ok(text) => text,
                Err(error) => error.to_string(),
            };
            assert_eq!(begun.elapsed().as_secs(), took, "{at}: {paid}");
            let said = if is_paid { "paid" } else { "call again" };
            assert!(paid.contains(said), "{at}: {paid}");
        }
    }
}

// req: Q-SENT
#[tokio::test]
async fn where_nobody_agrees_the_error_names_the_pages() {
    let plain = |page: &Page| Connect::service(page.server().into_service());
    let legacy = Revisions::NONE.with(Revision::V2025_11_25);
    for answer in [ElicitResult::decline(), ElicitResult::cancel()] {
        let page = Page::default();
        let connect = plain(&page).speaks(legacy).on_page(move |_page| {
            let answer = answer.clone();
            async { answer }
        });
        let client = connect.connect().await.unwrap();
        let refused = pay(&client, "tools/call").await.unwrap_err();
        let visits = page.visits.lock().unwrap();
        assert_eq!(visits.len(), 1, "nobody is asked again");
        let pages = refused.pages();
        assert_eq!(pages[0].elicitation_id.as_deref(), Some(visits[0].id()));
        assert_eq!(
            pages[0].url,
            format!("https://pay.example/{}", visits[0].id())
        );
    }
    let other = ClientError::NotOffered("tools");
    assert!(other.pages().is_empty());
}

/// A server that sends the user to two pages, tells of one that nobody knows, and ends.
#[cfg(unix)]
const ENDS: &str = r#"
    read opening; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}'
    read initialized
    echo '{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"b"}}'
    read call; echo '{"jsonrpc":"2.0","id":2,"error":{"code":-32042,"message":"first","data":{"elicitations":[{"mode":"url","elicitationId":"a","url":"https://example.test/a","message":"A"},{"mode":"url","elicitationId":"b","url":"https://example.test/b","message":"B"}]}}}'
    echo '{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"c"}}'
    [ "$ENDS" = "" ] && echo '{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"a"}}'
    [ "$ENDS" = "" ] && read call && echo '{"jsonrpc":"2.0","id":3,"result":{"content":[]}}' && read rest
"#;

// req: Q-SENT
#[cfg(unix)]
#[tokio::test]
async fn all_pages_are_waited_for_and_not_longer_than_the_server_lives() {
    for ends in ["", "yes"] {
        let visited: Arc<Mutex<Vec<String>>> = Arc::default();
        let note = visited.clone();
        let command = Command::new("sh").args(["-c", ENDS]).env("ENDS", ends);
        let connect = Connect::command(command).speaks(Revisions::NONE.with(Revision::V2025_11_25));
        let client = connect
            .on_page(move |page| {
                note.lock().unwrap().push(page.message);
                async { ElicitResult::accept(None) }
            })
            .connect();
        let client = client.await.unwrap();
        let nothing = Raw::from_static("{}");
        let called = tokio::time::timeout(LONG, client.call_tool("t", &nothing)).await;
        match called.unwrap() {
            Ok(_) => assert_eq!(ends, ""),
            Err(error) => {
                assert_eq!(ends, "yes", "{error:?}");
                assert!(matches!(error, ClientError::Gone { .. }), "{error:?}");
            }
        }
        assert_eq!(*visited.lock().unwrap(), ["A", "B"]);
    }
}
