//! HTTP with SSE: who may open a stream and post beside it, where, and within which bounds.

use std::sync::Arc;
use std::time::Duration;

use polyport_http::{Config, Endpoint, Pair};
use polyport_proto::{Era, Limits, Revision, Revisions};
use polyport_rt::Service;
use polyport_testkit::handlers::Puppet;

use crate::pair::{Client, post_at};
use crate::sessions::Tokens;
use crate::{
    INITIALIZE, PING, PLAIN, call, endpoint, endpoint_with, got, open, request, send, stream,
};

const S: fn(u64) -> Duration = Duration::from_secs;

fn endpoint_of(config: Config) -> Endpoint {
    Endpoint::new(Service::new(Puppet::default()), config)
}

// req: D-35
#[tokio::test(start_paused = true)]
async fn d_35_a_stream_without_a_handshake_is_ended() {
    let endpoint = endpoint();
    let (mut silent, mut client) = (Client::open(&endpoint).await, Client::open(&endpoint).await);
    client.handshake(&endpoint, "2024-11-05").await;
    tokio::time::sleep(S(61)).await;
    drop(Client::open(&endpoint).await);
    assert!(silent.stream.next().await.is_none());
    assert_eq!(silent.post(&endpoint, PING).await.status, 404);
    // One in use is not, however long it is silent, until its life is over.
    tokio::time::sleep(S(3 * 3_600)).await;
    drop(Client::open(&endpoint).await);
    client.say(&endpoint, PING).await;
    assert_eq!(client.next().await["id"], 1);
    tokio::time::sleep(S(21 * 3_600)).await;
    drop(Client::open(&endpoint).await);
    assert!(client.stream.next().await.is_none());
    assert_eq!(endpoint.sessions(), 0);
}

// req: D-35
// req: BR-109
#[tokio::test(start_paused = true)]
async fn d_35_who_does_not_read_may_not_ask() {
    let mut limits = Limits::default();
    limits.queue_messages = 3;
    let puppet = Puppet::default();
    let endpoint = endpoint_with(puppet.clone(), limits);
    let mut client = Client::open(&endpoint).await;
    client.handshake(&endpoint, "2024-11-05").await;
    client.say(&endpoint, &call(9, "slow")).await;
    for _ in 0..3 {
        client.say(&endpoint, PING).await;
    }
    let refused = client.post(&endpoint, PING).await;
    assert_eq!((refused.status, refused.code()), (503, Some(-32600)));
    assert_eq!(refused.headers["retry-after"], "1");
    puppet.bus.tools_changed();
    puppet.bus.tools_changed();
    // The answer of what was let in has room.
    tokio::time::sleep(S(2)).await;
    for id in [1, 1, 1, 9] {
        assert_eq!(client.next().await["id"], id);
    }
    // What had no room meanwhile comes when there is some, once.
    let changed = client.next().await;
    assert_eq!(changed["method"], "notifications/tools/list_changed");
    client.say(&endpoint, PING).await;
    assert_eq!(client.next().await["id"], 1);
    assert!(client.stream.is_silent().await);
}

// req: D-35
#[tokio::test(start_paused = true)]
async fn d_35_sessions_of_both_transports_are_counted_together() {
    let mut limits = Limits::default();
    limits.sessions = 2;
    let endpoint = endpoint_with(Puppet::default(), limits);
    let mut client = Client::open(&endpoint).await;
    client.handshake(&endpoint, "2024-11-05").await;
    open(&endpoint).await;
    let full = endpoint.handle(request("GET", "/sse", PLAIN, "")).await;
    assert_eq!(full.status(), 503);
    assert!(full.headers().contains_key("retry-after"));
    // After a minute of idleness a session makes room; one whose stream is read is not idle.
    tokio::time::sleep(S(62)).await;
    let _third = Client::open(&endpoint).await;
    client.say(&endpoint, PING).await;
    assert_eq!(endpoint.sessions(), 2);
}

// req: V-308
// req: V-309
#[tokio::test(start_paused = true)]
async fn v_308_a_session_is_named_and_of_its_own_transport() {
    let endpoint = endpoint();
    let mut client = Client::open(&endpoint).await;
    client.handshake(&endpoint, "2025-06-18").await;
    let streamable = open(&endpoint).await;
    for (target, status) in [
        ("/messages".to_owned(), 400),
        ("/messages?".to_owned(), 400),
        ("/messages?session_id=1".to_owned(), 400),
        ("/messages?sessionId=".to_owned(), 404),
        (format!("/messages?sessionId={}", "0".repeat(32)), 404),
        (format!("/messages?sessionId={streamable}"), 404),
        (format!("{}&sessionId=1", client.target), 404),
        (format!("{}/", client.target), 404),
    ] {
        let got = post_at(&endpoint, &target, &[], PING).await;
        assert_eq!((got.status, got.code()), (status, Some(-32600)), "{target}");
    }
    let id = [("mcp-session-id", client.id())];
    for method in ["POST", "GET", "DELETE"] {
        let got = send(&endpoint, method, &[PLAIN, &id].concat(), PING).await;
        assert_eq!(got.status, 404, "{method}");
    }
    assert_eq!(stream(&endpoint, "GET", &id, "").await.status, 404);
    client.say(&endpoint, PING).await;
    assert_eq!(client.next().await["id"], 1);
}

// req: V-303
#[tokio::test(start_paused = true)]
async fn v_303_a_session_of_the_pair_is_its_principals() {
    let puppet = Puppet::default();
    let config = Config {
        authorize: Some(Arc::new(Tokens)),
        ..Config::default()
    };
    let endpoint = Endpoint::new(Service::new(puppet.clone()), config);
    let none = endpoint.handle(request("GET", "/sse", PLAIN, "")).await;
    assert_eq!((none.status().as_u16(), endpoint.sessions()), (401, 0));
    let ada = ("authorization", "Bearer ada");
    let mut client = Client::open_at(&endpoint, "/sse", &[PLAIN, &[ada]].concat()).await;
    for (who, status) in [
        (None, 401),
        (Some(("authorization", "Bearer bob")), 404),
        (Some(ada), 202),
    ] {
        let got = post_at(&endpoint, &client.target, who.as_slice(), INITIALIZE).await;
        assert_eq!(got.status, status, "{who:?}");
    }
    assert_eq!(client.next().await["id"], 0);
    post_at(&endpoint, &client.target, &[ada], &call(1, "echo")).await;
    assert_eq!(puppet.seen.subjects(), vec![Some("ada".to_owned()); 2]);
}

// req: D-18
// req: V-101
#[tokio::test(start_paused = true)]
async fn the_pair_has_its_methods_and_guards() {
    let endpoint = endpoint();
    let accept = |value| [PLAIN[0], PLAIN[1], ("accept", value)];
    for (method, path, headers, status, allow) in [
        ("POST", "/sse", PLAIN, 405, Some("GET")),
        ("DELETE", "/sse", PLAIN, 405, Some("GET")),
        ("HEAD", "/sse", PLAIN, 405, Some("GET")),
        ("GET", "/messages", PLAIN, 405, Some("POST")),
        ("PUT", "/messages", PLAIN, 405, Some("POST")),
        ("GET", "/sse", &accept("application/json"), 406, None),
        (
            "POST",
            "/messages",
            &[PLAIN[0], ("content-type", "text/plain")],
            415,
            None,
        ),
        ("POST", "/messages", &PLAIN[..1], 415, None),
        ("GET", "/sse", &[("host", "evil.test")], 403, None),
        (
            "POST",
            "/messages",
            &[("host", "evil.test"), PLAIN[1]],
            403,
            None,
        ),
        (
            "GET",
            "/sse",
            &[PLAIN[0], ("origin", "http://evil.test")],
            403,
            None,
        ),
        (
            "POST",
            "/messages",
            &[PLAIN[0], PLAIN[1], ("content-length", "99999999")],
            413,
            None,
        ),
        ("GET", "/sse/x", PLAIN, 404, None),
        ("GET", "/messages/x", PLAIN, 404, None),
    ] {
        let got = got(endpoint
            .handle(request(method, path, headers, INITIALIZE))
            .await)
        .await;
        let allowed = got
            .headers
            .get("allow")
            .map(|value| value.to_str().unwrap());
        assert_eq!(
            (got.status, allowed),
            (status, allow),
            "{method} {path} {headers:?}"
        );
    }
    assert_eq!(endpoint.sessions(), 0, "what is refused opens nothing");
    for headers in [&PLAIN[..1], &accept("*/*"), &accept("text/event-stream")] {
        Client::open_at(&endpoint, "/sse", headers).await;
    }
}

// req: D-18
#[tokio::test(start_paused = true)]
async fn d_18_where_the_pair_is_served_is_a_choice() {
    let pair = |stream: &str, messages: &str| Pair {
        stream: stream.to_owned(),
        messages: messages.to_owned(),
    };
    for (pair, opened, target) in [
        (Pair::default(), "/sse", "messages?"),
        (Pair::default(), "/sse/", "../messages?"),
        (pair("/a/b/events/", "/a/in/"), "/a/b/events", "../in?"),
        (pair("/x/sse", "/x/y/m"), "/x/sse", "y/m?"),
    ] {
        let config = Config {
            pair: Some(pair),
            ..Config::default()
        };
        let endpoint = endpoint_of(config);
        let client = Client::open_at(&endpoint, opened, PLAIN).await;
        let named = &client.target[1..];
        assert!(named.starts_with(target), "{named}");
        // As a client sees it, behind a proxy that puts a prefix in front, or none.
        for prefix in ["", "/prefix/of/it"] {
            let base = format!("http://localhost{prefix}{opened}");
            let resolved = resolve(&base, named);
            let path = resolved.strip_prefix(&format!("http://localhost{prefix}"));
            let got = post_at(&endpoint, path.unwrap(), &[], INITIALIZE).await;
            assert!(matches!(got.status, 202 | 400), "{resolved}: {got:?}");
            assert_ne!(got.status, 404, "{resolved}");
        }
    }
    let off = [
        endpoint_of(Config {
            pair: None,
            ..Config::default()
        }),
        endpoint_of(Config {
            sessions: false,
            ..Config::default()
        }),
        Endpoint::new(
            Service::new(Puppet::default()).speaks(Revisions::of(Era::Modern)),
            Config::default(),
        ),
    ];
    for endpoint in off {
        for (method, path) in [("GET", "/sse"), ("POST", "/messages")] {
            let got = endpoint
                .handle(request(method, path, PLAIN, INITIALIZE))
                .await;
            assert_eq!(got.status(), 404, "{path}");
        }
    }
    // The endpoint's own path stays its own.
    let config = Config {
        path: "/sse".to_owned(),
        ..Config::default()
    };
    let got = endpoint_of(config)
        .handle(request("POST", "/sse", PLAIN, INITIALIZE))
        .await;
    assert_eq!(got.status(), 200);
    let one = Service::new(Puppet::default()).speaks(Revisions::NONE.with(Revision::V2024_11_05));
    let endpoint = Endpoint::new(one, Config::default());
    let mut client = Client::open(&endpoint).await;
    assert_eq!(
        client.handshake(&endpoint, "2025-11-25").await,
        "2024-11-05"
    );
}

/// A relative reference, as RFC 3986 section 5.2 resolves it.
fn resolve(base: &str, reference: &str) -> String {
    let (mut folder, mut rest) = (base.rsplit_once('/').unwrap().0, reference);
    while let Some(up) = rest.strip_prefix("../") {
        (folder, rest) = (folder.rsplit_once('/').unwrap().0, up);
    }
    format!("{folder}/{rest}")
}
