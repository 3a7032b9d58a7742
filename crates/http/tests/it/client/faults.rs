//! Servers that answer wrongly, halfway, slowly or not at all: a typed error in bounded time, and the next call works.

use std::time::Duration;

use polyport_proto::{Era, Revisions};
use polyport_rt::{CallError, Stage, Wait};
use polyport_testkit::Web;
use polyport_testkit::web::{Reply, Then};
use serde_json::json;

use super::{as_usual, asked_with, legacy, modern, opened, result};

const REFUSED: &str =
    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32099,\"message\":\"not that\"}}";

/// How a request ended.
pub(super) fn end<T>(got: Result<T, CallError>) -> String {
    got.err()
        .map_or_else(|| "no failure".to_owned(), |error| kind(&error))
}

pub(super) fn kind(error: &CallError) -> String {
    match error {
        CallError::Refused(_) => "refused".to_owned(),
        CallError::Status(status) => format!("status {}", status.code),
        CallError::Broken(_) => "broken".to_owned(),
        CallError::Unreadable(_) => "unreadable".to_owned(),
        CallError::Unreachable(_) => "unreachable".to_owned(),
        CallError::TimedOut(_) => "timed out".to_owned(),
        CallError::Closed => "closed".to_owned(),
        other => format!("{other:?}"),
    }
}

/// Is it for people? The words of the libraries below are those of their programmers.
pub(super) fn is_in_words(said: &str) -> bool {
    let letters: Vec<char> = said.chars().collect();
    let is_joined = |two: &[char]| two[0].is_lowercase() && two[1].is_uppercase();
    !letters.windows(2).any(is_joined)
        && !["::", "client error", "parsed", "(("]
            .iter()
            .any(|word| said.contains(word))
}

#[allow(clippy::too_many_lines)] // A table.
fn replies() -> Vec<(&'static str, Reply)> {
    let json = |body: &str| Reply::of("200 OK", "application/json", "", body);
    let raw = |text: &str, then| Reply::raw(text, then);
    let endless = |lines| &*format!("HTTP/1.1 200 OK\r\n{}", "x: y\r\n".repeat(lines)).leak();
    vec![
        (
            "status 400",
            Reply::of("400 Bad Request", "text/plain", "", "no"),
        ),
        (
            "refused",
            Reply::of("400 Bad Request", "application/json", "", REFUSED),
        ),
        (
            "refused",
            Reply::of("500 Oops", "application/json", "", REFUSED),
        ),
        (
            "status 500",
            Reply::of("500 Oops", "text/plain", "", "oops"),
        ),
        (
            "status 502",
            Reply::of("502 Bad Gateway", "text/html", "", "<html>"),
        ),
        (
            "status 429",
            Reply::of("429 Slow", "text/plain", "Retry-After: 3\r\n", ""),
        ),
        (
            "status 401",
            Reply::of(
                "401 Who",
                "application/json",
                "WWW-Authenticate: Bearer\r\n",
                REFUSED,
            ),
        ),
        (
            "status 403",
            Reply::of("403 No", "application/json", "", REFUSED),
        ),
        ("status 304", Reply::empty("304 Not Modified")),
        // An error that names nobody is the answer to what was asked.
        ("refused", json(REFUSED)),
        ("unreadable", json("")),
        (
            "unreadable",
            json("{\"jsonrpc\":\"2.0\",\"id\":9999,\"result\":{}}"),
        ),
        ("unreadable", json("{\"jsonrpc\":\"2.0\",\"id\":2,\"resu")),
        ("unreadable", Reply::empty("202 Accepted")),
        (
            "unreadable",
            Reply::of("200 OK", "text/html", "", "<html>hello</html>"),
        ),
        (
            "unreadable",
            Reply::of(
                "200 OK",
                "application/json",
                "Content-Encoding: gzip\r\n",
                "what is no such thing",
            ),
        ),
        ("broken", raw("", Then::End)),
        ("broken", raw("HTTP/1.1 200 O", Then::End)),
        (
            "broken",
            raw(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{",
                Then::End,
            ),
        ),
        (
            "broken",
            raw(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                Then::End,
            ),
        ),
        ("broken", raw("SSH-2.0-OpenSSH_9\r\n", Then::End)),
        ("broken", raw("", Then::Deaf)),
        ("broken", raw("", Then::Reset)),
        (
            "broken",
            raw(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{",
                Then::Reset,
            ),
        ),
        ("broken", Reply::events("", ": alive\n\n", Then::Reset)),
        ("broken", Reply::events("", ": alive\n\n", Then::Deaf)),
        // A head without an end, at once and a line at a time.
        ("broken", raw(endless(100_000), Then::Silence)),
        (
            "timed out",
            raw(endless(100), Then::Silence).drip(6, Duration::from_millis(20)),
        ),
        ("unreadable", Reply::empty("204 No Content")),
        ("unreadable", json("[1, 2")),
        ("unreadable", json("null")),
        ("unreadable", Reply::of("200 OK", "", "", "{}")),
        ("broken", Reply::events("", "data: {\"jsonrpc\"", Then::End)),
        ("broken", Reply::events("", "data: what\n\n", Then::End)),
        ("timed out", raw("", Then::Silence)),
        (
            "timed out",
            raw(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{",
                Then::Silence,
            ),
        ),
        ("timed out", Reply::events("", ": alive\n\n", Then::Silence)),
        (
            "timed out",
            json("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}").drip(1, Duration::from_millis(50)),
        ),
    ]
}

// req: BR-077, V-412
#[tokio::test]
async fn br_077_v_412_a_call_that_fails_fails_alone_and_soon() {
    let wait = Wait {
        total: Some(Duration::from_millis(400)),
        ..Wait::default()
    };
    for era in [Era::Legacy, Era::Modern] {
        for (want, reply) in replies() {
            let shown = format!("{era:?} {want} {reply:?}");
            let (_web, caller) = asked_with(move |_| reply.clone(), era).await;
            let begun = std::time::Instant::now();
            let error = caller.request_waiting("tools/call", "{\"name\":\"a\"}", &wait);
            let error = error.await.expect_err(&shown);
            assert_eq!(kind(&error), want, "{shown}: {error}");
            assert!(is_in_words(&error.to_string()), "{shown}: {error}");
            assert!(begun.elapsed() < Duration::from_secs(5), "{shown}");
            caller.request("tools/list", "{}").await.unwrap();
        }
    }
}

/// Whoever waits in vain hears whether a response had begun, and whether a stream was open.
// req: S-LATE
#[tokio::test]
async fn how_far_a_late_answer_had_come_is_said() {
    const HEAD: &str =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 90\r\n";
    let wait = Wait {
        total: Some(Duration::from_millis(400)),
        ..Wait::default()
    };
    let note = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\n";
    let nothing = "last heard: an answer";
    for (reply, stage, said, heard) in [
        (
            Reply::raw("", Then::Silence),
            Stage::Unanswered,
            "no response has begun",
            nothing,
        ),
        (
            Reply::raw(HEAD, Then::Silence),
            Stage::Unanswered,
            "no response has begun",
            nothing,
        ),
        (
            Reply::raw(format!("{HEAD}\r\n{{"), Then::Silence),
            Stage::Begun,
            "its response has begun and not ended",
            nothing,
        ),
        (
            Reply::events("", ": alive\n\n", Then::Silence),
            Stage::Streaming,
            "its stream is open",
            nothing,
        ),
        (
            Reply::events("", note, Then::Silence),
            Stage::Streaming,
            "its stream is open",
            "last heard: notifications/message",
        ),
        (
            Reply::events("", "id: 1\nretry: 60000\ndata:\n\n", Then::End),
            Stage::Broken,
            "its stream has broken off",
            nothing,
        ),
    ] {
        for era in [Era::Legacy, Era::Modern] {
            if era == Era::Modern && stage == Stage::Broken {
                // There it cannot be resumed, and so is no longer waited for.
                continue;
            }
            let shown = format!("{era:?} {reply:?}");
            let reply = reply.clone();
            let (_web, caller) = asked_with(move |_| reply.clone(), era).await;
            let asked = caller.request_waiting("tools/call", "{}", &wait).await;
            let Err(CallError::TimedOut(late)) = asked else {
                panic!("{shown}: {asked:?}");
            };
            let text = late.to_string();
            let parts: Vec<&str> = text.split("; ").collect();
            assert!(
                parts[0].starts_with("no answer to tools/call after "),
                "{text}"
            );
            assert_eq!(parts[1], said, "{shown}: {text}");
            assert!(parts[2].starts_with(heard), "{shown}: {text}");
            assert_eq!(parts.len(), 3, "{shown}: {text}");
            assert_eq!(late.standing.unwrap().open[0].stage, stage, "{shown}");
        }
    }
}

// req: S-GONE
#[tokio::test]
async fn a_server_that_is_not_there_was_not_sent_anything() {
    let closed = {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        listener.local_addr().unwrap().port()
    };
    for url in [
        format!("http://127.0.0.1:{closed}/mcp"),
        "http://no-such-host.invalid/mcp".to_owned(),
    ] {
        let target = polyport_http::client::Target::new(&url).unwrap();
        let opened =
            polyport_http::client::open(target, super::facts(), Revisions::ALL, super::patience())
                .await;
        assert!(
            matches!(opened, Err(CallError::Unreachable(_))),
            "{opened:?}"
        );
    }
}

// req: BR-097
#[tokio::test]
async fn br_097_a_burst_of_events_that_are_no_messages() {
    let web = Web::serve(|asked| match asked.message()["method"].as_str() {
        Some("tools/call") => {
            let mut text = "data: x\n\n".repeat(200_000);
            text.push_str(&format!(
                "data: {}\n\n",
                result(asked, &json!({"ok": true}))
            ));
            Reply::events("", &text, Then::End)
        }
        _ => as_usual(asked).unwrap(),
    })
    .await;
    let answer = legacy(&web).await.request("tools/call", "{}").await;
    assert_eq!(answer.unwrap().as_str(), "{\"ok\":true}");
}

// req: S-CANCEL
#[tokio::test]
async fn whoever_no_longer_waits_says_so_in_the_way_of_the_era() {
    for era in [Era::Legacy, Era::Modern] {
        let web = Web::serve(|asked| match asked.message()["method"].as_str() {
            Some("tools/call") => Reply::events("", ": begun\n\n", Then::Silence),
            Some("tools/list") => Reply::json(&result(asked, &json!({}))),
            _ => as_usual(asked).unwrap(),
        })
        .await;
        let caller = match era {
            Era::Legacy => legacy(&web).await,
            Era::Modern => modern(&web).await,
        };
        let asked = caller.request("tools/call", "{\"name\":\"a\"}");
        let waited = tokio::time::timeout(Duration::from_millis(200), asked).await;
        assert!(waited.is_err());
        caller.request("tools/list", "{}").await.unwrap();
        let told = || {
            web.heard()
                .iter()
                .any(|name| name == "notifications/cancelled")
        };
        if era == Era::Legacy {
            let until = async {
                while !told() {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(super::LONG, until).await.unwrap();
        } else {
            assert!(!told());
        }
    }
}

// req: V-412
#[tokio::test]
async fn v_412_what_a_server_says_beside_the_protocol_is_read_within_bounds() {
    let web = Web::serve(|_| Reply::of("500 Oops", "text/plain", "", &"x".repeat(8 << 20))).await;
    let opened = opened(&web, "/mcp", Revisions::ALL).await;
    let Err(CallError::Status(status)) = opened else {
        panic!("{opened:?}");
    };
    assert_eq!(status.said.len(), 300);
}

// req: S-CANCEL
#[tokio::test]
async fn what_nobody_waits_for_is_told_before_the_end() {
    let slow = Duration::from_millis(5);
    let web = Web::serve(move |asked| match asked.message()["method"].as_str() {
        Some("tools/call") => Reply::events("", ": begun\n\n", Then::Silence),
        Some("notifications/cancelled") => Reply::empty("202 Accepted").drip(1, slow),
        _ => as_usual(asked).unwrap(),
    })
    .await;
    let caller = legacy(&web).await;
    let asked = caller.request("tools/call", "{}");
    let waited = tokio::time::timeout(Duration::from_millis(100), asked).await;
    assert!(waited.is_err());
    caller.close().await;
    let heard = web.heard();
    let at = |wanted: &str| heard.iter().position(|name| name == wanted).unwrap();
    assert!(at("notifications/cancelled") < at("DELETE"), "{heard:?}");
}

// req: S-CANCEL, S-PAIR
#[tokio::test]
async fn an_older_server_is_told_before_the_end() {
    let opened_with = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2024-11-05\",\"capabilities\":{},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}";
    let web = Web::serve(move |asked| match asked.method.as_str() {
        "GET" => {
            // The answer comes well after the endpoint, so that the question is there first.
            let text = format!(
                "event: endpoint\ndata: /in\n\n: {}\n\ndata: {opened_with}\n\n",
                "x".repeat(200)
            );
            Reply::events("", &text, Then::Silence).drip(1, Duration::from_millis(1))
        }
        _ if asked.path == "/in" => Reply::empty("202 Accepted"),
        _ => Reply::empty("405 Method Not Allowed"),
    })
    .await;
    let caller = opened(&web, "/sse", Revisions::of(Era::Legacy))
        .await
        .unwrap()
        .0;
    let asked = caller.request("tools/call", "{}");
    let waited = tokio::time::timeout(Duration::from_millis(200), asked).await;
    assert!(waited.is_err());
    caller.close().await;
    let heard = web.heard();
    assert_eq!(
        heard.last().map(String::as_str),
        Some("notifications/cancelled"),
        "{heard:?}"
    );
}
