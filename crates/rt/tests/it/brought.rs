//! What a client brings back between rounds: twice, much of it, or for something else than was asked.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use polyport_rt::{Context, Service};
use polyport_testkit::Script;
use polyport_testkit::handlers::Puppet;
use polyport_wire::Raw;
use tokio::time::sleep;

use crate::limits;
use crate::questions::{ALL, open};
use crate::rounds::{ASK, CALL, legacy, modern, retry, through};
use crate::tools::{form, service};

// req: Q-MODERN
#[tokio::test(start_paused = true)]
async fn a_retry_that_is_sent_twice_is_answered_twice() {
    let tool = |cx: Context| async move {
        cx.ask(form("who")).await?;
        sleep(Duration::from_secs(1)).await;
        Ok("done".to_owned())
    };
    let mut peer = Script::connect(service(tool));
    peer.send(&modern(ASK)).await;
    peer.receive().await.unwrap();
    let state = peer.state().to_owned();
    for id in [2, 3] {
        peer.send(&retry(id, &state, &["who"])).await;
    }
    peer.play(
        r#"
        < {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","end":"done"}}
        < {"jsonrpc":"2.0","id":3,"result":{"resultType":"complete","end":"done"}}
    "#,
    )
    .await;
    // And once more when the call is long over: the answer may have been lost on its way.
    peer.send(&retry(4, &state, &["who"])).await;
    peer.play("~ {\"id\":4,\"result\":{\"end\":\"done\"}}\n$")
        .await;
}

// req: Q-BOUND
#[tokio::test(start_paused = true)]
async fn a_thousand_questions() {
    let tool = |cx: Context| async move {
        let mut asks: Vec<_> = (0..1_000)
            .map(|n| Some(cx.ask(form(format!("k{n}")))))
            .collect();
        poll_fn(|task| {
            for slot in &mut asks {
                match slot.as_mut().map(|ask| pin!(ask).poll(task)) {
                    Some(Poll::Ready(Ok(_))) => *slot = None,
                    Some(Poll::Ready(Err(no))) => return Poll::Ready(Err(no)),
                    Some(Poll::Pending) | None => {}
                }
            }
            if asks.iter().all(Option::is_none) {
                Poll::Ready(Ok(()))
            } else {
                Poll::Pending
            }
        })
        .await?;
        Ok("done".to_owned())
    };
    let (rounds, end) = through(&mut Script::connect(service(tool))).await;
    assert!(rounds == 1 && end.contains("done"), "{end}");
    // A legacy session has room for 64; the call ends, and the client hears that nobody waits.
    let mut peer = legacy(service(tool)).await;
    peer.play(CALL).await;
    let (mut asked, mut let_go) = (0, 0);
    let end = loop {
        let got = peer.receive().await.unwrap();
        match got["method"].as_str() {
            Some("elicitation/create") => asked += 1,
            Some("notifications/cancelled") => let_go += 1,
            _ => break got,
        }
    };
    assert_eq!((asked, let_go), (64, 64), "{end}");
    assert!(
        end["error"]["message"]
            .as_str()
            .unwrap()
            .contains("Too many questions"),
        "{end}"
    );
    peer.play("$").await;
}

// req: Q-LONG
#[tokio::test(start_paused = true)]
async fn a_step_may_come_to_more_than_a_message_may_hold() {
    let tool = |cx: Context| async move {
        if cx.begin_step("many")?.is_none() {
            let deep = "[".repeat(200) + &"]".repeat(200);
            let many = format!("[{deep}{}]", ",1".repeat(200_000));
            cx.end_step("many", Some(Raw::trusted(many)));
        }
        cx.ask(form("who")).await?;
        Ok(cx
            .begin_step("many")?
            .map_or(0, |kept| kept.as_str().len())
            .to_string())
    };
    let (rounds, end) = through(&mut Script::connect(service(tool))).await;
    assert!(rounds == 1 && end.contains("\"end\":\"400402\""), "{end}");
}

// req: V-314
#[tokio::test(start_paused = true)]
async fn v_314_a_state_tells_numbers_apart_that_a_reader_might_not() {
    let tool = |cx: Context| async move {
        cx.ask(form("who")).await?;
        Ok("done".to_owned())
    };
    let with = |id: u32, arguments: &str, more: &str| {
        modern(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t","arguments":{arguments},{more}META}}}}"#
        ))
    };
    for (first, then, good) in [
        (
            r#"{"n":1e400,"file":"a"}"#,
            r#"{"n":1e400,"file":"b"}"#,
            false,
        ),
        (
            r#"{"n":123456789012345678901}"#,
            r#"{"n":123456789012345678902}"#,
            false,
        ),
        (
            r#"{"n":123456789012345678901}"#,
            r#"{"n":123456789012345678901}"#,
            true,
        ),
        (
            r#"{"a":123456789012345678,"b":0.5}"#,
            r#"{"b":0.50,"a":123456789012345678}"#,
            true,
        ),
    ] {
        let mut peer = Script::connect(service(tool));
        peer.send(&with(1, first, "")).await;
        peer.receive().await.unwrap();
        let brought = format!(
            r#""requestState":"{}","inputResponses":{{"who":{{"action":"accept"}}}},"#,
            peer.state()
        );
        peer.send(&with(2, then, &brought)).await;
        let got = peer.receive().await.unwrap();
        assert_eq!(got.get("result").is_some(), good, "{first} {then}: {got}");
    }
}

// req: Q-BOUND
#[tokio::test(start_paused = true)]
async fn before_a_client_is_ready_so_many_questions_wait_and_no_more() {
    let bounds = limits(|limits| limits.questions_per_session = 2);
    let mut peer = Script::connect(Service::new(Puppet::default()).limits(bounds));
    peer.play(open(ALL).rsplit_once('>').unwrap().0).await;
    peer.play(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks a"}}
        > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"asks b"}}
        > {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"asks c"}}
        ~ {"id":3,"error":{"message":"Too many questions are open: answer one of them first"}}
        > {"jsonrpc":"2.0","method":"notifications/initialized"}
        ~ {"id":1,"method":"elicitation/create"}
        ~ {"id":2,"method":"elicitation/create"}
        > {"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}
        > {"jsonrpc":"2.0","id":2,"result":{"action":"accept"}}
        ~ {"id":1,"result":{}}
        ~ {"id":2,"result":{}}
        $
    "#,
    )
    .await;
}

// req: Q-AUTHOR
#[tokio::test(start_paused = true)]
async fn who_gives_back_nothing_but_waits_is_stopped() {
    let mut peer = Script::connect(Service::new(Puppet::default()));
    peer.play(&open(ALL)).await;
    let script = r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"givesWAITS"}}
        ~ {"id":1,"error":{"code":-32603,"message":"Internal error"}}
        $
    "#;
    peer.play(&script.replace("WAITS", &" wait".repeat(100)))
        .await;
}
