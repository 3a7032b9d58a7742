//! The truth table: what each kind of request is answered with, status and code together.

use std::sync::atomic::Ordering;

use polyport_http::{Config, Endpoint};
use polyport_proto::{Era, Limits, Revision, Revisions};
use polyport_rt::Service;
use polyport_testkit::handlers::Puppet;
use serde_json::Value;

use crate::{
    INITIALIZE, PING, PLAIN, V, call, endpoint, endpoint_with, modern, open, open_old, post, send,
};

/// What is sent (its name, headers, body), and the status and code that come of it.
type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str, u16, Option<i64>);

// req: M-HTTP
#[allow(clippy::too_many_lines)] // One table.
#[tokio::test(start_paused = true)]
async fn modern_requests() {
    let endpoint = endpoint();
    let list = modern("tools/list", "");
    let call = modern("tools/call", r#""name":"echo","arguments":{"a":1}"#);
    let read = modern("resources/read", r#""uri":"x://é""#);
    let no_meta = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
    let no_caps = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
    let old = list.replace("2026-07-28", "v999.0.0");
    let unknown = list
        .replace("\"_meta\":{", "\"x\":{},\"_meta\":{\"x.example/y\":[],")
        .replace("\"id\":1", "\"id\":1,\"x\":[{}]");
    let legacy_name = list.replace("2026-07-28", "2025-06-18");
    let m = |name| ("mcp-method", name);
    let n = |name| ("mcp-name", name);
    let cases: &[Case<'_>] = &[
        ("complete", &[V, m("tools/list")], &list, 200, None),
        (
            "header names in any case, spaces around",
            &[
                ("MCP-Protocol-Version", " 2026-07-28 "),
                ("MCP-METHOD", "tools/list"),
            ],
            &list,
            200,
            None,
        ),
        (
            "_meta missing",
            &[V, m("tools/list")],
            no_meta,
            400,
            Some(-32602),
        ),
        (
            "params missing",
            &[V, m("tools/list")],
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
            400,
            Some(-32602),
        ),
        (
            "_meta incomplete",
            &[V, m("tools/list")],
            no_caps,
            400,
            Some(-32602),
        ),
        (
            "version header missing",
            &[m("tools/list")],
            &list,
            400,
            Some(-32020),
        ),
        (
            "version header differs",
            &[("mcp-protocol-version", "2025-11-25"), m("tools/list")],
            &list,
            400,
            Some(-32020),
        ),
        (
            "version header doubled",
            &[V, V, m("tools/list")],
            &list,
            400,
            Some(-32020),
        ),
        (
            "both versions unknown",
            &[("mcp-protocol-version", "v999.0.0"), m("tools/list")],
            &old,
            400,
            Some(-32022),
        ),
        (
            "a legacy version per request",
            &[("mcp-protocol-version", "2025-06-18"), m("tools/list")],
            &legacy_name,
            400,
            Some(-32022),
        ),
        (
            "versions differ, body unknown",
            &[V, m("tools/list")],
            &old,
            400,
            Some(-32020),
        ),
        ("method header missing", &[V], &list, 400, Some(-32020)),
        (
            "method header differs",
            &[V, m("tools/call")],
            &list,
            400,
            Some(-32020),
        ),
        (
            "method header in capitals",
            &[V, m("TOOLS/LIST")],
            &list,
            400,
            Some(-32020),
        ),
        (
            "call with its name",
            &[V, m("tools/call"), n("echo")],
            &call,
            200,
            None,
        ),
        (
            "call, name missing",
            &[V, m("tools/call")],
            &call,
            400,
            Some(-32020),
        ),
        (
            "call, name differs",
            &[V, m("tools/call"), n("Echo")],
            &call,
            400,
            Some(-32020),
        ),
        (
            "read, uri encoded",
            &[V, m("resources/read"), n("=?base64?eDovL8Op?=")],
            &read,
            200,
            Some(-32602),
        ),
        (
            "read, uri badly encoded",
            &[V, m("resources/read"), n("=?base64?eDovL8Op=?=")],
            &read,
            400,
            Some(-32020),
        ),
        (
            "members that nobody knows",
            &[V, m("tools/list")],
            &unknown,
            200,
            None,
        ),
        (
            "removed: ping",
            &[V, m("ping")],
            &modern("ping", ""),
            404,
            Some(-32601),
        ),
        (
            "removed: initialize",
            &[V, m("initialize")],
            &modern("initialize", ""),
            404,
            Some(-32601),
        ),
        (
            "removed: logging/setLevel",
            &[V, m("logging/setLevel")],
            &modern("logging/setLevel", ""),
            404,
            Some(-32601),
        ),
        (
            "unknown",
            &[V, m("unknown/method")],
            &modern("unknown/method", ""),
            404,
            Some(-32601),
        ),
        (
            "known but not offered",
            &[V, m("prompts/list")],
            &modern("prompts/list", ""),
            404,
            Some(-32601),
        ),
        (
            "session headers are ignored",
            &[
                V,
                m("tools/list"),
                ("mcp-session-id", "x"),
                ("last-event-id", "y"),
            ],
            &list,
            200,
            None,
        ),
        (
            "a response",
            &[V],
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            400,
            Some(-32600),
        ),
        (
            "a notification",
            &[V],
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
            202,
            None,
        ),
    ];
    for (name, headers, body, status, code) in cases {
        let got = post(&endpoint, headers, body).await;
        assert_eq!(
            (got.status, got.code()),
            (*status, *code),
            "{name}: {got:?}"
        );
        assert!(!got.headers.contains_key("mcp-session-id"), "{name}");
        if code.is_some() && *name != "a response" {
            assert_eq!(got.json()["id"], 1, "{name}: errors echo the id");
        }
    }
    assert_eq!(endpoint.sessions(), 0);
}

// req: L-HTTP
#[tokio::test(start_paused = true)]
async fn messages_without_a_session() {
    let endpoint = endpoint();
    let cases: &[Case<'_>] = &[
        ("not JSON", &[], "{", 400, Some(-32700)),
        ("empty", &[], "", 400, Some(-32700)),
        (
            "an array that breaks off",
            &[],
            r#"[{"jsonrpc""#,
            400,
            Some(-32700),
        ),
        ("not UTF-8 escapes", &[], "\"\\ud800", 400, Some(-32700)),
        ("an array", &[], "[]", 400, Some(-32600)),
        ("a number", &[], "1", 400, Some(-32600)),
        (
            "trailing text",
            &[],
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}x"#,
            400,
            Some(-32700),
        ),
        (
            "doubled key",
            &[],
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"x"}"#,
            400,
            Some(-32600),
        ),
        (
            "no session",
            &[],
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
            400,
            Some(-32600),
        ),
        (
            "unknown session",
            &[("mcp-session-id", "0123456789abcdef0123456789abcdef")],
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
            404,
            Some(-32600),
        ),
        (
            "no session at all",
            &[("mcp-session-id", "short")],
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            404,
            Some(-32600),
        ),
        (
            "unknown version",
            &[("mcp-protocol-version", "1.0")],
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            400,
            Some(-32600),
        ),
        (
            "a broken notification",
            &[],
            r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":[]}"#,
            400,
            None,
        ),
        (
            "a bad initialize",
            &[],
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#,
            400,
            Some(-32602),
        ),
    ];
    for (name, headers, body, status, code) in cases {
        let got = post(&endpoint, headers, body).await;
        // An id that could not be read is left out.
        let null = got.json_id() == Some(Value::Null);
        let seen = (got.status, got.code(), null);
        assert_eq!(seen, (*status, *code, false), "{name}: {got:?}");
    }
    assert_eq!(endpoint.sessions(), 0, "refused requests open nothing");
}

#[tokio::test(start_paused = true)]
async fn accept_and_content_type() {
    let endpoint = endpoint();
    let list = modern("tools/list", "");
    for (accept, content_type, status) in [
        ("application/json", "application/json", 200),
        ("text/event-stream", "application/json", 200),
        ("*/*", "application/json; charset=utf-8", 200),
        ("text/html", "application/json", 406),
        ("application/json", "text/plain", 415),
    ] {
        let headers = [
            ("host", "localhost"),
            ("accept", accept),
            ("content-type", content_type),
            V,
            ("mcp-method", "tools/list"),
        ];
        let got = send(&endpoint, "POST", &headers, &list).await;
        assert_eq!(got.status, status, "{accept} {content_type}");
        if accept == "text/event-stream" {
            assert_eq!(got.headers["content-type"], "text/event-stream");
            assert_eq!(got.events()[0]["result"]["tools"], serde_json::json!([]));
        }
    }
}

// req: D-17
#[tokio::test(start_paused = true)]
async fn d_17_who_takes_only_events_gets_events() {
    let endpoint = endpoint();
    let headers = [PLAIN[0], PLAIN[1], ("accept", "text/event-stream")];
    let opened = send(&endpoint, "POST", &headers, INITIALIZE).await;
    let session = opened.session();
    let headers = [&headers[..], &[("mcp-session-id", session.as_str())]].concat();
    let ping = send(&endpoint, "POST", &headers, PING).await;
    let called = send(&endpoint, "POST", &headers, &call(1, "echo")).await;
    for got in [opened, ping, called] {
        assert_eq!(got.headers["content-type"], "text/event-stream", "{got:?}");
        assert!(got.events()[0].get("result").is_some(), "{got:?}");
    }
}

// req: D-06
#[tokio::test(start_paused = true)]
async fn d_06_a_panic_beside_a_call_ends_nothing() {
    let puppet = Puppet {
        clumsy: true,
        ..Puppet::default()
    };
    let endpoint = endpoint_with(puppet.clone(), Limits::default());
    let body = modern("tools/call", r#""name":"echo""#);
    let headers = [V, ("mcp-method", "tools/call"), ("mcp-name", "echo")];
    let called = post(&endpoint, &headers, &body).await;
    assert_eq!(
        (called.status, called.code()),
        (500, Some(-32603)),
        "{called:?}"
    );
    let session = open(&endpoint).await;
    let id = [("mcp-session-id", session.as_str())];
    let notice = r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#;
    assert_eq!(post(&endpoint, &id, notice).await.status, 202);
    assert_eq!(puppet.seen.notices.load(Ordering::SeqCst), 1);
    assert_eq!(post(&endpoint, &id, PING).await.status, 200);
}

// req: L-HTTP
#[tokio::test(start_paused = true)]
async fn what_is_not_spoken_is_refused_on_every_way() {
    let config = |sessions| Config {
        sessions,
        ..Config::default()
    };
    let list = r#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#;
    let batch = format!("[{list}]");
    // Where only the modern era is spoken, a legacy client is told so.
    let modern = Service::new(Puppet::default()).speaks(Revisions::of(Era::Modern));
    let alone = Endpoint::new(modern.clone(), config(false));
    let kept = Endpoint::new(modern, config(true));
    for (endpoint, body) in [
        (&alone, INITIALIZE),
        (&alone, list),
        (&alone, &batch),
        (&kept, INITIALIZE),
    ] {
        let got = post(endpoint, &[], body).await;
        assert_eq!(
            (got.status, got.code()),
            (400, Some(-32022)),
            "{body}: {got:?}"
        );
        let supported = &got.json()["error"]["data"]["supported"];
        assert_eq!(*supported, serde_json::json!(["2026-07-28"]), "{body}");
    }
    // A header may name only what is spoken, for one message and for many.
    let old = Revisions::NONE.with(Revision::V2025_03_26);
    let service = Service::new(Puppet::default()).speaks(old);
    let endpoint = Endpoint::new(service, config(true));
    let session = open_old(&endpoint).await;
    for (version, status) in [("2025-03-26", 200), ("2024-11-05", 400), ("zzz", 400)] {
        let headers = [
            ("mcp-session-id", &*session),
            ("mcp-protocol-version", version),
        ];
        for body in [PING, &format!("[{PING}]")] {
            let got = post(&endpoint, &headers, body).await;
            assert_eq!(got.status, status, "{version} {body}: {got:?}");
        }
    }
}

// req: D-35
#[tokio::test(start_paused = true)]
async fn d_35_a_body_over_the_limit_is_refused() {
    let mut limits = Limits::default();
    limits.message_bytes = 100;
    let endpoint = endpoint_with(Puppet::default(), limits);
    let long = format!("{{\"x\":\"{}\"}}", "x".repeat(200));
    let declared = post(&endpoint, &[("content-length", "208")], &long).await;
    let undeclared = post(&endpoint, &[], &long).await;
    for got in [declared, undeclared] {
        assert_eq!(got.status, 413);
        assert!(got.text.contains("100 bytes"), "{got:?}");
    }
}
