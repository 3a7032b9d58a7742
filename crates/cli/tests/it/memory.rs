//! What the program holds of input that has no end: no more than a small multiple of its limit, and others are served.

use std::io::{Read, Write};
use std::net::TcpStream;

use polyport_testkit::program::PATIENCE;
use serde_json::json;

use crate::support::Place;
use crate::web::{begin, end, initialize, listen};

/// `Limits::message_bytes`.
const LIMIT: usize = 16 << 20;

// req: V-401
#[test]
fn v_401_an_endless_body_takes_little_memory() {
    let place = Place::new();
    let (program, host, path) = listen(&place, &["demo", "--listen", "0"]);
    let (status, _) = end(begin(&host, &path, "", &initialize()));
    assert_eq!(status, 200);
    let before = program.peak_memory();
    let plain = format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nAccept: application/json\r\n"
    );
    // What is promised costs nothing.
    let promise = format!("{plain}Content-Length: 5368709120\r\n\r\n{{");
    let mut promised = TcpStream::connect(&host).unwrap();
    promised.set_read_timeout(Some(PATIENCE)).unwrap();
    promised.write_all(promise.as_bytes()).unwrap();
    assert!(end(promised).1.starts_with("HTTP/1.1 413"));
    // What has no end is taken up to the limit, and another client is served in the midst of it.
    let mut endless = TcpStream::connect(&host).unwrap();
    endless.set_write_timeout(Some(PATIENCE)).unwrap();
    endless.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!("{plain}Transfer-Encoding: chunked\r\n\r\n");
    endless.write_all(head.as_bytes()).unwrap();
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(1 << 16));
    let mut sent = 0;
    while sent < 4 * LIMIT && endless.write_all(chunk.as_bytes()).is_ok() {
        sent += 1 << 16;
        if sent == LIMIT / 2 {
            let (status, _) = end(begin(&host, &path, "", &initialize()));
            assert_eq!(status, 200);
        }
    }
    assert!(sent < 4 * LIMIT, "{sent} bytes were taken");
    let mut answer = [0; 12];
    // The answer may be lost to what was still under way.
    if endless.read_exact(&mut answer).is_ok() {
        assert_eq!(&answer, b"HTTP/1.1 413");
    }
    let more = program.peak_memory() - before;
    assert!(more < 2 * LIMIT, "{more} bytes more");
    let (status, _) = end(begin(&host, &path, "", &initialize()));
    assert_eq!(status, 200);
}

// req: V-405
#[test]
fn v_405_an_endless_line_takes_little_memory() {
    let place = Place::new();
    let mut program = place.host(&["demo"]);
    let before = program.peak_memory();
    program.send_bytes(&vec![b'x'; 4 * LIMIT]);
    let told = program.answer();
    let message = told["error"]["message"].as_str().unwrap();
    assert!(message.contains(&LIMIT.to_string()), "{told}");
    assert_eq!(program.ask("ping", json!({})), json!({}));
    let more = program.peak_memory() - before;
    assert!(more < 2 * LIMIT, "{more} bytes more");
}
