//! What belongs to one client stays apart from all others: sessions, their ids, what is wanted of a log.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::HeaderMap;
use http_body_util::BodyExt;
use polyport_http::{Authorize, Challenge, Config, Endpoint};
use polyport_proto::{Limits, Principal};
use polyport_rt::{BoxFuture, Service};
use polyport_testkit::handlers::Puppet;

use crate::{
    CALL, INITIALIZE, INITIALIZED, PING, PLAIN, V, call, cancel, endpoint, endpoint_with, modern,
    open, open_old, post, request, send,
};

/// Takes `Bearer issuer/client/subject` for what it says.
struct Claims;

impl Authorize for Claims {
    fn authorize(&self, headers: &HeaderMap) -> BoxFuture<Result<Arc<Principal>, Challenge>> {
        let token = headers.get("authorization").cloned();
        Box::pin(async move {
            let text = token.as_ref().and_then(|v| v.to_str().ok());
            let claims = text.and_then(|text| text.strip_prefix("Bearer "));
            let parts: Vec<&str> = claims.unwrap_or_default().split('/').collect();
            match parts[..] {
                [issuer, client, subject] => Ok(Arc::new(Principal {
                    issuer: issuer.into(),
                    client: client.into(),
                    subject: subject.into(),
                })),
                _ => Err(Challenge {
                    status: 401,
                    www_authenticate: "Bearer".to_owned(),
                }),
            }
        })
    }
}

const ADA: (&str, &str) = ("authorization", "Bearer a.example/app/ada");

// req: V-303
#[tokio::test(start_paused = true)]
async fn v_303_a_session_is_that_of_its_principal() {
    let puppet = Puppet::default();
    let config = Config {
        authorize: Some(Arc::new(Claims)),
        ..Config::default()
    };
    let endpoint = Endpoint::new(Service::new(puppet.clone()), config);
    let old = INITIALIZE.replace("2025-06-18", "2025-03-26");
    let session = post(&endpoint, &[ADA], &old).await.session();
    let id = ("mcp-session-id", session.as_str());
    assert_eq!(post(&endpoint, &[ADA, id], INITIALIZED).await.status, 202);
    let stream = request("GET", "/mcp", &[PLAIN, &[ADA, id]].concat(), "");
    let mut stream = endpoint.handle(stream).await.into_body();
    let begun = stream.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(begun, ": open\n\n");
    let running = call(9, "told");
    let named = [ADA, id];
    let running = post(&endpoint, &named, &running);
    let others = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let seen = puppet.seen.calls.load(Ordering::SeqCst);
        for (token, want) in [
            ("Bearer a.example/app/bob", 404),
            ("Bearer b.example/app/ada", 404),
            ("Bearer a.example/other/ada", 404),
            ("Bearer a.example/app/ADA", 404),
            ("Bearer a.example/app/", 404),
            ("Bearer //", 404),
            ("Bearer a.example/app/ada/x", 401),
            ("", 401),
        ] {
            let who = [("authorization", token), id];
            let who = if token.is_empty() {
                &who[1..]
            } else {
                &who[..]
            };
            for body in [
                PING.to_owned(),
                call(1, "echo"),
                // None of these may do anything, though no answer would tell.
                cancel(9),
                INITIALIZED.to_owned(),
                format!("[{PING}]"),
            ] {
                let got = post(&endpoint, who, &body).await;
                assert_eq!(got.status, want, "{token}: {body}: {got:?}");
            }
            for method in ["GET", "DELETE"] {
                let got = send(&endpoint, method, &[PLAIN, who].concat(), "").await;
                assert_eq!(got.status, want, "{token}: {method}: {got:?}");
            }
            // A stranger's session looks like none at all.
            if want == 404 {
                let none = [
                    who[0],
                    ("mcp-session-id", "0123456789abcdef0123456789abcdef"),
                ];
                let (theirs, none) = (
                    post(&endpoint, who, PING).await,
                    post(&endpoint, &none, PING).await,
                );
                assert_eq!(theirs.text, none.text);
            }
        }
        assert_eq!(puppet.seen.calls.load(Ordering::SeqCst), seen);
        puppet.told.notify_one();
    };
    let (answered, ()) = tokio::join!(running, others);
    assert_eq!(answered.json()["result"]["tool"], "told", "{answered:?}");
    assert_eq!(post(&endpoint, &[ADA, id], PING).await.status, 200);
    let end = send(&endpoint, "DELETE", &[PLAIN, &[ADA, id]].concat(), "").await;
    assert_eq!(end.status, 204);
    assert!(stream.frame().await.is_none(), "until then it was theirs");
}

// req: V-306
#[tokio::test(start_paused = true)]
async fn v_306_session_ids_are_random_visible_and_never_the_same() {
    const MANY: usize = 10_000;
    let mut limits = Limits::default();
    limits.sessions = MANY;
    let endpoint = endpoint_with(Puppet::default(), limits);
    let mut ids = HashSet::new();
    let (mut ones, mut equal) = ([0_u32; 128], [0_u32; 128]);
    let mut last = 0;
    for _ in 0..MANY {
        let id = post(&endpoint, &[], INITIALIZE).await.session();
        assert!(id.bytes().all(|byte| (0x21..=0x7e).contains(&byte)), "{id}");
        let bits = u128::from_str_radix(&id, 16).unwrap();
        for at in 0..128 {
            ones[at] += u32::from(bits >> at & 1 == 1);
            // Beside its neighbour, and beside its predecessor.
            equal[at] += u32::from((bits ^ last) >> at & 1 == 0);
        }
        last = bits;
        assert!(ids.insert(bits), "{id}");
    }
    // Of each bit half are ones, and half equal the one before: six standard deviations are met once in a billion.
    let (mean, spread) = (MANY as f64 / 2.0, 6.0 * (MANY as f64).sqrt() / 2.0);
    for (at, count) in ones.iter().chain(&equal).enumerate() {
        assert!(
            (f64::from(*count) - mean).abs() < spread,
            "bit {at}: {count}"
        );
    }
}

// req: V-308
#[tokio::test(start_paused = true)]
async fn v_308_nobody_gets_the_only_session_for_want_of_an_id() {
    let puppet = Puppet::default();
    let endpoint = endpoint_with(puppet.clone(), Limits::default());
    let session = open_old(&endpoint).await;
    let seen = puppet.seen.calls.load(Ordering::SeqCst);
    let version = ("mcp-protocol-version", "2025-06-18");
    for headers in [&[][..], &[version]] {
        for body in [
            PING.to_owned(),
            call(1, "echo"),
            INITIALIZED.to_owned(),
            cancel(1),
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_owned(),
            format!("[{PING}]"),
            format!("[{INITIALIZED}]"),
        ] {
            let got = post(&endpoint, headers, &body).await;
            assert_eq!(got.status, 400, "{body}: {got:?}");
            assert!(!got.text.contains(&session), "{got:?}");
        }
    }
    for id in [
        "",
        " ",
        "*",
        "0",
        &session[..31],
        &format!("{session}0"),
        &session.to_uppercase(),
    ] {
        let got = post(&endpoint, &[("mcp-session-id", id)], PING).await;
        let same = id == session;
        assert_eq!(got.status == 404, !same, "{id}: {got:?}");
    }
    // Two ids are none.
    let (own, other) = (
        ("mcp-session-id", session.as_str()),
        ("mcp-session-id", "x"),
    );
    for pair in [[own, own], [own, other], [other, own]] {
        assert_eq!(post(&endpoint, &pair, PING).await.status, 404);
        let ended = send(&endpoint, "DELETE", &[PLAIN, &pair].concat(), "").await;
        assert_eq!(ended.status, 404);
    }
    assert_eq!(puppet.seen.calls.load(Ordering::SeqCst), seen);
    assert_eq!(post(&endpoint, &[own], PING).await.status, 200);
}

// req: V-312
#[tokio::test(start_paused = true)]
async fn v_312_each_request_has_its_own_log_level() {
    let levels = [None, Some("debug"), Some("error"), Some("info"), None];
    let endpoint = endpoint();
    let headers = [V, CALL, ("mcp-name", "slow then logs then slow then logs")];
    let ask = async |level: Option<&str>| {
        let body = modern(
            "tools/call",
            r#""name":"slow then logs then slow then logs""#,
        );
        let body = level.map_or_else(
            || body.clone(),
            |level| {
                let member =
                    format!("\"_meta\":{{\"io.modelcontextprotocol/logLevel\":\"{level}\",");
                body.replace("\"_meta\":{", &member)
            },
        );
        post(&endpoint, &headers, &body).await
    };
    // A legacy session that wants them is among them; its level is its own, too.
    let session = open(&endpoint).await;
    let id = [("mcp-session-id", session.as_str())];
    let level =
        r#"{"jsonrpc":"2.0","id":5,"method":"logging/setLevel","params":{"level":"debug"}}"#;
    post(&endpoint, &id, level).await;
    let quiet = open(&endpoint).await;
    let quiet = [("mcp-session-id", quiet.as_str())];
    let old = call(1, "slow then logs then slow then logs");
    let (a, b, c, d, e, legacy, other) = tokio::join!(
        ask(levels[0]),
        ask(levels[1]),
        ask(levels[2]),
        ask(levels[3]),
        ask(levels[4]),
        post(&endpoint, &id, &old),
        post(&endpoint, &quiet, &old),
    );
    let logs = [a, b, c, d, e, legacy, other].map(|got| got.text.matches("\"n\":1").count());
    assert_eq!(logs, [0, 2, 0, 2, 0, 2, 0]);
}
