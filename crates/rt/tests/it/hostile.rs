//! Lines that are too many, too deep, too long, or nonsense: each is refused for itself, and the next one is answered.

use std::sync::atomic::Ordering;
use std::time::Duration;

use polyport_proto::{ClientFacts, Revision};
use polyport_rt::{CallError, Caller, Service};
use polyport_testkit::Script;
use polyport_testkit::handlers::Puppet;
use polyport_wire::Raw;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{META, OPEN, check, limits};

const PING: &str = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;

fn ping_is_answered(got: Option<&Value>) -> bool {
    got == Some(&json!({"jsonrpc": "2.0", "id": "p", "result": {}}))
}

// req: V-312
#[tokio::test(start_paused = true)]
async fn v_312_each_request_has_its_own_log_level() {
    let call = |id: u32, level: &str| {
        let level = match level {
            "" => String::new(),
            level => format!("\"io.modelcontextprotocol/logLevel\":\"{level}\","),
        };
        let meta = META.replace("\"_meta\":{", &format!("\"_meta\":{{{level}"));
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"slow then logs then slow then logs",{meta}}}}}"#
        )
    };
    let mut peer = Script::connect(Service::new(Puppet::default()));
    let levels = ["", "debug", "error", "info", ""];
    for (id, level) in (1..).zip(levels) {
        peer.send(&call(id, level)).await;
    }
    let (mut logs, mut answers) = (0, 0);
    while answers < levels.len() {
        let got = peer.receive().await.unwrap();
        match got["method"].as_str() {
            Some(method) => {
                assert_eq!(method, "notifications/message", "{got}");
                logs += 1;
            }
            None => answers += 1,
        }
    }
    assert_eq!(logs, 4, "two each for debug and info");
}

// req: V-402
#[tokio::test(start_paused = true)]
async fn v_402_a_batch_is_bounded_and_others_have_none() {
    let puppet = Puppet::default();
    for (revision, size, answers) in [
        ("2025-03-26", 1, 1),
        ("2025-03-26", 100, 100),
        ("2025-03-26", 101, 0),
        ("2025-03-26", 10_000, 0),
        ("2025-06-18", 1, 0),
        ("2024-11-05", 1, 0),
        ("2025-11-25", 101, 0),
    ] {
        let mut peer = Script::connect(Service::new(puppet.clone()));
        // What it offers is not what this is about.
        let hello = OPEN.replace("2025-06-18", revision).replace('<', "~");
        peer.play(&hello).await;
        let seen = puppet.seen.calls.load(Ordering::SeqCst);
        let part = |n| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{n},"method":"tools/call","params":{{"name":"echo"}}}}"#
            )
        };
        let parts: Vec<String> = (0..size).map(part).collect();
        peer.send(&format!("[{}]", parts.join(","))).await;
        let got = peer.receive().await.unwrap();
        if answers > 0 {
            assert_eq!(
                got.as_array().map(Vec::len),
                Some(answers),
                "{revision} {size}"
            );
        } else {
            assert_eq!(got["error"]["code"], -32600, "{revision} {size}: {got}");
        }
        assert_eq!(
            puppet.seen.calls.load(Ordering::SeqCst) - seen,
            answers,
            "{revision} {size}"
        );
        peer.send(PING).await;
        assert!(
            ping_is_answered(peer.receive().await.as_ref()),
            "nothing but one error"
        );
    }
}

// req: V-404
#[tokio::test(start_paused = true)]
async fn v_404_depth_ends_at_128_and_nothing_else_does() {
    let mut peer = Script::connect(Service::new(Puppet::default()));
    peer.play(OPEN).await;
    for depth in [64, 124, 125, 126, 128, 129, 1_000, 100_000] {
        for (open, inner, close) in [("[", "", "]"), ("{\"a\":", "0", "}")] {
            let whole = open.repeat(depth) + inner + &close.repeat(depth);
            for (text, fits) in [(whole, depth + 3 <= 128), (open.repeat(depth), false)] {
                peer.send(&text).await;
                let got = peer.receive().await.unwrap();
                assert!(got["error"]["code"].is_i64(), "{depth}: {got}");
                let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":"#;
                peer.send(&format!("{call}{text}}}}}}}")).await;
                let got = peer.receive().await.unwrap();
                assert_eq!(got["result"].is_object(), fits, "{depth}");
                let code = got["error"]["code"].as_i64();
                assert!(
                    fits || matches!(code, Some(-32600 | -32700)),
                    "{depth}: {got}"
                );
                peer.send(PING).await;
                assert!(ping_is_answered(peer.receive().await.as_ref()));
            }
        }
    }
}

// req: V-405
#[tokio::test(start_paused = true)]
async fn v_405_a_line_without_an_end_is_told_once_and_not_kept() {
    let limits = limits(|limits| limits.message_bytes = 100_000);
    let mut peer = Script::connect(Service::new(Puppet::default()).limits(limits));
    peer.play(OPEN).await;
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..32 {
        peer.send_bytes(&piece).await;
    }
    let told = peer.receive().await.unwrap();
    assert!(
        told["error"]["message"]
            .as_str()
            .unwrap()
            .contains("100000 bytes"),
        "{told}"
    );
    // Its end, at last; the next line is one.
    peer.send("").await;
    peer.send(PING).await;
    assert!(ping_is_answered(peer.receive().await.as_ref()));
}

// req: V-405
#[tokio::test(start_paused = true)]
async fn v_405_who_takes_no_answers_is_not_read_without_end() {
    let limits = limits(|limits| limits.message_bytes = 100_000);
    let service = Service::new(Puppet::default()).limits(limits);
    let (stream, _serving) = polyport_rt::memory::connect(service, polyport_rt::Stop::never());
    let (_reader, mut writer) = tokio::io::split(stream);
    let line = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"t":"{}"}},{META}}}}}"#,
        "x".repeat(10_000)
    ) + "\n";
    let mut taken = 0;
    while let Ok(wrote) =
        tokio::time::timeout(Duration::from_secs(5), writer.write_all(line.as_bytes())).await
    {
        wrote.unwrap();
        taken += line.len();
        assert!(taken < 1 << 20, "it reads on and on");
    }
    assert!(taken > 100_000, "{taken}");
}

// req: V-405
#[tokio::test(start_paused = true)]
async fn v_405_a_server_that_sends_no_end_of_line_holds_up_nobody_for_ever() {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (reader, writer) = tokio::io::split(ours);
    let (mut from_us, mut to_us) = tokio::io::split(theirs);
    let client = ClientFacts {
        info: None,
        capabilities: Raw::from_static("{}"),
    };
    let patience = Duration::from_secs(30);
    let connected = Caller::connect(reader, writer, Revision::LATEST, client, patience);
    let (caller, _) = connected.await.unwrap();
    let asked = caller.request("tools/list", "{}");
    let answer = async {
        let mut asked = [0; 20];
        from_us.read_exact(&mut asked).await.unwrap();
        // More than it takes in one message.
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..70 {
            to_us.write_all(&piece).await.unwrap();
        }
    };
    let begun = tokio::time::Instant::now();
    let (asked, ()) = tokio::join!(asked, answer);
    assert!(matches!(asked, Err(CallError::Unreadable(_))), "{asked:?}");
    assert!(begun.elapsed() < patience);
}

// req: V-407
#[tokio::test(start_paused = true)]
async fn v_407_a_result_of_sixteen_megabytes_fits_on_a_line() {
    let limits = limits(|limits| limits.message_bytes = 20 << 20);
    let mut peer = Script::connect(Service::new(Puppet::default()).limits(limits));
    peer.play(OPEN).await;
    let text = "0123456789abcdef".repeat(1 << 20);
    peer.send(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"t":"{text}"}}}}}}"#
    ))
    .await;
    let got = peer.receive().await.unwrap();
    assert_eq!(got["id"], 1);
    assert!(got["result"]["t"] == text, "it is another one");
}

/// The next of a row of numbers that look random (xorshift).
fn next(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    usize::try_from(*state >> 33).unwrap()
}

// req: V-417
#[tokio::test(start_paused = true)]
async fn v_417_after_any_malformed_line_it_still_answers() {
    let good = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{}}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"echo","arguments":{"a":[1,2.5,"\u00e9"]}}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"panics"}}"#.to_owned(),
        format!(r#"{{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{{"name":"echo",{META}}}}}"#),
        format!("[{PING},{PING}]"),
    ];
    let mut peer = Script::connect(Service::new(Puppet::default()));
    let opened = OPEN.replace("2025-06-18", "2025-03-26");
    peer.play(&opened).await;
    let mut state = 0x9e37_79b9_7f4a_7c15;
    for n in 0..10_000 {
        let mut line = good[next(&mut state) % good.len()].clone().into_bytes();
        for _ in 0..=next(&mut state) % 3 {
            let at = next(&mut state) % line.len();
            match next(&mut state) % 5 {
                0 => line.truncate(at.max(1)),
                1 => line[at] = u8::try_from(next(&mut state) % 256).unwrap(),
                2 => line.insert(at, b"{}[]\",:\\\0"[next(&mut state) % 9]),
                3 => line.extend(line[at..].to_vec()),
                _ => line[at] ^= 1 << (next(&mut state) % 8),
            }
        }
        line.push(b'\n');
        peer.send_bytes(&line).await;
        peer.send(&PING.replace("\"p\"", &format!("\"ping {n}\"")))
            .await;
        // Whatever is said of the line, the answer to the ping comes.
        let wanted = json!(format!("ping {n}"));
        loop {
            let got = peer.receive().await.expect("it lives");
            if got["id"] == wanted {
                assert_eq!(got["result"], json!({}), "{n}");
                break;
            }
        }
    }
}

// req: V-502
#[tokio::test(start_paused = true)]
async fn v_502_a_key_that_is_there_twice_is_refused() {
    check(&format!(
        r#"{OPEN}
        > {{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}}
        ~ {{"error":{{"code":-32600}}}}
        > {{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo"}},"params":{{"name":"panics"}}}}
        ~ {{"error":{{"code":-32600}}}}
        > {{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}}
        ~ {{"error":{{"code":-32600}}}}
        > {{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"}}
        ~ {{"error":{{"code":-32600}}}}
        > {{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","name":"panics"}}}}
        ~ {{"error":{{"code":-32600}}}}
        > {{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"a":1,"a":2}}}}}}
        ~ {{"error":{{"code":-32600}}}}
        > {{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"a":[{{"b":1,"\u0062":2}}]}}}}}}
        ~ {{"error":{{"code":-32600}}}}
        > {{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","_meta":{{"progressToken":1,"progressToken":2}}}}}}
        ~ {{"error":{{"code":-32600}}}}
        > {{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":1,"requestId":2}}}}
        > {PING}
        < {{"jsonrpc":"2.0","id":"p","result":{{}}}}
        $
    "#
    ))
    .await;
}
