//! The examples over HTTP: where they listen, and the one that is part of a larger application.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};

use polyport::Revision;
use polyport_testkit::Program;
use polyport_testkit::program::PATIENCE;
use rustix::process::Signal;

/// A program without input whose output is nothing to read.
fn start(program: &str, words: &[&str]) -> Program {
    let mut command = Command::new(program);
    command
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    Program::spawn(&mut command, Revision::LATEST, |_| {
        Box::new(std::io::empty())
    })
}

fn mounted() -> (Program, SocketAddr) {
    let mut program = start(env!("CARGO_BIN_EXE_mounted"), &["0"]);
    let said = program.until_said("/mcp\n");
    let address = said.trim().strip_prefix("http://").unwrap();
    let address = address.strip_suffix("/mcp").unwrap().parse().unwrap();
    (program, address)
}

fn connect(address: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    stream
}

/// What comes until the server closes.
fn rest(mut stream: TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

fn ask(address: SocketAddr, line: &str, headers: &str, body: &str) -> String {
    let text = format!(
        "{line} HTTP/1.1\r\n{headers}Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    rest(connect(address, &text))
}

const HERE: &str = "Host: localhost\r\n";
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}"#;

// req: D-34
#[test]
fn d_34_an_application_has_it_beside_its_own_pages() {
    let (mut program, address) = mounted();
    let foreign = "Host: evil.test\r\n";
    let page =
        format!("{HERE}Origin: https://app.example\r\nAccess-Control-Request-Method: POST\r\n");
    for (line, headers, status, says) in [
        ("GET /health", HERE, "200", "well"),
        // The application's own pages are its own business; the server's guard is the server's.
        ("GET /health", foreign, "200", "well"),
        ("POST /mcp", HERE, "200", "serverInfo"),
        ("POST /mcp", foreign, "403", "Host"),
        ("POST /other", HERE, "404", ""),
        (
            "POST /mcp",
            &format!("{HERE}Origin: https://app.example\r\n"),
            "200",
            "access-control-allow-origin: https://app.example",
        ),
        (
            "POST /mcp",
            &format!("{HERE}Origin: https://evil.example\r\n"),
            "403",
            "Origin",
        ),
        (
            "OPTIONS /mcp",
            &page,
            "204",
            "access-control-allow-origin: https://app.example",
        ),
    ] {
        let got = ask(address, line, headers, INITIALIZE);
        assert_eq!(
            got.split(' ').nth(1),
            Some(status),
            "{line} {headers}: {got}"
        );
        assert!(got.contains(says), "{line}: {got}");
    }
    let add = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":20,"b":22},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let headers = format!(
        "{HERE}MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: add\r\n"
    );
    assert!(ask(address, "POST /mcp", &headers, add).contains("42"));
    // A client that only listens does not keep the application from ending.
    let opened = ask(address, "POST /mcp", HERE, INITIALIZE);
    let session = opened
        .lines()
        .find(|line| line.starts_with("mcp-session-id"));
    let listen = format!(
        "GET /mcp HTTP/1.1\r\n{HERE}Accept: text/event-stream\r\n{}\r\n\r\n",
        session.unwrap()
    );
    let mut stream = connect(address, &listen);
    let mut begun = [0; 15];
    stream.read_exact(&mut begun).unwrap();
    assert_eq!(&begun, b"HTTP/1.1 200 OK");
    program.signal(Signal::TERM);
    assert!(rest(stream).ends_with("0\r\n\r\n"));
    assert_eq!(program.end(), (Vec::new(), Some(0)));
}

// req: V-105B
#[test]
fn v_105b_examples_listen_on_loopback_or_nowhere() {
    let (program, address) = mounted();
    assert_eq!(program.listening(), [address]);
    assert!(address.ip().is_loopback());
    let mut weather = start(env!("CARGO_BIN_EXE_weather"), &["127.0.0.1:0"]);
    while weather.listening().is_empty() {
        std::thread::yield_now();
    }
    assert!(weather.listening().iter().all(|at| at.ip().is_loopback()));
    weather.signal(Signal::TERM);
    assert_eq!(weather.end().1, Some(0));
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let mut program = start(env!("CARGO_BIN_EXE_weather"), &[address]);
        assert_eq!(program.end().1, Some(1), "{address}");
        let said = program.stderr();
        assert!(said.contains("nothing checks who asks"), "{said}");
    }
    for binary in [
        env!("CARGO_BIN_EXE_weather"),
        env!("CARGO_BIN_EXE_library"),
        env!("CARGO_BIN_EXE_factory"),
        env!("CARGO_BIN_EXE_inventory"),
        env!("CARGO_BIN_EXE_noisy"),
    ] {
        // Once it has answered, it has opened what it opens.
        let program = Program::start(&mut Command::new(binary));
        assert_eq!(program.listening(), [], "{binary}");
    }
}
