//! How a client finds out the era of a server, on servers that are scripts.

use std::time::Duration;

use polyport_proto::{ClientFacts, Era, Revision, Revisions};
use polyport_rt::{CallError, Caller, Offer, Opened, Patience};
use polyport_wire::Raw;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

pub(crate) fn facts() -> ClientFacts {
    ClientFacts {
        info: Some(Raw::from_static("{\"name\":\"c\",\"version\":\"1\"}")),
        capabilities: Raw::from_static("{}"),
    }
}

type Script = fn(&str) -> Does;

/// What a scripted server does about a message.
#[derive(Clone)]
pub(crate) enum Does {
    Nothing,
    Says(&'static str),
    /// The result or error, for the id of the message.
    Answers(Value),
    Late(u64, Value),
    Ends,
}

/// Serves by a function from the method to what is done; gives back what was heard.
pub(crate) async fn serve(stream: DuplexStream, does: impl Fn(&str) -> Does) -> Vec<String> {
    let (reader, mut writer) = tokio::io::split(stream);
    let mut lines = BufReader::new(reader).lines();
    let mut heard = Vec::new();
    while let Ok(Some(line)) = lines.next_line().await {
        let message: Value = serde_json::from_str(&line).unwrap();
        let method = message["method"].as_str().unwrap_or(&line);
        heard.push(method.to_owned());
        let answer = |mut body: Value| {
            body["jsonrpc"] = "2.0".into();
            body["id"] = message["id"].clone();
            format!("{body}\n")
        };
        let text = match does(method) {
            Does::Nothing => continue,
            Does::Says(text) => text.to_owned(),
            Does::Answers(body) => answer(body),
            Does::Late(secs, body) => {
                tokio::time::sleep(Duration::from_secs(secs)).await;
                answer(body)
            }
            Does::Ends => break,
        };
        if writer.write_all(text.as_bytes()).await.is_err() {
            break;
        }
    }
    heard
}

fn discovered(versions: &[&str]) -> Value {
    json!({"result": {"resultType": "complete", "supportedVersions": versions, "capabilities": {"tools": {}},
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "2"}}}})
}

fn initialized(version: &str) -> Value {
    json!({"result": {"protocolVersion": version, "capabilities": {"prompts": {}}, "serverInfo": {"name": "s", "version": "1"}}})
}

fn refused(code: i32) -> Value {
    json!({"error": {"code": code, "message": "no"}})
}

async fn open(
    offer: impl Into<Offer>,
    does: impl Fn(&str) -> Does + Send + 'static,
) -> (Result<Opened, CallError>, Vec<String>) {
    let (near, far) = tokio::io::duplex(1 << 16);
    let server = tokio::spawn(async move { serve(far, does).await });
    let (reader, writer) = tokio::io::split(near);
    let opened = Caller::open(reader, writer, facts(), offer, Patience::default()).await;
    let opened = match opened {
        Ok((caller, opened)) => {
            assert_eq!(caller.revision(), opened.revision);
            caller.close().await;
            Ok(opened)
        }
        Err(error) => Err(error),
    };
    (opened, server.await.unwrap())
}

// req: S-ERA
#[tokio::test(start_paused = true)]
async fn the_era_is_found_out() {
    let modern: Script = |method| match method {
        "server/discover" => Does::Answers(discovered(&["2026-07-28", "2025-11-25"])),
        _ => Does::Answers(refused(-32601)),
    };
    let legacy: Script = |method| match method {
        "initialize" => Does::Answers(initialized("2025-06-18")),
        "notifications/initialized" => Does::Nothing,
        _ => Does::Answers(refused(-32601)),
    };
    let mute: Script = |method| match method {
        "initialize" => Does::Answers(initialized("2024-11-05")),
        _ => Does::Nothing,
    };
    let strict: Script = |method| match method {
        "initialize" => Does::Answers(initialized("2025-11-25")),
        "notifications/initialized" => Does::Nothing,
        _ => Does::Answers(refused(-32602)),
    };
    let slow: Script = |method| match method {
        "server/discover" => Does::Late(4, discovered(&["2026-07-28"])),
        _ => Does::Answers(refused(-32022)),
    };
    let slow_and_stubborn: Script = |method| match method {
        "server/discover" => Does::Late(4, discovered(&["2026-07-28"])),
        _ => Does::Answers(initialized("2026-07-28")),
    };
    let slow_both: Script = |method| match method {
        "server/discover" => Does::Late(4, discovered(&["2026-07-28", "2025-11-25"])),
        "initialize" => Does::Answers(initialized("2025-11-25")),
        _ => Does::Nothing,
    };
    let handshake = "server/discover initialize notifications/initialized";
    let rows = [
        ("modern", modern, Revision::V2026_07_28, "server/discover"),
        ("legacy", legacy, Revision::V2025_06_18, handshake),
        ("mute", mute, Revision::V2024_11_05, handshake),
        ("strict", strict, Revision::V2025_11_25, handshake),
        (
            "slow",
            slow,
            Revision::V2026_07_28,
            "server/discover initialize",
        ),
        (
            "slow, and names the modern era in the handshake",
            slow_and_stubborn,
            Revision::V2026_07_28,
            "server/discover initialize",
        ),
        (
            "slow, both eras",
            slow_both,
            Revision::V2025_11_25,
            handshake,
        ),
    ];
    for (name, script, revision, heard) in rows {
        let (opened, said) = open(Revisions::ALL, script).await;
        let opened = opened.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(opened.revision, revision, "{name}");
        assert_eq!(opened.server.unwrap().name, "s", "{name}");
        assert_eq!(said.join(" "), heard, "{name}");
    }
}

// req: D-42
#[tokio::test(start_paused = true)]
async fn d_42_what_is_known_saves_the_question_and_is_no_more_than_a_guess() {
    let legacy: Script = |method| match method {
        "initialize" => Does::Answers(initialized("2025-06-18")),
        "server/discover" => Does::Answers(refused(-32601)),
        _ => Does::Nothing,
    };
    let mute: Script = |method| match method {
        "initialize" => Does::Answers(initialized("2025-06-18")),
        _ => Does::Nothing,
    };
    let modern: Script = |method| match method {
        "server/discover" => Does::Answers(discovered(&["2026-07-28"])),
        _ => Does::Answers(refused(-32601)),
    };
    let modern_that_names_its_era: Script = |method| match method {
        "server/discover" => Does::Answers(discovered(&["2026-07-28"])),
        _ => Does::Answers(initialized("2026-07-28")),
    };
    let slow: Script = |method| match method {
        "server/discover" => Does::Late(14, discovered(&["2026-07-28"])),
        _ => Does::Answers(refused(-32601)),
    };
    let (old, new) = (Revision::V2025_06_18, Revision::V2026_07_28);
    let greeting = "initialize notifications/initialized";
    let found_out = "server/discover initialize notifications/initialized";
    let rows = [
        ("as before", old, legacy, old, greeting, 0),
        ("as before, mute", old, mute, old, greeting, 0),
        ("as before, new", new, modern, new, "server/discover", 0),
        (
            "slow, and known to be new",
            new,
            slow,
            new,
            "server/discover",
            14,
        ),
        ("renewed", old, modern, new, "initialize server/discover", 0),
        (
            "renewed, and named in the handshake",
            old,
            modern_that_names_its_era,
            new,
            "initialize server/discover",
            0,
        ),
        ("set back", new, legacy, old, found_out, 0),
        ("set back, mute", new, mute, old, found_out, 15),
    ];
    for (name, known, script, revision, heard, secs) in rows {
        let begun = tokio::time::Instant::now();
        let offer = Offer::from(Revisions::ALL).knowing(Some(known));
        let (opened, said) = open(offer, script).await;
        let opened = opened.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(opened.revision, revision, "{name}");
        assert_eq!(opened.verdict, Some(revision), "{name}");
        assert_eq!(said.join(" "), heard, "{name}");
        assert_eq!(begun.elapsed().as_secs(), secs, "{name}");
    }
}

// req: D-42
#[tokio::test(start_paused = true)]
async fn d_42_only_what_both_eras_were_offered_for_is_worth_knowing() {
    let both: Script = |method| match method {
        "server/discover" => Does::Answers(discovered(&["2026-07-28"])),
        "initialize" => Does::Answers(initialized("2025-11-25")),
        _ => Does::Nothing,
    };
    let slow: Script = |method| match method {
        "server/discover" => Does::Late(4, discovered(&["2026-07-28", "2025-11-25"])),
        "initialize" => Does::Answers(initialized("2025-11-25")),
        _ => Does::Nothing,
    };
    for era in [Era::Modern, Era::Legacy] {
        // Where one era alone is offered, what is known of the other is left out.
        let offer = Offer::from(Revisions::of(era)).knowing(Some(Revision::V2025_06_18));
        assert_eq!(offer.known(), None);
        assert_eq!(open(offer, both).await.0.unwrap().verdict, None, "{era:?}");
    }
    let others = Revision::ALL
        .into_iter()
        .filter(|r| *r != Revision::V2025_06_18);
    let others = others.fold(Revisions::NONE, Revisions::with);
    let offer = Offer::from(others).knowing(Some(Revision::V2025_06_18));
    assert_eq!(offer.known(), None);
    // It speaks the legacy era this time, since it was slow; the next time it is waited for.
    let opened = open(Revisions::ALL, slow).await.0.unwrap();
    assert_eq!(opened.revision, Revision::V2025_11_25);
    assert_eq!(opened.verdict, Some(Revision::V2026_07_28));
}

// req: S-ERA
#[tokio::test(start_paused = true)]
async fn one_era_is_asked_for_without_a_question() {
    let legacy = Revisions::of(Era::Legacy);
    let (opened, said) = open(legacy, |_| Does::Answers(initialized("2025-03-26"))).await;
    assert_eq!(opened.unwrap().revision, Revision::V2025_03_26);
    assert_eq!(said.join(" "), "initialize notifications/initialized");
    let modern = Revisions::of(Era::Modern);
    let (opened, said) = open(modern, |_| Does::Answers(discovered(&["2026-07-28"]))).await;
    assert!(opened.unwrap().capabilities.tools.is_some());
    assert_eq!(said.join(" "), "server/discover");
    for speaks in [modern, legacy, Revisions::ALL] {
        let (opened, _) = open(speaks, |_| Does::Answers(refused(-32601))).await;
        assert!(matches!(opened, Err(CallError::Refused(_))), "{opened:?}");
    }
}

// req: S-ERA
#[tokio::test(start_paused = true)]
async fn no_common_revision_is_an_error_of_its_own() {
    let rows: [(Script, &str); 3] = [
        (|_| Does::Answers(discovered(&["2031-01-01"])), "2031-01-01"),
        (
            |method| match method {
                "initialize" => Does::Answers(initialized("2031-01-01")),
                _ => Does::Answers(refused(-32601)),
            },
            "2031-01-01",
        ),
        // A handshake is never answered with the modern era.
        (
            |method| match method {
                "initialize" => Does::Answers(initialized("2026-07-28")),
                _ => Does::Answers(refused(-32601)),
            },
            "2026-07-28",
        ),
    ];
    for (script, theirs) in rows {
        match open(Revisions::ALL, script).await.0 {
            Err(CallError::NoCommonRevision(named)) => assert_eq!(named, theirs),
            other => panic!("{theirs}: {other:?}"),
        }
    }
}

// req: S-ERA
#[tokio::test(start_paused = true)]
async fn an_opening_ends_in_bounded_time() {
    let (opened, _) = open(Revisions::ALL, |_| Does::Ends).await;
    assert!(matches!(opened, Err(CallError::Closed)), "{opened:?}");
    let (opened, said) = open(Revisions::ALL, |_| Does::Nothing).await;
    assert!(matches!(opened, Err(CallError::TimedOut(_))), "{opened:?}");
    assert_eq!(said.join(" "), "server/discover initialize");
    let (opened, _) = open(Revisions::ALL, |method| match method {
        "initialize" => Does::Answers(json!({"result": {"protocolVersion": 7}})),
        _ => Does::Answers(refused(-32601)),
    })
    .await;
    assert!(
        matches!(opened, Err(CallError::Unreadable(_))),
        "{opened:?}"
    );
}

// req: S-JUNK
#[tokio::test(start_paused = true)]
async fn junk_on_the_line_is_passed_over() {
    let (opened, _) = open(Revisions::of(Era::Legacy), |method| match method {
        "initialize" => Does::Says(concat!(
            "Starting the server...\n\n{\"not\":\"a message\"}\n\u{1b}[32mok\u{1b}[0m\n",
            "[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}},",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-03-26\",\"capabilities\":{},",
            "\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}]\n",
        )),
        _ => Does::Nothing,
    })
    .await;
    assert_eq!(opened.unwrap().revision, Revision::V2025_03_26);
}
