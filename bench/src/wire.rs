//! HTTP/1.1 as far as a client on loopback needs it, over a socket that can be abused between any two bytes.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Longest response that is taken.
const MAX: usize = 64 << 20;
/// How long a connect may take.
const CONNECT: Duration = Duration::from_secs(5);

/// A connection.
#[derive(Debug)]
pub struct Wire {
    stream: TcpStream,
    /// Read and not used.
    buffer: Vec<u8>,
}

/// A whole response.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// `Mcp-Session-Id`.
    pub session: Option<String>,
    /// The body, without its framing.
    pub body: Vec<u8>,
    /// The body is a stream of events.
    pub events: bool,
    /// The server ends the connection.
    pub closes: bool,
}

/// How long the body of a response is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Length {
    /// So many bytes.
    Known(usize),
    /// Chunks, until an empty one.
    Chunks,
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

impl Wire {
    /// Connects to a port of this machine.
    ///
    /// # Errors
    /// Nobody listens, or nobody accepts in time.
    pub async fn connect(port: u16) -> io::Result<Self> {
        let connecting = TcpStream::connect(("127.0.0.1", port));
        let stream = tokio::time::timeout(CONNECT, connecting)
            .await
            .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: Vec::new(),
        })
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    /// The server takes nothing more.
    pub async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// Leaves with a reset instead of a farewell.
    pub fn reset(self) {
        let _ = self.stream.set_zero_linger();
    }

    /// Reads something; none at the end.
    ///
    /// # Errors
    /// The connection is broken.
    pub async fn some(&mut self) -> io::Result<usize> {
        self.stream.read_buf(&mut self.buffer).await
    }

    /// Reads to the end, keeps nothing; gives back how much it was.
    ///
    /// # Errors
    /// The connection is broken.
    pub async fn drain(&mut self) -> io::Result<usize> {
        let mut sum = std::mem::take(&mut self.buffer).len();
        loop {
            self.buffer.clear();
            match self.some().await? {
                0 => return Ok(sum),
                n => sum += n,
            }
        }
    }

    /// Reads one response.
    ///
    /// # Errors
    /// What comes is none, or the connection ends before it.
    pub async fn answer(&mut self) -> io::Result<Answer> {
        let (mut answer, body) = self.head().await?;
        answer.body = match body {
            Length::Known(length) => self.exactly(length).await?,
            Length::Chunks => self.chunks().await?,
        };
        Ok(answer)
    }

    /// Reads the head of a response; its body is still to come.
    ///
    /// # Errors
    /// What comes is none, or the connection ends before it.
    pub async fn head(&mut self) -> io::Result<(Answer, Length)> {
        let head = loop {
            let head = self.until(b"\r\n\r\n").await?;
            // An interim response only says that the rest may come.
            if !head.starts_with(b"HTTP/1.1 100") {
                break head;
            }
        };
        let head = String::from_utf8(head).map_err(|_| bad("the head is no text"))?;
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1));
        let status = status.and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| bad("no status"))?;
        let mut answer = Answer {
            status,
            session: None,
            body: Vec::new(),
            events: false,
            closes: false,
        };
        let (mut length, mut chunked) = (None, false);
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse::<usize>().ok(),
                "transfer-encoding" => chunked = value == "chunked",
                "content-type" => answer.events = value == "text/event-stream",
                "mcp-session-id" => answer.session = Some(value.to_owned()),
                "connection" => answer.closes = value.eq_ignore_ascii_case("close"),
                _ => {}
            }
        }
        let length = match length {
            _ if matches!(status, 204 | 304) => Length::Known(0),
            _ if chunked => Length::Chunks,
            Some(length) => Length::Known(length),
            None => return Err(bad("a body without an end")),
        };
        Ok((answer, length))
    }

    async fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX {
                return Err(bad("a response without an end"));
            }
        }
        Ok(body)
    }

    /// One chunk of a body; none: it has ended.
    ///
    /// # Errors
    /// What comes is none, or the connection ends before it.
    pub async fn chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        let line = self.until(b"\r\n").await?;
        let size = std::str::from_utf8(&line[..line.len() - 2]).unwrap_or_default();
        let size = usize::from_str_radix(size, 16).map_err(|_| bad("a chunk without a size"))?;
        let mut chunk = self.exactly(size + 2).await?;
        chunk.truncate(size);
        Ok((size > 0).then_some(chunk))
    }

    async fn until(&mut self, end: &[u8]) -> io::Result<Vec<u8>> {
        let mut looked = 0;
        loop {
            let from = looked.max(end.len()) - end.len();
            if let Some(at) = self.buffer[from..]
                .windows(end.len())
                .position(|w| w == end)
            {
                let rest = self.buffer.split_off(from + at + end.len());
                return Ok(std::mem::replace(&mut self.buffer, rest));
            }
            looked = self.buffer.len();
            if looked > MAX {
                return Err(bad("a line without an end"));
            }
            self.more().await?;
        }
    }

    async fn exactly(&mut self, length: usize) -> io::Result<Vec<u8>> {
        if length > MAX {
            return Err(bad("a response without an end"));
        }
        while self.buffer.len() < length {
            self.more().await?;
        }
        let rest = self.buffer.split_off(length);
        Ok(std::mem::replace(&mut self.buffer, rest))
    }

    async fn more(&mut self) -> io::Result<()> {
        match self.some().await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

/// A POST of a message, as an ordinary client sends it, with more headers.
pub fn post(headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Vec<u8> {
    let plain = [
        ("Host", "127.0.0.1"),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ];
    request("POST", "/mcp", &[plain.as_slice(), headers].concat(), body)
}

/// Any request, as the headers say; the length is added.
pub fn request(
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: impl AsRef<[u8]>,
) -> Vec<u8> {
    let body = body.as_ref();
    let mut text = head(method, target, headers);
    text.truncate(text.len() - 2);
    text += &format!("Content-Length: {}\r\n\r\n", body.len());
    [text.as_bytes(), body].concat()
}

/// Only the head, without a length.
pub fn head(method: &str, target: &str, headers: &[(&str, &str)]) -> String {
    let mut text = format!("{method} {target} HTTP/1.1\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    text + "\r\n"
}
