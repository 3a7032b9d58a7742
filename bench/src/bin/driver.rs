//! `bench-driver [--era modern|legacy] SECONDS URL` or `… SECONDS -- COMMAND…`: the calls of `bench-client`, one after the other, as a driver
//! of loads makes them: as bytes made beforehand, each within a time, the head of each answer read, its body taken out and looked at but
//! not parsed, and the time of each noted. At least one call; prints how many they were.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "its output is its purpose"
)]

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use memchr::memmem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

type Failed = Box<dyn Error>;

const OPENING: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"driver","version":"1.0.0"}}}"#;
const OPENED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const META: &str = r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"driver","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{}}"#;
const MODERN: &str =
    "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n";
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(15);
const USAGE: &str = "usage: bench-driver [--era modern|legacy] SECONDS (URL | -- COMMAND…)";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(calls) => {
            println!("{{\"calls\":{calls}}}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("bench-driver: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[String]) -> Result<usize, Failed> {
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
    let text = "abcdefghij".repeat(10);
    bytes.len() >= text.len() + 40 && memmem::find(bytes, text.as_bytes()).is_some()
}

fn lines(
    program: &str,
    arguments: &[String],
    is_modern: bool,
    length: Duration,
) -> Result<usize, Failed> {
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
    let (begun, mut times) = (Instant::now(), Vec::new());
    while times.is_empty() || begun.elapsed() < length {
        let asked = Instant::now();
        input.write_all(call.as_bytes())?;
        line.clear();
        output.read_until(b'\n', &mut line)?;
        times.push(asked.elapsed());
        if !is_answer(&line) {
            return Err("echo does not answer".into());
        }
    }
    drop(input);
    child.wait()?;
    Ok(times.len())
}

async fn requests(url: &str, is_modern: bool, length: Duration) -> Result<usize, Failed> {
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
        let opened = answered(&mut stream, &post("", OPENING), &mut buffer).await?;
        let session = header(&opened.head, "mcp-session-id").ok_or("there is no session")?;
        head = format!("MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: {session}\r\n");
        answered(&mut stream, &post(&head, OPENED), &mut buffer).await?;
    }
    let request = post(&head, &call(is_modern));
    let (begun, mut times) = (Instant::now(), Vec::new());
    while times.is_empty() || begun.elapsed() < length {
        let asked = Instant::now();
        let answer = answered(&mut stream, &request, &mut buffer).await?;
        times.push(asked.elapsed());
        if answer.status != 200 || !is_answer(&answer.body) {
            return Err("echo does not answer".into());
        }
    }
    Ok(times.len())
}

struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

async fn answered(
    stream: &mut TcpStream,
    request: &str,
    buffer: &mut Vec<u8>,
) -> Result<Answer, Failed> {
    tokio::time::timeout(PATIENCE, exchange(stream, request, buffer)).await?
}

/// Sends a request and reads the answer.
async fn exchange(
    stream: &mut TcpStream,
    request: &str,
    buffer: &mut Vec<u8>,
) -> Result<Answer, Failed> {
    let closed = || Failed::from("the server has closed the connection");
    buffer.clear();
    stream.write_all(request.as_bytes()).await?;
    let end = loop {
        if let Some(at) = memmem::find(buffer, b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(buffer).await? == 0 {
            return Err(closed());
        }
    };
    let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    let [length, coding, connection] =
        ["content-length", "transfer-encoding", "connection"].map(|name| header(&head, name));
    if coding.is_some() || connection.is_some_and(|it| it.eq_ignore_ascii_case("close")) {
        return Err("the answer is not of the kind that is measured".into());
    }
    let length: usize = length.map_or(Ok(0), str::parse)?;
    while buffer.len() < end + length {
        if stream.read_buf(buffer).await? == 0 {
            return Err(closed());
        }
    }
    Ok(Answer {
        status: status.unwrap_or_default(),
        body: buffer[end..end + length].to_vec(),
        head,
    })
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let named = |line: &'a str| {
        let (known, value) = line.split_once(':')?;
        known.eq_ignore_ascii_case(name).then_some(value.trim())
    };
    head.split("\r\n").find_map(named)
}
