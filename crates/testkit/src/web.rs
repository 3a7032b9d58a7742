//! A web server that answers as a test wants, byte by byte, and remembers what it was asked.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// What was asked.
#[derive(Clone, Debug)]
pub struct Asked {
    /// `GET` and its like.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
    /// How many were asked before on this connection.
    pub before: usize,
}

impl Asked {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        Some(found?.1.as_str())
    }

    /// The JSON-RPC message; null if it is none.
    pub fn message(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

/// What follows a reply.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Then {
    /// The next request on the same connection.
    Next,
    /// The end of the connection.
    End,
    /// The end of what is said, while what comes is still read.
    Deaf,
    /// The end of the connection, as of a machine that starts anew.
    Reset,
    /// Nothing, ever.
    Silence,
}

/// What is answered.
#[derive(Clone, Debug)]
pub struct Reply {
    bytes: Vec<u8>,
    drip: Option<(usize, Duration)>,
    later: Vec<(Arc<Notify>, Vec<u8>)>,
    then: Then,
}

impl Reply {
    /// These bytes as they are.
    pub fn raw(bytes: impl Into<Vec<u8>>, then: Then) -> Self {
        Self {
            bytes: bytes.into(),
            drip: None,
            later: Vec::new(),
            then,
        }
    }

    /// A status with a body of a kind; `head` are more headers, each with its line end.
    pub fn of(status: &str, kind: &str, head: &str, body: &str) -> Self {
        let text = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{head}\r\n{body}",
            body.len()
        );
        Self::raw(text, Then::Next)
    }

    /// A message.
    pub fn json(body: &serde_json::Value) -> Self {
        Self::of("200 OK", "application/json", "", &body.to_string())
    }

    /// A stream of events that ends with its connection; `then` says when that is.
    pub fn events(head: &str, text: &str, then: Then) -> Self {
        let text = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n{head}\r\n{text}"
        );
        Self::raw(text, then)
    }

    /// A status with nothing.
    pub fn empty(status: &str) -> Self {
        Self::raw(
            format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n"),
            Then::Next,
        )
    }

    /// The same in pieces of so many bytes, with a pause after each.
    #[must_use]
    pub fn drip(mut self, piece: usize, pause: Duration) -> Self {
        self.drip = Some((piece, pause));
        self
    }

    /// More bytes, as they are, once somebody says so.
    #[must_use]
    pub fn later(mut self, when: &Arc<Notify>, bytes: impl Into<Vec<u8>>) -> Self {
        self.later.push((when.clone(), bytes.into()));
        self
    }
}

/// A running server. Dropping it ends all connections.
#[derive(Debug)]
pub struct Web {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    _serving: JoinSet<()>,
}

impl Web {
    /// Serves on a free port of loopback by a function of what is asked.
    ///
    /// # Panics
    /// There is no such port.
    pub async fn serve(answers: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await;
        let listener = listener.expect("there is a free port");
        let address = listener.local_addr().expect("it is bound");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (answers, known) = (Arc::new(answers), asked.clone());
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (answers, known) = (answers.clone(), known.clone());
                open.spawn(async move {
                    // The other end may leave at any time.
                    let _ = connection(stream, &*answers, &known).await;
                });
            }
        });
        Self {
            address,
            asked,
            _serving: serving,
        }
    }

    /// The address of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What has been asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.clone()
    }

    /// The methods of the messages that were posted, and the verbs of what else was asked.
    pub fn heard(&self) -> Vec<String> {
        let name = |asked: &Asked| match asked.message()["method"].as_str() {
            Some(method) => method.to_owned(),
            None => asked.method.clone(),
        };
        self.asked().iter().map(name).collect()
    }
}

async fn connection(
    mut stream: TcpStream,
    answers: &(dyn Fn(&Asked) -> Reply + Send + Sync),
    known: &Mutex<Vec<Asked>>,
) -> std::io::Result<()> {
    let mut buffer = Vec::new();
    for before in 0.. {
        let Some(asked) = read(&mut stream, &mut buffer, before).await? else {
            return Ok(());
        };
        note(known, &asked);
        let reply = answers(&asked);
        match reply.drip {
            None => stream.write_all(&reply.bytes).await?,
            Some((piece, pause)) => {
                for piece in reply.bytes.chunks(piece) {
                    stream.write_all(piece).await?;
                    sleep(pause).await;
                }
            }
        }
        for (when, bytes) in reply.later {
            when.notified().await;
            stream.write_all(&bytes).await?;
        }
        match reply.then {
            Then::Next => {}
            Then::End => return stream.shutdown().await,
            Then::Deaf => {
                stream.shutdown().await?;
                return tokio::io::copy(&mut stream, &mut tokio::io::sink())
                    .await
                    .map(|_| ());
            }
            Then::Reset => return stream.set_zero_linger(),
            Then::Silence => std::future::pending().await,
        }
    }
    Ok(())
}

fn note(known: &Mutex<Vec<Asked>>, asked: &Asked) {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    known.push(asked.clone());
}

/// The next request; None at the end of the connection.
async fn read(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
    before: usize,
) -> std::io::Result<Option<Asked>> {
    let end = loop {
        if let Some(at) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let mut first = lines
        .next()
        .unwrap_or_default()
        .split(' ')
        .map(str::to_owned);
    let (method, path) = (first.next(), first.next());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length
        .and_then(|(_, value)| value.parse().ok())
        .unwrap_or(0);
    while buffer.len() < end + 4 + length {
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
    let body = String::from_utf8_lossy(&buffer[end + 4..end + 4 + length]).into_owned();
    buffer.drain(..end + 4 + length);
    Ok(Some(Asked {
        method: method.unwrap_or_default(),
        path: path.unwrap_or_default(),
        headers,
        body,
        before,
    }))
}
