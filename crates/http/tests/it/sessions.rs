//! Legacy sessions: opened, used, ended, forgotten.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::HeaderMap;
use polyport_http::{Authorize, Challenge, Config, Endpoint};
use polyport_proto::{Limits, Outcome, Principal};
use polyport_rt::{BoxFuture, Call, Handler, Service};
use polyport_testkit::handlers::Puppet;
use polyport_wire::Raw;

use crate::{
    CALL, INITIALIZE, INITIALIZED, PING, PLAIN, V, call, endpoint, endpoint_with, modern, open,
    open_old, post, request, send,
};

// req: BR-073
#[tokio::test(start_paused = true)]
async fn br_073_only_initialize_names_the_session() {
    let endpoint = endpoint();
    let session = open(&endpoint).await;
    assert!(session.bytes().all(|b| b.is_ascii_hexdigit()) && session.len() == 32);
    let id = [("mcp-session-id", session.as_str())];
    let got = post(&endpoint, &id, PING).await;
    assert_eq!(
        (got.status, got.text.as_str()),
        (200, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#)
    );
    assert!(!got.headers.contains_key("mcp-session-id"));
    // A second initialize within the session is refused; one without the id opens another.
    assert_eq!(post(&endpoint, &id, INITIALIZE).await.status, 400);
    assert_ne!(open(&endpoint).await, session);
    assert_eq!(endpoint.sessions(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_session_is_gone() {
    let endpoint = endpoint();
    let session = open(&endpoint).await;
    let id = [("mcp-session-id", session.as_str())];
    assert_eq!(
        send(&endpoint, "DELETE", &[PLAIN, &id].concat(), "")
            .await
            .status,
        204
    );
    assert_eq!(post(&endpoint, &id, PING).await.status, 404);
    assert_eq!(
        send(&endpoint, "DELETE", &[PLAIN, &id].concat(), "")
            .await
            .status,
        404
    );
    assert_eq!(endpoint.sessions(), 0);
}

// req: D-35
#[tokio::test(start_paused = true)]
async fn d_35_sessions_end_with_their_time() {
    let endpoint = endpoint();
    let idle = open(&endpoint).await;
    let unconfirmed = post(&endpoint, &[], INITIALIZE).await.session();
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(
        post(&endpoint, &[("mcp-session-id", &unconfirmed)], PING)
            .await
            .status,
        404
    );
    assert_eq!(
        post(&endpoint, &[("mcp-session-id", &idle)], PING)
            .await
            .status,
        200
    );
    tokio::time::sleep(Duration::from_secs(30 * 60)).await;
    assert_eq!(
        post(&endpoint, &[("mcp-session-id", &idle)], PING)
            .await
            .status,
        404
    );
    // The next opening sweeps both out.
    open(&endpoint).await;
    assert_eq!(endpoint.sessions(), 1);
}

// req: D-35
#[tokio::test(start_paused = true)]
async fn d_35_what_may_be_idle_for_a_moment_only_is_looked_for_as_often() {
    let mut limits = Limits::default();
    limits.session_idle = Duration::from_secs(1);
    let endpoint = endpoint_with(Puppet::default(), limits);
    for _ in 0..5 {
        open(&endpoint).await;
        assert_eq!(endpoint.sessions(), 1);
        tokio::time::sleep(Duration::from_millis(1_100)).await;
    }
}

// req: D-35
#[tokio::test(start_paused = true)]
async fn d_35_sessions_are_capped() {
    let mut limits = Limits::default();
    limits.sessions = 2;
    let endpoint = endpoint_with(Puppet::default(), limits);
    open(&endpoint).await;
    open(&endpoint).await;
    let got = post(&endpoint, &[], INITIALIZE).await;
    assert_eq!(got.status, 503);
    assert!(got.headers.contains_key("retry-after"));
    assert_eq!(endpoint.sessions(), 2);
}

// req: BR-032
#[tokio::test(start_paused = true)]
async fn br_032_an_id_in_use_is_refused_with_400() {
    let endpoint = endpoint();
    let session = open(&endpoint).await;
    let id = [("mcp-session-id", session.as_str())];
    let slow = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"slow","arguments":{"n":1}}}"#;
    let (first, second) = tokio::join!(post(&endpoint, &id, slow), post(&endpoint, &id, slow));
    assert_eq!(first.json()["result"]["n"], 1);
    assert_eq!((second.status, second.code()), (400, Some(-32600)));
    assert_eq!(post(&endpoint, &id, slow).await.status, 200, "free again");
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_the_response_without_an_answer() {
    let puppet = Puppet::default();
    let endpoint = endpoint_with(puppet.clone(), Limits::default());
    let session = open(&endpoint).await;
    let id = [("mcp-session-id", session.as_str())];
    let call = r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"tidy"}}"#;
    let cancel =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}}"#;
    let (called, cancelled) = tokio::join!(post(&endpoint, &id, call), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        post(&endpoint, &id, cancel).await
    });
    assert_eq!(cancelled.status, 202);
    assert!(called.events().is_empty(), "{called:?}");
    assert_eq!(puppet.seen.cancelled.load(Ordering::SeqCst), 1);
}

// req: D-11
#[tokio::test(start_paused = true)]
async fn d_11_legacy_without_sessions() {
    let config = Config {
        sessions: false,
        ..Config::default()
    };
    let endpoint = Endpoint::new(Service::new(Puppet::default()), config);
    for _ in 0..2 {
        let got = post(&endpoint, &[], INITIALIZE).await;
        assert_eq!(got.json()["result"]["protocolVersion"], "2025-06-18");
        assert!(!got.headers.contains_key("mcp-session-id"));
    }
    assert_eq!(post(&endpoint, &[], INITIALIZED).await.status, 202);
    let named = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"n":1}}}"#;
    assert_eq!(
        post(&endpoint, &[("mcp-protocol-version", "2025-11-25")], named)
            .await
            .json()["result"]["n"],
        1
    );
    let got = send(
        &endpoint,
        "GET",
        &[PLAIN, &[("mcp-session-id", "x")]].concat(),
        "",
    )
    .await;
    assert_eq!(
        (got.status, got.headers["allow"].to_str().unwrap()),
        (405, "POST")
    );
    // Nobody is remembered: two may use one id at once.
    let (one, two) = (call(7, "slow"), call(7, "slow"));
    let (one, two) = tokio::join!(post(&endpoint, &[], &one), post(&endpoint, &[], &two));
    assert_eq!((one.status, two.status), (200, 200));
    let talk = post(&endpoint, &[], &call(9, "logs")).await;
    assert_eq!(talk.headers["content-type"], "application/json", "{talk:?}");
    let batch = format!("[{PING},{INITIALIZED}]");
    let got = post(&endpoint, &[("mcp-protocol-version", "2025-03-26")], &batch).await;
    assert_eq!(got.json().as_array().map(Vec::len), Some(1), "{got:?}");
    assert_eq!(endpoint.sessions(), 0);
}

/// Says that it can do everything, and does nothing.
struct Boaster;

const BOAST: &str = r#"{"capabilities":{"logging":{},"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"completions":{},"experimental":{"subscribe":1}}}"#;

impl Handler for Boaster {
    async fn call(&self, call: Call) -> Outcome {
        Outcome::Complete(Raw::from_static(match call.method {
            "server/discover" => BOAST,
            _ => "{}",
        }))
    }
}

// req: D-11
#[tokio::test(start_paused = true)]
async fn d_11_without_sessions_only_what_needs_none_is_declared_and_done() {
    for (sessions, declared) in [
        (
            true,
            r#"{"logging":{},"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"completions":{},"experimental":{"subscribe":1}}"#,
        ),
        (
            false,
            r#"{"tools":{},"resources":{},"prompts":{},"completions":{},"experimental":{}}"#,
        ),
    ] {
        let config = Config {
            sessions,
            ..Config::default()
        };
        let endpoint = Endpoint::new(Service::new(Boaster), config);
        let got = post(&endpoint, &[], INITIALIZE).await;
        let declared: serde_json::Value = serde_json::from_str(declared).unwrap();
        assert_eq!(got.json()["result"]["capabilities"], declared);
        let session = if sessions {
            got.session()
        } else {
            String::new()
        };
        let id = [("mcp-session-id", &*session)];
        let headers = if sessions { &id[..] } else { &[] };
        for (method, params) in [
            ("logging/setLevel", r#"{"level":"debug"}"#),
            ("resources/subscribe", r#"{"uri":"a:b"}"#),
            ("resources/unsubscribe", r#"{"uri":"a:b"}"#),
        ] {
            let body =
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
            let got = post(&endpoint, headers, &body).await.json();
            let code = &got["error"]["code"];
            assert_eq!(*code == -32601, !sessions, "{sessions} {method}: {got}");
            assert_eq!(got.get("result").is_some(), sessions, "{method}: {got}");
        }
        // Each modern request stands alone anyhow: there nothing is left out.
        let body = modern("server/discover", "");
        let got = post(&endpoint, &[V, ("mcp-method", "server/discover")], &body).await;
        assert_eq!(
            got.json()["result"]["capabilities"]["logging"],
            serde_json::json!({})
        );
    }
}

// req: L-BATCH
#[tokio::test(start_paused = true)]
async fn batches_within_a_session() {
    let endpoint = endpoint();
    let session = open_old(&endpoint).await;
    let id = [("mcp-session-id", session.as_str())];
    let ping = PING;
    let slow = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow","arguments":{"n":1}}}"#;
    let got = post(&endpoint, &id, &format!("[{ping},{slow},{INITIALIZED}]")).await;
    let answers = got.json();
    assert_eq!(
        (answers[0]["id"].as_i64(), answers[1]["id"].as_i64()),
        (Some(1), Some(2)),
        "{got:?}"
    );
    assert_eq!(
        post(&endpoint, &id, &format!("[{INITIALIZED}]"))
            .await
            .status,
        202
    );
    let progress = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"progress","_meta":{"progressToken":1}}}"#;
    let got = post(&endpoint, &id, &format!("[{progress},{ping}]")).await;
    let events = got.events();
    assert_eq!(events.len(), 4, "{got:?}");
    assert_eq!(events[3].as_array().map(Vec::len), Some(2));
    let newer = open(&endpoint).await;
    assert_eq!(
        post(
            &endpoint,
            &[("mcp-session-id", &newer)],
            &format!("[{ping}]")
        )
        .await
        .status,
        400
    );
}

// req: L-BATCH
#[tokio::test(start_paused = true)]
async fn a_batch_holds_what_its_revision_has() {
    let endpoint = endpoint();
    let session = open_old(&endpoint).await;
    let id = [("mcp-session-id", session.as_str())];
    let modern = modern("tools/call", r#""name":"echo""#);
    for (part, code) in [(modern.as_str(), -32600), (INITIALIZE, -32600)] {
        let got = post(&endpoint, &id, &format!("[{part}]")).await;
        assert_eq!(got.json()[0]["error"]["code"], code, "{got:?}");
    }
    // initialized counts in a batch, too.
    let old = INITIALIZE.replace("2025-06-18", "2025-03-26");
    let session = post(&endpoint, &[], &old).await.session();
    let id = [("mcp-session-id", session.as_str())];
    post(&endpoint, &id, &format!("[{INITIALIZED},{PING}]")).await;
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(post(&endpoint, &id, PING).await.status, 200);
}

/// Begins a call and leaves it, as one may in the legacy era.
pub(crate) async fn begin(endpoint: &Endpoint, session: &str, tool: &str, patience: Duration) {
    let headers = [PLAIN, &[("mcp-session-id", session)]].concat();
    let body = call(1, tool);
    let begun = endpoint.handle(request("POST", "/mcp", &headers, &body));
    let left = tokio::time::timeout(patience, begun).await;
    assert!(left.is_err(), "it runs");
}

// req: P-SESSION
#[tokio::test(start_paused = true)]
async fn a_session_with_a_running_call_is_in_use() {
    let mut limits = Limits::default();
    limits.sessions = 2;
    let puppet = Puppet::default();
    let endpoint = endpoint_with(puppet.clone(), limits);
    let session = open(&endpoint).await;
    begin(&endpoint, &session, "tidy", Duration::from_secs(1)).await;
    let id = [("mcp-session-id", session.as_str())];
    let ping = PING.replace('1', "2");
    tokio::time::sleep(Duration::from_secs(31 * 60)).await;
    assert_eq!(post(&endpoint, &id, &ping).await.status, 200);
    // Neither the sweep of what is idle nor an opening that needs room ends it …
    for minutes in [31, 2, 2] {
        tokio::time::sleep(Duration::from_secs(minutes * 60)).await;
        open(&endpoint).await;
    }
    assert_eq!(puppet.seen.cancelled.load(Ordering::SeqCst), 0);
    assert_eq!(post(&endpoint, &id, &ping).await.status, 200);
    // … but the end of its life does.
    tokio::time::sleep(Duration::from_secs(24 * 3_600)).await;
    open(&endpoint).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(puppet.seen.cancelled.load(Ordering::SeqCst), 1);
    assert_eq!(endpoint.sessions(), 1);
}

// req: L-INIT
#[tokio::test(start_paused = true)]
async fn an_initialize_that_fails_opens_no_session() {
    for discovers in ["refuses", "slow then refuses", "panics"] {
        let puppet = Puppet {
            discovers,
            ..Puppet::default()
        };
        let endpoint = endpoint_with(puppet, Limits::default());
        let got = post(&endpoint, &[], INITIALIZE).await;
        assert!(got.code().is_some(), "{got:?}");
        assert!(!got.headers.contains_key("mcp-session-id"), "{got:?}");
        assert_eq!(endpoint.sessions(), 0);
    }
}

// req: D-35
#[tokio::test(start_paused = true)]
async fn d_35_what_a_client_says_of_itself_is_bounded() {
    for sessions in [true, false] {
        let config = Config {
            sessions,
            ..Config::default()
        };
        let endpoint = Endpoint::new(Service::new(Puppet::default()), config);
        for (bytes, status, code) in [(64 << 10, 200, None), ((64 << 10) + 1, 400, Some(-32602))] {
            let name = "x".repeat(bytes - r#"{}{"name":""}"#.len());
            let said = format!(r#""clientInfo":{{"name":"{name}"}},"capabilities""#);
            let body = INITIALIZE.replace("\"capabilities\"", &said);
            let got = post(&endpoint, &[], &body).await;
            assert_eq!((got.status, got.code()), (status, code), "{}", got.text);
        }
        assert_eq!(endpoint.sessions(), usize::from(sessions));
    }
}

/// Takes the token for the name of the subject.
pub(crate) struct Tokens;

impl Authorize for Tokens {
    fn authorize(&self, headers: &HeaderMap) -> BoxFuture<Result<Arc<Principal>, Challenge>> {
        let token = headers
            .get("authorization")
            .and_then(|v| v.to_str().ok()?.strip_prefix("Bearer ").map(Box::from));
        Box::pin(async move {
            let subject: Box<str> = token.ok_or_else(|| Challenge {
                status: 401,
                www_authenticate: "Bearer".to_owned(),
            })?;
            Ok(Arc::new(Principal {
                issuer: "test".into(),
                client: "test".into(),
                subject,
            }))
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_belongs_to_its_principal() {
    let config = Config {
        authorize: Some(Arc::new(Tokens)),
        ..Config::default()
    };
    let endpoint = Endpoint::new(Service::new(Puppet::default()), config);
    let none = post(&endpoint, &[], INITIALIZE).await;
    assert_eq!(
        (
            none.status,
            none.headers["www-authenticate"].to_str().unwrap()
        ),
        (401, "Bearer")
    );
    let ada = ("authorization", "Bearer ada");
    let session = post(&endpoint, &[ada], INITIALIZE).await.session();
    let id = ("mcp-session-id", session.as_str());
    assert_eq!(post(&endpoint, &[ada, id], PING).await.status, 200);
    assert_eq!(
        post(&endpoint, &[("authorization", "Bearer bob"), id], PING)
            .await
            .status,
        404
    );
    assert_eq!(
        send(
            &endpoint,
            "DELETE",
            &[PLAIN, &[("authorization", "Bearer bob"), id]].concat(),
            ""
        )
        .await
        .status,
        404
    );
    assert_eq!(post(&endpoint, &[id], PING).await.status, 401);
    assert_eq!(post(&endpoint, &[ada, id], PING).await.status, 200);
}

// req: P-PRINCIPAL
#[tokio::test(start_paused = true)]
async fn a_call_knows_its_principal_in_both_eras() {
    for sessions in [true, false] {
        let puppet = Puppet::default();
        let config = Config {
            authorize: Some(Arc::new(Tokens)),
            sessions,
            ..Config::default()
        };
        let endpoint = Endpoint::new(Service::new(puppet.clone()), config);
        let ada = ("authorization", "Bearer ada");
        let old = INITIALIZE.replace("2025-06-18", "2025-03-26");
        let opened = post(&endpoint, &[ada], &old).await;
        let session = if sessions {
            opened.session()
        } else {
            String::new()
        };
        let named = [ada, ("mcp-session-id", session.as_str())];
        let headers = if sessions { &named[..] } else { &named[..1] };
        post(&endpoint, headers, &call(1, "slow")).await;
        let batch = format!("[{},{}]", call(1, "echo"), call(2, "slow"));
        post(&endpoint, headers, &batch).await;
        let headers = [ada, V, CALL, ("mcp-name", "echo")];
        let body = modern("tools/call", r#""name":"echo""#);
        post(&endpoint, &headers, &body).await;
        let ada = Some("ada".to_owned());
        assert_eq!(puppet.seen.subjects(), vec![ada; 5], "sessions: {sessions}");
    }
}
