//! What a server asks a client: every question is answered, as it was numbered, and nobody is asked without end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use polyport_proto::{Era, Revisions};
use polyport_rt::{CallError, Caller, MAX_QUESTIONS, Patience, Wait};
use polyport_wire::Raw;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

use crate::calling::{INITIALIZED, connected};
use crate::opening::{Does, facts};

// req: S-ASKED
#[tokio::test(start_paused = true)]
async fn a_server_that_asks_is_answered() {
    let questions = concat!(
        "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"sampling/createMessage\",\"params\":{}}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n",
    );
    let (caller, server) = connected(move |method| match method {
        "tools/call" => Does::Says(questions),
        _ => Does::Nothing,
    })
    .await;
    caller.request("tools/call", "{}").await.unwrap();
    caller.close().await;
    let heard = server.await.unwrap();
    assert_eq!(
        heard[2..],
        [
            "tools/call",
            r#"{"jsonrpc":"2.0","id":"p","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32601,"message":"This client answers no questions: it has declared none that it could."}}"#,
        ]
    );
}

// req: S-ASKED
#[tokio::test(start_paused = true)]
async fn a_flood_of_questions_is_bounded() {
    let flood: String = (0..1_000)
        .map(|_| "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"roots/list\"}\n")
        .collect();
    let flood: &'static str = flood.leak();
    let (caller, _server) = connected(move |method| match method {
        "tools/call" => Does::Says(flood),
        _ => Does::Nothing,
    })
    .await;
    let begun = Arc::new(AtomicUsize::new(0));
    let count = begun.clone();
    caller.set_answerer(Arc::new(move |_, _| {
        count.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::pending())
    }));
    let asked = caller.request("tools/call", "{}");
    let waited = tokio::time::timeout(Duration::from_secs(1), asked).await;
    assert!(waited.is_err());
    assert_eq!(begun.load(Ordering::SeqCst), 64);
    caller.close().await;
}

// req: BR-027, BR-029
#[tokio::test(start_paused = true)]
async fn br_027_br_029_questions_keep_their_ids() {
    const IDS: [&str; 6] = ["0", "\"\"", "1", "\"1\"", "-7", "\"ebf9f64a-0\""];
    let (near, far): (DuplexStream, DuplexStream) = tokio::io::duplex(1 << 16);
    let server = tokio::spawn(async move {
        let (reader, mut writer) = tokio::io::split(far);
        let mut lines = BufReader::new(reader).lines();
        lines.next_line().await.unwrap();
        writer.write_all(INITIALIZED.as_bytes()).await.unwrap();
        lines.next_line().await.unwrap();
        let asked =
            IDS.map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n"));
        writer.write_all(asked.concat().as_bytes()).await.unwrap();
        let mut answers = Vec::new();
        for _ in IDS {
            answers.push(lines.next_line().await.unwrap().unwrap());
        }
        answers
    });
    let (reader, writer) = tokio::io::split(near);
    let legacy = Revisions::of(Era::Legacy);
    let opened = Caller::open(reader, writer, facts(), legacy, Patience::default()).await;
    let (caller, _) = opened.unwrap();
    caller.set_answerer(Arc::new(|_, _| {
        Box::pin(async { Ok(Raw::from_static("{}")) })
    }));
    let mut answers = server.await.unwrap();
    answers.sort();
    let mut want = IDS.map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}"));
    want.sort();
    assert_eq!(answers, want);
}

/// One that is asked for something and asks back, again and again.
async fn asks_on(mut far: DuplexStream, method: &'static str, of: usize) -> Vec<String> {
    let (reader, mut writer) = tokio::io::split(&mut far);
    let mut lines = BufReader::new(reader).lines();
    let mut heard = Vec::new();
    let mut asked = 0;
    while let Ok(Some(line)) = lines.next_line().await {
        let message: serde_json::Value = serde_json::from_str(&line).unwrap();
        let said = match message["method"].as_str() {
            Some("initialize") => INITIALIZED.to_owned(),
            Some("notifications/initialized") => continue,
            Some("tools/list") => {
                let id = &message["id"];
                format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n")
            }
            Some("notifications/cancelled") => {
                heard.push(message["params"]["requestId"].to_string());
                continue;
            }
            // A call, or an answer.
            _ if asked == of => "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n".to_owned(),
            _ => {
                asked += 1;
                format!("{{\"jsonrpc\":\"2.0\",\"id\":\"q{asked}\",\"method\":\"{method}\"}}\n")
            }
        };
        if writer.write_all(said.as_bytes()).await.is_err() {
            break;
        }
    }
    heard
}

// req: S-ASKS-ON
#[tokio::test(start_paused = true)]
async fn a_server_that_never_has_enough_is_given_up() {
    for (method, questions, is_enough) in [
        ("elicitation/create", MAX_QUESTIONS, true),
        ("elicitation/create", MAX_QUESTIONS + 1, false),
        ("sampling/createMessage", usize::MAX, false),
        ("roots/list", usize::MAX, false),
        ("what/ever", usize::MAX, false),
        // Whoever only looks whether somebody is there may look as often as he likes.
        ("ping", MAX_QUESTIONS * 2, true),
        ("tasks/get", MAX_QUESTIONS * 2, true),
    ] {
        let (near, far) = tokio::io::duplex(1 << 16);
        let server = tokio::spawn(asks_on(far, method, questions));
        let (reader, writer) = tokio::io::split(near);
        let legacy = Revisions::of(Era::Legacy);
        let opened = Caller::open(reader, writer, facts(), legacy, Patience::default()).await;
        let caller = opened.unwrap().0;
        caller.set_answerer(Arc::new(|_, _| {
            Box::pin(async { Ok(Raw::from_static("{}")) })
        }));
        let wait = Wait::default();
        match caller.request_waiting("tools/call", "{}", &wait).await {
            Ok(_) => assert!(is_enough, "{method}"),
            Err(CallError::AsksOn(MAX_QUESTIONS)) => assert!(!is_enough, "{method}"),
            other => panic!("{method}: {other:?}"),
        }
        // The connection is as good as before.
        caller.request("tools/list", "{}").await.unwrap();
        caller.close().await;
        let heard = server.await.unwrap();
        let told: &[&str] = if is_enough { &[] } else { &["2"] };
        assert_eq!(heard, told, "{method}");
    }
}
