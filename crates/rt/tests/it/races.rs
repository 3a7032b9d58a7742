//! What crosses on its way: cancels and results, ids that are used again, queues that are full. No reply goes astray.

use std::sync::atomic::Ordering;

use polyport_proto::Limits;
use polyport_rt::Service;
use polyport_testkit::Script;
use polyport_testkit::handlers::Puppet;

use crate::{OPEN, check};

async fn opened(puppet: &Puppet, limits: Limits) -> Script {
    let mut peer = Script::connect(Service::new(puppet.clone()).limits(limits));
    peer.play(OPEN).await;
    peer
}

// req: P-REUSE
#[tokio::test(start_paused = true)]
async fn an_id_that_is_used_again_gets_its_own_answer() {
    let mut peer = opened(&Puppet::default(), Limits::default()).await;
    for first in ["tidy", "never", "tidy then panics"] {
        let script = r#"
            > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"FIRST","arguments":{"n":1}}}
            > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
            > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"two minutes","arguments":{"n":2}}}
            < {"jsonrpc":"2.0","id":1,"result":{"n":2}}
            .
        "#;
        peer.play(&script.replace("FIRST", first)).await;
    }
}

// req: P-REUSE
#[tokio::test(start_paused = true)]
async fn no_refusal_under_the_id_of_a_call_that_runs() {
    let mut peer = opened(&Puppet::default(), Limits::default()).await;
    for wrong in [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":7}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","method":"ping"}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
    ] {
        peer.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{"n":1}}}"#).await;
        peer.send(wrong).await;
        let got = peer.receive().await.unwrap();
        assert!(
            got.get("error").is_some() && got.get("id").is_none(),
            "{wrong}: {got}"
        );
        peer.play(r#"< {"jsonrpc":"2.0","id":1,"result":{"n":1}}"#)
            .await;
    }
}

// req: D-13
// req: BR-059
#[tokio::test(start_paused = true)]
async fn d_13_what_waits_to_be_sent_goes_with_its_call() {
    for tool in ["told then burst then never", "told then burst"] {
        let puppet = Puppet::default();
        let mut peer = opened(&puppet, Limits::default()).await;
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"TOOL","_meta":{"progressToken":1}}}"#;
        peer.send(&call.replace("TOOL", tool)).await;
        peer.play("> {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n< {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}").await;
        // It speaks, perhaps ends, and is cancelled before anybody looks.
        puppet.told.notify_one();
        peer.play(
            r#"
            > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
            > {"jsonrpc":"2.0","id":2,"method":"ping"}
            < {"jsonrpc":"2.0","id":2,"result":{}}
            .
        "#,
        )
        .await;
    }
}

// req: D-13
#[tokio::test(start_paused = true)]
async fn d_13_a_cancel_meets_only_a_call_that_runs() {
    check(
        r#"
        > {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}
        ~ {"id":0,"result":{}}
        > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}
        > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1"}}
        < {"jsonrpc":"2.0","id":1,"result":{}}
        > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}
        < {"jsonrpc":"2.0","id":1,"result":{}}
        $
    "#,
    )
    .await;
}

// req: D-13
#[tokio::test(start_paused = true)]
async fn d_13_a_cancelled_call_that_does_not_end_is_dropped_after_its_grace() {
    let puppet = Puppet::default();
    let mut peer = opened(&puppet, Limits::default()).await;
    let dropped = || puppet.seen.dropped.load(Ordering::SeqCst);
    peer.play(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"never"}}
        @ 60s
        > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
        @ 1900ms
    "#,
    )
    .await;
    assert_eq!(dropped(), 0);
    peer.play("@ 200ms").await;
    assert_eq!(dropped(), 1);
}

// req: D-13
#[tokio::test(start_paused = true)]
async fn d_13_initialize_is_not_cancelled() {
    let puppet = Puppet {
        discovers: "slow",
        ..Puppet::default()
    };
    let mut peer = Script::connect(Service::new(puppet));
    peer.play(
        r#"
        > {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}
        > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}
        ~ {"id":0,"result":{"protocolVersion":"2025-06-18"}}
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}
        < {"jsonrpc":"2.0","id":1,"result":{}}
        $
    "#,
    )
    .await;
}

/// Room for three of the puppet's notifications, by number and by length.
fn narrow() -> [Limits; 2] {
    let (mut few, mut short) = (Limits::default(), Limits::default());
    few.queue_messages = 3;
    short.queue_bytes = 350;
    [few, short]
}

// req: D-35
// req: D-21
#[tokio::test(start_paused = true)]
async fn d_35_logs_without_room_are_left_out_and_counted() {
    for limits in narrow() {
        let mut peer = opened(&Puppet::default(), limits).await;
        peer.play(
            r#"
            > {"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}
            < {"jsonrpc":"2.0","id":1,"result":{}}
        "#,
        )
        .await;
        for tool in ["ten logs", "slow then ten logs"] {
            let script = r#"
                > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"TOOL"}}
                ~ {"params":{"level":"info","data":{"n":0}}}
                ~ {"params":{"level":"info","data":{"n":1}}}
                ~ {"params":{"level":"info","data":{"n":2}}}
                ~ {"params":{"level":"warning","data":"7 log messages were left out: too many at once"}}
                < {"jsonrpc":"2.0","id":2,"result":{}}
                .
            "#;
            peer.play(&script.replace("TOOL", tool)).await;
        }
    }
}

// req: D-35
// req: D-21
#[tokio::test(start_paused = true)]
async fn d_35_progress_without_room_is_left_out_but_the_newest() {
    for limits in narrow() {
        let mut peer = opened(&Puppet::default(), limits).await;
        for tool in ["burst", "slow then burst"] {
            let script = r#"
                > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"TOOL","_meta":{"progressToken":1}}}
                ~ {"params":{"progress":1}}
                ~ {"params":{"progress":2}}
                ~ {"params":{"progress":3}}
                ~ {"params":{"progress":100}}
                < {"jsonrpc":"2.0","id":2,"result":{}}
                .
            "#;
            peer.play(&script.replace("TOOL", tool)).await;
        }
    }
    let mut limits = Limits::default();
    limits.queue_messages = 1;
    let mut peer = opened(&Puppet::default(), limits).await;
    peer.play(
        r#"
        > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"backwards","_meta":{"progressToken":1}}}
        ~ {"params":{"progress":1}}
        ~ {"params":{"progress":2.5}}
        < {"jsonrpc":"2.0","id":2,"result":{}}
        .
    "#,
    )
    .await;
}

// req: D-35
#[tokio::test(start_paused = true)]
async fn d_35_calls_of_all_connections_are_bounded() {
    let mut limits = Limits::default();
    limits.calls = 1;
    let service = Service::new(Puppet::default()).limits(limits);
    let mut one = Script::connect(service.clone());
    let mut other = Script::connect(service);
    one.play(OPEN).await;
    other.play(OPEN).await;
    one.play(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}
        > {"jsonrpc":"2.0","id":2,"method":"ping"}
        < {"jsonrpc":"2.0","id":2,"result":{}}
    "#,
    )
    .await;
    let refused = r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}
        < {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Too many calls at once (limit 1): retry when one has finished"}}
    "#;
    other.play(refused).await;
    one.play(r#"< {"jsonrpc":"2.0","id":1,"result":{}}"#).await;
    other
        .play(
            r#"
            > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}
            < {"jsonrpc":"2.0","id":1,"result":{}}
        "#,
        )
        .await;
}
