//! `bench-floor [--era modern|legacy] SECONDS URL` or `… SECONDS -- COMMAND…`: the least that `bench-client` could do. The same calls one
//! after the other, as bytes made beforehand; answers are looked at, not parsed. At least one call; prints how many they were.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "its output is its purpose"
)]

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

type Failed = Box<dyn Error>;

const OPENING: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"floor","version":"1.0.0"}}}"#;
const OPENED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const META: &str = r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"floor","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{}}"#;
const MODERN: &str =
    "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n";
const USAGE: &str = "usage: bench-floor [--era modern|legacy] SECONDS (URL | -- COMMAND…)";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(calls) => {
            println!("{{\"calls\":{calls}}}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("bench-floor: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[String]) -> Result<u64, Failed> {
    let (is_modern, words) = match words {
        [flag, era, rest @ ..] if flag == "--era" => (era == "modern", rest),
        all => (true, all),
    };
    let (seconds, rest) = words.split_first().ok_or(USAGE)?;
    let length = Duration::from_secs_f64(seconds.parse()?);
    match rest {
        [dashes, program, arguments @ ..] if dashes == "--" => {
            lines(program, arguments, is_modern, length)
        }
        [url] => {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(requests(url, is_modern, length))
        }
        _ => Err(USAGE.into()),
    }
}

fn call(is_modern: bool) -> String {
    let (text, meta) = ("abcdefghij".repeat(10), if is_modern { META } else { "" });
    format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"{text}"}}{meta}}}}}"#
    )
}

fn is_answer(bytes: &[u8]) -> bool {
    bytes.len() > 100
        && bytes
            .windows(20)
            .any(|some| some == b"abcdefghijabcdefghij")
}

fn lines(
    program: &str,
    arguments: &[String],
    is_modern: bool,
    length: Duration,
) -> Result<u64, Failed> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("the child has no pipes".into());
    };
    let mut output = BufReader::with_capacity(1 << 17, output);
    let mut line = Vec::new();
    if !is_modern {
        writeln!(input, "{OPENING}")?;
        output.read_until(b'\n', &mut line)?;
        writeln!(input, "{OPENED}")?;
    }
    let call = call(is_modern) + "\n";
    let begun = Instant::now();
    let mut calls = 0;
    while calls == 0 || begun.elapsed() < length {
        input.write_all(call.as_bytes())?;
        line.clear();
        output.read_until(b'\n', &mut line)?;
        if !is_answer(&line) {
            return Err("echo does not answer".into());
        }
        calls += 1;
    }
    drop(input);
    child.wait()?;
    Ok(calls)
}

async fn requests(url: &str, is_modern: bool, length: Duration) -> Result<u64, Failed> {
    let rest = url.strip_prefix("http://").ok_or(USAGE)?;
    let (host, path) = rest.split_once('/').ok_or(USAGE)?;
    let mut stream = TcpStream::connect(host).await?;
    stream.set_nodelay(true)?;
    let post = |head: &str, body: &str| {
        format!(
            "POST /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n{head}Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let mut buffer = Vec::with_capacity(1 << 17);
    let mut head = MODERN.to_owned();
    if !is_modern {
        let opened = exchange(&mut stream, &post("", OPENING), &mut buffer).await?;
        let opened = String::from_utf8_lossy(&buffer[..opened]).into_owned();
        let session = header(&opened, "mcp-session-id").ok_or("there is no session")?;
        head = format!("MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: {session}\r\n");
        exchange(&mut stream, &post(&head, OPENED), &mut buffer).await?;
    }
    let request = post(&head, &call(is_modern));
    let begun = Instant::now();
    let mut calls = 0;
    while calls == 0 || begun.elapsed() < length {
        let body = exchange(&mut stream, &request, &mut buffer).await?;
        if !is_answer(&buffer[body..]) {
            return Err("echo does not answer".into());
        }
        calls += 1;
    }
    Ok(calls)
}

/// Sends a request and reads the answer; gives back where its body begins.
async fn exchange(
    stream: &mut TcpStream,
    request: &str,
    buffer: &mut Vec<u8>,
) -> Result<usize, Failed> {
    buffer.clear();
    stream.write_all(request.as_bytes()).await?;
    let end = loop {
        if let Some(at) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(buffer).await? == 0 {
            return Err("the server has closed the connection".into());
        }
    };
    let head = std::str::from_utf8(&buffer[..end])?;
    let length: usize = match header(head, "content-length") {
        Some(length) => length.parse()?,
        None => 0,
    };
    while buffer.len() < end + length {
        if stream.read_buf(buffer).await? == 0 {
            return Err("the server has closed the connection".into());
        }
    }
    Ok(end)
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let named = |line: &'a str| {
        let (known, value) = line.split_once(':')?;
        known.eq_ignore_ascii_case(name).then_some(value.trim())
    };
    head.split("\r\n").find_map(named)
}
