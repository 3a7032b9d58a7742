//! What of a call travels with its modern client from round to round: questions, answers and steps, sealed, for one request and a while.

use std::sync::atomic::Ordering;
use std::time::Duration;

use polyport_rt::{SealKey, Service};
use polyport_testkit::Script;
use polyport_testkit::handlers::Puppet;

use crate::limits;
use crate::questions::{ALL, meta, modern};

#[tokio::test(start_paused = true)]
async fn a_retry_may_leave_out_arguments_that_were_empty_or_give_them() {
    let none = [
        "",
        "\"arguments\":null,",
        "\"arguments\":{},",
        "\"arguments\": { } ,",
    ];
    let some = ["\"arguments\":{\"a\":{}},", "\"arguments\":{\"\":0},"];
    for first in none.into_iter().chain(some) {
        let mut peer = Script::connect(Service::new(Puppet::default()));
        let call = |rest: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"asks who",{rest}{}}}}}"#,
                meta(ALL)
            )
        };
        peer.send(&call(first)).await;
        let asked = peer.receive().await.unwrap();
        let state = &asked["result"]["requestState"];
        for then in none.into_iter().chain(some) {
            let answers = r#""inputResponses":{"who":{"action":"decline"}},"#;
            peer.send(&call(&format!("{then}\"requestState\":{state},{answers}")))
                .await;
            let end = peer.receive().await.unwrap();
            let is_same = first == then || (none.contains(&first) && none.contains(&then));
            let is_refused = end["error"]["code"] == -32602;
            assert!(is_refused != is_same, "{first:?} {then:?}: {end}");
            assert_eq!(
                end["result"]["who"]["action"] == "decline",
                is_same,
                "{end}"
            );
        }
    }
}

// req: Q-MODERN
#[tokio::test(start_paused = true)]
async fn a_modern_client_is_asked_by_the_result() {
    modern(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks who","arguments":{"b":1,"a":[true]},META}}
        ~ {"id":1,"result":{"resultType":"input_required","inputRequests":{"who":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}}}}
        > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"requestState":"STATE","inputResponses":{"who":{"action":"accept","content":{"n":1}}},"arguments":{"a":[true],"b":1.0},"name":"asks who",META}}
        < {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","who":{"action":"accept","content":{"n":1}}}}
        $
    "#,
    )
    .await;
}

// req: Q-MODERN
#[tokio::test(start_paused = true)]
async fn rounds_remember_earlier_answers_and_steps() {
    let puppet = Puppet::default();
    let mut peer = Script::connect(Service::new(puppet.clone()));
    let script = r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"counts s then asks a b+roots",META}}
        ~ {"id":1,"result":{"resultType":"input_required","inputRequests":{"a":{}}}}
        > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"counts s then asks a b+roots","requestState":"STATE","inputResponses":{"a":{"action":"accept"},"zzz":7},META}}
        ~ {"id":2,"result":{"resultType":"input_required","inputRequests":{"b":{},"roots":{"method":"roots/list"}}}}
        > {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"counts s then asks a b+roots","requestState":"STATE","inputResponses":{"b":{"action":"cancel"}},META}}
        ~ {"id":3,"result":{"resultType":"input_required","inputRequests":{"roots":{"method":"roots/list"}}}}
        > {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"counts s then asks a b+roots","requestState":"STATE","inputResponses":{"roots":{"roots":[]}},META}}
        < {"jsonrpc":"2.0","id":4,"result":{"resultType":"complete","a":{"action":"accept"},"b":{"action":"cancel"},"roots":{"roots":[]}}}
        $
    "#;
    peer.play(&script.replace("META", &meta(ALL))).await;
    assert_eq!(puppet.seen.steps.load(Ordering::SeqCst), 1);
    assert_eq!(puppet.seen.calls.load(Ordering::SeqCst), 4);
}

// req: V-314
#[tokio::test(start_paused = true)]
async fn v_314_a_state_is_of_one_request() {
    modern(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks who","arguments":{"a":1},META}}
        ~ {"id":1,"result":{"resultType":"input_required"}}
        > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"asks who","arguments":{"a":2},"requestState":"STATE","inputResponses":{"who":{"action":"accept"}},META}}
        ~ {"id":2,"error":{"code":-32602}}
        > {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"asks them","arguments":{"a":1},"requestState":"STATE","inputResponses":{"who":{"action":"accept"}},META}}
        ~ {"id":3,"error":{"code":-32602}}
        > {"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"name":"asks who","arguments":{"a":1},"uri":"u","requestState":"STATE",META}}
        ~ {"id":4,"error":{"code":-32602}}
        > {"jsonrpc":"2.0","id":13,"method":"prompts/get","params":{"name":"asks who","arguments":{"a":1},"requestState":"STATE",META}}
        ~ {"id":13,"error":{"code":-32602}}
        > {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"asks who","arguments":{"a":1},"requestState":"STATE-TAMPERED","inputResponses":{"who":{"action":"accept"}},META}}
        ~ {"id":5,"error":{"code":-32602}}
        > {"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"asks who","arguments":{"a":1},"requestState":7,"inputResponses":{"who":{"action":"accept"}},META}}
        ~ {"id":6,"error":{"code":-32602}}
        > {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"asks who","arguments":{"a":1},"requestState":"",META}}
        ~ {"id":7,"error":{"code":-32602}}
        > {"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"asks who","arguments":{"a":1},"requestState":"STATE","inputResponses":{"who":12345},META}}
        ~ {"id":8,"error":{"code":-32602}}
        > {"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"asks who","arguments":{"a":1},"requestState":"STATE","inputResponses":[],META}}
        ~ {"id":9,"error":{"code":-32602}}
        > {"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"asks who","arguments":{"a":1},"requestState":"STATE","inputResponses":null,META}}
        ~ {"id":10,"result":{"resultType":"input_required","inputRequests":{"who":{}}}}
        > {"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":"asks who","arguments":{"a":1},"inputResponses":{"who":12345},META}}
        ~ {"id":11,"result":{"resultType":"input_required","inputRequests":{"who":{}}}}
        > {"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"asks who","arguments":{"a":1},"requestState":"STATE","inputResponses":{"who":{"action":"accept"}},META}}
        ~ {"id":12,"result":{"resultType":"complete"}}
        $
    "#,
    )
    .await;
}

// req: V-314
#[tokio::test(start_paused = true)]
async fn a_state_ends_and_replicas_share_it() {
    let ask = r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks who",META}}
        ~ {"id":1,"result":{"resultType":"input_required"}}"#;
    let retry = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"asks who","requestState":"STATE","inputResponses":{"who":{"action":"accept"}},META}}"#;
    let key = |byte| SealKey::new([byte; 32]);
    for (life, ours, theirs, good) in [
        (3_600, vec![key(1)], vec![key(1)], true),
        (3_600, vec![key(1)], vec![key(2), key(1)], true),
        (3_600, vec![key(1)], vec![key(2)], false),
        (3_600, vec![], vec![], false),
        (0, vec![key(1)], vec![key(1)], false),
    ] {
        let bounds = limits(|limits| limits.state_life = Duration::from_secs(life));
        let mut first = Script::connect(
            Service::new(Puppet::default())
                .limits(bounds.clone())
                .seal_keys(ours),
        );
        first.play(&ask.replace("META", &meta(ALL))).await;
        let state = first.state().to_owned();
        let mut second = Script::connect(
            Service::new(Puppet::default())
                .limits(bounds)
                .seal_keys(theirs),
        );
        second
            .send(&retry.replace("META", &meta(ALL)).replace("STATE", &state))
            .await;
        let answer = second.receive().await.unwrap();
        assert_eq!(answer.get("result").is_some(), good, "{answer}");
    }
}

// req: Q-MODERN
#[tokio::test(start_paused = true)]
async fn a_client_may_know_what_will_be_asked() {
    modern(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks who roots","inputResponses":{"who":{"action":"accept"},"zzz":{"action":"accept"}},META}}
        ~ {"id":1,"result":{"resultType":"input_required","inputRequests":{"roots":{}}}}
        > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"asks who roots","requestState":"STATE","inputResponses":{"roots":{"roots":[]}},META}}
        < {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","who":{"action":"accept"},"roots":{"roots":[]}}}
        $
    "#,
    )
    .await;
}

// req: Q-LONG
#[tokio::test(start_paused = true)]
async fn what_is_too_long_to_travel_stays_here() {
    let text = "x".repeat(100_000);
    let bounds = limits(|limits| limits.state_store_bytes = 250_000);
    let mut peer = Script::connect(Service::new(Puppet::default()).limits(bounds));
    let ask = r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks a b",META}}
        ~ {"id":1,"result":{"inputRequests":{"a":{}}}}
        > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"asks a b","requestState":"STATE","inputResponses":{"a":{"action":"accept","content":{"t":"TEXT"}}},META}}
        ~ {"id":2,"result":{"inputRequests":{"b":{}}}}
    "#;
    let ask = ask.replace("META", &meta(ALL)).replace("TEXT", &text);
    let retry = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"asks a b","requestState":"STATE","inputResponses":{"b":{"action":"accept"}},META}}"#;
    let mut states = Vec::new();
    for _ in 0..3 {
        peer.play(&ask).await;
        assert!(peer.state().len() < 200, "{}", peer.state());
        states.push(peer.state().to_owned());
    }
    for (state, good) in states.iter().zip([false, true, true]) {
        peer.send(&retry.replace("META", &meta(ALL)).replace("STATE", state))
            .await;
        let answer = peer.receive().await.unwrap();
        let whole = answer["result"]["a"]["content"]["t"].as_str() == Some(&text);
        assert_eq!(whole, good, "the oldest made room");
    }
}
