//! What changes outside of calls: who hears of it, in which words, and that nobody does any more when its client has gone.

use polyport_proto::Level;
use polyport_rt::{Bus, Service};
use polyport_testkit::Script;
use polyport_testkit::handlers::Puppet;

use crate::{META, OPEN, limits};

fn puppet() -> (Bus, Service) {
    let bus = Bus::new();
    let puppet = Puppet {
        bus: bus.clone(),
        ..Puppet::default()
    };
    (bus, Service::new(puppet))
}

fn change_all(bus: &Bus) {
    for _ in 0..3 {
        bus.tools_changed();
        bus.prompts_changed();
        bus.resources_changed();
        bus.updated("a:/1");
        bus.updated("a:/2");
    }
}

// req: C-LEGACY
#[tokio::test(start_paused = true)]
async fn a_legacy_session_hears_of_lists_and_of_what_it_subscribed_to() {
    let (bus, service) = puppet();
    let mut peer = Script::connect(service);
    peer.play(OPEN).await;
    peer.play(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:/1"}}
        < {"jsonrpc":"2.0","id":1,"result":{}}
        > {"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"a:/1"}}
        < {"jsonrpc":"2.0","id":2,"result":{}}
        > {"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"nowhere"}}
        ~ {"id":3,"error":{"code":-32002,"data":{"uri":"nowhere"}}}
        > {"jsonrpc":"2.0","id":4,"method":"resources/subscribe","params":{}}
        ~ {"id":4,"error":{"code":-32602}}
    "#,
    )
    .await;
    assert_eq!((bus.listeners(), bus.watched()), (1, 1));
    change_all(&bus);
    peer.play(
        r#"
        < {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
        < {"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}
        < {"jsonrpc":"2.0","method":"notifications/resources/list_changed"}
        < {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:/1"}}
        > {"jsonrpc":"2.0","id":5,"method":"resources/unsubscribe","params":{"uri":"a:/1"}}
        < {"jsonrpc":"2.0","id":5,"result":{}}
        > {"jsonrpc":"2.0","id":6,"method":"resources/unsubscribe","params":{"uri":"a:/1"}}
        < {"jsonrpc":"2.0","id":6,"result":{}}
    "#,
    )
    .await;
    bus.updated("a:/1");
    peer.play(".").await;
    assert_eq!((bus.listeners(), bus.watched()), (1, 0));
    peer.end().await;
    assert_eq!((bus.listeners(), bus.watched()), (0, 0));
}

// req: C-LEGACY
#[tokio::test(start_paused = true)]
async fn nothing_is_said_before_the_session_is_initialized() {
    let (bus, service) = puppet();
    let mut peer = Script::connect(service);
    peer.play(OPEN.rsplit_once('>').unwrap().0).await;
    bus.tools_changed();
    peer.play(
        r#"
        .
        > {"jsonrpc":"2.0","method":"notifications/initialized"}
        > {"jsonrpc":"2.0","id":1,"method":"ping"}
        < {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
        < {"jsonrpc":"2.0","id":1,"result":{}}
        $
    "#,
    )
    .await;
}

// req: C-LISTEN
#[tokio::test(start_paused = true)]
async fn a_modern_client_hears_of_what_its_filter_says_each_message_tagged() {
    let (bus, service) = puppet();
    let mut peer = Script::connect(service);
    let script = r#"
        > {"jsonrpc":"2.0","id":20,"method":"subscriptions/listen","params":{META,"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:/1"]}}}
        < {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":20},"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:/1"]}}}
        > {"jsonrpc":"2.0","id":"20","method":"subscriptions/listen","params":{META,"notifications":{"promptsListChanged":true}}}
        < {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"20"},"notifications":{"promptsListChanged":true}}}
    "#;
    peer.play(&script.replace("META", META)).await;
    change_all(&bus);
    bus.log(Level::Emergency, None, "1");
    peer.play(
        r#"
        < {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":20}}}
        < {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":20},"uri":"a:/1"}}
        < {"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"20"}}}
        > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":20}}
        > {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{META}}
        ~ {"id":1,"result":{}}
    "#
    .replace("META", META)
    .as_str())
    .await;
    assert_eq!(bus.dropped_logs(), 2);
    change_all(&bus);
    peer.play(
        r#"
        < {"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"20"}}}
        .
    "#,
    )
    .await;
    assert_eq!((bus.listeners(), bus.watched()), (1, 0));
    // The server ends it: the result, then word that it is over.
    peer.stop();
    peer.play(
        r#"
        < {"jsonrpc":"2.0","id":"20","result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":"20"}}}
        < {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"20"}}
        $
    "#,
    )
    .await;
    assert_eq!((bus.listeners(), bus.watched()), (0, 0));
}

// req: C-LISTEN
#[tokio::test(start_paused = true)]
async fn a_filter_must_be_one() {
    for params in [
        "META",
        r#"META,"notifications":1"#,
        r#"META,"notifications":{"toolsListChanged":"yes"}"#,
        r#"META,"notifications":{"resourceSubscriptions":["a",1]}"#,
    ] {
        let (bus, service) = puppet();
        let mut peer = Script::connect(service);
        let script = r#"
            > {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{PARAMS}}
            ~ {"id":1,"error":{"code":-32602}}
            $
        "#;
        peer.play(&script.replace("PARAMS", params).replace("META", META))
            .await;
        assert_eq!(bus.listeners(), 0);
    }
}

// req: C-BOUND
#[tokio::test(start_paused = true)]
async fn so_many_resources_and_no_more() {
    let (bus, service) = puppet();
    let mut peer = Script::connect(service.limits(limits(|limits| limits.subscriptions = 2)));
    peer.play(OPEN).await;
    let script = r#"
        > {"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"1"}}
        ~ {"id":1,"result":{}}
        > {"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"2"}}
        ~ {"id":2,"result":{}}
        > {"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"3"}}
        ~ {"id":3,"error":{"code":-32600}}
        > {"jsonrpc":"2.0","id":4,"method":"subscriptions/listen","params":{META,"notifications":{"resourceSubscriptions":["1","2","3"]}}}
        ~ {"id":4,"error":{"code":-32600}}
    "#;
    peer.play(&script.replace("META", META)).await;
    assert_eq!((bus.listeners(), bus.watched()), (1, 2));
}

// req: D-10
#[tokio::test(start_paused = true)]
async fn logs_outside_of_calls_go_to_sessions_that_asked_for_their_level() {
    let (bus, service) = puppet();
    let mut peer = Script::connect(service);
    peer.play(OPEN).await;
    bus.log(Level::Emergency, None, "0");
    peer.play(
        r#"
        .
        > {"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"warning"}}
        ~ {"id":1,"result":{}}
    "#,
    )
    .await;
    bus.log(Level::Info, None, "1");
    bus.log(Level::Warning, Some("db"), "{\"n\":2}");
    peer.play(
        r#"
        < {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","logger":"db","data":{"n":2}}}
        .
    "#,
    )
    .await;
    for n in 0..500 {
        bus.log(Level::Error, None, &n.to_string());
    }
    let mut said = 0;
    let mut left_out = 0;
    while said + left_out < 500 {
        let text = peer.receive().await.unwrap().to_string();
        match text.split_once(" log messages were left out") {
            Some((before, _)) => {
                let digits = before.trim_end_matches(|c: char| c.is_ascii_digit()).len();
                left_out += before[digits..].parse::<usize>().unwrap();
            }
            None => said += 1,
        }
    }
    assert_eq!(said + left_out, 500);
    assert!(said <= 64, "{said}");
}

// req: C-LISTEN
#[tokio::test(start_paused = true)]
async fn a_stream_that_begins_at_the_end_ends_at_once() {
    for stops in [false, true] {
        let (bus, service) = puppet();
        let mut peer = Script::connect(service);
        let begun = tokio::time::Instant::now();
        let listen = r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{META,"notifications":{"toolsListChanged":true}}}"#;
        peer.send(&listen.replace("META", META)).await;
        if stops {
            peer.stop();
        }
        let ended = peer.end().await;
        assert_eq!((ended.cut, ended.broken), (0, false), "{stops}");
        assert_eq!(begun.elapsed().as_secs(), 0, "{stops}");
        assert_eq!(bus.listeners(), 0);
    }
}
