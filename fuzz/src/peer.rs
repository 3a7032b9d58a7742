//! The check of the serving end of a conversation: bytes are a script of what a client says and when calls end, and a
//! ledger keeps what is owed to it.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;
use polyport_proto::{Blame, Limits, Outcome, Peer, Receipt, Revisions, RpcError, Turn};
use polyport_wire::{Kind, Malformed, Message, Raw, RequestId, batch};

/// Plays `data` against a peer. A step is one letter, most of them with one of eight ids behind it (`0` to `7`); white
/// space is passed over, and what is no letter of the script does nothing.
///
/// - `i`, `I`, `j`: `initialize` with batches, without, and without params. `n`: `notifications/initialized`.
/// - `p`: ping. `c`: call. `l`: `logging/setLevel`. `u`: a method that nobody has.
/// - `m`, `d`, `v`: a modern call, a modern `server/discover`, and a call of a revision that nobody speaks.
/// - `x`, `y`: cancels that id, or none. `g`: a notice of progress. `r`, `F`: a result and an error under that id. `f`: an error under none.
/// - `a`, `k`, `q`: a request with an array as params, with a key twice, or with the id null.
/// - `Q`: we ask; `r` and `F` under its id are the answer. `o`, `O`: every second asker waits no more, and the client is told or not.
/// - `J`: the rest of the line is a message. `[` and `]`: what is between them is one batch.
/// - `t`, `s`, `w`: from here on calls take their time, or are answered at once, well or badly.
/// - `e`, `E`: the call of that id ends, well or badly. `A`: the connection is given up.
///
/// What must hold:
///
/// - What is written is JSON, one message or one batch of them, and each answers something.
/// - A request is answered once: never again, not after it was cancelled, and never under the id of a call that runs.
/// - What we ask has a new id; its answer comes to whoever asked, once, and to nobody who waits no more.
/// - When all calls have ended none is in flight, and nothing is owed.
pub fn check(data: &[u8]) {
    let mut play = Play::new();
    let mut steps = read(data).into_iter();
    while let Some(step) = steps.next() {
        if let Step::Open = step {
            let inside = steps
                .by_ref()
                .take_while(|step| !matches!(step, Step::Close));
            play.batch(inside.collect());
        } else if let Step::Abandon = step {
            return play.abandon();
        } else {
            play.step(step, None);
        }
    }
    play.end_all();
}

#[derive(Debug)]
enum Step {
    Say(Bytes),
    Mode(Mode),
    End(RequestId, Outcome),
    Ask,
    /// Whether the client is told.
    Forget(bool),
    Open,
    Close,
    Abandon,
}

/// How a call that is let in goes on.
#[derive(Clone, Copy, Debug)]
enum Mode {
    Takes,
    Answered,
    Failed,
}

fn read(data: &[u8]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut rest = data;
    while let [letter, after @ ..] = rest {
        rest = after;
        if *letter == b'J' {
            let end = rest.iter().position(|byte| *byte == b'\n');
            let (message, after) = rest.split_at(end.unwrap_or(rest.len()));
            steps.push(Step::Say(Bytes::copy_from_slice(message)));
            rest = after;
            continue;
        }
        let (id, used) = match rest {
            [digit @ b'0'..=b'7', ..] => (usize::from(digit - b'0'), 1),
            _ => (0, 0),
        };
        if let Some(step) = step(*letter, id) {
            steps.push(step);
            rest = &rest[used..];
        }
    }
    steps
}

fn step(letter: u8, id: usize) -> Option<Step> {
    const META: &str = r#""io.modelcontextprotocol/clientCapabilities":{}"#;
    const VERSION: &str = r#""io.modelcontextprotocol/protocolVersion""#;
    let id = IDS[id];
    let request = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
    };
    let notice = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{params}}}"#)
    };
    let open = |version| {
        let params = format!(r#"{{"protocolVersion":"{version}","capabilities":{{}}}}"#);
        request("initialize", &params)
    };
    let modern = |method: &str, version| {
        let params = format!(r#"{{"name":"n","_meta":{{{VERSION}:"{version}",{META}}}}}"#);
        request(method, &params)
    };
    let text = match letter {
        b'i' => open("2025-03-26"),
        b'I' => open("2025-11-25"),
        b'j' => request("initialize", "{}"),
        b'n' => notice("initialized", "{}"),
        b'p' => request("ping", "{}"),
        b'c' => request("tools/call", r#"{"name":"n"}"#),
        b'l' => request("logging/setLevel", r#"{"level":"info"}"#),
        b'u' => request("dream/create", "{}"),
        b'm' => modern("tools/call", "2026-07-28"),
        b'd' => modern("server/discover", "2026-07-28"),
        b'v' => modern("tools/call", "1999-12-31"),
        b'x' => notice("cancelled", &format!(r#"{{"requestId":{id}}}"#)),
        b'y' => notice("cancelled", "{}"),
        b'g' => notice("progress", r#"{"progressToken":1,"progress":1}"#),
        b'r' => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
        b'F' => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-1,"message":""}}}}"#),
        b'f' => r#"{"jsonrpc":"2.0","error":{"code":-1,"message":""}}"#.to_owned(),
        b'a' => request("tools/call", "[]"),
        b'k' => request("tools/call", r#"{"name":"n","name":"n"}"#),
        b'q' => r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#.to_owned(),
        b't' => return Some(Step::Mode(Mode::Takes)),
        b's' => return Some(Step::Mode(Mode::Answered)),
        b'w' => return Some(Step::Mode(Mode::Failed)),
        b'e' => return Some(Step::End(RequestId::parse(id)?, done())),
        b'E' => return Some(Step::End(RequestId::parse(id)?, failed())),
        b'Q' => return Some(Step::Ask),
        b'o' => return Some(Step::Forget(true)),
        b'O' => return Some(Step::Forget(false)),
        b'[' => return Some(Step::Open),
        b']' => return Some(Step::Close),
        b'A' => return Some(Step::Abandon),
        _ => return None,
    };
    Some(Step::Say(text.into()))
}

fn done() -> Outcome {
    let result = r#"{"content":[],"capabilities":{"tools":{}},"ttlMs":1,"_meta":{"a":"b"}}"#;
    Outcome::Complete(Raw::from_static(result))
}

fn failed() -> Outcome {
    Outcome::Failed(RpcError::resource_not_found("a://\"\n"))
}

struct Play {
    peer: Peer<u32, u32>,
    mode: Mode,
    /// Calls that take their time: the request, and what the peer was given to keep.
    running: HashMap<RequestId, u32>,
    next: u32,
    /// Questions of ours without an answer: their number, and who asked.
    asked: HashMap<i64, u32>,
    /// The last number that a question had.
    last: i64,
    /// How many answers are still to come under each id, and under none.
    owed: HashMap<Option<RequestId>, usize>,
}

impl Play {
    fn new() -> Self {
        let mut limits = Limits::default();
        limits.calls_per_session = CALLS;
        limits.questions_per_session = QUESTIONS;
        Self {
            peer: Peer::new(Revisions::ALL, &limits),
            mode: Mode::Takes,
            running: HashMap::new(),
            next: 0,
            asked: HashMap::new(),
            last: 0,
            owed: HashMap::new(),
        }
    }

    fn step(&mut self, step: Step, batch: Option<u32>) {
        match step {
            Step::Say(frame) => self.say(Message::parse(frame, &limits()), batch),
            Step::Mode(mode) => self.mode = mode,
            Step::End(id, outcome) => self.end(&id, &outcome),
            Step::Ask => self.ask(),
            Step::Forget(told) => self.forget(told),
            // A batch in a batch is nothing that these steps can say.
            Step::Open | Step::Close | Step::Abandon => {}
        }
        assert_eq!(self.peer.in_flight(), self.running.len(), "calls in flight");
        assert_eq!(self.peer.asked(), self.asked.len(), "questions that wait");
        assert!(self.running.len() <= CALLS, "no more calls than allowed");
        assert!(
            self.peer.session().is_some() || !self.peer.is_initialized(),
            "what is initialized has a session"
        );
    }

    fn batch(&mut self, steps: Vec<Step>) {
        let mut steps: VecDeque<_> = steps
            .into_iter()
            .map(|step| match step {
                Step::Say(frame) => Ok(Message::parse(frame, &limits())),
                other => Err(other),
            })
            .collect();
        let replies = steps.iter().flatten().filter(|it| wants_reply(it)).count();
        let Ok(number) = self.peer.open_batch(replies) else {
            return;
        };
        assert_eq!(number.is_some(), replies > 0, "a batch waits for replies");
        while let Some(step) = steps.pop_front() {
            match step {
                Ok(message) => {
                    let number = number.filter(|_| wants_reply(&message));
                    self.say(message, number);
                }
                Err(step) => self.step(step, None),
            }
        }
    }

    fn say(&mut self, message: Result<Message, Malformed>, batch: Option<u32>) {
        let wants = wants_reply(&message);
        let id = match &message {
            Ok(message) => message.id().cloned(),
            Err(malformed) => malformed.id.clone(),
        };
        let kind = message.as_ref().ok().map(Message::kind);
        let told = id.clone().zip(kind.map(|kind| kind == Kind::Response));
        let id = id.filter(|id| !self.running.contains_key(id));
        if wants {
            *self.owed.entry(id.clone()).or_default() += 1;
        }
        let mut out = Vec::new();
        match self.peer.handle(message, batch, &mut out) {
            Turn::Call(receipt, admitted) => {
                assert_eq!(Some(&receipt.id), id.as_ref(), "a call that is new");
                assert_eq!(receipt.method, admitted.method);
                assert!(out.is_empty(), "a call has no answer yet");
                self.call(receipt, &mut out);
            }
            Turn::Reply(_) => {
                assert!(wants, "a reply is wanted");
                assert!(batch.is_some() || !out.is_empty(), "a reply is written");
            }
            Turn::Cancel(tag, _) => {
                let found = self.running.iter().find(|(_, kept)| **kept == tag);
                let (id, _) = found.expect("what is cancelled runs");
                let id = id.clone();
                self.running.remove(&id);
                self.pay(Some(&id));
            }
            Turn::Answer(asker, answer) => {
                assert!(!wants && out.is_empty(), "nobody answers an answer");
                let found = self.asked.iter().find(|(_, kept)| **kept == asker);
                let (number, _) = found.expect("whoever asked waits");
                assert_eq!(told, Some((RequestId::Number(*number), answer.is_ok())));
                let number = *number;
                self.asked.remove(&number);
            }
            Turn::BadAnswer(asker, malformed) => {
                assert!(batch.is_none() && out.is_empty(), "nobody answers it");
                assert!(malformed.answer, "it has no method");
                let found = self.asked.iter().find(|(_, kept)| **kept == asker);
                let number = *found.expect("whoever asked waits").0;
                assert_eq!(malformed.id, Some(RequestId::Number(number)));
                self.asked.remove(&number);
                if wants {
                    self.pay(id.as_ref());
                }
            }
            Turn::Notice(_) => assert!(!wants && out.is_empty()),
            Turn::Nothing(blame) => {
                assert!(!wants && out.is_empty(), "{blame:?} is not said");
                assert_ne!(blame, Some(Blame::DuplicateId));
            }
        }
        self.take(out);
    }

    fn call(&mut self, receipt: Receipt, out: &mut Vec<u8>) {
        match self.mode {
            Mode::Takes => {
                self.next += 1;
                self.running.insert(receipt.id.clone(), self.next);
                self.peer.track(receipt, self.next);
            }
            Mode::Answered => self.peer.answer(&receipt, &done(), out),
            Mode::Failed => self.peer.answer(&receipt, &failed(), out),
        }
    }

    fn ask(&mut self) {
        let mut out = Vec::new();
        self.next += 1;
        let room = self.peer.session().is_some() && self.asked.len() < QUESTIONS;
        let asks = self.peer.ask("roots/list", None, self.next, &mut out);
        let asks = asks.is_ok();
        assert_eq!(asks, room, "a session is asked within its bound");
        if !asks {
            return assert!(out.is_empty(), "what is not asked is not written");
        }
        let message = Message::parse(out.into(), &limits()).expect("a message is written");
        let (kind, id) = (message.kind(), message.id().cloned());
        assert_eq!((kind, &*message.method()), (Kind::Request, "roots/list"));
        let Some(RequestId::Number(number)) = id else {
            panic!("{id:?} is no number")
        };
        assert!(number > self.last, "{number} was used before");
        self.last = number;
        self.asked.insert(number, self.next);
    }

    /// Those whose number is even wait no more.
    fn forget(&mut self, told: bool) {
        let mut cancels = Vec::new();
        let unwanted = |asker: &u32| asker.is_multiple_of(2);
        self.peer.forget(
            unwanted,
            |_| told,
            |asker, cancel| cancels.push((asker, cancel)),
        );
        for (asker, cancel) in cancels {
            assert!(told && unwanted(&asker), "who waits is not forgotten");
            let message = Message::parse(cancel.into(), &limits()).expect("a message");
            assert_eq!(message.method(), "notifications/cancelled");
            let params = message.params().text().unwrap_or_default().to_owned();
            let found = self.asked.iter().find(|(_, kept)| **kept == asker);
            let number = *found.expect("it was asked").0;
            assert_eq!(params, format!("{{\"requestId\":{number}}}"));
            self.asked.remove(&number);
        }
        let left = |asked: &HashMap<i64, u32>| asked.values().any(|asker| asker % 2 == 0);
        assert!(!told || !left(&self.asked), "the client is told of each");
        self.asked.retain(|_, asker| !unwanted(asker));
    }

    fn end(&mut self, id: &RequestId, outcome: &Outcome) {
        let mut out = Vec::new();
        let ran = self.running.remove(id).is_some();
        let told = self.peer.finish(id, outcome, &mut out);
        assert_eq!(told.is_some(), ran, "only what runs can end");
        assert!(ran || out.is_empty(), "what does not run has no answer");
        self.take(out);
    }

    /// Strikes out of the ledger what has been written.
    fn take(&mut self, out: Vec<u8>) {
        if out.is_empty() {
            return;
        }
        let is_batch = batch::is_batch(&out);
        let parts = batch::split(&Bytes::from(out), &limits()).expect("JSON is written");
        assert!(is_batch || parts.len() == 1);
        for part in parts {
            let message = Message::parse(part, &limits()).expect("messages are written");
            assert!(matches!(message.kind(), Kind::Response | Kind::Failure));
            self.pay(message.id());
        }
    }

    fn pay(&mut self, id: Option<&RequestId>) {
        let owed = self.owed.get_mut(&id.cloned()).filter(|owed| **owed > 0);
        let owed = owed.unwrap_or_else(|| panic!("nothing is owed to {id:?}"));
        *owed -= 1;
    }

    fn abandon(mut self) {
        let mut tags = self.peer.abandon();
        let mut running: Vec<u32> = self.running.into_values().collect();
        tags.sort_unstable();
        running.sort_unstable();
        assert_eq!(tags, running, "all that runs is given up");
        assert_eq!((self.peer.in_flight(), self.peer.asked()), (0, 0));
    }

    fn end_all(mut self) {
        let ids: Vec<RequestId> = self.running.keys().cloned().collect();
        for id in ids {
            self.end(&id, &done());
        }
        assert_eq!(self.peer.in_flight(), 0, "all calls have ended");
        let owed: Vec<_> = self.owed.iter().filter(|(_, owed)| **owed > 0).collect();
        assert!(owed.is_empty(), "answers are missing: {owed:?}");
    }
}

fn wants_reply(message: &Result<Message, Malformed>) -> bool {
    match message {
        Ok(message) => message.kind() == Kind::Request,
        Err(malformed) => !malformed.notification,
    }
}

fn limits() -> polyport_wire::Limits {
    polyport_wire::Limits {
        batch: usize::MAX,
        ..polyport_wire::Limits::default()
    }
}

/// Two kinds that look alike, the ends of numbers, and texts that need escapes.
const IDS: [&str; 8] = [
    "0",
    "1",
    "\"1\"",
    "\"\"",
    "-1",
    "9223372036854775807",
    r#""a\"\n\u0000""#,
    r#""\u00e9""#,
];

/// Calls that may run at once.
const CALLS: usize = 4;
/// Questions of ours that may wait at once.
const QUESTIONS: usize = 3;
