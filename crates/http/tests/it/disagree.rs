//! What two readers could understand in two ways: keys that are there twice, headers that say something else than the body,
//! text that would end an event.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{HeaderName, HeaderValue, Request};
use http_body_util::Full;
use polyport_http::{Config, Endpoint};
use polyport_proto::http::{HeaderParam, ParamKind};
use polyport_proto::{Envelope, Limits, Outcome};
use polyport_rt::{Call, Handler, Service};
use polyport_testkit::handlers::Puppet;
use polyport_wire::Raw;
use serde_json::{Value, json};

use crate::{
    CALL, Got, INITIALIZE, PLAIN, V, call, endpoint, endpoint_with, got, modern, open, post,
};

// req: V-502
#[tokio::test(start_paused = true)]
async fn v_502_a_key_that_is_there_twice_is_refused() {
    let puppet = Puppet::default();
    let endpoint = endpoint_with(puppet.clone(), Limits::default());
    let session = open(&endpoint).await;
    let id = [("mcp-session-id", session.as_str())];
    let modern_headers = [V, CALL, ("mcp-name", "echo")];
    let seen = puppet.seen.calls.load(Ordering::SeqCst);
    let legacy = call(1, "echo");
    let modern = modern("tools/call", r#""name":"echo","arguments":{"a":1}"#);
    for (message, headers) in [(&legacy, &id[..]), (&modern, &modern_headers)] {
        assert_eq!(
            post(&endpoint, headers, message).await.status,
            200,
            "{message}"
        );
        for (once, twice) in [
            (r#""method""#, r#""method":"ping","method""#),
            (r#""method""#, r#""\u006dethod":"ping","method""#),
            (r#""id":1"#, r#""id":1,"id":2"#),
            (r#""jsonrpc":"2.0""#, r#""jsonrpc":"2.0","jsonrpc":"2.0""#),
            (r#""params":"#, r#""params":{"name":"x"},"params":"#),
            (r#""name":"echo""#, r#""name":"echo","name":"panics""#),
            (r#""name":"echo""#, r#""n\u0061me":"panics","name":"echo""#),
            (r#""arguments":{"#, r#""arguments":{"b":1,"b":2,"#),
            (
                r#""arguments":{"#,
                r#""arguments":{"b":[{"c":{"d":1,"d":1}}],"#,
            ),
        ] {
            let body = message.replace(once, twice);
            assert_ne!(&body, message, "{once}");
            let got = post(&endpoint, headers, &body).await;
            assert_eq!(
                (got.status, got.code()),
                (400, Some(-32600)),
                "{body}: {got:?}"
            );
        }
    }
    // A key in another spelling is another key, and names nothing.
    for other in ["Name", "NAME", "na\u{17f}e", "name\\u0000", "\\u212aey"] {
        let body = legacy.replace(
            r#""name":"echo""#,
            &format!(r#""name":"echo","{other}":"panics""#),
        );
        let got = post(&endpoint, &id, &body).await;
        assert_eq!(got.json()["result"]["tool"], "echo", "{body}: {got:?}");
    }
    let calls = puppet.seen.calls.load(Ordering::SeqCst) - seen;
    assert_eq!(calls, 2 + 5, "those that were plain");
    let twice = INITIALIZE.replace("\"id\":0", "\"id\":0,\"id\":1");
    assert_eq!(post(&endpoint, &[], &twice).await.status, 400);
    assert_eq!(endpoint.sessions(), 1);
}

/// Gives back its arguments; two of them are mirrored in headers.
#[derive(Default)]
struct Mirrored(Arc<AtomicUsize>);

impl Handler for Mirrored {
    async fn call(&self, _call: Call) -> Outcome {
        self.0.fetch_add(1, Ordering::SeqCst);
        Outcome::Complete(Raw::from_static("{}"))
    }

    fn header_params(&self, _tool: &str, _: &Envelope) -> Option<Arc<[HeaderParam]>> {
        let param = |header, path: &str, kind| HeaderParam {
            header: HeaderName::from_static(header),
            path: vec![path.to_owned()],
            kind,
        };
        Some(Arc::new([
            param("mcp-param-region", "region", ParamKind::String),
            param("mcp-param-count", "count", ParamKind::Integer),
        ]))
    }
}

/// Posts with these headers, whose values may be any bytes.
async fn send(endpoint: &Endpoint, headers: &[(&str, &[u8])], body: &str) -> Got {
    let mut request = Request::post("/mcp");
    for (name, value) in PLAIN {
        request = request.header(*name, *value);
    }
    for (name, value) in headers {
        request = request.header(*name, HeaderValue::from_bytes(value).unwrap());
    }
    let body = Full::new(bytes::Bytes::copy_from_slice(body.as_bytes()));
    got(endpoint.handle(request.body(body).unwrap()).await).await
}

/// The header, the values of its lines, and whether the request is then served.
const LINES: &[(&str, &[&[u8]], bool)] = &[
    ("mcp-protocol-version", &[], false),
    ("mcp-protocol-version", &[b"2025-06-18"], false),
    (
        "mcp-protocol-version",
        &[b"2026-07-28", b"2026-07-28"],
        false,
    ),
    ("mcp-protocol-version", &[b"2026-07-28, 2026-07-28"], false),
    ("mcp-protocol-version", &[b"2026-07-28\xc2\xa0"], false),
    ("mcp-protocol-version", &[b" \t2026-07-28\t "], true),
    ("mcp-method", &[], false),
    ("mcp-method", &[b""], false),
    ("mcp-method", &[b"tools/list"], false),
    ("mcp-method", &[b"Tools/Call"], false),
    ("mcp-method", &[b"tools/call", b"tools/call"], false),
    ("mcp-method", &[b"tools/call,tools/call"], false),
    ("mcp-method", &[b"tools/call\xc2\xa0"], false),
    ("mcp-method", &[b"tools/call\xa0"], false),
    ("mcp-method", &[b" tools/call "], true),
    ("mcp-name", &[], false),
    ("mcp-name", &[b""], false),
    ("mcp-name", &[b"Echo"], false),
    ("mcp-name", &[b"echo", b"echo"], false),
    ("mcp-name", &[b"echo", b"admin"], false),
    ("mcp-name", &[b"echo, echo"], false),
    ("mcp-name", &[b"echo\xc2\xa0"], false),
    ("mcp-name", &[b"\xe9cho"], false),
    ("mcp-name", &[b"=?base64?ZWNobw==?="], true),
    ("mcp-name", &[b"=?base64?ZWNobw=?="], false),
    ("mcp-name", &[b"=?base64?ZWNobw?="], false),
    ("mcp-name", &[b"=?base64?YWRtaW4=?="], false),
    ("mcp-name", &[b"=?base64?/w==?="], false),
    ("mcp-name", &[b"=?BASE64?ZWNobw==?="], false),
    ("mcp-name", &[b"=?base64?ZWNo==bw==?="], false),
    ("mcp-param-region", &[], false),
    ("mcp-param-region", &[b"us"], false),
    ("mcp-param-region", &[b"EU"], false),
    ("mcp-param-region", &[b"eu", b"eu"], false),
    ("mcp-param-region", &[b"eu,eu"], false),
    ("mcp-param-region", &[b"eu\xc2\xa0"], false),
    ("mcp-param-region", &[b"=?base64?ZXU=?="], true),
    ("mcp-param-region", &[b"=?base64?ZXU?="], false),
    ("mcp-param-count", &[], false),
    ("mcp-param-count", &[b"8"], false),
    ("mcp-param-count", &[b"7.0"], true),
    ("mcp-param-count", &[b"7.5"], false),
    ("mcp-param-count", &[b"0x7"], false),
    ("mcp-param-count", &[b"7", b"8"], false),
];

// req: V-503
#[tokio::test(start_paused = true)]
async fn v_503_headers_that_differ_from_the_body_are_refused() {
    let mirrored = Mirrored::default();
    let ran = mirrored.0.clone();
    let endpoint = Endpoint::new(Service::new(mirrored), Config::default());
    let body = modern(
        "tools/call",
        r#""name":"echo","arguments":{"region":"eu","count":7}"#,
    );
    let right: [(&str, &[u8]); 5] = [
        ("mcp-protocol-version", b"2026-07-28"),
        ("mcp-method", b"tools/call"),
        ("mcp-name", b"echo"),
        ("mcp-param-region", b"eu"),
        ("mcp-param-count", b"7"),
    ];
    for (name, lines, served) in LINES {
        let mut headers: Vec<_> = right.iter().filter(|(n, _)| n != name).copied().collect();
        headers.extend(lines.iter().map(|line| (*name, *line)));
        let before = ran.load(Ordering::SeqCst);
        let got = send(&endpoint, &headers, &body).await;
        let lines: Vec<_> = lines.iter().map(|l| String::from_utf8_lossy(l)).collect();
        if *served {
            assert_eq!(got.status, 200, "{name}: {lines:?}: {got:?}");
        } else {
            assert_eq!(
                (got.status, got.code()),
                (400, Some(-32020)),
                "{name}: {lines:?}: {got:?}"
            );
            assert_eq!(got.json()["id"], 1, "{name}: {lines:?}");
        }
        let ran = ran.load(Ordering::SeqCst) - before;
        assert_eq!(ran, usize::from(*served), "{name}: {lines:?}");
    }
    // A header for what the body does not have, or has as null.
    for arguments in [
        r#"{"count":7}"#,
        r#"{"region":null,"count":7}"#,
        r#"{"region":["eu"],"count":7}"#,
    ] {
        let body = modern(
            "tools/call",
            &format!(r#""name":"echo","arguments":{arguments}"#),
        );
        let got = send(&endpoint, &right, &body).await;
        assert_eq!(
            (got.status, got.code()),
            (400, Some(-32020)),
            "{arguments}: {got:?}"
        );
    }
    // The handshake of the other era under a modern header is none.
    let headers = &right[..1];
    let got = send(&endpoint, headers, INITIALIZE).await;
    assert_eq!(got.status, 400, "{got:?}");
    assert_eq!(endpoint.sessions(), 0);
}

// req: V-503
#[tokio::test(start_paused = true)]
async fn v_503_a_header_names_one_revision_in_the_older_era_too() {
    let endpoint = endpoint();
    let session = open(&endpoint).await;
    let id = ("mcp-session-id", session.as_str());
    for (lines, status) in [
        (&["2025-06-18"][..], 200),
        // Another one that is spoken breaks no rule that is a must.
        (&["2025-11-25"], 200),
        (&["2025-06-18", "2025-06-18"], 400),
        (&["2025-06-18", "2025-11-25"], 400),
        (&["2025-06-18", "2026-07-28"], 400),
        (&["2025-06-18,2025-06-18"], 400),
        (&["2025-06-18 x"], 400),
        (&[""], 400),
    ] {
        let mut headers = vec![id];
        headers.extend(lines.iter().map(|line| ("mcp-protocol-version", *line)));
        let got = post(&endpoint, &headers, &call(1, "echo")).await;
        assert_eq!(got.status, status, "{lines:?}: {got:?}");
    }
}

/// The data of the events in a stream, by the standard's steps (WHATWG HTML, 9.2.6).
fn events(text: &str) -> Vec<Value> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let (mut events, mut data) = (Vec::new(), String::new());
    for line in text.split('\n') {
        if let Some(value) = line.strip_prefix("data:") {
            data += value.strip_prefix(' ').unwrap_or(value);
            data.push('\n');
        } else if line.is_empty() && !data.is_empty() {
            events.push(serde_json::from_str(&std::mem::take(&mut data)).unwrap());
        } else {
            assert!(
                matches!(line, "" | "event: message")
                    || line.starts_with(':')
                    || line.starts_with("id:"),
                "{line}"
            );
        }
    }
    events
}

// req: V-507
#[tokio::test(start_paused = true)]
async fn v_507_no_text_makes_a_second_event() {
    let endpoint = endpoint();
    let session = open(&endpoint).await;
    let forged = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"forged\":true}}";
    for hostile in [
        format!("a\n\nevent: x\ndata: {forged}\n\n"),
        format!("a\r\rdata: {forged}\r\r"),
        format!("a\r\n\r\nid: 7\r\ndata: {forged}\r\n\r\n"),
        format!("\u{2028}data: {forged}\u{2029}\u{85}"),
    ] {
        // As a text, and as the white space between the parts of what is echoed.
        let arguments = [
            json!({"t": hostile}).to_string(),
            json!({ hostile.clone(): 1 }).to_string(),
            "{\n\n\"a\"\r\r:\r\n\r\n[1,\n\ndata\n]}".replace("data", "2"),
        ];
        for arguments in arguments {
            let legacy = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"progress then echo","arguments":{arguments},"_meta":{{"progressToken":{}}}}}}}"#,
                json!(hostile)
            );
            let streamed = [
                PLAIN[0],
                PLAIN[1],
                ("accept", "text/event-stream"),
                ("mcp-session-id", &*session),
            ];
            let got = crate::send(&endpoint, "POST", &streamed, &legacy).await;
            let events = events(&got.text);
            let wanted: Value = serde_json::from_str(&arguments).unwrap();
            assert_eq!(events.len(), 4, "{got:?}");
            assert!(
                events[..3]
                    .iter()
                    .all(|e| e["params"]["progressToken"] == hostile)
            );
            assert_eq!(events[3]["result"], wanted, "{got:?}");
        }
    }
}
