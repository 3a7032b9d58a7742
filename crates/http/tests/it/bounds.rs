//! The default bounds of what one client may send and hold, at the bound and one beyond it.

use std::sync::Arc;

use polyport_http::{Config, Endpoint};
use polyport_rt::Service;
use polyport_testkit::handlers::Puppet;

use crate::sessions::Tokens;
use crate::{
    CALL, INITIALIZE, INITIALIZED, PING, Stream, V, call, endpoint, modern, open, open_old, post,
    stream,
};

// req: D-35
#[tokio::test(start_paused = true)]
async fn d_35_the_shape_of_a_message_is_bounded_in_both_eras() {
    let endpoint = endpoint();
    let session = open(&endpoint).await;
    let id = [("mcp-session-id", session.as_str())];
    // The arguments stand three levels deep.
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels - 3), "]".repeat(levels - 3));
    let wide = |elements: usize| format!("[{}1]", "1,".repeat(elements - 1));
    for (value, fits) in [
        (deep(128), true),
        (deep(129), false),
        (wide(100_000), true),
        (wide(100_001), false),
    ] {
        let want = if fits {
            (200, None)
        } else {
            (400, Some(-32600))
        };
        let body = call(1, "echo").replace("\"tool\":\"echo\"", &format!("\"v\":{value}"));
        let got = post(&endpoint, &id, &body).await;
        assert_eq!((got.status, got.code()), want, "{}", value.len());
        let body = modern(
            "tools/call",
            &format!(r#""name":"echo","arguments":{{"v":{value}}}"#),
        );
        let got = post(&endpoint, &[V, CALL, ("mcp-name", "echo")], &body).await;
        assert_eq!((got.status, got.code()), want, "{}", value.len());
    }
}

// req: D-35
// req: L-BATCH
#[tokio::test(start_paused = true)]
async fn d_35_a_batch_is_bounded() {
    let endpoint = endpoint();
    let session = open_old(&endpoint).await;
    let id = [("mcp-session-id", session.as_str())];
    let batch = |messages: usize| {
        format!(
            "[{}]",
            vec![INITIALIZED; messages - 1].join(",") + "," + PING
        )
    };
    let got = post(&endpoint, &id, &batch(100)).await;
    assert_eq!((got.status, got.json()[0]["id"].as_i64()), (200, Some(1)));
    let got = post(&endpoint, &id, &batch(101)).await;
    assert_eq!((got.status, got.code()), (400, Some(-32600)));
}

fn guarded() -> Endpoint {
    let config = Config {
        authorize: Some(Arc::new(Tokens)),
        ..Config::default()
    };
    Endpoint::new(Service::new(Puppet::default()), config)
}

const ADA: (&str, &str) = ("authorization", "Bearer ada");
const BOB: (&str, &str) = ("authorization", "Bearer bob");

// req: D-35
#[tokio::test(start_paused = true)]
async fn d_35_one_principal_has_so_many_sessions() {
    let endpoint = guarded();
    let theirs = post(&endpoint, &[BOB], INITIALIZE).await.session();
    let mut sessions = Vec::new();
    for _ in 0..65 {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        sessions.push(post(&endpoint, &[ADA], INITIALIZE).await.session());
    }
    assert_eq!(endpoint.sessions(), 65, "64, and one of somebody else");
    for (who, session, status) in [
        (ADA, &sessions[0], 404),
        (ADA, &sessions[1], 200),
        (ADA, &sessions[64], 200),
        (BOB, &theirs, 200),
    ] {
        let got = post(&endpoint, &[who, ("mcp-session-id", session)], PING).await;
        assert_eq!(got.status, status);
    }
}

async fn listen(endpoint: &Endpoint, who: (&str, &str)) -> Stream {
    let body = modern(
        "subscriptions/listen",
        r#""notifications":{"toolsListChanged":true}"#,
    );
    stream(
        endpoint,
        "POST",
        &[who, V, ("mcp-method", "subscriptions/listen")],
        &body,
    )
    .await
}

// req: D-35
// req: C-BOUND
#[tokio::test(start_paused = true)]
async fn d_35_one_principal_listens_so_many_times() {
    let endpoint = guarded();
    let mut open = Vec::new();
    for _ in 0..8 {
        let mut stream = listen(&endpoint, ADA).await;
        let (_, first) = stream.message().await;
        assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
        open.push(stream);
    }
    for (who, code) in [(ADA, true), (BOB, false)] {
        let body = modern(
            "subscriptions/listen",
            r#""notifications":{"toolsListChanged":true}"#,
        );
        let headers = [who, V, ("mcp-method", "subscriptions/listen")];
        let answer = tokio::time::timeout(
            std::time::Duration::from_secs(1),
            post(&endpoint, &headers, &body),
        )
        .await;
        assert_eq!(answer.is_ok_and(|got| got.code() == Some(-32600)), code);
    }
    open.pop();
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    let (_, first) = listen(&endpoint, ADA).await.message().await;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
}

// req: D-35
// req: C-BOUND
#[tokio::test(start_paused = true)]
async fn d_35_one_session_subscribes_to_so_much() {
    let endpoint = endpoint();
    let session = open(&endpoint).await;
    let id = [("mcp-session-id", session.as_str())];
    for n in 0..1_025 {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{{"uri":"x:{n}"}}}}"#
        );
        let got = post(&endpoint, &id, &body).await;
        assert_eq!(got.code(), (n == 1_024).then_some(-32600), "{n}: {got:?}");
    }
}
