//! How a client finds out what a server speaks over HTTP, and which way.

use polyport_proto::{Revision, Revisions};
use polyport_rt::{CallError, Offer};
use polyport_testkit::Web;
use polyport_testkit::web::{Asked, Reply, Then};
use serde_json::json;

use super::{as_usual, initialized, legacy, opened, result};

const OLD: &str = "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32000,\"message\":\"Server not initialized\"},\"id\":null}";
const MODERN: &str = "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32022,\"message\":\"v\",\"data\":{\"supported\":[\"2026-07-28\"],\"requested\":\"x\"}},\"id\":1}";

// req: S-ERA, BR-053
#[tokio::test]
async fn br_053_only_a_refusal_is_a_sign_of_the_legacy_era() {
    // What the question about the era is answered with, and what becomes of it.
    let rows: &[(&str, &str, &str)] = &[
        ("400 Bad Request", OLD, "2025-11-25"),
        ("400 Bad Request", "bad", "2025-11-25"),
        ("404 Not Found", "", "2025-11-25"),
        ("405 Method Not Allowed", "", "2025-11-25"),
        ("406 Not Acceptable", OLD, "2025-11-25"),
        ("415 Unsupported Media Type", "", "2025-11-25"),
        ("422 Unprocessable Content", "{}", "2025-11-25"),
        ("200 OK", OLD, "2025-11-25"),
        ("401 Unauthorized", OLD, "status 401"),
        ("403 Forbidden", "", "status 403"),
        ("407 Proxy Authentication Required", "", "status 407"),
        ("429 Too Many Requests", "", "status 429"),
        ("500 Internal Server Error", OLD, "status 500"),
        ("502 Bad Gateway", "<html>", "status 502"),
        ("503 Service Unavailable", "", "status 503"),
    ];
    for &(status, body, want) in rows {
        let web = Web::serve(move |asked| {
            if asked.message()["method"] == "server/discover" {
                return Reply::of(status, "application/json", "", body);
            }
            as_usual(asked).unwrap()
        })
        .await;
        let got = match opened(&web, "/mcp", Revisions::ALL).await {
            Ok((_, opened)) => opened.revision.name().to_owned(),
            Err(CallError::Status(status)) => format!("status {}", status.code),
            Err(other) => format!("{other:?}"),
        };
        assert_eq!(got, want, "{status} {body}");
        if want.starts_with("status") {
            assert_eq!(web.heard(), ["server/discover"], "{status}");
        }
    }
}

// req: S-ERA
#[tokio::test]
async fn a_modern_server_that_refuses_the_first_question_is_asked_again() {
    let web = Web::serve(|asked| match asked.message()["id"].as_i64() {
        Some(1) => Reply::of("400 Bad Request", "application/json", "", MODERN),
        _ => as_usual(asked).unwrap(),
    })
    .await;
    for ours in [Revisions::ALL, Revisions::NONE.with(Revision::LATEST)] {
        let opened = opened(&web, "/mcp", ours).await.unwrap().1;
        assert_eq!(opened.revision, Revision::LATEST);
    }
    let asked = web.asked();
    assert_eq!(asked.len(), 4);
    for asked in asked {
        assert_eq!(asked.header("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(asked.header("mcp-method"), Some("server/discover"));
        assert_eq!(asked.header("mcp-session-id"), None);
    }
}

// req: D-42, BR-053
#[tokio::test]
async fn d_42_what_is_known_of_a_server_over_http_is_no_more_than_a_guess() {
    let (old, new) = (Revision::V2025_11_25, Revision::LATEST);
    // What is known, what the handshake and the question about the era are answered with, what becomes of it and what was asked;
    // "-" is a request without a message.
    let rows = [
        ("", old, "", "", "2025-11-25", "initialize"),
        ("new", new, "", "", "2026-07-28", "server/discover"),
        (
            "renewed",
            old,
            "400",
            "",
            "2026-07-28",
            "initialize server/discover",
        ),
        (
            "bare",
            old,
            "404",
            "",
            "2026-07-28",
            "initialize - server/discover",
        ),
        (
            "set back",
            new,
            "",
            "404",
            "2025-11-25",
            "server/discover initialize",
        ),
        ("ill", old, "503", "", "status 503", "initialize"),
        ("closed", old, "401", "", "status 401", "initialize"),
    ];
    for (name, known, greeted, probed, want, heard) in rows {
        let web = Web::serve(move |asked| {
            let status = match asked.message()["method"].as_str() {
                Some("initialize") => greeted,
                Some("server/discover") => probed,
                _ => "",
            };
            match status {
                "" => as_usual(asked).unwrap(),
                "400" => Reply::of("400 Bad Request", "application/json", "", MODERN),
                _ => Reply::of(&format!("{status} No"), "text/plain", "", "no"),
            }
        })
        .await;
        let offer = Offer::from(Revisions::ALL).knowing(Some(known));
        let got = match opened(&web, "/mcp", offer).await {
            Ok((_, opened)) => {
                assert_eq!(opened.verdict, Some(opened.revision), "{name}");
                opened.revision.name().to_owned()
            }
            Err(CallError::Status(status)) => format!("status {}", status.code),
            Err(other) => format!("{other:?}"),
        };
        assert_eq!(got, want, "{name}");
        let method = |asked: &Asked| asked.message()["method"].as_str().map(str::to_owned);
        let asked = web.asked();
        let asked: Vec<_> = asked
            .iter()
            .map(|a| method(a).unwrap_or_else(|| "-".to_owned()))
            .collect();
        // What follows the handshake is not of interest here.
        assert!(asked.join(" ").starts_with(heard), "{name}: {asked:?}");
    }
}

/// A server of the oldest revision, which takes what it is sent and answers nothing.
async fn older() -> Web {
    Web::serve(|asked| match (asked.method.as_str(), asked.path.as_str()) {
        ("GET", "/sse") => Reply::events(
            "",
            "event: endpoint\ndata: /messages?id=7\n\n",
            Then::Silence,
        ),
        ("POST", "/messages?id=7") => Reply::empty("202 Accepted"),
        _ => Reply::empty("405 Method Not Allowed"),
    })
    .await
}

// req: D-42, S-PAIR
#[tokio::test]
async fn d_42_an_older_server_that_is_known_is_not_asked_about_its_era() {
    let web = older().await;
    let offer = Offer::from(Revisions::ALL).knowing(Some(Revision::V2024_11_05));
    let opening = opened(&web, "/sse", offer);
    let waited = tokio::time::timeout(std::time::Duration::from_millis(300), opening).await;
    assert!(waited.is_err());
    let asked = web.asked();
    let told: Vec<_> = asked.iter().map(|a| (&*a.method, &*a.path)).collect();
    assert_eq!(
        told,
        [
            ("POST", "/sse"),
            ("GET", "/sse"),
            ("POST", "/messages?id=7")
        ]
    );
}

// req: S-PAIR
#[tokio::test]
async fn an_older_server_is_spoken_to_over_its_pair_of_endpoints() {
    let web = older().await;
    // The script answers nothing on its stream, so the handshake waits: what was sent is what counts.
    let opening = opened(&web, "/sse", Revisions::ALL);
    let waited = tokio::time::timeout(std::time::Duration::from_millis(300), opening).await;
    assert!(waited.is_err());
    let asked = web.asked();
    let told: Vec<_> = asked
        .iter()
        .map(|a| (a.method.as_str(), a.path.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            ("POST", "/sse"),
            ("POST", "/sse"),
            ("GET", "/sse"),
            ("POST", "/messages?id=7")
        ]
    );
    assert_eq!(asked[3].message()["method"], "initialize");
    assert_eq!(
        asked[3].message()["params"]["protocolVersion"],
        "2025-11-25"
    );
}

// req: S-PAIR, S-REDIRECT
#[tokio::test]
async fn an_endpoint_of_another_server_is_not_used() {
    let other = Web::serve(|_| Reply::empty("202 Accepted")).await;
    let elsewhere = other.url("/messages");
    let web = Web::serve(move |asked| match asked.method.as_str() {
        "GET" => Reply::events(
            "",
            &format!("event: endpoint\ndata: {elsewhere}\n\n"),
            Then::Silence,
        ),
        _ => Reply::empty("405 Method Not Allowed"),
    })
    .await;
    let opened = opened(&web, "/sse", Revisions::ALL).await;
    assert!(
        matches!(opened, Err(CallError::Unreachable(_))),
        "{opened:?}"
    );
    assert!(other.asked().is_empty());
}

// req: S-ERA
#[tokio::test]
async fn no_server_at_all_is_told_by_its_status() {
    let web = Web::serve(|_| Reply::of("404 Not Found", "text/html", "", "<html>no</html>")).await;
    let opened = opened(&web, "/", Revisions::ALL).await;
    let Err(CallError::Status(status)) = opened else {
        panic!("{opened:?}");
    };
    assert_eq!(status.code, 404);
    assert!(!status.to_string().contains("<html>"), "{status}");
}

// req: S-TARGET
#[tokio::test]
async fn headers_are_those_of_the_revision() {
    // Named by the server, and what it wants of every request after the handshake.
    for (revision, version) in [
        ("2024-11-05", None),
        ("2025-03-26", None),
        ("2025-06-18", Some("2025-06-18")),
        ("2025-11-25", Some("2025-11-25")),
    ] {
        let web = Web::serve(move |asked| match asked.message()["method"].as_str() {
            Some("initialize") => Reply::of(
                "200 OK",
                "application/json; charset=utf-8",
                "MCP-SESSION-ID: one\r\n",
                &initialized(asked, revision).to_string(),
            ),
            Some("tools/list") => Reply::json(&result(asked, &json!({"tools": []}))),
            _ => as_usual(asked).unwrap(),
        })
        .await;
        let caller = legacy(&web).await;
        caller.request("tools/list", "{}").await.unwrap();
        caller.close().await;
        for asked in web.asked() {
            let name = asked.message()["method"].as_str().map(str::to_owned);
            let is_first = name.as_deref() == Some("initialize");
            let session = if is_first { None } else { Some("one") };
            assert_eq!(asked.header("mcp-session-id"), session, "{asked:?}");
            let version = if is_first { None } else { version };
            assert_eq!(asked.header("mcp-protocol-version"), version, "{asked:?}");
            assert_eq!(asked.header("mcp-method"), None, "{asked:?}");
            if asked.method == "POST" {
                assert_eq!(asked.header("content-type"), Some("application/json"));
                let accept = asked.header("accept").unwrap();
                assert_eq!(accept, "application/json, text/event-stream");
            }
        }
        let heard = web.heard();
        for wanted in [
            "initialize",
            "notifications/initialized",
            "tools/list",
            "DELETE",
        ] {
            assert!(
                heard.iter().any(|name| name == wanted),
                "{wanted}: {heard:?}"
            );
        }
    }
}

// req: S-REDIRECT
#[tokio::test]
async fn redirects_stay_with_the_server_and_keep_the_message() {
    let rows = [
        ("307 Temporary Redirect", "/mcp/", "ok"),
        ("308 Permanent Redirect", "/mcp/", "ok"),
        ("308 Permanent Redirect", "/mcp", "without end"),
        ("301 Moved Permanently", "/mcp/", "loses the message"),
        ("302 Found", "/mcp/", "loses the message"),
        ("303 See Other", "/mcp/", "loses the message"),
        (
            "307 Temporary Redirect",
            "http://evil.test/mcp",
            "another server",
        ),
        (
            "307 Temporary Redirect",
            "https://127.0.0.1/mcp",
            "another server",
        ),
        ("307 Temporary Redirect", "http://a b/", "none"),
    ];
    for (status, location, want) in rows {
        let web = Web::serve(move |asked| {
            if asked.path == "/mcp/" {
                return as_usual(asked).unwrap();
            }
            let head = format!("Location: {location}\r\n");
            Reply::of(status, "text/plain", &head, "")
        })
        .await;
        let opened = opened(&web, "/mcp", Revisions::ALL).await;
        match opened {
            Ok(_) => assert_eq!(want, "ok", "{status} {location}"),
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains(want), "{status} {location}: {text}");
                assert!(matches!(error, CallError::Unreachable(_)), "{error:?}");
            }
        }
    }
}

/// Whatever a server answers to any request, nobody else hears of what was meant for it.
// req: V-606
#[tokio::test]
async fn v_606_another_server_is_sent_nothing() {
    let other = Web::serve(|asked| as_usual(asked).unwrap_or_else(|| Reply::empty("200 OK"))).await;
    let (there, name) = (
        other.url("/mcp"),
        other.url("/mcp").replace("127.0.0.1", "localhost"),
    );
    let secure = there.replace("http:", "https:");
    for status in ["301 M", "302 F", "303 S", "307 T", "308 P"] {
        for location in [&there, &name, &secure] {
            let (head, tools) = (format!("Location: {location}\r\n"), "tools/list");
            let redirect = move || Reply::of(status, "text/plain", &head, "");
            for from in [
                "initialize",
                "notifications/initialized",
                tools,
                "GET",
                "DELETE",
            ] {
                let redirect = redirect.clone();
                let web = Web::serve(move |asked| {
                    let message = asked.message();
                    let said = message["method"].as_str().unwrap_or(&asked.method);
                    match said {
                        said if said == from => redirect(),
                        said if said == tools => Reply::json(&result(asked, &json!({}))),
                        _ => as_usual(asked).unwrap(),
                    }
                })
                .await;
                let target = polyport_http::client::Target::new(&web.url("/mcp")).unwrap();
                let target = target.header("Authorization", "Bearer hush").unwrap();
                let target = target.header("X-Key", "hush").unwrap();
                let legacy = Revisions::of(polyport_proto::Era::Legacy);
                let patience = super::patience();
                let opened =
                    polyport_http::client::open(target, super::facts(), legacy, patience).await;
                assert_eq!(opened.is_err(), from.contains("initialize"), "{opened:?}");
                let Ok((caller, _)) = opened else { continue };
                let listed = caller.request(tools, "{}").await;
                assert_eq!(listed.is_err(), from == tools, "{status} {location} {from}");
                caller.close().await;
                assert!(web.heard().iter().any(|said| said == from), "{from}");
            }
        }
    }
    assert!(other.asked().is_empty(), "{:?}", other.asked());
}
