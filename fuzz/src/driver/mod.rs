//! The check of a whole connection: bytes are a script of what a client says and when, played in virtual time against the driver;
//! see [`ledger`] for what must hold of what comes back.

mod ledger;
mod steps;

use std::time::Duration;

use polyport_proto::Limits;
use polyport_rt::{Ended, Service, Stopper, memory, stop};
use polyport_testkit::handlers::Puppet;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use ledger::Ledger;
use steps::{Step, read};

/// Plays `data` against the driver; [`steps::read`] says what the letters mean.
///
/// - Each request is answered once, or never if it was cancelled; nothing is said for a call that was.
/// - Each question of the server has an id of its own, and is taken back at most once, and not when it has its answer.
/// - What comes is lines of one message or one batch each. Streams of changes carry their own id, while they run.
/// - When the input ends or the server stops the connection ends, and no call is forgotten.
pub fn check(data: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O can be built");
    runtime.block_on(async {
        let mut play = Play::begin();
        for step in read(data) {
            if matches!(step, Step::Stop) {
                return play.end(true).await;
            }
            play.step(step).await;
            play.settle(SOON).await;
        }
        play.end(false).await;
    });
}

struct Play {
    puppet: Puppet,
    stopper: Stopper,
    serving: JoinHandle<Ended>,
    reader: ReadHalf<DuplexStream>,
    writer: WriteHalf<DuplexStream>,
    /// What has come and is no whole line.
    came: Vec<u8>,
    ledger: Ledger,
}

impl Play {
    fn begin() -> Self {
        let mut limits = Limits::default();
        limits.calls_per_session = 4;
        limits.questions_per_session = 2;
        limits.question_wait = Duration::from_secs(5);
        limits.message_bytes = 16 << 10;
        let ledger = Ledger::new(limits.clone());
        let puppet = Puppet::default();
        let (stopper, stop) = stop::stop();
        let service = Service::new(puppet.clone()).limits(limits);
        let (stream, serving) = memory::connect(service, stop);
        let (reader, writer) = tokio::io::split(stream);
        Self {
            puppet,
            stopper,
            serving,
            reader,
            writer,
            came: Vec::new(),
            ledger,
        }
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::Say(text) => self.say(&text).await,
            Step::Batch(parts) => {
                let parts = self.ledger.note_batch(&parts);
                self.write(parts.as_bytes()).await;
            }
            Step::Answer(which, with) => {
                if let Some(answer) = self.ledger.answer(which, with) {
                    self.say(&answer).await;
                }
            }
            Step::Round(id) => {
                if let Some(again) = self.ledger.next_round(id) {
                    self.say(&again).await;
                }
            }
            Step::Change => {
                self.puppet.bus.tools_changed();
                self.puppet.bus.updated("a");
            }
            Step::Wait(long) => self.settle(long).await,
            Step::Stop => {}
        }
    }

    async fn say(&mut self, text: &str) {
        self.ledger.note(text);
        self.write(text.as_bytes()).await;
    }

    async fn write(&mut self, text: &[u8]) {
        let line = [text, b"\n"].concat();
        let wrote = timeout(LATEST, self.writer.write_all(&line)).await;
        wrote.expect("input is read").expect("nobody has hung up");
    }

    /// Takes what comes until nothing has come for so long: the server then waits for us, or for a time.
    async fn settle(&mut self, quiet: Duration) {
        while let Ok(read) = timeout(quiet, self.reader.read_buf(&mut self.came)).await {
            assert_ne!(read.expect("it can be read"), 0, "it ends when told to");
            self.take_lines();
        }
    }

    fn take_lines(&mut self) {
        while let Some(end) = self.came.iter().position(|byte| *byte == b'\n') {
            let rest = self.came.split_off(end + 1);
            let line = std::mem::replace(&mut self.came, rest);
            self.ledger.take(&line[..end]);
        }
    }

    async fn end(mut self, stops: bool) {
        if stops {
            self.stopper.stop();
        } else {
            self.writer.shutdown().await.expect("it can be closed");
        }
        loop {
            let read = timeout(LATEST, self.reader.read_buf(&mut self.came)).await;
            if read.expect("it ends").expect("it can be read") == 0 {
                break;
            }
            self.take_lines();
        }
        assert!(self.came.is_empty(), "the last line has an end");
        let ended = timeout(LATEST, self.serving).await.expect("it ends");
        let ended = ended.expect("it does not panic");
        assert!(!ended.broken, "we have read everything");
        self.ledger.close(ended.cut);
    }
}

/// Within this time nothing but time itself can make the server say more.
const SOON: Duration = Duration::from_millis(1);
/// No answer and no end may take longer, in virtual time.
const LATEST: Duration = Duration::from_secs(3_600);
