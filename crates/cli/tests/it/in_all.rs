//! `--timeout` holds for all of a verb: each answer comes in time, and all of them together do not.

use std::thread::sleep;
use std::time::Duration;

use polyport::Revision;
use polyport_testkit::child::scripted;
use serde_json::{Value, json};

use crate::asking::run;
use crate::doctoring::answering;
use crate::support::{Place, with_script};

/// What one answer takes. One is in time for `--timeout 1`, two are not.
const PAUSE: Duration = Duration::from_millis(700);

/// A server of one thing of each kind that thinks so long about the answers to one method, or to all.
fn slow(method: Option<&'static str>, pause: Duration) -> String {
    let port = answering(move |body| {
        let asked: Value = serde_json::from_slice(body).unwrap_or_default();
        if method.is_none_or(|method| asked["method"] == method) {
            sleep(pause);
        }
        let result = json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private",
            "supportedVersions": [Revision::LATEST.name()], "protocolVersion": Revision::LATEST_LEGACY.name(),
            "serverInfo": {"name": "s", "version": "1"}, "capabilities": {"tools": {"listChanged": true}, "prompts": {}, "resources": {}, "completions": {}},
            "tools": [{"name": "t", "inputSchema": {"type": "object"}}],
            "resources": [{"uri": "x://r", "name": "r"}], "resourceTemplates": [{"uriTemplate": "x://{t}", "name": "t"}],
            "prompts": [{"name": "p", "arguments": [{"name": "a"}]}],
            "content": [], "messages": [], "contents": [], "completion": {"values": []}});
        if asked["id"].is_null() {
            return "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                .to_owned();
        }
        let text = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string();
        let length = text.len();
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
        )
    });
    format!("http://127.0.0.1:{port}/mcp")
}

/// A verb, and what stands behind the server.
const VERBS: [(&[&str], &[&str]); 7] = [
    (&["call"], &["t"]),
    (&["complete"], &["p", "a", ""]),
    (&["ls"], &[]),
    (&["ping", "-n", "2"], &[]),
    (&["prompt"], &["p"]),
    (&["read"], &["x://r"]),
    (&["show"], &["p"]),
];

// req: S-TOTAL
#[test]
fn a_verb_ends_in_its_time_however_many_answers_it_takes() {
    let place = Place::new();
    for (verb, rest) in VERBS {
        for era in ["modern", "legacy"] {
            let in_time = |timeout, pause| {
                let url = slow(None, pause);
                let options = ["--era", era, "--timeout", timeout, &url];
                run(&place, &[verb, &options, rest].concat())
            };
            let (code, out, err) = in_time("30", Duration::ZERO);
            assert_eq!(code, 0, "{verb:?} {era}: {out}{err}");
            let (code, out, err) = in_time("1", PAUSE);
            assert_eq!(code, 7, "{verb:?} {era}: {out}{err}");
            assert!(
                err.contains("no answer") && err.contains(" after 1.0 s"),
                "{verb:?} {era}: {err}"
            );
            assert!(
                err.contains("hint: --timeout SECONDS waits longer"),
                "{err}"
            );
        }
    }
}

/// What there is by then is shown.
// req: S-TOTAL
#[test]
fn lists_that_came_in_time_are_shown() {
    let place = Place::new();
    let url = slow(Some("prompts/list"), 2 * PAUSE);
    for (form, shown) in [
        ("--no-input", "x://{t}"),
        ("--json", "\"resourceTemplates\":[{"),
    ] {
        let words = ["ls", form, "--era", "modern", "--timeout", "1", &url];
        let (code, out, err) = run(&place, &words);
        assert_eq!(code, 7, "{out}{err}");
        assert!(out.contains(shown), "{out}{err}");
        assert!(err.contains("prompts/list of "), "{err}");
    }
}

/// A watch has no end: it has to be there in that time.
// req: S-TOTAL
#[test]
fn a_watch_begins_in_its_time() {
    let place = Place::new();
    for (pause, code) in [(Duration::ZERO, 0), (2 * PAUSE, 7)] {
        let words = ["watch", "--era", "legacy", "--timeout", "1", "--for", "2"];
        let (got, _, err) = run(&place, &[&words[..], &[&slow(None, pause)]].concat());
        assert_eq!(got, code, "{pause:?}: {err}");
    }
}

/// What hears neither the end of its input nor SIGTERM would by itself be given six seconds.
// req: S-TOTAL
#[test]
fn a_command_that_hangs_ends_soon_after_the_time() {
    let place = Place::new();
    let script = "trap '' TERM; echo $$ > pid; while :; do sleep 100; done";
    let begun = std::time::Instant::now();
    let words = [
        "ping",
        "--no-cache",
        "--timeout",
        "1",
        "--",
        "sh",
        "-c",
        script,
    ];
    let (code, _, err) = run(&place, &words);
    let took = begun.elapsed();
    assert_eq!(code, 7, "{err}");
    assert!(took < Duration::from_secs(5), "{took:?}");
    let pid = std::fs::read_to_string(place.path("pid")).unwrap();
    // Whoever adopts it needs a moment to take it away.
    let runs = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    let gone = (0..100).any(|_| {
        sleep(Duration::from_millis(50));
        !runs()
    });
    assert!(gone, "{pid} is still there");
}

/// A server that speaks MCP and then is silent is not asked whether it does: what is open is named.
// req: S-TOTAL
#[test]
fn the_doctor_names_the_request_that_is_open() {
    let place = Place::new();
    let silent = scripted("listed() { return 1; }");
    let program = with_script(&["doctor", "--timeout", "1"], &silent, &[]);
    let url = slow(Some("tools/list"), Duration::from_secs(3));
    let address = ["doctor", "--timeout", "1", &url];
    for words in [&program[..], &address] {
        let (code, out, err) = run(&place, words);
        assert_eq!((code, &*err), (7, ""), "{out}");
        for part in [
            "time for list ",
            "no answer to tools/list after 1.0 s",
            "answer tools/list; --timeout SECONDS waits longer",
        ] {
            assert!(out.contains(part), "{part}: {out}");
        }
        assert!(!out.contains("does it serve MCP"), "{out}");
    }
}

/// A page in place of an endpoint.
// req: S-TOTAL
#[test]
fn the_doctor_has_a_remedy_for_a_page() {
    let place = Place::new();
    let port = answering(|_| {
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\nConnection: close\r\n\r\n<p>\n".to_owned()
    });
    let (code, out, _) = run(&place, &["doctor", &format!(":{port}/html")]);
    assert_eq!(code, 6, "{out}");
    let remedy = "is this the address of an MCP endpoint?";
    assert!(out.contains(remedy), "{out}");
}
