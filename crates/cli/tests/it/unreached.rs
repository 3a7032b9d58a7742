//! Why a server gave no answer: the cause is named as it is, with what fits it to do.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use polyport::Revision;
use serde_json::{Value, json};

use crate::asking::run;
use crate::doctoring::answering;
use crate::support::{Place, said};
use crate::watching::{Standing, free_port};

fn answered(body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

// req: S-FAIL-CAUSE
#[test]
fn what_is_no_answer_is_named() {
    let place = Place::new();
    for (answer, want) in [
        (
            "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_owned(),
            "the server took the question and answered nothing (HTTP status 202)",
        ),
        (
            answered(""),
            "the server took the question and answered nothing (HTTP status 200)",
        ),
        (answered("{oops"), ": {oops"),
        (answered("[]"), "it is a batch, and the answer is not in it"),
        (
            answered(r#"{"jsonrpc":"2.0","id":"other","result":{}}"#),
            "it is the answer to something else, which is \"other\"",
        ),
        (
            answered(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#),
            "it is no answer, but ping of the server's own",
        ),
    ] {
        let port = answering(move |_| answer.clone());
        for era in ["modern", "legacy"] {
            let words = ["ls", "-q", "--era", era, &format!(":{port}")];
            let (code, _, err) = run(&place, &words);
            assert_eq!(code, 6, "{era}: {err}");
            assert!(
                err.contains("the server's answer cannot be read: ") && err.contains(want),
                "{era}, {want}: {err}"
            );
            // That there is nothing is told once.
            if want.contains("answered nothing") {
                let words = ["ls", "--era", era, &format!(":{port}")];
                let (_, _, err) = run(&place, &words);
                assert!(!err.contains("warning"), "{err}");
            }
        }
    }
}

/// What stands between is not the server, and what helps there does not help here.
// req: S-FAIL-CAUSE, S-PROXY
#[test]
fn a_proxy_that_stands_in_the_way_is_named_with_what_to_do() {
    let place = Place::new();
    for (proxy, want) in [
        ("http://127.0.0.1:9", "the proxy http://127.0.0.1:9"),
        ("http://bad url", "the variable HTTP_PROXY holds no address"),
        ("socks4://127.0.0.1:9", "http and socks5 can be used"),
    ] {
        for verb in ["doctor", "ls"] {
            let mut command = place.command([verb, "http://server.test/mcp"]);
            let output = command.env("HTTP_PROXY", proxy).output().unwrap();
            let said = said(&output);
            assert_eq!(output.status.code(), Some(4), "{said}");
            assert!(said.contains(want) && said.contains("NO_PROXY"), "{said}");
            assert!(!said.contains("name the address it sends to"), "{said}");
            let is_told = said.contains("FAIL  a proxy leads to it");
            assert_eq!(is_told, verb == "doctor", "{said}");
        }
    }
}

/// Such a result is not shown, in whatever form.
// req: M-RESULT
#[test]
fn a_result_of_an_unknown_type_is_a_fault_of_the_protocol() {
    let place = Place::new();
    let odd = Arc::new(Mutex::new(String::new()));
    let which = odd.clone();
    let everything = json!({"ttlMs": 0, "cacheScope": "private", "content": [], "messages": [], "contents": [],
        "completion": {"values": ["v"]}, "tools": [{"name": "t", "inputSchema": {"type": "object"}}],
        "prompts": [{"name": "p", "arguments": [{"name": "a"}]}], "resources": [], "resourceTemplates": [],
        "supportedVersions": [Revision::LATEST.name()],
        "capabilities": {"tools": {}, "prompts": {}, "resources": {}, "completions": {}}});
    let port = answering(move |body| {
        let asked: Value = serde_json::from_slice(body).unwrap_or_default();
        let mut result = everything.clone();
        let is_odd = asked["method"].as_str() == Some(&*which.lock().unwrap());
        result["resultType"] = json!(if is_odd { "vendor/odd" } else { "complete" });
        answered(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string())
    });
    let url = format!(":{port}");
    for (method, verb, words) in [
        ("tools/list", "ls", &[][..]),
        ("tools/list", "show", &["t"]),
        ("tools/call", "call", &["t"]),
        ("resources/read", "read", &["x:y"]),
        ("prompts/get", "prompt", &["p"]),
        ("completion/complete", "complete", &["p", "a", ""]),
    ] {
        odd.lock().unwrap().clear();
        for is_odd in [false, true] {
            if is_odd {
                method.clone_into(&mut odd.lock().unwrap());
            }
            for form in [&[][..], &["--json"]] {
                let words = [
                    &[verb, "--era", "modern", "--no-cache"],
                    form,
                    &[&*url],
                    words,
                ]
                .concat();
                let (code, out, err) = run(&place, &words);
                let want = if is_odd { 6 } else { 0 };
                assert_eq!(code, want, "{words:?}: {out}{err}");
                if is_odd {
                    // The other lists are shown.
                    let has_none = out.is_empty() || verb == "ls" && !out.contains("tool");
                    assert!(
                        has_none && err.contains("vendor/odd"),
                        "{words:?}: {out}{err}"
                    );
                }
            }
        }
    }
}

/// Who has said who asks is not told to say it.
// req: S-FAIL-CAUSE
#[test]
fn what_was_given_and_is_refused_is_named() {
    let place = Place::new();
    for (status, given) in [
        (401, "it refuses the NAME that was given: is it expired"),
        (
            403,
            "it refuses what was asked with the NAME that was given",
        ),
    ] {
        let port = answering(move |_| {
            format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        });
        let url = format!("http://127.0.0.1:{port}/mcp");
        let none = "it wants to know who asks: --header 'Authorization: Bearer …'";
        let entry = json!({"url": url, "headers": {"authorization": "Bearer s3cret"}});
        place.write(
            ".mcp.json",
            &json!({"mcpServers": {"s": entry}}).to_string(),
        );
        for (words, want) in [
            (&[&*url][..], none.to_owned()),
            (&["--header", "X-Trace: 1", &url], none.to_owned()),
            (
                &["--header", "Authorization: Bearer s3cret", &url],
                given.replace("NAME", "Authorization"),
            ),
            (
                &["--header", "X-Api-Key: s3cret", &url],
                given.replace("NAME", "X-Api-Key"),
            ),
            (&[".mcp.json:s"], given.replace("NAME", "authorization")),
        ] {
            let (code, _, err) = run(&place, &[&["ls"], words].concat());
            assert_eq!(code, 3, "{words:?}: {err}");
            assert!(
                err.contains(&format!("hint: {want}")),
                "{status} {words:?}: {err}"
            );
            assert!(!err.contains("s3cret"), "{err}");
        }
    }
}

// req: S-FAIL-CAUSE
#[test]
fn a_dead_proxy_is_named() {
    let place = Place::new();
    for (variable, url) in [
        ("http_proxy", "http://mcp.example.invalid/mcp"),
        ("https_proxy", "https://mcp.example.invalid/mcp"),
        ("all_proxy", "ws://mcp.example.invalid/mcp"),
    ] {
        let mut command = place.command(["ls", url]);
        command.env(variable, "http://ada:s3cret@127.0.0.1:1");
        let output = command.output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(4), "{err}");
        assert!(
            err.contains(
                "the proxy http://127.0.0.1:1, which the environment names, does not lead"
            ),
            "{err}"
        );
        assert!(
            err.contains("hint: does the proxy run? NO_PROXY=HOST leaves a host out"),
            "{err}"
        );
        assert!(!err.contains("s3cret"), "{err}");
    }
}

// req: S-FAIL-CAUSE
#[test]
fn a_folder_that_is_not_there_is_named() {
    let place = Place::new();
    place.write(
        ".mcp.json",
        r#"{"mcpServers": {"s": {"command": "true", "cwd": "/nope"}}}"#,
    );
    for words in [&["ls", "--cwd", "/nope", "--", "true"][..], &["ls", "s"]] {
        let (code, _, err) = run(&place, words);
        assert_eq!(
            (code, &*err),
            (
                2,
                "error: there is no folder /nope in which the server could work\n  \
                 hint: it is what --cwd, or cwd of its configuration, says\n"
            )
        );
    }
}

/// Over HTTP with SSE the end of the stream is the end of the session. Nobody there has a standard error.
// req: S-FAIL-CAUSE
#[test]
fn the_end_of_a_connection_is_no_word_of_a_program() {
    let place = Place::new();
    let is_first = AtomicBool::new(true);
    let port = answering(move |body| {
        if body.is_empty() {
            return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n\
                    event: endpoint\ndata: /messages\n\n"
                .to_owned();
        }
        let status = if is_first.swap(false, Ordering::Relaxed) {
            "404 Not Found"
        } else {
            "202 Accepted"
        };
        format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    });
    let (code, _, err) = run(&place, &["ls", "--era", "legacy", &format!(":{port}")]);
    assert_eq!(code, 4, "{err}");
    assert!(
        err.contains("the server has closed the connection\n  hint: it, or something between"),
        "{err}"
    );
    assert!(!err.contains("standard error"), "{err}");
}

/// What a server says that it speaks over a WebSocket is shown as it says it; what was not offered is not spoken.
// req: D-20, S-SOCKET-OFFER
#[test]
fn d_20_another_subprotocol_is_refused_as_it_is_written() {
    let place = Place::new();
    let port = free_port();
    let _server = Standing::at(&place, port);
    for (chosen, code, want) in [
        (
            "x-other: foo",
            0,
            "warning: the server does not say that it speaks MCP over this WebSocket\n",
        ),
        (
            "sec-websocket-protocol: foo",
            6,
            "its WebSocket speaks a sub-protocol that was not offered: foo\n",
        ),
        ("sec-websocket-protocol: mcp", 0, ""),
    ] {
        let between = between(port, chosen);
        let (got, _, err) = run(&place, &["ls", &format!("ws://127.0.0.1:{between}/ws")]);
        assert_eq!(got, code, "{chosen}: {err}");
        assert!(
            err.contains(want) && (code != 0 || err == want),
            "{chosen}: {err}"
        );
    }
}

/// A port that leads to another, and puts this in place of the subprotocol that is answered.
fn between(port: u16, chosen: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let between = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut server = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        std::thread::spawn(move || std::io::copy(&mut from, &mut to));
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") && server.read(&mut byte).unwrap() > 0 {
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap();
        assert!(head.contains("sec-websocket-protocol: mcp"), "{head}");
        let head = head.replace("sec-websocket-protocol: mcp", chosen);
        client.write_all(head.as_bytes()).unwrap();
        let _ = std::io::copy(&mut server, &mut client);
    });
    between
}
