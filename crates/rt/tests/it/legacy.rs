//! The handshake and what comes after it.

use std::sync::atomic::Ordering;

use polyport_proto::Limits;
use polyport_rt::Service;
use polyport_testkit::Script;
use polyport_testkit::handlers::Puppet;

use crate::{META, OPEN, check};

// req: L-INIT
#[tokio::test(start_paused = true)]
async fn each_revision_is_negotiated() {
    for (asked, answered) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("9999-99-99", "2025-11-25"),
    ] {
        let script = r#"
            > {"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"ASKED","capabilities":{}}}
            ~ {"jsonrpc":"2.0","id":"a","result":{"protocolVersion":"ANSWERED","serverInfo":{"name":"puppet"}}}
            $
        "#;
        check(&script.replace("ASKED", asked).replace("ANSWERED", answered)).await;
    }
}

// req: L-INIT
#[tokio::test(start_paused = true)]
async fn a_bad_initialize_opens_nothing() {
    check(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}
        ~ {"id":1,"error":{"code":-32602}}
        > {"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":[]}}
        ~ {"id":2,"error":{"code":-32602}}
        > {"jsonrpc":"2.0","id":3,"method":"initialize"}
        ~ {"id":3,"error":{"code":-32602}}
        > {"jsonrpc":"2.0","id":4,"method":"tools/list"}
        ~ {"id":4,"error":{"code":-32600}}
        > {"jsonrpc":"2.0","id":5,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}
        ~ {"id":5,"result":{"protocolVersion":"2025-06-18"}}
        $
    "#,
    )
    .await;
}

// req: L-INIT
#[tokio::test(start_paused = true)]
async fn an_initialize_that_fails_opens_nothing() {
    for discovers in ["refuses", "slow then refuses", "panics"] {
        let puppet = Puppet {
            discovers,
            ..Puppet::default()
        };
        let mut peer = Script::connect(Service::new(puppet));
        for id in [0, 2] {
            let script = r#"
                > {"jsonrpc":"2.0","id":ID,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}
                ~ {"id":ID,"error":{}}
                > {"jsonrpc":"2.0","id":1,"method":"tools/list"}
                ~ {"id":1,"error":{"code":-32600}}
            "#;
            peer.play(&script.replace("ID", &id.to_string())).await;
        }
    }
}

// req: L-INIT
#[tokio::test(start_paused = true)]
async fn an_initialize_without_room_opens_nothing() {
    let mut limits = Limits::default();
    limits.calls_per_session = 1;
    let mut peer = Script::connect(Service::new(Puppet::default()).limits(limits));
    let script = r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow",META}}
        > {"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}
        ~ {"id":2,"error":{"code":-32600}}
        ~ {"id":1,"result":{}}
        > {"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}
        ~ {"id":3,"result":{"protocolVersion":"2025-06-18"}}
        $
    "#;
    peer.play(&script.replace("META", META)).await;
}

// req: D-35
#[tokio::test(start_paused = true)]
async fn d_35_what_a_client_says_of_itself_is_bounded() {
    let refused = r#"~ {"id":0,"error":{"code":-32602,"message":"initialize: clientInfo and capabilities together are longer than the limit of 65536 bytes"}}"#;
    let taken = r#"~ {"id":0,"result":{}}"#;
    for (bytes, answer) in [(64 << 10, taken), ((64 << 10) + 1, refused)] {
        let name = "x".repeat(bytes - r#"{}{"name":""}"#.len());
        check(&format!(
            r#"
            > {{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"2025-06-18","capabilities":{{}},"clientInfo":{{"name":"{name}"}}}}}}
            {answer}
            $
        "#
        ))
        .await;
    }
}

// req: BR-046
#[tokio::test(start_paused = true)]
async fn br_046_requests_before_initialized_are_answered() {
    check(
        r#"
        > {"jsonrpc":"2.0","id":0,"method":"ping"}
        < {"jsonrpc":"2.0","id":0,"result":{}}
        > {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}
        ~ {"id":1,"result":{}}
        > {"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"info"}}
        < {"jsonrpc":"2.0","id":2,"result":{}}
        > {"jsonrpc":"2.0","id":3,"method":"ping"}
        < {"jsonrpc":"2.0","id":3,"result":{}}
        > {"jsonrpc":"2.0","id":4,"method":"tools/list"}
        < {"jsonrpc":"2.0","id":4,"result":{"tools":[]}}
        $
    "#,
    )
    .await;
}

// req: BR-048
#[tokio::test(start_paused = true)]
async fn br_048_a_second_initialize_changes_nothing() {
    let mut peer = Script::connect(Service::new(Puppet::default()));
    peer.play(OPEN).await;
    peer.play(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{"elicitation":{}}}}
        ~ {"id":1,"error":{"code":-32600}}
        > [{"jsonrpc":"2.0","id":2,"method":"ping"}]
        ~ {"error":{"code":-32600}}
        > {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"asks who"}}
        ~ {"id":3,"result":{"isError":true}}
        > {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"slow"}}
        > {"jsonrpc":"2.0","id":5,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}
        ~ {"id":5,"error":{"code":-32600}}
        < {"jsonrpc":"2.0","id":4,"result":{}}
        .
        $
    "#,
    )
    .await;
    // Nor while the first is under way.
    let puppet = Puppet {
        discovers: "slow",
        ..Puppet::default()
    };
    let mut peer = Script::connect(Service::new(puppet));
    peer.play(
        r#"
        > {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}
        > {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{}}}
        ~ {"id":1,"error":{"code":-32600}}
        ~ {"id":0,"result":{"protocolVersion":"2025-06-18"}}
        $
    "#,
    )
    .await;
}

// req: BR-029
// req: BR-027
#[tokio::test(start_paused = true)]
async fn br_029_ids_keep_their_type() {
    let mut peer = Script::connect(Service::new(Puppet::default()));
    peer.play(OPEN).await;
    peer.play(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{"n":1}}}
        > {"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"slow","arguments":{"n":2}}}
        > {"jsonrpc":"2.0","id":"","method":"tools/call","params":{"name":"slow","arguments":{"n":3}}}
        < {"jsonrpc":"2.0","id":1,"result":{"n":1}}
        < {"jsonrpc":"2.0","id":"1","result":{"n":2}}
        < {"jsonrpc":"2.0","id":"","result":{"n":3}}
        > {"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"never"}}
        > {"jsonrpc":"2.0","id":"","method":"tools/call","params":{"name":"never"}}
        > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}
        > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":""}}
        .
        $
    "#,
    )
    .await;
}

// req: BR-032
#[tokio::test(start_paused = true)]
async fn br_032_an_id_in_use_is_refused_and_the_first_call_completes() {
    let mut peer = Script::connect(Service::new(Puppet::default()));
    peer.play(OPEN).await;
    peer.play(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{"n":1}}}
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"n":2}}}
        ~ {"error":{"code":-32600}}
        < {"jsonrpc":"2.0","id":1,"result":{"n":1}}
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"n":3}}}
        < {"jsonrpc":"2.0","id":1,"result":{"n":3}}
        $
    "#,
    )
    .await;
}

// req: D-13
// req: BR-059
#[tokio::test(start_paused = true)]
async fn d_13_nothing_is_sent_after_a_cancel() {
    let puppet = Puppet::default();
    let mut peer = Script::connect(Service::new(puppet.clone()));
    peer.play(OPEN).await;
    peer.play(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tidy","_meta":{"progressToken":1}}}
        > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"enough"}}
        > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
        > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}
        > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}
        > {"jsonrpc":"2.0","method":"notifications/cancelled"}
        .
        > {"jsonrpc":"2.0","id":2,"method":"ping"}
        < {"jsonrpc":"2.0","id":2,"result":{}}
        $
    "#,
    )
    .await;
    assert_eq!(puppet.seen.cancelled.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn logs_come_after_they_were_asked_for() {
    let mut peer = Script::connect(Service::new(Puppet::default()));
    peer.play(OPEN).await;
    peer.play(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"logs"}}
        < {"jsonrpc":"2.0","id":1,"result":{}}
        > {"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"verbose"}}
        ~ {"id":2,"error":{"code":-32602}}
        > {"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{}}
        ~ {"id":3,"error":{"code":-32602}}
        > {"jsonrpc":"2.0","id":4,"method":"logging/setLevel","params":{"level":"debug"}}
        < {"jsonrpc":"2.0","id":4,"result":{}}
        > {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"logs"}}
        < {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"puppet","data":{"n":1}}}
        < {"jsonrpc":"2.0","id":5,"result":{}}
        > {"jsonrpc":"2.0","id":6,"method":"logging/setLevel","params":{"level":"warning"}}
        < {"jsonrpc":"2.0","id":6,"result":{}}
        > {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"logs"}}
        < {"jsonrpc":"2.0","id":7,"result":{}}
        $
    "#,
    )
    .await;
}

// req: BR-043
#[tokio::test(start_paused = true)]
async fn br_043_progress_grows_keeps_its_token_and_ends_before_the_result() {
    let mut peer = Script::connect(Service::new(Puppet::default()));
    peer.play(OPEN).await;
    peer.play(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"progress","_meta":{"progressToken":"7"}}}
        < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"7","progress":1,"total":3}}
        < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"7","progress":2,"total":3}}
        < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"7","progress":3,"total":3}}
        < {"jsonrpc":"2.0","id":1,"result":{}}
        > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"backwards","_meta":{"progressToken":7}}}
        < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}
        < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":2}}
        < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":2.5}}
        < {"jsonrpc":"2.0","id":2,"result":{}}
        > {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"backwards"}}
        < {"jsonrpc":"2.0","id":3,"result":{}}
        $
    "#,
    )
    .await;
}

// req: D-21
#[tokio::test(start_paused = true)]
async fn d_21_a_burst_of_progress_is_thinned_and_its_newest_is_sent() {
    let mut peer = Script::connect(Service::new(Puppet::default()));
    peer.play(OPEN).await;
    peer.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"burst","_meta":{"progressToken":1}}}"#).await;
    let mut seen = Vec::new();
    while let Some(message) = peer.receive().await {
        if message.get("id").is_some() {
            break;
        }
        seen.push(message["params"]["progress"].as_i64().unwrap());
    }
    assert_eq!(seen, [1, 2, 3, 4, 5, 6, 7, 8, 100]);
}

// req: L-BATCH
#[tokio::test(start_paused = true)]
async fn batches_of_2025_03_26() {
    check(
        r#"
        > {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{}}}
        ~ {"id":0,"result":{"protocolVersion":"2025-03-26"}}
        > [{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/roots/list_changed"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow","arguments":{"n":2}}},{"jsonrpc":"2.0","id":3,"method":"nope"},{"id":4}]
        ~ [{"id":1,"result":{}},{"id":3,"error":{"code":-32601}},{"id":4,"error":{"code":-32600}},{"id":2,"result":{"n":2}}]
        > [{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}]
        > []
        ~ {"error":{"code":-32600}}
        > [{"jsonrpc":"2.0","id":5,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{}}}]
        ~ [{"id":5,"error":{"code":-32600}}]
        > [{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"never"}},{"jsonrpc":"2.0","id":7,"method":"ping"}]
        > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":6}}
        ~ [{"id":7,"result":{}}]
        .
        $
    "#,
    )
    .await;
}

// req: L-CODES
#[tokio::test(start_paused = true)]
async fn errors_in_the_words_of_the_era() {
    let mut peer = Script::connect(Service::new(Puppet::default()));
    peer.play(OPEN).await;
    peer.play(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x://y"}}
        < {"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"Resource not found","data":{"uri":"x://y"}}}
        > {"jsonrpc":"2.0","id":2,"method":"server/discover"}
        ~ {"id":2,"error":{"code":-32601}}
        > {"jsonrpc":"2.0","id":3,"method":""}
        ~ {"id":3,"error":{"code":-32601}}
        > {"jsonrpc":"2.0","id":4,"method":"notifications/initialized"}
        ~ {"id":4,"error":{"code":-32601}}
        > {"jsonrpc":"2.0","method":"tools/list"}
        .
        $
    "#,
    )
    .await;
}

// req: L-INIT
#[tokio::test(start_paused = true)]
async fn members_that_nobody_knows_harm_nothing() {
    let script = r#"
        > {"x":{},"jsonrpc":"2.0","id":0,"method":"initialize","params":{"x":[],"protocolVersion":"2025-06-18","capabilities":{"x":1,"extensions":{"a.example/b":{}}},"clientInfo":{"name":"t","version":"1","x":null}}}
        ~ {"id":0,"result":{"protocolVersion":"2025-06-18"}}
        > {"jsonrpc":"2.0","method":"notifications/initialized","params":{"x":1},"x":1}
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","x":[{}],"params":{"name":"slow","x":{"y":1},"_meta":{"x.example/y":1}}}
        > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"x":1}}
        > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","x":1}}
        < {"jsonrpc":"2.0","id":2,"result":{}}
        .
        $
    "#;
    check(script).await;
}
