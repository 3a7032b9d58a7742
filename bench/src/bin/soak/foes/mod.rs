//! Hostile HTTP clients: the table of what they do, and the one who does it. Each act is a file's function; each has a bound in
//! time, and one connection or a few.

mod bodies;
mod cut;
mod heads;
mod questions;
mod sessions;
mod streams;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use polyport::Stop;

use crate::ordinary::Place;
use crate::record::Record;
use polyport_bench::rng::Rng;
use polyport_bench::wire::{Answer, Wire};

pub(crate) use bodies::bad;
pub(crate) use sessions::flood;

/// A server has to answer or hang up within this time once it has all of a request.
const ANSWER: Duration = Duration::from_secs(10);
/// The longest that an act may take.
const ACT: Duration = Duration::from_secs(60);
/// A client that sends nothing has to be left alone within this time (`Limits::request_read` is 30 seconds).
const PATIENCE: Duration = Duration::from_secs(40);

type Doing<'a> = Pin<Box<dyn Future<Output = io::Result<()>> + Send + 'a>>;

/// One kind of mischief: its name, how often it is chosen, and what is done.
struct Act {
    name: &'static str,
    weight: usize,
    run: for<'a> fn(&'a mut Foe) -> Doing<'a>,
}

macro_rules! acts {
    ($($name:literal $weight:literal $run:path;)*) => {
        &[$(Act { name: $name, weight: $weight, run: |foe| Box::pin($run(foe)) }),*]
    };
}

const ACTS: &[Act] = acts! {
    "half head" 8 cut::half_head;
    "half body" 6 cut::half_body;
    "dripped head" 2 cut::dripped_head;
    "dripped body" 2 cut::dripped_body;
    "vanished" 12 cut::vanish;
    "reconnects" 1 cut::storm;
    "silence" 1 cut::silence;
    "silence in head" 1 cut::silence_in_head;
    "silence in body" 1 cut::silence_in_body;
    "wrong head" 12 heads::wrong_head;
    "huge head" 3 heads::huge_head;
    "broken HTTP" 10 heads::broken;
    "bad JSON" 16 bodies::bad_json;
    "huge body" 1 bodies::huge;
    "endless body" 1 bodies::endless;
    "large echo" 1 bodies::large_echo;
    "promised body" 3 bodies::promised;
    "opened only" 6 sessions::open_only;
    "opened and left" 2 sessions::open_and_leave;
    "opened and ended" 6 sessions::open_and_end;
    "unknown session" 6 sessions::unknown;
    "batch" 4 sessions::batch;
    "same id twice" 3 sessions::same_id;
    "unread stream" 2 streams::unread;
    "too many streams" 2 streams::too_many;
    "unread answer" 1 streams::unread_answer;
    "pipelined" 4 streams::pipelined;
    "cancelled" 5 streams::cancelled;
    "left mid-call" 5 streams::left;
    "asked and left" 2 questions::vanish;
    "answers astray" 4 questions::astray;
    "changed state" 6 questions::tampered;
    "state again" 4 questions::replayed;
    "unread listen" 2 questions::unread_listen;
    "comes back" 4 questions::resume;
};

/// A hostile client.
#[derive(Debug)]
pub(crate) struct Foe {
    pub(crate) place: Place,
    pub(crate) rng: Rng,
    pub(crate) record: Arc<Record>,
    pub(crate) stop: Stop,
    /// What is being done.
    act: &'static str,
}

impl Foe {
    pub(crate) fn new(place: Place, rng: Rng, record: Arc<Record>, stop: Stop) -> Self {
        Self {
            place,
            rng,
            record,
            stop,
            act: "flood",
        }
    }

    /// Does one thing after another until told to stop.
    pub(crate) async fn run(mut self) {
        let mut stop = self.stop.clone();
        let sum = ACTS.iter().map(|act| act.weight).sum();
        while !stop.is_stopped() {
            let mut chosen = self.rng.within(0, sum);
            let act = ACTS.iter().find(|act| {
                let found = chosen < act.weight;
                chosen = chosen.saturating_sub(act.weight);
                found
            });
            let act = act.expect("what is chosen is less than the sum");
            self.act = act.name;
            tokio::select! {
                done = tokio::time::timeout(ACT, (act.run)(&mut self)) => match done {
                    Ok(Ok(())) => {}
                    // A server that hangs up on such clients does right.
                    Ok(Err(_)) => self.record.seen(act.name, "cut off"),
                    Err(_) => self.record.seen(act.name, "given up"),
                },
                () = stop.wait() => {}
            }
            let pause = self.rng.millis(10, 120);
            tokio::time::sleep(pause).await;
        }
    }

    async fn connect(&self) -> io::Result<Wire> {
        self.record.hostile();
        Wire::connect(self.place.port).await
    }

    /// Leaves in one of two ways.
    fn leave(&mut self, wire: Wire) {
        if self.rng.percent(50) {
            wire.reset();
        }
    }

    /// Sends a whole request, however bad; it has to be answered or to end the connection.
    async fn ask(&mut self, wire: &mut Wire, request: &[u8]) -> io::Result<Answer> {
        let both = async {
            // A server may answer and hang up before it has read everything.
            let sent = wire.send(request).await;
            match wire.answer().await {
                Ok(answer) => Ok(answer),
                Err(error) => Err(sent.err().unwrap_or(error)),
            }
        };
        let Ok(answer) = tokio::time::timeout(ANSWER, both).await else {
            self.fault(&format!("neither an answer nor an end within {ANSWER:?}"));
            return Err(io::ErrorKind::TimedOut.into());
        };
        let answer = answer?;
        self.record.seen(self.act, answer.status.to_string());
        if answer.status >= 500 && answer.status != 503 {
            self.fault(&format!("answered {}", answer.status));
        }
        Ok(answer)
    }

    /// Waits for the server to hang up on a client that has nothing more to say.
    async fn wait_for_end(&mut self, wire: &mut Wire) -> io::Result<()> {
        match tokio::time::timeout(PATIENCE, wire.drain()).await {
            Ok(_) => self.record.seen(self.act, "ended"),
            Err(_) => self.fault(&format!("still connected after {PATIENCE:?}")),
        }
        Ok(())
    }

    fn fault(&self, text: &str) {
        self.record
            .fault(format!("{}, {}: {text}", self.place.name, self.act));
    }

    /// A text that no ordinary client may ever see.
    fn text(&mut self) -> String {
        self.rng.secret(polyport_bench::words::THEIRS)
    }
}
