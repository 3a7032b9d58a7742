//! Faults that were reported of other implementations, each by its number, as a client of ours would meet it.

use std::time::Duration;

use polyport_rt::Service;
use polyport_testkit::Script;
use polyport_testkit::handlers::Puppet;
use tokio::time::Instant;

use crate::questions::{ALL, open};
use crate::{META, OPEN, check};

/// Plays a script in both eras: `META` is the envelope.
pub(crate) async fn both(script: &str) {
    for (opening, meta) in [(OPEN, "\"_meta\":{}"), ("", META)] {
        check(&format!("{opening}{}", script.replace("META", meta))).await;
    }
}

// req: BR-018
#[tokio::test(start_paused = true)]
async fn br_018_an_idle_connection_ends_at_once() {
    for open in ["", OPEN] {
        let mut peer = Script::connect(Service::new(Puppet::default()));
        peer.play(open).await;
        let begun = Instant::now();
        peer.stop();
        assert!(peer.receive().await.is_none());
        peer.end().await;
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }
}

// req: BR-019
#[tokio::test(start_paused = true)]
async fn br_019_a_line_of_five_mebibytes() {
    let mut peer = Script::connect(Service::new(Puppet::default()));
    let text = "y".repeat(5 << 20);
    peer.send(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"t":"{text}"}},{META}}}}}"#
    ))
    .await;
    let got = peer.receive().await.unwrap();
    assert_eq!(got["result"]["t"].as_str(), Some(text.as_str()));
}

// req: BR-027
#[tokio::test(start_paused = true)]
async fn br_027_the_id_0_and_the_empty_one_can_be_cancelled() {
    for id in ["0", "\"\""] {
        let script = r#"
            > {"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"slow",META}}
            > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":ID}}
            .
            > {"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"slow",META}}
            ~ {"id":ID,"result":{}}
            $
        "#;
        // In the legacy era the handshake has used the id 0, which is free again.
        both(&script.replace("ID", id)).await;
    }
}

// req: BR-029
#[tokio::test(start_paused = true)]
async fn br_029_a_very_long_id_comes_back() {
    let mut peer = Script::connect(Service::new(Puppet::default()));
    for id in ["ebf9f64a-0", &"i".repeat(1 << 20)] {
        for tool in ["echo", "slow"] {
            peer.send(&format!(
                r#"{{"jsonrpc":"2.0","id":"{id}","method":"tools/call","params":{{"name":"{tool}",{META}}}}}"#
            ))
            .await;
            let got = peer.receive().await.unwrap();
            assert!(got["id"].as_str() == Some(id) && got.get("result").is_some());
        }
    }
}

// req: BR-032
#[tokio::test(start_paused = true)]
async fn br_032_one_id_twice_in_one_batch() {
    check(
        r#"
        > {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{}}}
        ~ {"id":0,"result":{}}
        > [{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{"n":1}}},{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"n":2}}}]
        ~ [{"error":{"code":-32600}},{"id":1,"result":{"n":1}}]
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"n":3}}}
        < {"jsonrpc":"2.0","id":1,"result":{"n":3}}
        $
    "#,
    )
    .await;
}

// req: BR-033
#[tokio::test(start_paused = true)]
async fn br_033_an_empty_method_is_a_request() {
    both(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"","params":{META}}
        ~ {"id":1,"error":{"code":-32601}}
        > {"jsonrpc":"2.0","id":"","method":"","params":{META}}
        ~ {"id":"","error":{"code":-32601}}
        > {"jsonrpc":"2.0","method":""}
        .
        $
    "#,
    )
    .await;
}

// req: BR-036
#[tokio::test(start_paused = true)]
async fn br_036_what_we_say_has_no_params_of_null() {
    let puppet = Puppet::default();
    let mut peer = Script::connect(Service::new(puppet.clone()));
    peer.play(&open(ALL)).await;
    puppet.bus.tools_changed();
    peer.play(
        r#"
        < {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks roots"}}
        < {"jsonrpc":"2.0","id":1,"method":"roots/list"}
        > {"jsonrpc":"2.0","id":1,"result":{"roots":[]}}
        ~ {"id":1,"result":{}}
    "#,
    )
    .await;
    let meta = crate::questions::meta(ALL);
    peer.send(&format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"asks roots",{meta}}}}}"#
    ))
    .await;
    let got = peer.receive().await.unwrap();
    let asked = &got["result"]["inputRequests"]["roots"];
    assert_eq!(*asked, serde_json::json!({"method": "roots/list"}), "{got}");
}

// req: BR-041
#[tokio::test(start_paused = true)]
async fn br_041_an_answer_is_read_as_one_to_its_question() {
    let sampled =
        r#"{"role":"assistant","model":"m","content":{"type":"text","text":"t"},"foo":1}"#;
    let filled = r#"{"action":"accept","content":{},"foo":1}"#;
    let roots = r#"{"roots":[],"foo":1}"#;
    let tool = r#"{"content":[],"foo":1}"#;
    for (key, answer, good) in [
        ("who", filled, true),
        ("model", sampled, true),
        ("roots", roots, true),
        ("who", sampled, false),
        ("who", tool, false),
        ("model", filled, false),
        ("model", tool, false),
        ("roots", filled, false),
        ("roots", "{}", false),
    ] {
        let mut peer = Script::connect(Service::new(Puppet::default()));
        peer.play(&open(ALL)).await;
        let script = r#"
            > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks KEY"}}
            ~ {"id":1}
            > {"jsonrpc":"2.0","id":1,"result":ANSWER}
        "#;
        peer.play(&script.replace("KEY", key).replace("ANSWER", answer))
            .await;
        let got = peer.receive().await.unwrap();
        let want: serde_json::Value = serde_json::from_str(answer).unwrap();
        assert_eq!(got["result"][key] == want, good, "{key} {answer}: {got}");
        assert_eq!(
            got["error"]["code"] == -32602,
            !good,
            "{key} {answer}: {got}"
        );
    }
}

// req: BR-046
#[tokio::test(start_paused = true)]
async fn br_046_what_we_ask_waits_for_initialized() {
    let mut peer = Script::connect(Service::new(Puppet::default()));
    peer.play(open(ALL).rsplit_once('>').unwrap().0).await;
    peer.play(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks who"}}
        > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"asks roots"}}
        > {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"impatient who"}}
        > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}
        < {"jsonrpc":"2.0","id":3,"result":{"end":"nobody"}}
        @ 60s
        > {"jsonrpc":"2.0","method":"notifications/initialized"}
        ~ {"id":1,"method":"elicitation/create"}
        > {"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}
        < {"jsonrpc":"2.0","id":1,"result":{"who":{"action":"accept"}}}
        .
        $
    "#,
    )
    .await;
    // A client that never gets there is not waited for when it goes.
    let mut peer = Script::connect(Service::new(Puppet::default()));
    peer.play(open(ALL).rsplit_once('>').unwrap().0).await;
    peer.play(r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks who"}}"#)
        .await;
    let begun = Instant::now();
    assert_eq!(peer.end().await.cut, 0);
    assert!(begun.elapsed() < Duration::from_secs(1));
}

// req: Q-GONE
#[tokio::test(start_paused = true)]
async fn whoever_asks_when_nobody_can_answer_is_told_so() {
    // One question is open at the end of input; the other is asked after it, before the client was ever ready or not.
    let opening = open(ALL);
    let early = opening.rsplit_once('>').unwrap().0;
    for opening in [&*opening, early] {
        for tool in ["asks who", "slow then asks who"] {
            for stops in [false, true] {
                if stops && tool == "asks who" {
                    continue;
                }
                let mut peer = Script::connect(Service::new(Puppet::default()));
                peer.play(opening).await;
                let call = format!(
                    r#"> {{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}"}}}}"#
                );
                peer.play(&call).await;
                tokio::time::sleep(Duration::from_millis(10)).await;
                if stops {
                    peer.stop();
                } else {
                    peer.close().await;
                }
                let got = loop {
                    let got = peer.receive().await.unwrap();
                    if got["method"].is_null() {
                        break got;
                    }
                };
                let message = got["error"]["message"].as_str().unwrap();
                assert!(
                    message.contains("can no longer be asked"),
                    "{tool} {stops}: {got}"
                );
                assert_eq!(peer.end().await.cut, 0);
            }
        }
    }
}

// req: BR-049
#[tokio::test(start_paused = true)]
async fn br_049_requests_in_one_write_with_initialized() {
    let mut peer = Script::connect(Service::new(Puppet::default()));
    peer.play(OPEN.rsplit_once('>').unwrap().0).await;
    let mut text = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n".to_owned();
    for id in 1..=20 {
        let tool = if id % 2 == 0 { "echo" } else { "slow" };
        text += &format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"{tool}\"}}}}\n"
        );
    }
    peer.send_bytes(text.as_bytes()).await;
    let mut answered = Vec::new();
    for _ in 1..=20 {
        let got = peer.receive().await.unwrap();
        assert!(got.get("result").is_some(), "{got}");
        answered.push(got["id"].as_i64().unwrap());
    }
    answered.sort_unstable();
    assert_eq!(answered, (1..=20).collect::<Vec<_>>());
}

// req: BR-112
// req: BR-115
#[tokio::test(start_paused = true)]
async fn br_115_nothing_is_kept_of_what_was_answered() {
    let service = Service::new(Puppet::default());
    let mut peer = Script::connect(service.clone());
    peer.play(OPEN).await;
    let tasks = || {
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
    };
    let before = tasks();
    for round in 0..40 {
        let mut text = String::new();
        for id in 0..250 {
            let (method, params) = match id % 5 {
                0 => (
                    "tools/call",
                    r#"{"name":"slow","_meta":{"progressToken":1}}"#.to_owned(),
                ),
                1 => ("tools/call", format!(r#"{{"name":"slow",{META}}}"#)),
                2 => ("tools/call", r#"{"name":"refuses"}"#.to_owned()),
                3 => ("none", "{}".to_owned()),
                _ => ("ping", "{}".to_owned()),
            };
            text += &format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n"
            );
        }
        peer.send_bytes(text.as_bytes()).await;
        for _ in 0..250 {
            assert!(peer.receive().await.unwrap().get("id").is_some());
        }
        assert_eq!(
            (service.running(), tasks()),
            (0, before),
            "after round {round}"
        );
    }
}

// req: BR-128
#[tokio::test(start_paused = true)]
async fn br_128_what_two_calls_say_at_once_is_said_twice() {
    check(&format!(
        r#"{OPEN}
        > {{"jsonrpc":"2.0","id":9,"method":"logging/setLevel","params":{{"level":"info"}}}}
        ~ {{"id":9,"result":{{}}}}
        > {{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"slow then logs then backwards","_meta":{{"progressToken":1}}}}}}
        > {{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"slow then logs then backwards","_meta":{{"progressToken":"1"}}}}}}
        ~ {{"method":"notifications/message"}}
        ~ {{"params":{{"progressToken":1,"progress":1}}}}
        ~ {{"params":{{"progressToken":1,"progress":2}}}}
        ~ {{"params":{{"progressToken":1,"progress":2.5}}}}
        ~ {{"id":1,"result":{{}}}}
        ~ {{"method":"notifications/message"}}
        ~ {{"params":{{"progressToken":"1","progress":1}}}}
        ~ {{"params":{{"progressToken":"1","progress":2}}}}
        ~ {{"params":{{"progressToken":"1","progress":2.5}}}}
        ~ {{"id":2,"result":{{}}}}
        $
    "#
    ))
    .await;
}
