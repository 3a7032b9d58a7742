//! Requests of a client: how long they wait, what they hear meanwhile, and what the server hears when nobody waits any more.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use polyport_proto::{Era, Revision, Revisions};
use polyport_rt::{CallError, Caller, OnProgress, Patience, Wait};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::task::JoinHandle;

use crate::opening::{Does, facts, serve};

pub(crate) const INITIALIZED: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\
    \"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}\n";

pub(crate) async fn connected(
    does: impl Fn(&str) -> Does + Send + 'static,
) -> (Caller, JoinHandle<Vec<String>>) {
    let (near, far): (DuplexStream, DuplexStream) = tokio::io::duplex(1 << 16);
    let server = tokio::spawn(async move {
        serve(far, move |method| match method {
            "initialize" => Does::Says(INITIALIZED),
            _ => does(method),
        })
        .await
    });
    let (reader, writer) = tokio::io::split(near);
    let legacy = Revisions::of(Era::Legacy);
    let opened = Caller::open(reader, writer, facts(), legacy, Patience::default()).await;
    (opened.unwrap().0, server)
}

pub(crate) fn secs(n: u64) -> Option<Duration> {
    Some(Duration::from_secs(n))
}

// req: D-15
#[tokio::test(start_paused = true)]
async fn d_15_a_request_is_one_line_however_its_parameters_are_written() {
    for (params, want) in [
        (
            "{\n  \"name\": \"a\",\r\n  \"arguments\": [\n1,\n2]\n}",
            "{\"name\": \"a\",\"arguments\": [1,2]}",
        ),
        ("{\"name\":\"a\\nb\"}", "{\"name\":\"a\\nb\"}"),
    ] {
        let (near, far): (DuplexStream, DuplexStream) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(near);
        let legacy = Revision::V2025_11_25;
        let patience = Duration::from_secs(1);
        let opening = Caller::connect(reader, writer, legacy, facts(), patience);
        let mut far = BufReader::new(far);
        let server = async {
            let mut line = String::new();
            far.read_line(&mut line).await.unwrap();
            far.write_all(INITIALIZED.as_bytes()).await.unwrap();
        };
        let (opened, ()) = tokio::join!(opening, server);
        let (caller, _) = opened.unwrap();
        let asked = caller.request("tools/call", params).await;
        assert!(matches!(asked, Err(CallError::TimedOut(_))), "{asked:?}");
        caller.close().await;
        let mut text = String::new();
        far.read_to_string(&mut text).await.unwrap();
        let lines: Vec<&str> = text.lines().collect();
        // It says that it has begun, asks, and gives up.
        let wanted =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{want}}}");
        assert_eq!((lines.len(), lines[1]), (3, &*wanted), "{text}");
    }
}

// req: S-CANCEL
#[tokio::test(start_paused = true)]
async fn a_dropped_request_is_cancelled() {
    let (caller, server) = connected(|_| Does::Nothing).await;
    let asked = caller.request("tools/list", "{}");
    assert!(
        tokio::time::timeout(Duration::from_secs(1), asked)
            .await
            .is_err()
    );
    caller.close().await;
    let heard = server.await.unwrap();
    assert_eq!(heard[2..], ["tools/list", "notifications/cancelled"]);
}

// req: S-CANCEL
#[tokio::test(start_paused = true)]
async fn an_answered_request_is_not_cancelled() {
    let answer = "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n";
    let (caller, server) = connected(move |method| match method {
        "ping" => Does::Says(answer),
        _ => Does::Nothing,
    })
    .await;
    assert_eq!(caller.request("ping", "{}").await.unwrap().as_str(), "{}");
    caller.close().await;
    assert_eq!(server.await.unwrap()[2..], ["ping"]);
}

// req: S-WAIT
#[tokio::test(start_paused = true)]
async fn progress_keeps_a_request_alive_and_the_hard_cap_ends_it() {
    let notes = concat!(
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":2,\"progress\":1,\"total\":3}}\n",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":7,\"progress\":9}}\n",
    );
    for (idle, total, want) in [
        (secs(10), None, 10),
        (secs(10), secs(4), 4),
        (None, secs(30), 30),
    ] {
        let (caller, _server) = connected(move |method| match method {
            "tools/call" => Does::Says(notes),
            _ => Does::Nothing,
        })
        .await;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let heard = seen.clone();
        let wait = Wait {
            idle,
            total,
            progress: Some(Arc::new(move |p| heard.lock().unwrap().push(p.value()))),
            ..Wait::default()
        };
        let begun = tokio::time::Instant::now();
        let ended = caller.request_waiting("tools/call", "{}", &wait).await;
        assert!(matches!(ended, Err(CallError::TimedOut(_))), "{ended:?}");
        assert_eq!(begun.elapsed().as_secs(), want);
        assert_eq!(*seen.lock().unwrap(), [1.0]);
    }
}

// req: S-WAIT, BR-064, BR-068
#[tokio::test(start_paused = true)]
async fn br_064_br_068_each_progress_begins_the_idle_time_anew_whoever_hears_of_it() {
    let nobody: Option<OnProgress> = None;
    let somebody: OnProgress = Arc::new(|_| ());
    let panics: OnProgress = Arc::new(|p| assert_ne!(p.value(), 2.0, "on purpose"));
    for progress in [nobody, Some(somebody), Some(panics)] {
        progress_with(progress).await;
    }
}

async fn progress_with(progress: Option<OnProgress>) {
    let (near, far) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(near);
    let server = async move {
        use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
        let (reader, mut writer) = tokio::io::split(far);
        let mut lines = BufReader::new(reader).lines();
        lines.next_line().await.unwrap();
        writer.write_all(INITIALIZED.as_bytes()).await.unwrap();
        lines.next_line().await.unwrap();
        lines.next_line().await.unwrap();
        for step in 1..=5 {
            tokio::time::sleep(Duration::from_secs(8)).await;
            let note = format!(
                "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{{\"progressToken\":2,\"progress\":{step}}}}}\n"
            );
            writer.write_all(note.as_bytes()).await.unwrap();
        }
        writer
            .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"ok\":true}}\n")
            .await
            .unwrap();
        lines.next_line().await.unwrap()
    };
    let client = async move {
        let legacy = Revisions::of(Era::Legacy);
        let opened = Caller::open(reader, writer, facts(), legacy, Patience::default()).await;
        let caller = opened.unwrap().0;
        let wait = Wait {
            idle: secs(10),
            total: None,
            progress,
            ..Wait::default()
        };
        let answer = caller.request_waiting("tools/call", "{}", &wait).await;
        assert_eq!(answer.unwrap().as_str(), "{\"ok\":true}");
        caller.close().await;
    };
    let (last, ()) = tokio::join!(server, client);
    assert_eq!(last, None, "nothing is cancelled");
}

// req: S-GONE
#[tokio::test(start_paused = true)]
async fn whoever_waits_hears_of_the_end() {
    let (caller, _server) = connected(|method| match method {
        "tools/list" => Does::Ends,
        _ => Does::Nothing,
    })
    .await;
    let (first, second) = tokio::join!(
        caller.request("ping", "{}"),
        caller.request("tools/list", "{}")
    );
    assert!(matches!(first, Err(CallError::Closed)), "{first:?}");
    assert!(matches!(second, Err(CallError::Closed)), "{second:?}");
    let late = caller.request("ping", "{}").await;
    assert!(matches!(late, Err(CallError::Closed)), "{late:?}");
}

/// Progress that is of no request any more, or of none of ours, or that goes backwards, harms no call.
// req: BR-066
#[tokio::test(start_paused = true)]
async fn br_066_odd_progress_harms_no_call() {
    let said = concat!(
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":2,\"progress\":1}}\n",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":2,\"progress\":1}}\n",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":2,\"progress\":0.5}}\n",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":\"2\",\"progress\":7}}\n",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":99,\"progress\":7}}\n",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":2,\"progress\":\"7\"}}\n",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progress\":7}}\n",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":2,\"progress\":7}}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"again\":true}}\n",
    );
    let (caller, _server) = connected(move |method| match method {
        "tools/call" => Does::Says(said),
        "ping" => Does::Says("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n"),
        _ => Does::Nothing,
    })
    .await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let heard = seen.clone();
    let wait = Wait {
        progress: Some(Arc::new(move |p| heard.lock().unwrap().push(p.value()))),
        ..Wait::default()
    };
    let answer = caller.request_waiting("tools/call", "{}", &wait).await;
    assert_eq!(answer.unwrap().as_str(), "{}");
    assert_eq!(caller.request("ping", "{}").await.unwrap().as_str(), "{}");
    assert_eq!(*seen.lock().unwrap(), [1.0, 1.0, 0.5]);
    // What is of no call is there for whoever takes notifications.
    assert_eq!(caller.notifications().len(), 6);
}

/// A server may have asked under any id, and gets its answer under that very one.
// req: S-WAIT
#[tokio::test(start_paused = true)]
async fn what_comes_on_a_stream_of_all_is_heard_by_the_one_that_waits() {
    let note = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n";
    // The log and the answer come at once: whoever looked only later would find the call over.
    let said = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\
        {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n";
    for others in [0, 1] {
        let (caller, _server) = connected(move |method| match method {
            "tools/call" if others == 0 => Does::Says(said),
            "prompts/get" => Does::Says(note),
            _ => Does::Nothing,
        })
        .await;
        let count = Arc::new(Mutex::new(0));
        let heard = count.clone();
        let wait = Wait {
            total: secs(5),
            notes: Some(Arc::new(move |_| {
                *heard.lock().unwrap() += 1;
                true
            })),
            ..Wait::default()
        };
        let first = caller.request_waiting("tools/call", "{}", &wait);
        if others == 0 {
            first.await.unwrap();
            assert_eq!(*count.lock().unwrap(), 1);
            continue;
        }
        // Of two that wait it is nobody's.
        let second = caller.request_waiting("prompts/get", "{}", &wait);
        let (first, second) = tokio::join!(first, second);
        assert!(first.is_err() && second.is_err());
        assert_eq!(*count.lock().unwrap(), 0);
        assert!(caller.notification().await.is_some());
    }
}
