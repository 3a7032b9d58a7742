//! A built program that serves on its standard input and output, and a client that talks to it. Every wait is bounded.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use polyport_proto::{Asking, ClientFacts, Revision};
use polyport_wire::Raw;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// How long anything may take.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A running program. It is killed when this is dropped.
#[derive(Debug)]
pub struct Program {
    pid: Pid,
    input: Option<Box<dyn WriteDebug>>,
    output: Receiver<Vec<u8>>,
    said: Receiver<String>,
    ended: Receiver<ExitStatus>,
    asking: Asking,
    notes: Vec<Value>,
    stderr: String,
    status: Option<ExitStatus>,
}

/// Where a client writes.
pub trait WriteDebug: Write + Send + std::fmt::Debug {}
impl<T: Write + Send + std::fmt::Debug> WriteDebug for T {}

#[allow(
    clippy::needless_pass_by_value,
    reason = "tests write json!(…) where they call"
)]
impl Program {
    /// Starts it on pipes, as a client of the newest legacy revision.
    ///
    /// # Panics
    /// It cannot be started.
    pub fn start(command: &mut Command) -> Self {
        Self::start_in(command, Revision::LATEST_LEGACY)
    }

    /// The same as a client of any revision.
    ///
    /// # Panics
    /// It cannot be started.
    pub fn start_in(command: &mut Command, revision: Revision) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut program = Self::spawn(command, revision, |child| {
            Box::new(child.stdout.take().expect("it is a pipe"))
        });
        if revision.profile().era == polyport_proto::Era::Legacy {
            program.open();
        }
        program
    }

    /// Starts it without a word, on whatever standard input and output `command` has; `output` is where its messages come from.
    ///
    /// # Panics
    /// It cannot be started.
    pub fn spawn(
        command: &mut Command,
        revision: Revision,
        output: impl FnOnce(&mut std::process::Child) -> Box<dyn Read + Send>,
    ) -> Self {
        let mut child = command
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let pid = Pid::from_child(&child);
        let input = child
            .stdin
            .take()
            .map(|stdin: ChildStdin| Box::new(stdin) as Box<dyn WriteDebug>);
        let output = lines(output(&mut child));
        let said = text(child.stderr.take().expect("it is a pipe"));
        let (sender, ended) = channel();
        thread::spawn(move || child.wait().map(|status| sender.send(status)));
        let client = ClientFacts {
            info: Some(Raw::from_static("{\"name\":\"testkit\",\"version\":\"1\"}")),
            capabilities: Raw::from_static("{}"),
        };
        Self {
            pid,
            input,
            output,
            said,
            ended,
            asking: Asking::new(revision, client),
            notes: Vec::new(),
            stderr: String::new(),
            status: None,
        }
    }

    /// Writes there from now on.
    pub fn set_input(&mut self, input: impl WriteDebug + 'static) {
        self.input = Some(Box::new(input));
    }

    /// The handshake; what the server answered.
    ///
    /// # Panics
    /// It refuses, or the revision has none.
    pub fn open(&mut self) -> Value {
        let (_, message) = self.asking.opening().expect("the revision has a handshake");
        self.send_bytes(&message);
        let answer = self.answer();
        assert!(answer["result"].is_object(), "{answer}");
        let initialized = self.asking.initialized();
        self.send_bytes(&initialized);
        answer["result"].clone()
    }

    /// Sends a request and gives back its result.
    ///
    /// # Panics
    /// It is refused, or not answered in time.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.try_ask(method, params);
        assert!(answer["result"].is_object(), "{method}: {answer}");
        answer["result"].take()
    }

    /// The same for a request that must be refused: the error.
    ///
    /// # Panics
    /// It is not refused.
    pub fn refused(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.try_ask(method, params);
        assert!(answer["error"].is_object(), "{method}: {answer}");
        answer["error"].take()
    }

    /// Calls a tool.
    ///
    /// # Panics
    /// As [`ask`](Self::ask).
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    fn try_ask(&mut self, method: &str, params: Value) -> Value {
        self.begin(method, params, "");
        self.answer()
    }

    /// Sends a request and does not wait. `meta` are ready members of `_meta`. Gives back the id.
    pub fn begin(&mut self, method: &str, params: Value, meta: &str) -> Value {
        let (id, message) = self.asking.request(method, &params.to_string(), meta);
        self.send_bytes(&message);
        serde_json::to_value(id).expect("an id is JSON")
    }

    /// Sends one line.
    ///
    /// # Panics
    /// The program takes nothing more.
    pub fn send_bytes(&mut self, line: &[u8]) {
        let input = self.input.as_mut().expect("the input is open");
        let sent = input
            .write_all(line)
            .and_then(|()| input.write_all(b"\n"))
            .and_then(|()| input.flush());
        if let Err(error) = sent {
            panic!(
                "the program takes no input: {error}; it said:\n{}",
                self.stderr()
            );
        }
    }

    /// The next answer; notifications before it are kept.
    ///
    /// # Panics
    /// None comes in time.
    pub fn answer(&mut self) -> Value {
        loop {
            let Some(message) = self.message() else {
                panic!("the output ended; it said:\n{}", self.stderr());
            };
            if message.get("method").is_none() {
                return message;
            }
            self.notes.push(message);
        }
    }

    /// The next message; none: the output has ended.
    ///
    /// # Panics
    /// None comes in time, or what comes is not one JSON-RPC message on one line.
    pub fn message(&mut self) -> Option<Value> {
        match self.output.recv_timeout(PATIENCE) {
            Ok(line) => Some(parse(&line)),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                panic!(
                    "no message within {PATIENCE:?}; it said:\n{}",
                    self.stderr()
                )
            }
        }
    }

    /// The notifications so far.
    pub fn notes(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.notes)
    }

    /// Ends its standard input.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Where it listens for connections over TCP, as the system knows it.
    ///
    /// # Panics
    /// `/proc` cannot be read.
    pub fn listening(&self) -> Vec<SocketAddr> {
        crate::sockets::listening(self.pid)
    }

    /// The most resident memory that it has had, in bytes.
    ///
    /// # Panics
    /// `/proc` cannot be read.
    pub fn peak_memory(&self) -> usize {
        let path = format!("/proc/{}/status", self.pid.as_raw_nonzero());
        let status = std::fs::read_to_string(path).expect("the program runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
        let kib = kib.and_then(|kib| kib.trim().parse::<usize>().ok());
        kib.expect("the system says so") << 10
    }

    /// Sends a signal.
    ///
    /// # Panics
    /// It has ended already.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid, signal).expect("the program runs");
    }

    /// Waits for its end: every message that still came, and the exit code (none: a signal ended it).
    ///
    /// # Panics
    /// It does not end in time.
    pub fn end(&mut self) -> (Vec<Value>, Option<i32>) {
        let mut rest = std::mem::take(&mut self.notes);
        while let Some(message) = self.message() {
            rest.push(message);
        }
        let Ok(status) = self.ended.recv_timeout(PATIENCE) else {
            panic!("still runs; it said:\n{}", self.stderr());
        };
        self.status = Some(status);
        (rest, status.code())
    }

    /// What it said on standard error so far; after its end, all of it.
    pub fn stderr(&mut self) -> String {
        if self.status.is_some() {
            while let Ok(more) = self.said.recv_timeout(PATIENCE) {
                self.stderr.push_str(&more);
            }
        } else {
            self.stderr.extend(self.said.try_iter());
        }
        self.stderr.clone()
    }

    /// Waits until it has said this on standard error, and gives back all that it said.
    ///
    /// # Panics
    /// It does not say so in time.
    pub fn until_said(&mut self, text: &str) -> String {
        let until = Instant::now() + PATIENCE;
        while !self.stderr.contains(text) {
            let left = until.saturating_duration_since(Instant::now());
            match self.said.recv_timeout(left) {
                Ok(more) => self.stderr.push_str(&more),
                Err(_) => panic!("it never said {text:?}, but:\n{}", self.stderr),
            }
        }
        self.stderr.clone()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if self.status.is_none() && self.ended.try_recv().is_err() {
            // It may end by itself just now.
            let _ = kill_process(self.pid, Signal::KILL);
        }
    }
}

/// Checks a line of output: one JSON-RPC message and a line feed, not a byte more.
fn parse(line: &[u8]) -> Value {
    let text = String::from_utf8_lossy(line);
    let message = line
        .strip_suffix(b"\n")
        .and_then(|line| serde_json::from_slice::<Value>(line).ok());
    match message {
        Some(message) if message["jsonrpc"] == "2.0" || message.is_array() => message,
        _ => panic!("not a line with a JSON-RPC message: {text:?}"),
    }
}

/// Lines with their line feeds, read on a thread.
fn lines(output: Box<dyn Read + Send>) -> Receiver<Vec<u8>> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        let mut output = BufReader::new(output);
        loop {
            let mut line = Vec::new();
            match output.read_until(b'\n', &mut line) {
                Ok(n) if n > 0 => {
                    if sender.send(line).is_err() {
                        return;
                    }
                }
                // A terminal that is gone is an error and not an end.
                _ => return,
            }
        }
    });
    lines
}

fn text(mut from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, said) = channel();
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(n) = from.read(&mut buffer) {
            if n == 0
                || sender
                    .send(String::from_utf8_lossy(&buffer[..n]).into_owned())
                    .is_err()
            {
                return;
            }
        }
    });
    said
}
