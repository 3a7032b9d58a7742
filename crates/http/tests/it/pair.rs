//! HTTP with SSE: one stream per session, messages posted beside it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use polyport_http::Endpoint;
use polyport_proto::Limits;
use polyport_testkit::handlers::Puppet;
use serde_json::Value;

use crate::{
    Got, INITIALIZE, INITIALIZED, PING, PLAIN, Stream, call, call_with_token, cancel, endpoint,
    endpoint_with, got, modern, request,
};

const S: fn(u64) -> Duration = Duration::from_secs;

/// A client: its stream, and where it posts.
pub(crate) struct Client {
    pub(crate) stream: Stream,
    pub(crate) target: String,
}

impl Client {
    pub(crate) async fn open(endpoint: &Endpoint) -> Self {
        Self::open_at(endpoint, "/sse", PLAIN).await
    }

    pub(crate) async fn open_at(endpoint: &Endpoint, path: &str, headers: &[(&str, &str)]) -> Self {
        let response = endpoint.handle(request("GET", path, headers, "")).await;
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["x-accel-buffering"], "no");
        let mut stream = Stream::new(response);
        let first = stream.next().await.unwrap();
        assert_eq!(
            (first.name.as_deref(), &first.id),
            (Some("endpoint"), &None)
        );
        Self {
            stream,
            target: format!("/{}", first.data),
        }
    }

    pub(crate) fn id(&self) -> &str {
        self.target.split_once("sessionId=").unwrap().1
    }

    pub(crate) async fn post(&self, endpoint: &Endpoint, body: &str) -> Got {
        post_at(endpoint, &self.target, &[], body).await
    }

    /// What is posted and taken is answered by an empty 202.
    pub(crate) async fn say(&self, endpoint: &Endpoint, body: &str) {
        let got = self.post(endpoint, body).await;
        assert_eq!((got.status, got.text.as_str()), (202, ""), "{body}");
    }

    pub(crate) async fn next(&mut self) -> Value {
        let (id, message) = self.stream.message().await;
        assert_eq!(id, None, "nobody comes back to this stream");
        message
    }

    pub(crate) async fn handshake(&mut self, endpoint: &Endpoint, revision: &str) -> Value {
        let initialize = INITIALIZE.replace("2025-06-18", revision);
        self.say(endpoint, &initialize).await;
        let answer = self.next().await;
        self.say(endpoint, INITIALIZED).await;
        answer["result"]["protocolVersion"].clone()
    }
}

pub(crate) async fn post_at(
    endpoint: &Endpoint,
    target: &str,
    extra: &[(&str, &str)],
    body: &str,
) -> Got {
    let headers = [PLAIN, extra].concat();
    got(endpoint
        .handle(request("POST", target, &headers, body))
        .await)
    .await
}

// req: D-18
// req: D-43
#[tokio::test(start_paused = true)]
async fn d_18_d_43_every_legacy_revision_is_spoken_on_the_pair() {
    let endpoint = endpoint();
    for (asked, want) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        // `initialize` is never refused for its version.
        ("2026-07-28", "2025-11-25"),
        ("1.0", "2025-11-25"),
    ] {
        let mut client = Client::open(&endpoint).await;
        assert_eq!(client.id().len(), 32);
        assert_eq!(client.handshake(&endpoint, asked).await, want);
        client.say(&endpoint, PING).await;
        assert_eq!(client.next().await["result"], serde_json::json!({}));
        client.say(&endpoint, &call_with_token(2, "progress")).await;
        for n in 1..=3 {
            assert_eq!(client.next().await["params"]["progress"], n);
        }
        assert_eq!(client.next().await["result"]["tool"], "progress");
        // Calls run beside each other, and answers come when they are ready.
        client.say(&endpoint, &call(3, "slow")).await;
        client.say(&endpoint, &call(4, "echo")).await;
        assert_eq!(client.next().await["id"], 4);
        assert_eq!(client.next().await["id"], 3);
        client.say(&endpoint, &call(5, "never")).await;
        client.say(&endpoint, &cancel(5)).await;
        assert!(client.stream.is_silent().await);
    }
}

// req: D-43
#[tokio::test(start_paused = true)]
async fn d_43_a_modern_request_is_refused_by_name_of_what_is_spoken() {
    let endpoint = endpoint();
    let mut client = Client::open(&endpoint).await;
    let body = modern("tools/list", "");
    client.say(&endpoint, &body).await;
    let answer = client.next().await;
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&1.into(), &(-32022).into())
    );
    let spoken = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
    assert_eq!(
        answer["error"]["data"]["supported"],
        serde_json::json!(spoken)
    );
    // One that says so in its header is refused at once.
    for (version, status, code) in [
        ("2026-07-28", 400, Some(-32022)),
        ("1999-01-01", 400, Some(-32600)),
        ("2025-06-18", 202, None),
    ] {
        let header = [("mcp-protocol-version", version)];
        let got = post_at(&endpoint, &client.target, &header, &body).await;
        assert_eq!((got.status, got.code()), (status, code), "{version}");
    }
}

// req: L-BATCH
#[tokio::test(start_paused = true)]
async fn batches_are_answered_whole() {
    let endpoint = endpoint();
    let mut client = Client::open(&endpoint).await;
    let early = client.post(&endpoint, &format!("[{PING}]")).await;
    assert_eq!((early.status, early.code()), (400, Some(-32600)));
    client.handshake(&endpoint, "2025-03-26").await;
    let batch = format!(
        "[{},{PING},{INITIALIZED},{}]",
        call(2, "slow"),
        call(3, "never")
    );
    client.say(&endpoint, &batch).await;
    client.say(&endpoint, &call(4, "echo")).await;
    assert_eq!(client.next().await["id"], 4, "nothing waits for the batch");
    client.say(&endpoint, &cancel(3)).await;
    let answers = client.next().await;
    let mut ids: Vec<_> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|a| a["id"].as_i64())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, [Some(1), Some(2)]);
    client.say(&endpoint, &format!("[{INITIALIZED}]")).await;
    let empty = client.post(&endpoint, "[]").await;
    assert_eq!((empty.status, empty.code()), (400, Some(-32600)));
    assert!(client.stream.is_silent().await);
    let mut newer = Client::open(&endpoint).await;
    newer.handshake(&endpoint, "2025-06-18").await;
    assert_eq!(
        newer.post(&endpoint, &format!("[{PING}]")).await.status,
        400
    );
}

// req: D-18
#[tokio::test(start_paused = true)]
async fn what_has_no_id_is_answered_where_it_was_posted() {
    let endpoint = endpoint();
    let mut client = Client::open(&endpoint).await;
    client.handshake(&endpoint, "2024-11-05").await;
    client.say(&endpoint, &call(7, "slow")).await;
    for (body, status, code) in [
        ("{", 400, Some(-32700)),
        ("1", 400, Some(-32600)),
        (
            r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
            400,
            Some(-32600),
        ),
        (&call(7, "echo"), 400, Some(-32600)),
    ] {
        let got = client.post(&endpoint, body).await;
        assert_eq!((got.status, got.code()), (status, code), "{body}");
    }
    // What names its request is found on the stream.
    for (body, code) in [
        (INITIALIZE, -32600),
        (r#"{"jsonrpc":"2.0","id":8,"method":"x/y"}"#, -32601),
    ] {
        client.say(&endpoint, body).await;
        assert_eq!(client.next().await["error"]["code"], code);
    }
    for taken in [
        r#"{"jsonrpc":"2.0","method":"notifications/x"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
    ] {
        client.say(&endpoint, taken).await;
    }
    assert_eq!(client.next().await["result"]["tool"], "slow");
    assert!(client.stream.is_silent().await);
}

// req: D-18
#[tokio::test(start_paused = true)]
async fn a_session_ends_with_its_stream() {
    let puppet = Puppet::default();
    let endpoint = endpoint_with(puppet.clone(), Limits::default());
    let mut client = Client::open(&endpoint).await;
    let other = Client::open(&endpoint).await;
    client.handshake(&endpoint, "2024-11-05").await;
    client.say(&endpoint, &call(1, "tidy")).await;
    assert_eq!(endpoint.sessions(), 2);
    let target = client.target.clone();
    drop(client);
    assert_eq!(endpoint.sessions(), 1);
    tokio::time::sleep(S(1)).await;
    assert_eq!(puppet.seen.tidied.load(Ordering::SeqCst), 1);
    assert_eq!(post_at(&endpoint, &target, &[], PING).await.status, 404);
    other.say(&endpoint, PING).await;
}

// req: BR-086
#[tokio::test(start_paused = true)]
async fn an_idle_stream_of_the_pair_is_kept_alive() {
    use http_body_util::BodyExt;
    let endpoint = endpoint();
    let mut client = Client::open(&endpoint).await;
    client.handshake(&endpoint, "2024-11-05").await;
    let begun = tokio::time::Instant::now();
    for n in 1..=3 {
        let frame = client.stream.body.frame().await.unwrap().unwrap();
        assert_eq!(frame.into_data().unwrap(), ": keep-alive\n\n");
        assert_eq!(begun.elapsed(), S(15 * n));
    }
}
