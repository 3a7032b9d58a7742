//! Serving over HTTP: that what the block promises can be reached, and what is refused.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use polyport_testkit::Program;
use polyport_testkit::program::PATIENCE;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::Place;

const CALL: &str = "MCP-Protocol-Version: 2025-06-18\r\n";

/// The program over HTTP, and its host and path.
pub(crate) fn listen(place: &Place, words: &[&str]) -> (Program, String, String) {
    let mut program = place.listener(words, Stdio::null());
    let said = program.until_said("\"url\":");
    let (_, rest) = said.split_once("  http    http://").unwrap();
    let url = rest.split_whitespace().next().unwrap();
    let (host, path) = url.split_once('/').unwrap_or((url, ""));
    (program, host.to_owned(), format!("/{path}"))
}

/// A request that is sent and not waited for.
pub(crate) fn begin(host: &str, path: &str, headers: &str, message: &Value) -> TcpStream {
    let address = host.replace("localhost", "127.0.0.1");
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let body = message.to_string();
    let named = if headers.contains("Host:") {
        String::new()
    } else {
        format!("Host: {host}\r\n")
    };
    let head = format!(
        "POST {path} HTTP/1.1\r\n{named}Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    stream
}

/// Its status and all the rest.
pub(crate) fn end(mut stream: TcpStream) -> (u16, String) {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let status = text
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    (status.unwrap_or(0), text)
}

pub(crate) fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}
    }})
}

fn call(tool: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

/// A legacy session: the header that names it.
fn session(host: &str, path: &str) -> String {
    let (status, text) = end(begin(host, path, "", &initialize()));
    assert_eq!(status, 200, "{text}");
    let line = text
        .lines()
        .find(|line| line.to_ascii_lowercase().starts_with("mcp-session-id:"));
    format!("{CALL}{}\r\n", line.unwrap_or_else(|| panic!("{text}")))
}

#[test]
fn a_folder_is_reached() {
    let place = Place::new();
    let (mut program, host, path) =
        listen(&place, &["notes", "--listen", "0", "--path", "deep/mcp"]);
    assert_eq!(path, "/deep/mcp");
    let session = session(&host, &path);
    let (status, text) = end(begin(
        &host,
        &path,
        &session,
        &call("read_text_file", json!({"path": "a.md"})),
    ));
    assert_eq!(status, 200, "{text}");
    assert!(text.contains("alpha"), "{text}");
    let (status, _) = end(begin(&host, "/mcp", "", &initialize()));
    assert_eq!(status, 404);
    program.signal(Signal::INT);
    assert_eq!(program.end(), (Vec::new(), Some(0)));
}

#[test]
fn without_sessions_each_request_stands_alone() {
    let place = Place::new();
    let (_program, host, path) = listen(&place, &["notes", "--listen", "0", "--sessions", "off"]);
    let (status, text) = end(begin(&host, &path, "", &initialize()));
    assert_eq!(status, 200);
    assert!(
        !text.to_ascii_lowercase().contains("mcp-session-id"),
        "{text}"
    );
    let (status, text) = end(begin(
        &host,
        &path,
        CALL,
        &call("get_file_info", json!({"path": "a.md"})),
    ));
    assert_eq!(status, 200, "{text}");
}

/// Opens the event stream of an older client; the target that it is given.
fn open_sse(host: &str, path: &str) -> (TcpStream, u16, String) {
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept: text/event-stream\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let (status, said) = until(&mut stream, "\r\n\r\n");
    let said = if status == 200 && !said.contains("data: ") {
        until(&mut stream, "\n\n").1
    } else {
        said
    };
    let target = said.split_once("data: ").map_or("", |(_, rest)| rest);
    let target = target.lines().next().unwrap_or_default().to_owned();
    (stream, status, target)
}

/// Reads until something stands there; the status, if it began with one, and what was read.
fn until(stream: &mut TcpStream, end: &str) -> (u16, String) {
    let mut bytes = Vec::new();
    while !String::from_utf8_lossy(&bytes).contains(end) {
        let mut more = [0; 1_024];
        let n = stream.read(&mut more).unwrap();
        assert!(n > 0, "{bytes:?}");
        bytes.extend_from_slice(&more[..n]);
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let status = text.split(' ').nth(1).and_then(|s| s.parse().ok());
    (status.unwrap_or(0), text)
}

// req: D-18
#[test]
fn older_clients_find_their_transport() {
    let place = Place::new();
    for (words, stream, messages) in [
        (&["notes", "--listen", "0"][..], "/sse", "messages?"),
        (
            &[
                "notes",
                "--listen",
                "0",
                "--sse",
                "a/b",
                "--messages-path",
                "/a/c",
            ],
            "/a/b",
            "c?",
        ),
    ] {
        let (_program, host, _) = listen(&place, words);
        let (mut sse, status, target) = open_sse(&host, stream);
        assert_eq!(status, 200);
        assert!(target.starts_with(messages), "{target}");
        let folder = stream.rsplit_once('/').unwrap().0;
        let (status, text) = end(begin(
            &host,
            &format!("{folder}/{target}"),
            "",
            &initialize(),
        ));
        assert_eq!(status, 202, "{text}");
        let (_, answer) = until(&mut sse, "\n\n");
        assert!(answer.contains("serverInfo"), "{answer}");
    }
    for off in ["--sse", "--sessions"] {
        let (_program, host, _) = listen(&place, &["notes", "--listen", "0", off, "off"]);
        assert_eq!(open_sse(&host, "/sse").1, 404, "{off}");
    }
}

#[test]
fn only_named_hosts_and_origins_are_answered() {
    let place = Place::new();
    let words = [
        "notes",
        "--listen",
        "0",
        "--allow-host",
        "box.example",
        "--allow-origin",
        "https://app.example",
    ];
    let (_program, host, path) = listen(&place, &words);
    for (headers, want) in [
        ("Host: box.example\r\n", 200),
        ("Host: box.example:80\r\n", 200),
        ("Host: evil.example\r\n", 403),
        ("Origin: https://app.example\r\n", 200),
        ("Origin: https://evil.example\r\n", 403),
    ] {
        let (status, text) = end(begin(&host, &path, headers, &initialize()));
        assert_eq!(status, want, "{headers}{text}");
        // A page of that origin may read the answer; nobody else is told so.
        let told = text.contains("access-control-allow-origin: https://app.example\r\n");
        assert_eq!(told, headers.contains("//app.example"), "{headers}{text}");
    }
}

/// Another loopback address than the usual one can be named, and is then answered to.
#[test]
fn the_named_address_is_answered() {
    let place = Place::new();
    let (_program, host, path) = listen(&place, &["notes", "--listen", "127.0.0.2:0"]);
    assert!(host.starts_with("127.0.0.2:"), "{host}");
    let (status, text) = end(begin(&host, &path, "", &initialize()));
    assert_eq!(status, 200, "{text}");
}

/// A call that is known to run: the first bytes of its stream are here.
fn counting(host: &str, path: &str, session: &str, to: u32) -> TcpStream {
    let mut message = call("count", json!({"to": to, "delay_ms": 50}));
    message["params"]["_meta"] = json!({"progressToken": 1});
    let mut stream = begin(host, path, session, &message);
    stream.read_exact(&mut [0; 12]).unwrap();
    stream
}

#[test]
fn a_running_call_is_answered_after_the_signal() {
    let place = Place::new();
    let (mut program, host, path) = listen(&place, &["demo", "--listen", "0"]);
    let session = session(&host, &path);
    // A connection that nobody uses keeps nothing up.
    let _idle = TcpStream::connect(&host).unwrap();
    let counting = counting(&host, &path, &session, 10);
    program.signal(Signal::TERM);
    let (_, text) = end(counting);
    assert!(text.contains("counted to 10"), "{text}");
    assert_eq!(program.end(), (Vec::new(), Some(0)));
}

#[test]
fn a_call_that_does_not_end_is_cut_off() {
    let place = Place::new();
    let (mut program, host, path) = listen(&place, &["demo", "--listen", "0", "--drain", "1"]);
    let session = session(&host, &path);
    let counting = counting(&host, &path, &session, 1000);
    program.signal(Signal::TERM);
    assert_eq!(program.end(), (Vec::new(), Some(1)));
    let said = program.stderr();
    assert!(
        said.ends_with("error: 1 call did not end within 1 s and was cut off\n"),
        "{said}"
    );
    let (_, text) = end(counting);
    assert!(!text.contains("counted to"), "{text}");
}
