//! Standard input and output of one server, shared by clients that behave and clients that do not.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use polyport::Stop;
use polyport::serde_json::{self, Value};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::oneshot;

use crate::foes;
use crate::ordinary::{LATEST, Question, foreign};
use crate::record::Record;
use polyport_bench::rng::Rng;
use polyport_bench::words::{INITIALIZE, INITIALIZED, OURS, call, call_with_progress, modern_call};

/// Reading may rest so long while answers pile up.
const REST: Duration = Duration::from_secs(1);

/// A connection of lines.
#[derive(Debug)]
pub(crate) struct Pipe {
    input: tokio::sync::Mutex<ChildStdin>,
    waiting: Mutex<HashMap<String, Waiting>>,
    rests: AtomicBool,
    record: Arc<Record>,
    stop: Stop,
}

#[derive(Debug)]
struct Waiting {
    messages: Vec<Value>,
    /// The arguments: whose words may be in the answer.
    arguments: String,
    done: oneshot::Sender<Vec<Value>>,
}

impl Pipe {
    /// Opens the connection to a server that was started with pipes.
    pub(crate) async fn open(
        child: &mut Child,
        record: Arc<Record>,
        stop: Stop,
    ) -> Result<Arc<Self>, String> {
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the server has no pipes".to_owned());
        };
        let pipe = Arc::new(Self {
            input: tokio::sync::Mutex::new(input),
            waiting: Mutex::default(),
            rests: AtomicBool::new(false),
            record,
            stop,
        });
        tokio::spawn(pipe.clone().read(output));
        for line in [INITIALIZE, INITIALIZED] {
            let sent = pipe.send(line.as_bytes()).await;
            sent.map_err(|error| format!("cannot write to the server: {error}"))?;
        }
        Ok(pipe)
    }

    async fn send(&self, line: &[u8]) -> io::Result<()> {
        let mut input = self.input.lock().await;
        input.write_all(line).await?;
        input.write_all(b"\n").await?;
        input.flush().await
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<String, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn read(self: Arc<Self>, output: ChildStdout) {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        let mut rested = Instant::now();
        loop {
            // Not one rest after another: that would make our own ordinary clients wait, not the server.
            if self.rests.swap(false, Ordering::Relaxed) && rested.elapsed() > 3 * REST {
                tokio::time::sleep(REST).await;
                rested = Instant::now();
            }
            line.clear();
            match output.read_until(b'\n', &mut line).await {
                Ok(n) if n > 0 => self.take(&line),
                _ => break,
            }
        }
        if !self.stop.is_stopped() {
            self.record.fault("stdio: the server has ended");
        }
        self.waiting().clear();
    }

    fn take(&self, line: &[u8]) {
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            let shown = String::from_utf8_lossy(&line[..line.len().min(300)]);
            return self.record.fault(format!("stdio: no JSON: {shown}"));
        };
        let is_answer = message.get("id").is_some();
        let id = if is_answer {
            &message["id"]
        } else {
            &message["params"]["progressToken"]
        };
        let Some(id) = id
            .as_str()
            .filter(|id| id.starts_with(OURS))
            .map(str::to_owned)
        else {
            return;
        };
        let mut all = self.waiting();
        let Some(waiting) = all.get_mut(&id) else {
            drop(all);
            return self
                .record
                .fault(format!("stdio: an answer that nobody waits for: {message}"));
        };
        if let Err(reason) = foreign(line.trim_ascii_end(), &id, &waiting.arguments) {
            self.record.fault(format!("stdio: {reason}"));
        }
        waiting.messages.push(message);
        if is_answer && let Some(waiting) = all.remove(&id) {
            // Who asked may have given up, and has said so then.
            let _ = waiting.done.send(waiting.messages);
        }
    }

    /// Asks one question after another until told to stop.
    pub(crate) async fn ask_ordinarily(self: Arc<Self>, mut rng: Rng) {
        while !self.stop.is_stopped() {
            if let Err(reason) = self.ask(&mut rng).await {
                self.record
                    .fault(format!("stdio, ordinary client: {reason}"));
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
            tokio::time::sleep(rng.millis(1, 30)).await;
        }
    }

    async fn ask(&self, rng: &mut Rng) -> Result<(), String> {
        let question = Question::any(rng, true, "");
        let id = rng.secret(OURS);
        let (quoted, arguments) = (format!("\"{id}\""), question.arguments.to_string());
        let message = if rng.percent(50) {
            call_with_progress(&quoted, question.tool, &arguments, &quoted)
        } else {
            let token = format!(",\"progressToken\":{quoted}");
            modern_call(&quoted, question.tool, &arguments, &token)
        };
        let (done, answered) = oneshot::channel();
        let waiting = Waiting {
            messages: Vec::new(),
            arguments,
            done,
        };
        self.waiting().insert(id.clone(), waiting);
        let begun = Instant::now();
        let both = async {
            self.send(message.as_bytes())
                .await
                .map_err(|error| error.to_string())?;
            answered
                .await
                .map_err(|_| "the connection has ended".to_owned())
        };
        let messages = tokio::time::timeout(LATEST, both)
            .await
            .map_err(|_| format!("{}: no answer within {LATEST:?}", question.tool))??;
        question
            .judge(&id, &messages)
            .map_err(|reason| format!("{}: {reason}", question.tool))?;
        self.record.answered("stdio", begun.elapsed());
        Ok(())
    }

    /// Says what it should not, until told to stop.
    pub(crate) async fn abuse(self: Arc<Self>, mut rng: Rng, mut stop: Stop) {
        while !stop.is_stopped() {
            let said = tokio::select! {
                said = self.abuse_once(&mut rng) => said,
                // Half a line would spoil the next one, which may be an ordinary client's.
                () = stopped_between_lines(&mut stop, &self.input) => Ok(()),
            };
            if said.is_err() {
                return;
            }
            tokio::time::sleep(rng.millis(5, 100)).await;
        }
    }

    async fn abuse_once(&self, rng: &mut Rng) -> io::Result<()> {
        self.record.hostile();
        let number = rng.within(0, 1 << 30).to_string();
        let (name, lines): (_, Vec<Vec<u8>>) = match rng.within(0, 100) {
            0..30 => ("bad JSON", vec![foes::bad(rng)]),
            30..45 => {
                let length = rng.within(1, 3_000);
                let mut junk = rng.bytes(length);
                junk.retain(|byte| *byte != b'\n');
                ("junk", vec![junk])
            }
            45..50 => ("blank", vec![Vec::new(), b"   ".to_vec(), b"\r".to_vec()]),
            50..55 => {
                let ping = format!("{{\"jsonrpc\":\"2.0\",\"id\":{number},\"method\":\"ping\"}}");
                (
                    "BOM and CR",
                    vec![
                        format!("\u{feff}{ping}").into_bytes(),
                        format!("{ping}\r").into_bytes(),
                    ],
                )
            }
            55..57 => (
                "huge line",
                vec![vec![b'x'; (16 << 20) + rng.within(1, 1 << 20)]],
            ),
            57..62 => (
                "second initialize",
                vec![INITIALIZE.into(), INITIALIZED.into()],
            ),
            62..70 => ("burst", burst(rng)),
            70..80 => (
                "same id twice",
                vec![call(&number, "count", "{\"to\":5,\"delay_ms\":20}").into(); 3],
            ),
            80..94 => {
                let tool = *rng.pick(&["wait", "count"]);
                let arguments = if tool == "wait" {
                    "{\"seconds\":3}"
                } else {
                    "{\"to\":50,\"delay_ms\":20}"
                };
                let cancel = format!(
                    "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{number}}}}}"
                );
                let begin = call_with_progress(&number, tool, arguments, &number);
                (
                    "cancelled",
                    vec![begin.into(), cancel.clone().into(), cancel.into()],
                )
            }
            94..98 => {
                self.rests.store(true, Ordering::Relaxed);
                let big = call(&number, "big", "{\"bytes\":2000000}");
                ("unread answers", vec![big.into(); 3])
            }
            _ => {
                let parts =
                    vec![call(&number, "echo", "{\"text\":\"theirs-batch\"}"); rng.within(1, 130)];
                ("batch", vec![format!("[{}]", parts.join(",")).into()])
            }
        };
        self.record.seen("on stdio", name);
        for line in lines {
            self.send(&line).await?;
        }
        Ok(())
    }
}

/// Many calls without waiting.
fn burst(rng: &mut Rng) -> Vec<Vec<u8>> {
    (0..rng.within(10, 400))
        .map(|n| call(&n.to_string(), "echo", "{\"text\":\"theirs-burst\"}").into())
        .collect()
}

async fn stopped_between_lines(stop: &mut Stop, input: &tokio::sync::Mutex<ChildStdin>) {
    stop.wait().await;
    // Held by whoever writes, until the line is whole.
    drop(input.lock().await);
}
