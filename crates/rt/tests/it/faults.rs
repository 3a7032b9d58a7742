//! What goes wrong on a line: junk, splits, panics, ends. The server answers or ignores, and lives on.

use std::sync::atomic::Ordering;
use std::time::Duration;

use polyport_proto::Limits;
use polyport_rt::{Ended, Service};
use polyport_testkit::Script;
use polyport_testkit::handlers::Puppet;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};

use crate::{META, OPEN, check, limits};

// req: BR-007
// req: BR-008
#[tokio::test(start_paused = true)]
async fn br_008_junk_is_answered_and_the_server_lives() {
    check(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"ping"}garbage
        ~ {"error":{"code":-32700}}
        > garbage
        ~ {"error":{"code":-32700}}
        > []
        ~ {"error":{"code":-32600}}
        > 1
        ~ {"error":{"code":-32600}}
        > "x"
        ~ {"error":{"code":-32600}}
        > null
        ~ {"error":{"code":-32600}}
        > {}
        ~ {"error":{"code":-32600}}
        > {"jsonrpc":"2.0"}
        ~ {"error":{"code":-32600}}
        > {"jsonrpc":"1.0","id":1,"method":"ping"}
        ~ {"id":1,"error":{"code":-32600}}
        > {"jsonrpc":"2.0","id":{},"method":"ping"}
        ~ {"error":{"code":-32600}}
        > {"jsonrpc":"2.0","id":null,"method":"ping"}
        ~ {"error":{"code":-32600}}
        > {"jsonrpc":"2.0","id":1.5,"method":"ping"}
        ~ {"error":{"code":-32600}}
        > {"jsonrpc":"2.0","id":2,"method":"ping","method":"ping"}
        ~ {"error":{"code":-32600}}
        > {"jsonrpc":"2.0","id":3,"method":"ping","params":[1]}
        ~ {"id":3,"error":{"code":-32602}}
        > {"jsonrpc":"2.0","id":4,"method":"ping","params":7}
        ~ {"id":4,"error":{"code":-32600}}
        > {"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}
        > {"jsonrpc":"2.0","id":77,"result":{}}
        > {"jsonrpc":"2.0","id":78,"error":{"code":1,"message":"x"}}
        > {"jsonrpc":"2.0","id":9,"method":"ping"}
        < {"jsonrpc":"2.0","id":9,"result":{}}
        $
    "#,
    )
    .await;
}

// req: BR-004
// req: BR-005
#[tokio::test(start_paused = true)]
async fn br_004_br_005_text_survives_every_split() {
    let line = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"t\":\"—😀 a\u{2028}b\u{2029}c\u{85}d\"}}}\r\n\r\n\n";
    let mut peer = Script::connect(Service::new(Puppet::default()));
    peer.play(OPEN).await;
    for byte in line.as_bytes() {
        peer.send_bytes(&[*byte]).await;
        tokio::task::yield_now().await;
    }
    let got = peer.receive().await.unwrap();
    assert_eq!(got["result"]["t"], "—😀 a\u{2028}b\u{2029}c\u{85}d");
    peer.send_bytes("\u{feff}".as_bytes()).await;
    peer.play(
        "> {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n~ {\"error\":{\"code\":-32700}}\n$",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_byte_order_mark_may_come_first() {
    let mut peer = Script::connect(Service::new(Puppet::default()));
    peer.send_bytes("\u{feff}".as_bytes()).await;
    peer.play("> {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n< {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n$").await;
}

// req: D-35
#[tokio::test(start_paused = true)]
async fn d_35_a_line_over_the_limit_is_named_and_skipped() {
    let mut limits = Limits::default();
    limits.message_bytes = 1_000;
    let mut peer = Script::connect(Service::new(Puppet::default()).limits(limits));
    peer.send(&"x".repeat(100_000)).await;
    peer.play(
        r#"
        < {"jsonrpc":"2.0","error":{"code":-32600,"message":"The message is longer than the limit of 1000 bytes"}}
        > {"jsonrpc":"2.0","id":1,"method":"ping"}
        < {"jsonrpc":"2.0","id":1,"result":{}}
        $
    "#,
    )
    .await;
}

// req: D-06
#[tokio::test(start_paused = true)]
async fn d_06_a_panic_ends_its_call_only() {
    let mut peer = Script::connect(Service::new(Puppet::default()));
    peer.play(OPEN).await;
    for tool in ["panics", "slow then panics"] {
        peer.send(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}"}}}}"#
        ))
        .await;
        let got = peer.receive().await.unwrap();
        assert_eq!(got["error"]["code"], -32603);
        assert_eq!(got["error"]["message"], "Internal error");
        assert_eq!(got["error"]["data"]["errorId"].as_str().unwrap().len(), 12);
        assert!(
            !got.to_string().contains("told"),
            "the cause stays in the log"
        );
    }
    peer.play("> {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n< {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n$").await;
}

// req: D-06
#[tokio::test(start_paused = true)]
async fn d_06_a_panic_over_a_notification_ends_nothing() {
    let puppet = Puppet {
        clumsy: true,
        ..Puppet::default()
    };
    let mut peer = Script::connect(Service::new(puppet.clone()));
    peer.play(OPEN).await;
    peer.play(
        r#"
        > {"jsonrpc":"2.0","method":"notifications/roots/list_changed"}
        > {"jsonrpc":"2.0","id":2,"method":"ping"}
        < {"jsonrpc":"2.0","id":2,"result":{}}
        $
    "#,
    )
    .await;
    assert_eq!(puppet.seen.notices.load(Ordering::SeqCst), 1);
}

// req: D-06
#[tokio::test(start_paused = true)]
async fn d_06_a_panic_while_a_call_is_dropped_ends_nothing() {
    check(&format!(
        r#"{OPEN}
        > {{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"explodes"}}}}
        > {{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":1}}}}
        @ 10s
        > {{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"slow"}}}}
        < {{"jsonrpc":"2.0","id":1,"result":{{}}}}
        $
    "#
    ))
    .await;
}

// req: D-06
#[tokio::test(start_paused = true)]
async fn d_06_a_result_that_is_no_object_is_our_fault() {
    for era in ["", &format!(",{META}")] {
        for tool in ["null", "slow then null"] {
            let script = r#"
                > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"TOOL",META}}
                ~ {"id":1,"error":{"code":-32603,"message":"Internal error"}}
                > {"jsonrpc":"2.0","id":2,"method":"ping"}
                < {"jsonrpc":"2.0","id":2,"result":{}}
                $
            "#;
            let script = script.replace("TOOL", tool).replace(",META", era);
            check(&format!("{OPEN}{script}")).await;
        }
    }
}

// req: D-15
#[tokio::test(start_paused = true)]
async fn d_15_a_result_is_one_line() {
    let mut peer = Script::connect(Service::new(Puppet::default()));
    peer.play(OPEN).await;
    peer.play(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pretty"}}
        < {"jsonrpc":"2.0","id":1,"result":{"a":"b\n c","d":[1]}}
        $
    "#,
    )
    .await;
}

// req: BR-011
#[tokio::test(start_paused = true)]
async fn br_011_what_was_accepted_is_answered_after_the_end_of_input() {
    for (opening, meta) in [(OPEN, "\"_meta\":{}"), ("", META)] {
        let (stream, serving) = polyport_rt::memory::connect(
            Service::new(Puppet::default()),
            polyport_rt::Stop::never(),
        );
        let (mut reader, mut writer) = tokio::io::split(stream);
        let said = opening
            .lines()
            .filter_map(|line| line.trim().strip_prefix("> "));
        let mut lines: Vec<String> = said.map(str::to_owned).collect();
        for id in 1..=20 {
            lines.push(format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"slow",{meta}}}}}"#
            ));
        }
        // The last line has no end.
        let last =
            r#"{"jsonrpc":"2.0","id":21,"method":"tools/call","params":{"name":"echo",META}}"#;
        lines.push(last.replace("META", meta));
        writer.write_all(lines.join("\n").as_bytes()).await.unwrap();
        writer.shutdown().await.unwrap();
        let mut text = String::new();
        reader.read_to_string(&mut text).await.unwrap();
        let answers = text.lines().map(|line| serde_json::from_str(line).unwrap());
        let mut answered: Vec<i64> = answers
            .filter(|answer: &serde_json::Value| answer.get("result").is_some())
            .map(|answer| answer["id"].as_i64().unwrap())
            .filter(|id| *id > 0)
            .collect();
        answered.sort_unstable();
        assert_eq!(answered, (1..=21).collect::<Vec<_>>(), "{text}");
        let ended = serving.await.unwrap();
        assert_eq!((ended.cut, ended.broken), (0, false));
    }
}

// req: P-END
#[tokio::test(start_paused = true)]
async fn a_stop_lets_calls_finish_and_cuts_what_does_not() {
    let puppet = Puppet::default();
    let mut peer = Script::connect(Service::new(puppet.clone()));
    peer.play(OPEN).await;
    peer.play(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}
        > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"tidy"}}
        > {"jsonrpc":"2.0","id":3,"method":"ping"}
        < {"jsonrpc":"2.0","id":3,"result":{}}
    "#,
    )
    .await;
    let before = tokio::time::Instant::now();
    peer.stop();
    peer.play("< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}")
        .await;
    assert_eq!(
        peer.end().await,
        Ended {
            cut: 1,
            broken: false
        }
    );
    assert_eq!(before.elapsed().as_secs(), 10, "the drain");
    assert_eq!(puppet.seen.cancelled.load(Ordering::SeqCst), 1);
    assert_eq!(
        puppet.seen.tidied.load(Ordering::SeqCst),
        1,
        "before the end"
    );
}

// req: P-END
#[tokio::test(start_paused = true)]
async fn a_reader_that_takes_nothing_is_left_after_the_drain() {
    for told in [false, true] {
        let (stopper, stop) = polyport_rt::stop::stop();
        let (stream, serving) = polyport_rt::memory::connect(Service::new(Puppet::default()), stop);
        let (_reader, mut writer) = tokio::io::split(stream);
        let text = "x".repeat(200_000);
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"t":"{text}"}},{META}}}}}"#
        );
        writer.write_all(call.as_bytes()).await.unwrap();
        writer.write_all(b"\n").await.unwrap();
        let before = tokio::time::Instant::now();
        if told {
            stopper.stop();
        } else {
            writer.shutdown().await.unwrap();
        }
        let ended = tokio::time::timeout(Duration::from_secs(3_600), serving).await;
        let want = Ended {
            cut: 1,
            broken: false,
        };
        assert_eq!(ended.unwrap().unwrap(), want);
        assert_eq!(before.elapsed().as_secs(), 10, "the drain");
    }
}

// req: P-END
#[tokio::test(start_paused = true)]
async fn a_reader_that_goes_away_ends_the_connection() {
    let (stream, serving) =
        polyport_rt::memory::connect(Service::new(Puppet::default()), polyport_rt::Stop::never());
    drop(stream);
    let ended = serving.await.unwrap();
    assert_eq!(ended.cut, 0);
}

// req: D-35
#[tokio::test(start_paused = true)]
async fn d_35_calls_at_once_are_bounded() {
    let mut limits = Limits::default();
    limits.calls_per_session = 2;
    let mut peer = Script::connect(Service::new(Puppet::default()).limits(limits));
    peer.play(OPEN).await;
    peer.play(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}
        > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow"}}
        > {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"slow"}}
        ~ {"id":3,"error":{"code":-32600}}
        ~ {"id":1,"result":{}}
        ~ {"id":2,"result":{}}
        > {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"slow"}}
        ~ {"id":3,"result":{}}
        $
    "#,
    )
    .await;
}

// req: BR-010
#[tokio::test(start_paused = true)]
async fn br_010_many_calls_with_long_results_lose_nothing() {
    let text = "x".repeat(20_000);
    for (opening, meta, piece) in [
        (OPEN, "\"_meta\":{}", 1 << 20),
        ("", META, 1 << 20),
        // Requests trickle in while results go out: whatever interrupts the reading of a line, nothing of it is lost.
        (OPEN, "\"_meta\":{}", 1_009),
        ("", META, 1_009),
    ] {
        let limits = limits(|limits| limits.calls_per_session = 1_000);
        let service = Service::new(Puppet::default()).limits(limits);
        let (stream, serving) = polyport_rt::memory::connect(service, polyport_rt::Stop::never());
        let (reader, mut writer) = tokio::io::split(stream);
        let said = opening
            .lines()
            .filter_map(|line| line.trim().strip_prefix("> "));
        let mut requests: String = said.map(|line| format!("{line}\n")).collect();
        for id in 1..=200 {
            let tool = ["echo", "slow"][id % 2];
            requests += &format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"{tool}\",\"arguments\":{{\"t\":\"{text}\"}},{meta}}}}}\n"
            );
        }
        let reading = tokio::spawn(async move {
            let mut lines = tokio::io::BufReader::new(reader).lines();
            let mut seen: Vec<i64> = Vec::new();
            while let Some(line) = lines.next_line().await.unwrap() {
                let got: serde_json::Value = serde_json::from_str(&line).unwrap();
                if let Some(echoed) = got["result"]["t"].as_str() {
                    assert_eq!(echoed.len(), 20_000);
                    seen.push(got["id"].as_i64().unwrap());
                }
            }
            seen
        });
        for piece in requests.as_bytes().chunks(piece) {
            writer.write_all(piece).await.unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        writer.shutdown().await.unwrap();
        let mut seen = reading.await.unwrap();
        seen.sort_unstable();
        assert_eq!(seen, (1..=200).collect::<Vec<_>>());
        assert_eq!(serving.await.unwrap().cut, 0);
    }
}
