//! Faults that were reported of other implementations, each by its number: what an HTTP server may do wrong.

use std::time::Duration;

use http_body_util::BodyExt;
use polyport_http::{Config, Endpoint};
use polyport_proto::{Era, Limits, Revisions};
use polyport_rt::Service;
use polyport_testkit::handlers::Puppet;
use tokio::time::timeout;

use crate::{
    CALL, INITIALIZE, PING, PLAIN, V, call, cancel, endpoint, endpoint_with, got, modern, open,
    post, request, send,
};

/// How many tasks live.
fn tasks() -> usize {
    tokio::runtime::Handle::current()
        .metrics()
        .num_alive_tasks()
}

// req: BR-048
#[tokio::test(start_paused = true)]
async fn br_048_a_second_initialize_changes_nothing_of_a_session() {
    let endpoint = endpoint();
    let session = open(&endpoint).await;
    let id = [("mcp-session-id", session.as_str())];
    let other = INITIALIZE.replace("2025-06-18", "2025-03-26").replace(
        "\"capabilities\":{}",
        "\"capabilities\":{\"elicitation\":{}}",
    );
    let got = post(&endpoint, &id, &other).await;
    assert_eq!((got.status, got.code()), (400, Some(-32600)), "{got:?}");
    assert!(!got.headers.contains_key("mcp-session-id"));
    // It still has no batches, and a client that cannot be asked.
    assert_eq!(post(&endpoint, &id, &format!("[{PING}]")).await.status, 400);
    let asked = post(&endpoint, &id, &call(2, "asks form")).await;
    assert!(
        asked.text.contains("Missing required client capability"),
        "{asked:?}"
    );
    assert_eq!(endpoint.sessions(), 1);
}

// req: BR-074
#[tokio::test(start_paused = true)]
async fn br_074_methods() {
    let with = |sessions, speaks| {
        let config = Config {
            sessions,
            ..Config::default()
        };
        Endpoint::new(Service::new(Puppet::default()).speaks(speaks), config)
    };
    let none = "0123456789abcdef0123456789abcdef";
    let unknown = [PLAIN, &[("mcp-session-id", none)]].concat();
    for (endpoint, allow) in [
        (endpoint(), "GET, POST, DELETE"),
        (with(false, Revisions::ALL), "POST"),
        (with(true, Revisions::of(Era::Modern)), "POST"),
    ] {
        for path in ["/mcp", "/mcp/"] {
            let say = async |method: &str, headers: &[(&str, &str)], body: &str| {
                let asked = request(method, path, headers, body);
                got(endpoint.handle(asked).await).await
            };
            for method in ["PUT", "PATCH", "HEAD", "OPTIONS", "TRACE", "GET", "DELETE"] {
                let got = say(method, PLAIN, "").await;
                assert_eq!(got.status, 405, "{allow} {method} {path}");
                // What was refused is not offered in its place.
                let is_of_sessions = ["GET", "DELETE"].contains(&method);
                let allow = if is_of_sessions { "POST" } else { allow };
                assert_eq!(got.headers["allow"], allow, "{method} {path}");
            }
            for method in ["GET", "DELETE"] {
                let status = if allow == "POST" { 405 } else { 404 };
                assert_eq!(
                    say(method, &unknown, "").await.status,
                    status,
                    "{method} {path}"
                );
                // The modern era has neither, whatever else is said.
                let modern = [&*unknown, &[V]].concat();
                assert_eq!(
                    say(method, &modern, "").await.status,
                    405,
                    "{method} {path}"
                );
            }
            // Nothing is sent elsewhere.
            let list = [PLAIN, &[V, ("mcp-method", "tools/list")]].concat();
            let listed = say("POST", &list, &modern("tools/list", "")).await;
            assert_eq!(listed.status, 200, "{path}");
        }
    }
}

// req: BR-083
#[tokio::test(start_paused = true)]
async fn br_083_clients_that_leave_at_every_stage_of_a_stream() {
    let puppet = Puppet::default();
    let endpoint = endpoint_with(puppet, Limits::default());
    let session = open(&endpoint).await;
    let before = tasks();
    let tool = "slow then logs then progress then slow";
    let new = modern("tools/call", &format!(r#""name":"{tool}""#)).replace(
        "\"_meta\":{",
        "\"_meta\":{\"progressToken\":1,\"io.modelcontextprotocol/logLevel\":\"info\",",
    );
    for n in 0..1_000_u32 {
        let legacy = n % 2 == 0;
        let body = if legacy {
            call(n + 10, tool)
        } else {
            new.clone()
        };
        let body = body.replace(
            "\"arguments\"",
            "\"_meta\":{\"progressToken\":1},\"arguments\"",
        );
        let headers = if legacy {
            [PLAIN, &[("mcp-session-id", session.as_str())]].concat()
        } else {
            [PLAIN, &[V, CALL, ("mcp-name", tool)]].concat()
        };
        // It leaves before the head, after it, or after so many events; some say so before.
        let asked = endpoint.handle(request("POST", "/mcp", &headers, &body));
        let stage = n / 2 % 8;
        let Ok(response) = timeout(Duration::from_millis(u64::from(stage) * 700), asked).await
        else {
            continue;
        };
        let mut body = response.into_body();
        for _ in 0..stage.saturating_sub(2) {
            let _ = timeout(Duration::from_secs(1), body.frame()).await;
        }
        if legacy && n % 5 == 0 {
            let id = [("mcp-session-id", session.as_str())];
            assert_eq!(post(&endpoint, &id, &cancel(n + 10)).await.status, 202);
        }
        drop(body);
    }
    let id = [("mcp-session-id", session.as_str())];
    assert_eq!(post(&endpoint, &id, &call(1, "echo")).await.status, 200);
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(tasks(), before, "nothing runs on");
}

// req: BR-087
#[tokio::test(start_paused = true)]
async fn br_087_a_stream_is_not_held_back_by_compression() {
    let endpoint = endpoint();
    let session = open(&endpoint).await;
    for (id, encoding) in (1..).zip(["gzip", "gzip, deflate, br, zstd", "identity;q=0, *"]) {
        let headers = [
            PLAIN,
            &[
                ("mcp-session-id", session.as_str()),
                ("accept-encoding", encoding),
            ],
        ]
        .concat();
        let get = endpoint.handle(request("GET", "/mcp", &headers, "")).await;
        let body = call(id, "slow then progress").replace(
            "\"arguments\"",
            "\"_meta\":{\"progressToken\":1},\"arguments\"",
        );
        let post = endpoint
            .handle(request("POST", "/mcp", &headers, &body))
            .await;
        for response in [get, post] {
            assert_eq!(response.status(), 200);
            assert_eq!(response.headers()["content-type"], "text/event-stream");
            assert!(!response.headers().contains_key("content-encoding"));
            let mut body = response.into_body();
            let first = timeout(Duration::from_millis(100), body.frame()).await;
            assert!(first.unwrap().unwrap().unwrap().is_data());
        }
    }
}

// req: BR-112
#[tokio::test(start_paused = true)]
async fn br_112_calls_that_stand_alone_leave_nothing() {
    let endpoint = endpoint();
    let headers = |tool| [PLAIN, &[V, CALL, ("mcp-name", tool)]].concat();
    let before = tasks();
    for n in 0..5_000 {
        let tool = ["echo", "refuses", "panics", "never"][n % 4];
        let body = modern("tools/call", &format!(r#""name":"{tool}""#));
        let headers = headers(tool);
        let asked = send(&endpoint, "POST", &headers, &body);
        // A client of the one that never ends goes away, which ends it.
        let got = timeout(Duration::from_millis(1), asked).await;
        assert_eq!(got.is_ok(), tool != "never");
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!((tasks(), endpoint.sessions()), (before, 0));
}

// req: BR-114
#[tokio::test(start_paused = true)]
async fn br_114_what_is_refused_opens_no_session() {
    let endpoint = endpoint();
    let other = |name: &'static str, value: &'static str| -> Vec<(&str, &str)> {
        let rest = PLAIN.iter().filter(|header| header.0 != name);
        rest.copied().chain([(name, value)]).collect()
    };
    let plain = PLAIN.to_vec();
    let no_version = INITIALIZE.replace("protocolVersion", "version");
    for n in 0..10_000 {
        let (method, headers, body) = match n % 9 {
            0 => ("POST", other("accept", "text/html"), INITIALIZE),
            1 => ("POST", plain.clone(), &INITIALIZE[..INITIALIZE.len() - 1]),
            2 => ("GET", plain.clone(), ""),
            3 => ("POST", other("host", "evil.example"), INITIALIZE),
            4 => ("POST", other("content-type", "text/plain"), INITIALIZE),
            5 => ("POST", plain.clone(), no_version.as_str()),
            6 => ("DELETE", plain.clone(), ""),
            7 => ("POST", other("origin", "https://evil.example"), INITIALIZE),
            _ => ("POST", other("mcp-session-id", "none-of-ours"), PING),
        };
        let got = send(&endpoint, method, &headers, body).await;
        let refused = got.status >= 400 || got.code().is_some();
        assert!(refused, "{n}: {got:?}");
        assert!(!got.headers.contains_key("mcp-session-id"), "{n}: {got:?}");
    }
    assert_eq!(endpoint.sessions(), 0);
}

// req: BR-115
#[tokio::test(start_paused = true)]
async fn br_115_a_session_keeps_nothing_of_what_was_answered() {
    let endpoint = endpoint();
    let session = open(&endpoint).await;
    let id = [("mcp-session-id", session.as_str())];
    let before = tasks();
    for n in 0..2_000 {
        let body = match n % 4 {
            0 => PING.to_owned(),
            1 => call(1, "slow"),
            2 => call(1, "refuses"),
            _ => cancel(1),
        };
        assert!(post(&endpoint, &id, &body).await.status < 300);
    }
    // One id over and over: were one call kept, the next would be refused.
    assert_eq!(post(&endpoint, &id, &call(1, "echo")).await.status, 200);
    assert_eq!((tasks(), endpoint.sessions()), (before, 1));
}

// req: BR-116
#[tokio::test(start_paused = true)]
async fn br_116_a_session_that_was_only_begun_is_let_go() {
    let endpoint = endpoint();
    for _ in 0..50 {
        assert_eq!(post(&endpoint, &[], INITIALIZE).await.status, 200);
    }
    let kept = open(&endpoint).await;
    assert_eq!(endpoint.sessions(), 51);
    tokio::time::sleep(Duration::from_secs(61)).await;
    // Whoever comes next makes the server look; over a socket it looks by itself.
    open(&endpoint).await;
    assert_eq!(endpoint.sessions(), 2);
    let id = [("mcp-session-id", kept.as_str())];
    assert_eq!(post(&endpoint, &id, PING).await.status, 200);
}

// req: D-13
#[tokio::test(start_paused = true)]
async fn d_13_cancels_over_http_that_come_too_early_too_late_or_twice() {
    let endpoint = endpoint();
    let session = open(&endpoint).await;
    let id = [("mcp-session-id", session.as_str())];
    let answered = async |what: &str| {
        let got = post(&endpoint, &id, &call(1, "slow")).await;
        assert_eq!(got.json()["result"]["tool"], "slow", "{what}: {got:?}");
    };
    // Before its request arrived, after its result, and twice.
    assert_eq!(post(&endpoint, &id, &cancel(1)).await.status, 202);
    answered("early").await;
    assert_eq!(post(&endpoint, &id, &cancel(1)).await.status, 202);
    answered("late").await;
    let slow = call(1, "slow");
    let (got, _) = tokio::join!(post(&endpoint, &id, &slow), async {
        for _ in 0..2 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert_eq!(post(&endpoint, &id, &cancel(1)).await.status, 202);
        }
    });
    assert!(got.events().is_empty(), "{got:?}");
    answered("twice").await;
    // A cancel has no power over the request of another session, nor over a modern one, which has no session at all.
    let other = open(&endpoint).await;
    let foreign = [("mcp-session-id", other.as_str())];
    let body = modern("tools/call", r#""name":"slow""#);
    let headers = [V, CALL, ("mcp-name", "slow")];
    let (legacy, modern, _) = tokio::join!(
        post(&endpoint, &id, &slow),
        post(&endpoint, &headers, &body),
        async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            post(&endpoint, &foreign, &cancel(1)).await
        },
    );
    assert_eq!((legacy.status, modern.status), (200, 200));
    assert_eq!(legacy.json()["result"]["tool"], "slow");
    assert!(modern.json().get("result").is_some(), "{modern:?}");
    // And `initialize` cannot be cancelled: it has no session yet.
    let got = post(&endpoint, &[], &cancel(0)).await;
    assert!(got.status >= 400, "{got:?}");
}

// req: BR-043
#[tokio::test(start_paused = true)]
async fn br_043_progress_over_http_keeps_its_token_and_ends_before_the_result() {
    let endpoint = endpoint();
    let session = open(&endpoint).await;
    for token in ["7", "\"7\""] {
        let want: serde_json::Value = token.parse().unwrap();
        let member = format!("\"progressToken\":{token}");
        let old = call(1, "progress").replace(
            "\"arguments\"",
            &format!("\"_meta\":{{{member}}},\"arguments\""),
        );
        let new = modern("tools/call", r#""name":"progress""#)
            .replace("\"_meta\":{", &format!("\"_meta\":{{{member},"));
        let legacy = post(&endpoint, &[("mcp-session-id", &session)], &old).await;
        let modern = post(&endpoint, &[V, CALL, ("mcp-name", "progress")], &new).await;
        for got in [legacy, modern] {
            let events = got.events();
            let said: Vec<_> = events
                .iter()
                .filter(|event| event["params"]["progressToken"] == want)
                .map(|event| event["params"]["progress"].as_i64().unwrap())
                .collect();
            assert_eq!(said, [1, 2, 3], "{got:?}");
            assert_eq!(events.len(), 4, "{got:?}");
            assert_eq!(events[3]["id"], 1, "the last one: {got:?}");
        }
    }
}

/// A frame of HTTP/2.
#[cfg(feature = "http2")]
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut out = length[1..].to_vec();
    out.extend_from_slice(&[kind, flags, 0, 0, 0, stream]);
    out.extend_from_slice(payload);
    out
}

/// A header by the index of its name in the static table of RFC 7541, not to be remembered.
#[cfg(feature = "http2")]
fn field(index: u8, value: &str) -> Vec<u8> {
    let mut out = match index {
        0..15 => vec![index],
        _ => vec![15, index - 15],
    };
    out.push(u8::try_from(value.len()).unwrap());
    out.extend_from_slice(value.as_bytes());
    out
}

// req: BR-085
#[cfg(feature = "http2")]
#[tokio::test]
async fn br_085_http_2_names_its_host_otherwise() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let (address, stopper, serving) = crate::sockets::serve().await;
    // With prior knowledge; the host is in `:authority` only.
    for (authority, status) in [
        ("localhost", 0x88),
        (&address.to_string(), 0x88),
        ("evil.example", 0),
    ] {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let headers = [
            vec![0x83, 0x86],
            field(4, "/mcp"),
            field(1, authority),
            field(31, "application/json"),
            field(19, "application/json, text/event-stream"),
        ];
        let text = [
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
            frame(4, 0, 0, &[]),
            frame(1, 4, 1, &headers.concat()),
            frame(0, 1, 1, INITIALIZE.as_bytes()),
        ];
        stream.write_all(&text.concat()).await.unwrap();
        // The head of the response is the first frame of its kind; its status is the first field.
        let first = loop {
            let mut head = [0; 9];
            stream.read_exact(&mut head).await.unwrap();
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut payload = vec![0; length as usize];
            stream.read_exact(&mut payload).await.unwrap();
            if head[3] == 1 {
                // Before it there may be a change of the table's size.
                break *payload.iter().find(|byte| **byte & 0xe0 != 0x20).unwrap();
            }
        };
        assert_eq!(first == 0x88, status == 0x88, "{authority}: {first:#x}");
    }
    stopper.stop();
    serving.await.unwrap();
}
