//! Cancels that come too early, too late, twice or across the result; progress and logs in bursts; nothing after the end.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use polyport_proto::Limits;
use polyport_rt::{CancelReason, Context, Service};
use polyport_testkit::Script;
use polyport_testkit::handlers::Puppet;
use tokio::time::sleep;

use crate::reported::both;
use crate::tools::service;
use crate::{META, OPEN};

// req: BR-059
#[tokio::test(start_paused = true)]
async fn br_059_no_error_for_a_cancelled_call() {
    for tool in [
        "never",
        "tidy",
        "tidy then refuses",
        "tidy then panics",
        "explodes",
    ] {
        let script = r#"
            > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"TOOL",META}}
            > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
            .
            $
        "#;
        both(&script.replace("TOOL", tool)).await;
    }
}

// req: BR-066
#[tokio::test(start_paused = true)]
async fn br_066_no_progress_after_the_result() {
    let tool = |cx: Context| async move {
        let late = cx.clone();
        tokio::spawn(async move {
            for n in 10..20 {
                sleep(Duration::from_millis(300)).await;
                late.progress(f64::from(n), None, None);
                late.log(polyport_proto::Level::Error, None, "1");
            }
        });
        cx.progress(1.0, None, None);
        sleep(Duration::from_secs(1)).await;
        Ok("done".to_owned())
    };
    for opening in [OPEN, ""] {
        // Both kinds of token.
        for token in ["7", "\"7\""] {
            let mut peer = Script::connect(service(tool));
            peer.play(opening).await;
            let with = format!("\"_meta\":{{\"progressToken\":{token}");
            let meta = if opening.is_empty() {
                META.replace("\"_meta\":{", &format!("{with},"))
            } else {
                format!("{with}}}")
            };
            let script = r#"
                > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t",META}}
                < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":TOKEN,"progress":1}}
                < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":TOKEN,"progress":10}}
                < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":TOKEN,"progress":11}}
                < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":TOKEN,"progress":12}}
                ~ {"id":1,"result":{"end":"done"}}
                .
                $
            "#;
            peer.play(&script.replace("META", &meta).replace("TOKEN", token))
                .await;
        }
    }
}

// req: BR-069
#[tokio::test(start_paused = true)]
async fn br_069_a_call_knows_why_it_is_cancelled() {
    let cancel =
        r#"> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    for (how, want) in [
        ("cancel", CancelReason::Client),
        ("end", CancelReason::Disconnected),
        ("stop", CancelReason::Shutdown),
    ] {
        let seen = Arc::new(Mutex::new(None));
        let reason = seen.clone();
        let tool = move |cx: Context| {
            let reason = reason.clone();
            async move {
                *reason.lock().unwrap() = Some(cx.cancelled().await);
                Ok(String::new())
            }
        };
        let mut limits = Limits::default();
        limits.drain = Duration::from_secs(1);
        let mut peer = Script::connect(service(tool).limits(limits));
        peer.send(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t",{META}}}}}"#
        ))
        .await;
        match how {
            "cancel" => peer.play(cancel).await,
            "stop" => {
                peer.stop();
                assert!(peer.receive().await.is_none());
            }
            _ => {}
        }
        peer.end().await;
        assert_eq!(*seen.lock().unwrap(), Some(want), "{how}");
    }
}

// req: D-13
#[tokio::test(start_paused = true)]
async fn d_13_cancels_that_come_too_early_too_late_or_twice() {
    let cancel =
        r#"> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let call = |tool: &str| {
        format!(
            r#"> {{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}",META}}}}"#
        )
    };
    let (slow, echo, answer) = (call("slow"), call("echo"), r#"~ {"id":1,"result":{}}"#);
    // Before its request arrived: it means another one.
    both(&format!("{cancel}\n{slow}\n{answer}\n$")).await;
    // After the result, of a call that took its time and of one that was ready at once; the id is used again.
    both(&format!("{slow}\n{answer}\n{cancel}\n{slow}\n{answer}\n$")).await;
    both(&format!(
        "{echo}\n{cancel}\n{answer}\n{cancel}\n{echo}\n{answer}\n$"
    ))
    .await;
    // Twice: the second does not meet the call that has the id by then.
    both(&format!(
        "{slow}\n{cancel}\n{cancel}\n.\n{slow}\n{answer}\n$"
    ))
    .await;
    // One under way is not met by a cancel of another kind of id, or of none.
    for other in [
        r#"{"requestId":"1"}"#,
        r#"{"requestId":1.0}"#,
        r#"{"requestId":null}"#,
        "{}",
        "[]",
        "7",
    ] {
        let other =
            format!(r#"> {{"jsonrpc":"2.0","method":"notifications/cancelled","params":{other}}}"#);
        let mut peer = Script::connect(Service::new(Puppet::default()));
        peer.play(&slow.replace("META", META)).await;
        peer.play(&other).await;
        let got = peer.receive().await.unwrap();
        // What is no notification at all may be answered; the call is.
        let got = if got["id"] == 1 {
            got
        } else {
            peer.receive().await.unwrap()
        };
        assert!(
            got["id"] == 1 && got.get("result").is_some(),
            "{other}: {got}"
        );
    }
}

// req: D-13
#[tokio::test(start_paused = true)]
async fn d_13_a_result_that_crosses_the_cancel() {
    for (opening, meta) in [(OPEN, "\"_meta\":{}"), ("", META)] {
        let puppet = Puppet::default();
        let mut peer = Script::connect(Service::new(puppet.clone()));
        peer.play(opening).await;
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"told",{meta}}}}}"#
        );
        peer.send(&call).await;
        tokio::task::yield_now().await;
        // The call ends and the cancel arrives before anybody has looked at either: one of them was first, never both.
        puppet.told.notify_one();
        peer.play(
            r#"> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        )
        .await;
        peer.send(&call).await;
        let mut ends = 0;
        puppet.told.notify_one();
        while let Ok(Some(got)) = tokio::time::timeout(Duration::from_secs(1), peer.receive()).await
        {
            assert!(got["id"] == 1 && got.get("result").is_some(), "{got}");
            ends += 1;
            puppet.told.notify_one();
        }
        assert!((1..=2).contains(&ends), "{ends}");
    }
}

// req: D-21
#[tokio::test(start_paused = true)]
async fn d_21_progress_and_logs_are_a_burst_and_then_a_rate() {
    let tool = |cx: Context| async move {
        for n in 0..1_000 {
            cx.progress(f64::from(n), None, None);
            cx.log(polyport_proto::Level::Info, None, &n.to_string());
            sleep(Duration::from_millis(10)).await;
        }
        Ok("done".to_owned())
    };
    let meta = META.replace(
        "\"_meta\":{",
        "\"_meta\":{\"progressToken\":1,\"io.modelcontextprotocol/logLevel\":\"info\",",
    );
    let mut peer = Script::connect(service(tool));
    peer.send(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t",{meta}}}}}"#
    ))
    .await;
    let (mut progress, mut logs, mut left_out, mut last) = (0, 0, 0, -1);
    loop {
        let got = peer.receive().await.unwrap();
        match got["method"].as_str() {
            Some("notifications/progress") => {
                progress += 1;
                last = got["params"]["progress"].as_i64().unwrap();
            }
            Some("notifications/message") => match got["params"]["data"].as_str() {
                Some(note) => left_out += note.split(' ').next().unwrap().parse::<usize>().unwrap(),
                None => logs += 1,
            },
            _ => break,
        }
    }
    // Ten seconds: 8 and 5 a second, then the newest; 50 and 20 a second, all others counted.
    assert!((55..=60).contains(&progress), "{progress}");
    assert_eq!(last, 999, "the newest");
    assert!((245..=252).contains(&logs), "{logs}");
    assert_eq!(logs + left_out, 1_000);
}
