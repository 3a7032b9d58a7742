//! Answers that come compressed: taken apart as they come, within the bounds of plain ones.

use std::io::Write;
use std::time::Duration;

use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use flate2::{Compression, FlushCompress};
use polyport_proto::{Era, Revisions};
use polyport_rt::CallError;
use polyport_testkit::Web;
use polyport_testkit::web::{Asked, Reply, Then};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{LONG, asked_with, opened, result};

const CODINGS: [&str; 5] = ["gzip", "x-gzip", "deflate", "raw deflate", "gzip in two"];

/// Compressed in one of the ways that servers have; the name that stands in the header, and the bytes.
fn packed(coding: &str, text: &[u8]) -> (&'static str, Vec<u8>) {
    let best = Compression::default();
    let gzip = |text: &[u8]| {
        let mut out = GzEncoder::new(Vec::new(), best);
        out.write_all(text).unwrap();
        out.finish().unwrap()
    };
    match coding {
        "gzip" => ("gzip", gzip(text)),
        "x-gzip" => ("x-gzip", gzip(text)),
        "gzip in two" => {
            let (one, two) = text.split_at(text.len() / 2);
            ("gzip", [gzip(one), gzip(two)].concat())
        }
        "deflate" => {
            let mut out = ZlibEncoder::new(Vec::new(), best);
            out.write_all(text).unwrap();
            ("deflate", out.finish().unwrap())
        }
        "raw deflate" => {
            let mut out = DeflateEncoder::new(Vec::new(), best);
            out.write_all(text).unwrap();
            ("DEFLATE", out.finish().unwrap())
        }
        other => panic!("{other}"),
    }
}

/// An answer of a kind whose body is these bytes.
fn reply(status: &str, kind: &str, coding: &str, body: &[u8]) -> Reply {
    let mut bytes = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Encoding: {coding}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    Reply::raw(bytes, Then::Next)
}

fn answer(asked: &Asked, text: &str) -> Value {
    result(asked, &json!({"text": text}))
}

// req: S-CODING
#[tokio::test]
async fn every_coding_that_is_asked_for_is_taken_at_any_pace() {
    for (era, piece, times) in [(Era::Legacy, usize::MAX, 20_000), (Era::Modern, 1, 100)] {
        let text = "one, two, three ".repeat(times);
        for coding in CODINGS {
            for kind in ["application/json", "text/event-stream"] {
                let said = text.clone();
                let (web, caller) = asked_with(
                    move |asked| {
                        let answer = answer(asked, &said).to_string();
                        let body = match kind {
                            "application/json" => answer,
                            _ => format!(": first\n\nid: 1\ndata: {answer}\n\n"),
                        };
                        let (name, body) = packed(coding, body.as_bytes());
                        let reply = reply("200 OK", kind, name, &body);
                        if piece == usize::MAX {
                            reply
                        } else {
                            reply.drip(piece, Duration::ZERO)
                        }
                    },
                    era,
                )
                .await;
                let got = timeout(LONG, caller.request("tools/call", "{\"name\":\"a\"}"));
                let got = got.await.unwrap();
                let got: Value = serde_json::from_str(got.unwrap().as_str()).unwrap();
                assert_eq!(got["text"], text, "{era:?} {coding} {kind} {piece}");
                for asked in web.asked() {
                    assert_eq!(asked.header("accept-encoding"), Some("gzip, deflate"));
                }
            }
        }
    }
}

// req: S-CODING
#[tokio::test]
async fn an_event_is_there_before_its_stream_ends() {
    let note = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}});
    for coding in ["gzip", "deflate"] {
        let note = format!("data: {note}\n\n");
        let (_web, caller) = asked_with(
            move |asked| {
                let answer = format!("data: {}\n\n", answer(asked, "done"));
                // Neither stream nor connection ends.
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: {coding}\r\n\r\n"
                );
                let body = flushed(coding, &[&note, &answer]);
                Reply::raw([head.into_bytes(), body].concat(), Then::Silence)
            },
            Era::Legacy,
        )
        .await;
        let got = timeout(LONG, caller.request("tools/call", "{}"));
        assert_eq!(got.await.unwrap().unwrap().as_str(), "{\"text\":\"done\"}");
        assert_eq!(caller.notifications().len(), 1, "{coding}");
    }
}

/// The beginning of a stream whose pieces can be read as soon as they have come.
fn flushed(coding: &str, pieces: &[&str]) -> Vec<u8> {
    let write = |mut out: Box<dyn Write + '_>| {
        for piece in pieces {
            out.write_all(piece.as_bytes()).unwrap();
            out.flush().unwrap();
        }
        // Dropped, it would end the stream.
        std::mem::forget(out);
    };
    let mut out = Vec::new();
    let best = Compression::default();
    match coding {
        "gzip" => write(Box::new(GzEncoder::new(&mut out, best))),
        _ => write(Box::new(ZlibEncoder::new(&mut out, best))),
    }
    out
}

/// What swells to 80 MiB: a beginning, and the same mebibyte of filling again and again.
fn bomb(coding: &str, begin: &str, filling: &str) -> Vec<u8> {
    let filling: Vec<u8> = filling.bytes().cycle().take(1 << 20).collect();
    if coding == "gzip" {
        let more = packed(coding, &filling).1;
        return [packed(coding, begin.as_bytes()).1, more.repeat(80)].concat();
    }
    let mut stream = flate2::Compress::new(Compression::default(), true);
    let mut part = |text: &[u8]| {
        let mut out = Vec::with_capacity(1 << 20);
        let done = stream.compress_vec(text, &mut out, FlushCompress::Full);
        done.unwrap();
        out
    };
    // Nothing in one part looks back into another.
    let begin = part(begin.as_bytes());
    [begin, part(&filling).repeat(80)].concat()
}

// req: V-412, S-CODING
#[tokio::test]
async fn v_412_what_swells_beyond_the_bound_is_an_error_that_names_the_server() {
    let answer = "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"text\":\"";
    let event = format!("data: {answer}");
    let comments = format!(": {}\n\n", "x".repeat(500));
    let ids = format!("id: {}\n\n", "x".repeat(500));
    for (coding, kind, begin, filling) in [
        ("gzip", "application/json", answer, "x"),
        ("deflate", "application/json", answer, "x"),
        ("gzip", "text/event-stream", &event, "x"),
        // Nothing that is ever an event.
        ("deflate", "text/event-stream", "retry: 1\n\n", &comments),
        ("gzip", "text/event-stream", ":\n", &ids),
    ] {
        let body = bomb(coding, begin, filling);
        assert!(body.len() < 1 << 20, "{}", body.len());
        let (_web, caller) =
            asked_with(move |_| reply("200 OK", kind, coding, &body), Era::Modern).await;
        let got = timeout(LONG, caller.request("tools/call", "{\"name\":\"a\"}"));
        let error = got.await.unwrap().unwrap_err();
        let told = error.to_string();
        assert!(
            matches!(error, CallError::Unreadable(_)),
            "{kind} {coding}: {told}"
        );
        assert!(
            told.contains("the server's answer") && told.contains("67108864"),
            "{kind} {coding}: {told}"
        );
        caller.request("tools/list", "{}").await.unwrap();
    }
}

// req: V-412
#[tokio::test]
async fn v_412_what_is_not_what_its_header_says_fails_alone() {
    let whole = |coding: &str| packed(coding, b"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}").1;
    let cut = |coding: &str| {
        let mut body = whole(coding);
        body.truncate(body.len() - 3);
        body
    };
    let broken = |coding: &str, at: usize| {
        let mut body = whole(coding);
        let at = if at == 0 { body.len() - 6 } else { at };
        body[at] ^= 0xff;
        body
    };
    let and_more = |coding: &str| [whole(coding), b"and something more".to_vec()].concat();
    for (coding, body, want) in [
        ("br", whole("gzip"), "not asked for"),
        ("zstd", whole("gzip"), "not asked for"),
        ("gzip, gzip", whole("gzip"), "not asked for"),
        (
            "gzip\r\nContent-Encoding: gzip",
            whole("gzip"),
            "more than once",
        ),
        ("gzip", b"{}".repeat(20), "Content-Encoding"),
        ("gzip", whole("deflate"), "Content-Encoding"),
        ("gzip", broken("gzip", 14), "Content-Encoding"),
        ("gzip", and_more("gzip"), "Content-Encoding"),
        ("deflate", and_more("deflate"), "Content-Encoding"),
        ("deflate", broken("deflate", 5), "Content-Encoding"),
        // The sum at the end is another one.
        ("gzip", broken("gzip", 0), "ended in its midst"),
        ("gzip", cut("gzip"), "ended in its midst"),
        ("deflate", cut("deflate"), "ended in its midst"),
        ("deflate", vec![0x78], "ended in its midst"),
        ("gzip", Vec::new(), "answered nothing"),
    ] {
        let (_web, caller) = asked_with(
            move |_| reply("200 OK", "application/json", coding, &body),
            Era::Modern,
        )
        .await;
        let got = timeout(LONG, caller.request("tools/call", "{\"name\":\"a\"}"));
        let told = got.await.unwrap().unwrap_err().to_string();
        assert!(told.contains(want), "{coding} {want}: {told}");
        caller.request("tools/list", "{}").await.unwrap();
    }
}

// req: V-412, S-CODING
#[tokio::test]
async fn v_412_what_a_server_says_beside_the_protocol_is_taken_apart_within_bounds() {
    let page = "x".repeat(8 << 20);
    let (name, body) = packed("gzip", page.as_bytes());
    let web = Web::serve(move |_| reply("500 Oops", "text/plain", name, &body)).await;
    let Err(CallError::Status(status)) = opened(&web, "/mcp", Revisions::ALL).await else {
        panic!("a status");
    };
    assert_eq!(status.said, "x".repeat(300));
    let refusal =
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32099,\"message\":\"no\"}}";
    let (_web, caller) = asked_with(
        move |_| {
            let (name, body) = packed("deflate", refusal.as_bytes());
            reply("400 Bad Request", "application/json", name, &body)
        },
        Era::Legacy,
    )
    .await;
    let got = caller.request("tools/call", "{}").await;
    assert!(matches!(got, Err(CallError::Refused(_))), "{got:?}");
}
