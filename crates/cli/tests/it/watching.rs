//! `polyport watch` on a folder in which files change, and on a server that logs.

use std::io::{BufRead, BufReader, Read as _};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use polyport::Revision;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::asking::run;
use crate::doctoring::answering;
use crate::support::{BINARY, Place};

/// How often something happens while a watch is to hear of it, and how long each time is waited for its end.
const TRIES: usize = 100;
const TRY: Duration = Duration::from_millis(300);

/// Watches with these words, and is there when the watch has begun.
fn watch(place: &Place, words: &[&str]) -> Child {
    let words = [&["watch"], words].concat();
    let mut child = place.command(words).stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("note: watching ") {
        assert_ne!(errors.read_line(&mut said).unwrap(), 0, "{said}");
    }
    child.stderr = Some(errors.into_inner());
    child
}

fn end(child: Child) -> (i32, String) {
    end_after(child, || {})
}

/// The end of a watch, and what it has printed, while something happens again and again: the system may begin to tell of files a little
/// later than the server says so.
fn end_after(mut child: Child, happens: impl Fn()) -> (i32, String) {
    let mut stdout = child.stdout.take().unwrap();
    let (sender, receiver) = mpsc::channel();
    let reading = thread::spawn(move || {
        let mut out = String::new();
        stdout.read_to_string(&mut out).unwrap();
        sender.send(out).unwrap();
    });
    let out = (0..TRIES).find_map(|_| {
        happens();
        receiver.recv_timeout(TRY).ok()
    });
    let Some(out) = out else {
        child.kill().unwrap();
        panic!("nothing was heard");
    };
    reading.join().unwrap();
    (child.wait().unwrap().code().unwrap(), out)
}

// req: S-CHANGES
#[test]
fn changes_are_lines() {
    let place = Place::new();
    let uri = format!("file://{}", place.path("notes/a.md").display());
    for era in ["modern", "legacy"] {
        for server in [
            &["notes", &*uri][..],
            &["--", BINARY, "serve", "notes", "--", &uri],
        ] {
            let words = [&["--era", era, "-n", "1"], server].concat();
            let child = watch(&place, &words);
            let (code, out) = end_after(child, || place.write("notes/a.md", &format!("{words:?}")));
            assert_eq!(code, 0, "{words:?}: {out}");
            assert!(
                out.ends_with(&format!(" s  updated: {uri}\n")),
                "{words:?}: {out}"
            );
        }
    }
    let child = watch(&place, &["-n", "1", "notes"]);
    let (code, out) = end_after(child, || {
        let new = place.path("notes/new.md");
        if std::fs::remove_file(&new).is_err() {
            place.write("notes/new.md", "new");
        }
    });
    assert!(
        out.ends_with(" s  resources: the list has changed\n"),
        "{out}"
    );
    assert_eq!(code, 0);
}

// req: S-CHANGES
#[test]
fn a_watch_ends() {
    let place = Place::new();
    let (code, out, _) = run(&place, &["watch", "demo", "--for", "1"]);
    assert_eq!((code, &*out), (0, ""));
    let child = watch(&place, &["notes"]);
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    assert_eq!(end(child), (130, String::new()));
    let uri = "file:///nothing";
    for era in ["modern", "legacy"] {
        let (code, out, err) = run(&place, &["watch", "--era", era, "notes", uri]);
        assert_eq!((code, &*out), (5, ""), "{era}: {err}");
        assert!(err.contains(uri), "{err}");
    }
}

/// One that was never reached was not watched, whatever ends the waiting.
// req: S-CHANGES
#[test]
fn a_server_that_is_not_reached_in_time_is_not_watched() {
    let place = Place::new();
    for (times, longer) in [
        (&["--for", "0.2"][..], "--for SECONDS watches longer"),
        (&["--timeout", "0.2"], "--timeout SECONDS waits longer"),
        (
            &["--for", "0.2", "--timeout", "9"],
            "--for SECONDS watches longer",
        ),
        (
            &["--for", "9", "--timeout", "0.2"],
            "--timeout SECONDS waits longer",
        ),
    ] {
        let words = [&["watch"], times, &["--", "sleep", "20"]].concat();
        let (code, out, err) = run(&place, &words);
        assert_eq!((code, &*out), (7, ""), "{words:?}: {err}");
        assert!(err.contains("no answer after 0.2 s"), "{words:?}: {err}");
        assert!(err.contains(longer), "{words:?}: {err}");
    }
}

/// A server of the modern era that says that it tells of nothing is not asked to.
// req: S-DECLARED
#[test]
fn what_a_server_does_not_tell_is_not_watched() {
    let place = Place::new();
    for offered in [
        json!({}),
        json!({"tools": {"listChanged": false}, "resources": {"listChanged": false, "subscribe": false}}),
    ] {
        let port = answering(move |body| {
            let asked: Value = serde_json::from_slice(body).unwrap_or_default();
            let mut said = json!({"jsonrpc": "2.0", "id": asked["id"]});
            match asked["method"].as_str() {
                Some("server/discover") => {
                    said["result"] = json!({"resultType": "complete", "supportedVersions": [Revision::LATEST.name()],
                        "capabilities": offered, "ttlMs": 0, "cacheScope": "private"});
                }
                _ => said["error"] = json!({"code": -32601, "message": "Method not found"}),
            }
            let text = said.to_string();
            let length = text.len();
            format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
            )
        });
        let url = format!("http://127.0.0.1:{port}/mcp");
        for (uris, what) in [(&["x://a"][..], "x://a"), (&[], "anything")] {
            let words = [&["watch", "--era", "modern", "--frames", &url], uris].concat();
            let (code, out, err) = run(&place, &words);
            assert_eq!((code, &*out), (5, ""), "{err}");
            let want = format!("error: {url} does not tell of changes of {what}\n");
            assert!(err.contains(&want), "{err}");
            assert!(!err.contains("subscriptions/listen"), "{err}");
        }
    }
}

/// A server of the legacy era that logs, and ends.
const LOGGING: &str = r#"
    read opening; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"logging":{},"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}}'
    read initialized
    read level; echo '{"jsonrpc":"2.0","id":2,"result":{}}'
    echo '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug","data":"quiet"}}'
    echo '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","logger":"l","data":"lo\u001bud"}}'
    echo '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"alert","data":{"n":1}}}'
    echo '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
"#;

// req: S-CHANGES
#[test]
fn logs_are_watched() {
    let place = Place::new();
    let words = |option: &'static str| {
        [
            "watch", option, "--level", "warning", "--era", "legacy", "--", "sh", "-c", LOGGING,
        ]
    };
    let (code, out, err) = run(&place, &words("-n=9"));
    let lines: Vec<&str> = out
        .lines()
        .map(|line| line.split_once(" s  ").unwrap().1)
        .collect();
    assert_eq!(
        lines,
        [
            "error [l]: lo\u{fffd}ud",
            "alert: {\"n\":1}",
            "tools: the list has changed"
        ]
    );
    // It ended, and so did the watch.
    assert_eq!(code, 4, "{err}");
    let (code, out, err) = run(&place, &words("--json"));
    let messages: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(messages.len(), 3);
    assert_eq!(messages[0]["params"]["data"], "lo\u{1b}ud");
    let said: Value = serde_json::from_str(&err).unwrap();
    assert_eq!((code, &said["error"]["code"]), (4, &"unreachable".into()));
}

/// A server that stands at one port, until it is dropped.
pub(crate) struct Standing(Child);

impl Standing {
    pub(crate) fn at(place: &Place, port: u16) -> Self {
        let listen = format!("127.0.0.1:{port}");
        let mut command = place.command(["serve", "demo", "--listen", &listen, "--drain", "1"]);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains("http://") {
            assert_ne!(errors.read_line(&mut said).unwrap(), 0, "{said}");
        }
        thread::spawn(move || errors.read_to_string(&mut String::new()));
        Self(child)
    }

    fn end(mut self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.0.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Reads what is said until it is this.
fn hears(errors: &mut impl BufRead, what: &str) -> String {
    let mut said = String::new();
    while !said.contains(what) {
        assert_ne!(errors.read_line(&mut said).unwrap(), 0, "{what}: {said}");
    }
    said
}

/// A server at an address that is there again is watched again, however it went, in every transport that has a stream.
// req: S-CHANGES
#[test]
fn a_server_that_comes_back_is_watched_again() {
    let place = Place::new();
    let port = free_port();
    let uri = "demo://counter";
    for (address, era) in [
        (format!("ws://127.0.0.1:{port}/ws"), "modern"),
        (format!("ws://127.0.0.1:{port}/ws"), "legacy"),
        (format!("http://127.0.0.1:{port}/sse"), "legacy"),
        (format!("http://127.0.0.1:{port}/mcp"), "modern"),
        (format!("http://127.0.0.1:{port}/mcp"), "legacy"),
    ] {
        for signal in [Signal::KILL, Signal::TERM] {
            let server = Standing::at(&place, port);
            let words = ["watch", "-n", "1", "--era", era, &address, uri];
            let mut watch = place.command(words);
            let mut watch = watch.stderr(Stdio::piped()).spawn().unwrap();
            let mut errors = BufReader::new(watch.stderr.take().unwrap());
            hears(&mut errors, "note: watching ");
            server.end(signal);
            let _server = Standing::at(&place, port);
            hears(&mut errors, "what happened meanwhile is not known");
            let (code, _, err) = run(&place, &["call", &format!(":{port}"), "tick"]);
            assert_eq!(code, 0, "{err}");
            let (code, out) = end(watch);
            assert_eq!(code, 0, "{address} {era}");
            assert!(out.ends_with(" s  updated: demo://counter\n"), "{out}");
        }
    }
}

/// A session over HTTP outlives its stream; that nobody is there any more is found out all the same.
// req: S-CHANGES
#[test]
fn a_legacy_server_that_stays_away_is_missed() {
    let place = Place::new();
    let port = free_port();
    let server = Standing::at(&place, port);
    let address = format!("http://127.0.0.1:{port}/mcp");
    let mut watch = place.command(["watch", "--era", "legacy", &address]);
    let mut watch = watch.stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = BufReader::new(watch.stderr.take().unwrap());
    hears(&mut errors, "note: watching ");
    server.end(Signal::KILL);
    hears(&mut errors, "trying again in 1 s");
    watch.kill().unwrap();
    watch.wait().unwrap();
}

/// One that does not come back is given up, and a program that has ended is not started again.
// req: S-CHANGES
#[test]
fn a_server_that_stays_away_is_given_up() {
    let place = Place::new();
    let port = free_port();
    let server = Standing::at(&place, port);
    let address = format!("ws://127.0.0.1:{port}/ws");
    let mut watch = place.command(["watch", &address, "--for", "4"]);
    let mut watch = watch.stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = BufReader::new(watch.stderr.take().unwrap());
    hears(&mut errors, "note: watching ");
    server.end(Signal::KILL);
    let said = hears(&mut errors, "trying again in 2 s");
    assert!(said.contains("trying again in 1 s"), "{said}");
    assert_eq!(end(watch), (0, String::new()));
}

pub(crate) fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// A server of either era that says that it tells of nothing is not waited for.
// req: S-CHANGES
#[test]
fn what_tells_of_nothing_is_not_watched() {
    for era in ["legacy", "modern"] {
        let port = answering(move |body| {
            let asked: Value = serde_json::from_slice(body).unwrap_or_default();
            let result = match asked["method"].as_str() {
                Some("initialize") => {
                    json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}, "resources": {}}, "serverInfo": {"name": "s", "version": "1"}})
                }
                Some("server/discover") => {
                    json!({"supportedVersions": [Revision::LATEST.name()], "capabilities": {"tools": {}}, "resultType": "complete",
                        "ttlMs": 0, "cacheScope": "private"})
                }
                _ => {
                    return "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                        .to_owned();
                }
            };
            let text = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string();
            format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
                text.len()
            )
        });
        let url = format!("http://127.0.0.1:{port}/mcp");
        for form in [&[][..], &["--json"]] {
            let words = [&["watch", "--era", era], form, &[&*url]].concat();
            let (code, out, err) = run(&Place::new(), &words);
            assert_eq!((code, &*out), (5, ""), "{words:?}: {err}");
            let why = "does not tell of changes of anything";
            assert!(err.contains(why), "{words:?}: {err}");
        }
    }
}
