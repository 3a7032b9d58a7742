//! The smallest MCP client there is: opens a legacy session over stdio or HTTP and lists the tools. For checks from outside only.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Every revision of the legacy era that this client needs is the same for these two requests.
const REVISION: &str = "2025-06-18";

/// One answer may take this long once the server runs.
const ANSWER: Duration = Duration::from_secs(20);

/// Lines of a pipe, read on a thread so that waiting for one can be bounded. Lines that nobody asks for are few: a server
/// that says more than this before it answers is stopped by its full pipe, and the wait for it ends.
const AHEAD: usize = 1024;

fn lines(pipe: ChildStdout) -> Receiver<String> {
    let (sender, lines) = mpsc::sync_channel(AHEAD);
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// Names of the tools of a server on these pipes. The first answer may take `start`: it may have to be compiled first.
pub(crate) fn over_stdio(
    stdin: &mut ChildStdin,
    stdout: ChildStdout,
    start: Duration,
) -> Result<Vec<String>, String> {
    let lines = lines(stdout);
    let mut send = |message: &Value| {
        writeln!(stdin, "{message}").map_err(|error| format!("the server takes no input: {error}"))
    };
    let answer = |id: u64, limit: Duration| {
        let until = Instant::now() + limit;
        let mut strays = Vec::new();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(line) = lines.recv_timeout(left) else {
                return Err(format!("no answer on stdout; other lines: {strays:?}"));
            };
            match answer_to(id, &line) {
                Some(answer) => return Ok(answer),
                None => strays.push(line),
            }
        }
    };
    send(&initialize())?;
    check_opening(&answer(1, start)?)?;
    send(&initialized())?;
    send(&list_tools())?;
    tool_names(&answer(2, ANSWER)?)
}

/// Names of the tools of the server at `http://HOST:PORT/PATH`.
pub(crate) fn over_http(url: &str) -> Result<Vec<String>, String> {
    let opening = post(url, None, &initialize())?;
    let session = opening.session.clone();
    check_opening(&opening.answer(1)?)?;
    post(url, session.as_deref(), &initialized())?;
    tool_names(&post(url, session.as_deref(), &list_tools())?.answer(2)?)
}

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": REVISION,
        "capabilities": {},
        "clientInfo": {"name": "xtask", "version": "0"},
    }})
}

fn initialized() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
}

fn list_tools() -> Value {
    json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
}

fn answer_to(id: u64, line: &str) -> Option<Value> {
    let message: Value = serde_json::from_str(line).ok()?;
    let is_answer = message.get("result").is_some() || message.get("error").is_some();
    (message["id"] == id && is_answer).then_some(message)
}

fn check_opening(answer: &Value) -> Result<(), String> {
    let revision = answer["result"]["protocolVersion"].as_str();
    if revision == Some(REVISION) {
        Ok(())
    } else {
        Err(format!("initialize was answered with {answer}"))
    }
}

fn tool_names(answer: &Value) -> Result<Vec<String>, String> {
    let tools = answer["result"]["tools"].as_array();
    let tools = tools.ok_or_else(|| format!("tools/list was answered with {answer}"))?;
    let names = tools.iter().filter_map(|tool| tool["name"].as_str());
    Ok(names.map(str::to_owned).collect())
}

/// An HTTP answer, as far as this client reads it.
#[derive(Debug)]
struct Reply {
    head: String,
    body: String,
    session: Option<String>,
}

impl Reply {
    /// The answer with this id, from a JSON body or from the `data:` lines of a stream.
    fn answer(&self, id: u64) -> Result<Value, String> {
        self.body
            .lines()
            .map(|line| line.strip_prefix("data:").unwrap_or(line))
            .find_map(|line| answer_to(id, line))
            .ok_or_else(|| format!("no answer in\n{}\n\n{}", self.head, self.body))
    }
}

/// One POST on a connection of its own, read to its end.
fn post(url: &str, session: Option<&str>, message: &Value) -> Result<Reply, String> {
    let rest = url
        .strip_prefix("http://")
        .ok_or_else(|| format!("not an http URL: {url}"))?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let body = message.to_string();
    let mut head = format!(
        "POST /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: {REVISION}\r\nContent-Length: {}\r\nConnection: close\r\n",
        body.len()
    );
    if let Some(session) = session {
        head += &format!("Mcp-Session-Id: {session}\r\n");
    }
    let fault = |error: std::io::Error| format!("POST {url}: {error}");
    let mut stream = TcpStream::connect(host).map_err(fault)?;
    stream.set_read_timeout(Some(ANSWER)).map_err(fault)?;
    stream
        .write_all(format!("{head}\r\n{body}").as_bytes())
        .map_err(fault)?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).map_err(fault)?;
    parse(&String::from_utf8_lossy(&bytes))
}

fn parse(text: &str) -> Result<Reply, String> {
    let (head, body) = text
        .split_once("\r\n\r\n")
        .ok_or_else(|| format!("not an HTTP answer: {text}"))?;
    let status = head.split(' ').nth(1).unwrap_or_default();
    if !status.starts_with('2') {
        return Err(format!("HTTP status {status}\n{text}"));
    }
    let header = |wanted: &str| {
        head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case(wanted)
                .then(|| value.trim().to_owned())
        })
    };
    let is_chunked = header("transfer-encoding").is_some_and(|value| value == "chunked");
    Ok(Reply {
        session: header("mcp-session-id"),
        head: head.to_owned(),
        body: if is_chunked {
            joined(body)
        } else {
            body.to_owned()
        },
    })
}

/// The text of a chunked body. Cut short, it is what came.
fn joined(mut chunks: &str) -> String {
    let mut text = String::new();
    while let Some((size, rest)) = chunks.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        let Some(chunk) = rest.get(..size).filter(|chunk| !chunk.is_empty()) else {
            break;
        };
        text += chunk;
        chunks = rest[size..].trim_start_matches("\r\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn answers_are_read_from_json_and_from_streams() {
        let plain = "HTTP/1.1 200 OK\r\nMCP-Session-Id: s1\r\n\r\n{\"id\":2,\"result\":{}}";
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1e\r\ndata: {\"id\":2,\n\r\n0\r\n\r\n";
        let stream = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nid: 1\n\nda\r\n1a\r\nta: {\"id\":2,\"result\":{}}\n\n\r\n0\r\n\r\n";
        assert!(
            parse(plain).is_ok_and(|reply| reply.session.as_deref() == Some("s1")
                && reply.answer(2).is_ok()
                && reply.answer(1).is_err())
        );
        assert!(parse(chunked).is_ok_and(|reply| reply.answer(2).is_err()));
        assert!(parse(stream).is_ok_and(|reply| reply.answer(2).is_ok()));
        assert!(parse("HTTP/1.1 404 Not Found\r\n\r\n").is_err());
        assert!(parse("").is_err());
    }
}
