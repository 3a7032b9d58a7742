//! A conversation written down: what a peer sends, and what must come back. One door for all protocol tests.
//!
//! ```text
//! > {"jsonrpc":"2.0","id":1,"method":"ping"}       sent, as one line
//! < {"jsonrpc":"2.0","id":1,"result":{}}           the next message must be equal to it
//! ~ {"id":1,"error":{"code":-32601}}               the next message must hold at least this
//! @ 2s                                             the time goes on
//! .                                                nothing more may come
//! $                                                our sending side ends; the server must end too
//! ```
//! `STATE` in what is sent is the `requestState` that came last.

use std::time::Duration;

use polyport_rt::{Ended, Service, Stopper, memory, stop};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;

/// How long a message may take, in virtual time.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// A peer that plays scripts against a service.
#[derive(Debug)]
pub struct Script {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: Option<WriteHalf<DuplexStream>>,
    stopper: Stopper,
    serving: Option<JoinHandle<Ended>>,
    state: String,
}

impl Script {
    /// Connects to a service. The runtime's time should be paused.
    pub fn connect(service: Service) -> Self {
        let (stopper, stop) = stop::stop();
        let (stream, serving) = memory::connect(service, stop);
        let (reader, writer) = tokio::io::split(stream);
        Self {
            reader: BufReader::new(reader),
            writer: Some(writer),
            stopper,
            serving: Some(serving),
            state: String::new(),
        }
    }

    /// Plays a script.
    ///
    /// # Panics
    /// Something else came than was written.
    pub async fn play(&mut self, script: &str) {
        for line in script
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
        {
            let (kind, rest) = line.split_at(1);
            let rest = rest.trim();
            match kind {
                ">" => self.send(&rest.replace("STATE", &self.state)).await,
                "<" => {
                    let (got, want) = (self.receive().await, parse(rest));
                    assert_eq!(
                        got.as_ref(),
                        Some(&want),
                        "\n  expected {want}\n  got {}",
                        show(got.as_ref())
                    );
                }
                "~" => {
                    let (got, want) = (self.receive().await, parse(rest));
                    let holds = got.as_ref().is_some_and(|got| holds(got, &want));
                    assert!(
                        holds,
                        "\n  expected at least {want}\n  got {}",
                        show(got.as_ref())
                    );
                }
                "@" => tokio::time::sleep(duration(rest)).await,
                "." => {
                    let more = tokio::time::timeout(PATIENCE, self.line()).await;
                    assert!(
                        more.is_err(),
                        "\n  expected nothing\n  got {}",
                        more.ok().flatten().unwrap_or_default()
                    );
                }
                "$" => _ = self.end().await,
                _ => panic!("not a line of a script: {line}"),
            }
        }
    }

    /// The `requestState` that came last.
    pub fn state(&self) -> &str {
        &self.state
    }

    /// Sends bytes as they are.
    ///
    /// # Panics
    /// The server takes nothing more.
    pub async fn send_bytes(&mut self, bytes: &[u8]) {
        let writer = self.writer.as_mut().expect("the sending side is open");
        writer.write_all(bytes).await.expect("the server reads");
    }

    /// Sends one line.
    pub async fn send(&mut self, line: &str) {
        self.send_bytes(format!("{line}\n").as_bytes()).await;
    }

    /// The next message; none: the server has ended.
    ///
    /// # Panics
    /// Nothing comes within an hour of virtual time.
    pub async fn receive(&mut self) -> Option<Value> {
        let line = tokio::time::timeout(PATIENCE, self.line())
            .await
            .expect("a message comes in time");
        let message = line.map(|line| parse(&line))?;
        if let Some(state) = message["result"]["requestState"].as_str() {
            state.clone_into(&mut self.state);
        }
        Some(message)
    }

    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let n = self
            .reader
            .read_line(&mut line)
            .await
            .expect("messages are UTF-8");
        (n > 0).then_some(line)
    }

    /// Tells the server to stop.
    pub fn stop(&self) {
        self.stopper.stop();
    }

    /// Ends our sending side; what comes can still be read.
    pub async fn close(&mut self) {
        if let Some(mut writer) = self.writer.take() {
            // The server may have closed first.
            let _ = writer.shutdown().await;
        }
    }

    /// Ends our sending side and waits for the end of the server; what it still sends is read and left.
    ///
    /// # Panics
    /// It does not end within an hour of virtual time.
    pub async fn end(&mut self) -> Ended {
        self.close().await;
        let serving = self.serving.take().expect("ended once");
        while self.receive().await.is_some() {}
        serving.await.expect("the driver does not panic")
    }
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

fn show(value: Option<&Value>) -> String {
    value.map_or_else(|| "the end".to_owned(), Value::to_string)
}

fn duration(text: &str) -> Duration {
    let (number, unit) = text.split_at(text.trim_end_matches(char::is_alphabetic).len());
    let number: u64 = number.parse().expect("a whole number of s or ms");
    if unit == "ms" {
        Duration::from_millis(number)
    } else {
        Duration::from_secs(number)
    }
}

/// Does `got` hold everything that is in `want`? Arrays must be equal in length.
pub fn holds(got: &Value, want: &Value) -> bool {
    match (got, want) {
        (Value::Object(got), Value::Object(want)) => want
            .iter()
            .all(|(key, want)| got.get(key).is_some_and(|got| holds(got, want))),
        (Value::Array(got), Value::Array(want)) => {
            got.len() == want.len() && got.iter().zip(want).all(|(g, w)| holds(g, w))
        }
        (got, want) => got == want,
    }
}
