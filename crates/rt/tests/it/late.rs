//! Requests that are waited for in vain: what the error says of how things stood.

use std::sync::Arc;
use std::time::Duration;

use polyport_rt::{CallError, Caller, Late, Stage, Wait};
use tokio::time::sleep;

use crate::calling::{connected, secs};
use crate::opening::Does;

/// Asks for what is never answered, for five seconds.
async fn late(caller: &Caller, method: &str) -> Late {
    let wait = Wait {
        total: secs(5),
        ..Wait::default()
    };
    match caller.request_waiting(method, "{}", &wait).await {
        Err(CallError::TimedOut(late)) => late,
        other => panic!("{method}: {other:?}"),
    }
}

/// Asks so often, and waits as long as the test runs.
fn ask_for_ever(caller: &Arc<Caller>, method: &'static str, times: usize) {
    for _ in 0..times {
        let caller = caller.clone();
        tokio::spawn(async move {
            let wait = Wait::default();
            caller.request_waiting(method, "{}", &wait).await
        });
    }
}

/// Whoever waits in vain hears what the server said last, and when; of what it said, nothing.
// req: S-LATE
#[tokio::test(start_paused = true)]
async fn what_was_heard_last_is_named_and_not_told() {
    for (said, want) in [
        ("", "an answer, 7.0 s ago"),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"secret"}}"#,
            "notifications/message, 5.0 s ago",
        ),
        (
            r#"{"jsonrpc":"2.0","method":"secret/of/its/own"}"#,
            "a notification, 5.0 s ago",
        ),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"secret","progress":1}}"#,
            "notifications/progress, 5.0 s ago",
        ),
        (
            r#"{"jsonrpc":"2.0","id":"secret","method":"ping"}"#,
            "ping, 5.0 s ago",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"secret"}"#,
            "a request, 5.0 s ago",
        ),
        ("secret", "something that is no message, 5.0 s ago"),
    ] {
        let line: &'static str = format!("{said}\n").leak();
        let (caller, _server) = connected(move |method| match method {
            "tools/call" if line.len() > 1 => Does::Says(line),
            _ => Does::Nothing,
        })
        .await;
        sleep(Duration::from_secs(2)).await;
        let late = late(&caller, "tools/call").await;
        let text = late.to_string();
        let want = format!("no answer to tools/call after 5.0 s; last heard: {want}");
        assert_eq!(text, want, "{said}");
    }
}

/// Which requests are open beside the one that is given up, and which of the server's questions.
// req: S-LATE
#[tokio::test(start_paused = true)]
async fn what_is_open_is_counted_and_the_first_of_it_named() {
    let question = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}\n";
    for (others, end) in [
        (0, ""),
        (1, "; also open: prompts/get"),
        (
            9,
            "; also open: prompts/get, prompts/get, prompts/get, prompts/get, prompts/get, prompts/get, prompts/get and 2 more",
        ),
    ] {
        let (caller, _server) = connected(move |method| match method {
            "tools/call" => Does::Says(question),
            _ => Does::Nothing,
        })
        .await;
        caller.set_answerer(Arc::new(|_, _| Box::pin(std::future::pending())));
        let caller = Arc::new(caller);
        ask_for_ever(&caller, "prompts/get", others);
        let late = late(&caller, "tools/call").await;
        let text = late.to_string();
        let want = format!(
            "no answer to tools/call after 5.0 s; last heard: roots/list, 5.0 s ago; 1 question of its own unanswered{end}"
        );
        assert_eq!(text, want);
        let standing = late.standing.unwrap();
        assert_eq!(standing.open_count, others + 1);
        assert_eq!(standing.open[0].ago, Duration::from_secs(5));
        // What is given up is open no longer.
        let after = caller.late(Duration::ZERO).standing.unwrap();
        assert_eq!(after.open_count, others);
    }
}

/// That it was answered what it had asked, and went silent then.
// req: S-LATE
#[tokio::test(start_paused = true)]
async fn what_was_said_since_is_named() {
    let question = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}\n";
    for (is_answered, said) in [(true, "an answer"), (false, "an error")] {
        let (caller, _server) = connected(move |method| match method {
            "tools/call" => Does::Says(question),
            _ => Does::Nothing,
        })
        .await;
        caller.set_answerer(Arc::new(move |_, _| {
            Box::pin(async move {
                sleep(Duration::from_secs(3)).await;
                let answer = polyport_wire::Raw::from_static("{}");
                if is_answered { Ok(answer) } else { Err(answer) }
            })
        }));
        let late = late(&caller, "tools/call").await;
        let text = late.to_string();
        let want = format!(
            "no answer to tools/call after 5.0 s; last heard: roots/list, 5.0 s ago; last said: {said}, 2.0 s ago"
        );
        assert_eq!(text, want);
    }
}

/// A server that reads nothing has not even been asked.
// req: S-LATE
#[tokio::test(start_paused = true)]
async fn what_the_server_has_not_taken_is_said_not_to_be() {
    let (near, _far) = tokio::io::duplex(16);
    let (reader, writer) = tokio::io::split(near);
    let modern = polyport_proto::Revision::V2026_07_28;
    let facts = crate::opening::facts();
    let patience = Duration::from_secs(1);
    let opened = Caller::connect(reader, writer, modern, facts, patience).await;
    let (caller, _) = opened.unwrap();
    // What waits to be written is bounded.
    let caller = Arc::new(caller);
    ask_for_ever(&caller, "ping", 100);
    sleep(Duration::from_secs(1)).await;
    let late = late(&caller, "tools/call").await;
    let standing = late.standing.as_ref().unwrap();
    assert_eq!(standing.open[0].stage, Stage::Unsent);
    let text = late.to_string();
    let want = "no answer to tools/call after 5.0 s; the server has not taken it; the server has said nothing; also open: ping";
    assert!(text.starts_with(want), "{text}");
}

/// Somebody who waits in vain is told what has come that was not for him.
// req: S-ODD
#[tokio::test(start_paused = true)]
async fn an_answer_that_fits_no_request_is_named() {
    for (said, want) in [
        (
            r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
            Some("the server answered id 7, which nothing waits for"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":"2","result":{}}"#,
            Some("the server answered id \"2\", which nothing waits for"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#,
            Some("the server answered id 1, which nothing waits for any more"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#,
            Some("the server answered with an error that has no id: Parse error"),
        ),
        (
            r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}"#,
            Some("the server answered with an error that has no id: Parse error"),
        ),
        (
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}",
            Some("the server began a line with a byte order mark, which no message may"),
        ),
        ("starting", None),
        (r#"{"jsonrpc":"2.0","method":"notifications/what"}"#, None),
    ] {
        let said: &'static str = format!("{said}\n").leak();
        let (caller, _server) = connected(move |method| match method {
            "tools/call" => Does::Says(said),
            _ => Does::Nothing,
        })
        .await;
        let first = late(&caller, "tools/call").await;
        assert_eq!(first.after.as_secs(), 5);
        let odd = first.odd.as_deref();
        match want {
            None => assert_eq!(odd, None, "{said}"),
            Some(want) => assert!(odd.unwrap().starts_with(want), "{said}: {odd:?}"),
        }
        // What came before a request says nothing of it.
        sleep(Duration::from_secs(1)).await;
        let next = late(&caller, "prompts/list").await;
        assert_eq!(next.odd, None, "{said}");
    }
}
