//! What is owed on a connection, from what was said on it: a second opinion on the driver that knows no handler and no time.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use polyport_proto::Limits;
use polyport_proto::peer::wants_reply;
use polyport_wire::{Kind, Message, RequestId, batch, splice};
use serde_json::Value;

use super::steps::{With, call, modern_call};

#[derive(Debug)]
pub(super) struct Ledger {
    limits: Limits,
    /// Requests without an answer, by id.
    running: HashMap<RequestId, Running>,
    /// Errors that are due at once, by id and under none.
    errors: HashMap<Option<RequestId>, usize>,
    questions: BTreeMap<i64, Question>,
    /// Streams that have had their end, of which a cancellation may still come.
    ended: Vec<RequestId>,
    /// The revision of the session.
    session: Option<String>,
    /// The last modern call that asked: its tool, its state, and what it asked under which key.
    asked: Option<(String, String, BTreeMap<String, String>)>,
    batches: usize,
}

#[derive(Debug)]
struct Running {
    method: String,
    tool: String,
    token: Option<Value>,
    in_batch: bool,
    /// It was cancelled while its answer may have waited in its batch.
    doubtful: bool,
}

#[derive(Debug)]
struct Question {
    method: String,
    open: bool,
}

impl Ledger {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            running: HashMap::new(),
            errors: HashMap::new(),
            questions: BTreeMap::new(),
            ended: Vec::new(),
            session: None,
            asked: None,
            batches: 0,
        }
    }

    /// Something is about to be said, in a line of its own.
    pub(super) fn note(&mut self, text: &str) {
        if text.len() > self.limits.message_bytes {
            *self.errors.entry(None).or_default() += 1;
            return;
        }
        self.note_message(text, false);
    }

    fn note_message(&mut self, text: &str, in_batch: bool) {
        let message = Message::parse(text.to_owned().into(), &self.limits.json);
        let wants = wants_reply(&message);
        let mut message = match message {
            Ok(message) => message,
            Err(malformed) => {
                let id = malformed.id.filter(|id| !self.running.contains_key(id));
                *self.errors.entry(id).or_default() += usize::from(wants);
                return;
            }
        };
        match message.kind() {
            Kind::Request => {
                let running = Running {
                    method: message.method().into_owned(),
                    tool: message.params().name().unwrap_or_default().into_owned(),
                    token: message.params().progress_token().map(json),
                    in_batch,
                    doubtful: false,
                };
                let id = message.take_id().expect("a request has an id");
                match self.running.entry(id) {
                    Entry::Occupied(_) => *self.errors.entry(None).or_default() += 1,
                    Entry::Vacant(place) => _ = place.insert(running),
                }
            }
            Kind::Notification if message.method() == "notifications/cancelled" => {
                let mut id = None;
                splice::members(message.params().text().unwrap_or("{}"), |key, value| {
                    if key == "requestId" {
                        id = RequestId::parse(value);
                    }
                });
                if let Some(id) = id {
                    self.cancel(&id);
                }
            }
            Kind::Notification => {}
            Kind::Response | Kind::Failure => {
                if let Some(RequestId::Number(id)) = message.id()
                    && let Some(question) = self.questions.get_mut(id)
                {
                    question.open = false;
                }
            }
        }
    }

    fn cancel(&mut self, id: &RequestId) {
        match self.running.get_mut(id) {
            Some(running) if running.in_batch => running.doubtful = true,
            _ => _ = self.running.remove(id),
        }
    }

    /// Calls of these tools are about to be said as one batch: its text.
    pub(super) fn note_batch(&mut self, tools: &[&str]) -> String {
        self.batches += 1;
        let parts = tools.iter().enumerate();
        let parts: Vec<_> = parts
            .map(|(n, tool)| call(&format!("\"b{}-{n}\"", self.batches), tool))
            .collect();
        if self.session.as_deref() == Some("2025-03-26") {
            parts.iter().for_each(|part| self.note_message(part, true));
        } else {
            *self.errors.entry(None).or_default() += 1;
        }
        format!("[{}]", parts.join(","))
    }

    /// The answer to one of the questions that the server has asked; to the last ones even if they are no longer open.
    pub(super) fn answer(&self, which: usize, with: With) -> Option<String> {
        let (id, question) = self.questions.iter().rev().nth(which)?;
        let what = match with {
            With::Answer => format!("\"result\":{}", answer_to(&question.method)),
            With::Nonsense => "\"result\":{\"a\":\n\t[]}".replace('\n', " "),
            With::Error => "\"error\":{\"code\":-1,\"message\":\"no\"}".to_owned(),
        };
        Some(format!(r#"{{"jsonrpc":"2.0","id":{id},{what}}}"#))
    }

    /// The last modern call that asked, with answers.
    pub(super) fn next_round(&self, id: &str) -> Option<String> {
        let (tool, state, asked) = self.asked.as_ref()?;
        let answers = asked.iter();
        let answers: Vec<_> = answers
            .map(|(key, method)| format!("{}:{}", Value::from(key.as_str()), answer_to(method)))
            .collect();
        let more = format!(
            r#","requestState":{},"inputResponses":{{{}}}"#,
            Value::from(state.as_str()),
            answers.join(",")
        );
        Some(modern_call(id, tool, &more))
    }

    /// A line has come.
    pub(super) fn take(&mut self, line: &[u8]) {
        let shown = String::from_utf8_lossy(line).into_owned();
        let line = Bytes::copy_from_slice(line);
        if !batch::is_batch(&line) {
            return self.take_message(&shown);
        }
        let parts = batch::split(&line, &self.limits.json).expect("a batch is JSON");
        assert!(!parts.is_empty(), "an empty batch");
        for part in parts {
            let part = String::from_utf8_lossy(&part).into_owned();
            self.take_message(&part);
        }
    }

    fn take_message(&mut self, text: &str) {
        let message = Message::parse(text.to_owned().into(), &self.limits.json);
        let message = message.unwrap_or_else(|error| panic!("{text}: {error}"));
        match message.kind() {
            Kind::Request => self.take_question(&message),
            Kind::Notification => self.take_notice(&message, &json(text)["params"]),
            Kind::Response | Kind::Failure => self.take_answer(message.id(), &json(text)),
        }
    }

    fn take_question(&mut self, message: &Message) {
        let Some(RequestId::Number(id)) = message.id() else {
            panic!("a question has a number");
        };
        let last = self.questions.keys().next_back();
        assert!(last.is_none_or(|last| last < id), "{id} is a new id");
        assert!(self.session.is_some(), "only sessions are asked");
        let question = Question {
            method: message.method().into_owned(),
            open: true,
        };
        self.questions.insert(*id, question);
    }

    fn take_notice(&mut self, message: &Message, params: &Value) {
        let tag = &params["_meta"]["io.modelcontextprotocol/subscriptionId"];
        if !tag.is_null() {
            let id = RequestId::parse(&tag.to_string()).expect("an id");
            let running = self.running.get(&id);
            let running = running.unwrap_or_else(|| panic!("{id} is no stream"));
            assert_eq!(running.method, "subscriptions/listen");
            return;
        }
        match &*message.method() {
            "notifications/progress" => {
                let token = Some(&params["progressToken"]);
                let mut running = self.running.values();
                assert!(
                    running.any(|running| running.token.as_ref() == token),
                    "progress of nothing that runs: {params}"
                );
            }
            "notifications/cancelled" => {
                let id = RequestId::parse(&params["requestId"].to_string()).expect("an id");
                if let Some(at) = self.ended.iter().position(|ended| *ended == id) {
                    self.ended.remove(at);
                    return;
                }
                let RequestId::Number(number) = id else {
                    panic!("{id} was never asked");
                };
                let question = self.questions.get_mut(&number).expect("it was asked");
                assert!(question.open, "{number} is over");
                question.open = false;
            }
            "notifications/message" => {}
            "notifications/tools/list_changed" | "notifications/resources/updated" => {
                assert!(self.session.is_some(), "nobody listens");
            }
            other => panic!("{other} is said to nobody"),
        }
    }

    fn take_answer(&mut self, id: Option<&RequestId>, answer: &Value) {
        let found = id.and_then(|id| self.running.remove_entry(id));
        let Some((id, running)) = found else {
            let owed = self.errors.get_mut(&id.cloned());
            let owed = owed.filter(|owed| **owed > 0);
            let owed = owed.unwrap_or_else(|| panic!("nothing is owed: {answer}"));
            assert!(answer.get("error").is_some(), "an error is owed: {answer}");
            *owed -= 1;
            return;
        };
        let result = &answer["result"];
        if running.method == "initialize"
            && let Some(version) = result["protocolVersion"].as_str()
        {
            self.session = Some(version.to_owned());
        }
        if running.method == "subscriptions/listen" && result.is_object() {
            self.ended.push(id);
        }
        if let Some(state) = result["requestState"].as_str() {
            let asked = result["inputRequests"].as_object();
            let asked = asked.into_iter().flatten().filter_map(|(key, question)| {
                Some((key.clone(), question["method"].as_str()?.to_owned()))
            });
            self.asked = Some((running.tool, state.to_owned(), asked.collect()));
        }
    }

    /// The connection has ended, and with it so many calls without an answer.
    pub(super) fn close(self, cut: usize) {
        let owed: Vec<_> = self.errors.iter().filter(|(_, owed)| **owed > 0).collect();
        assert!(owed.is_empty(), "errors are missing: {owed:?}");
        let in_batches = self.running.values().any(|running| running.in_batch);
        let left = self.running.len();
        assert!(
            cut == left || in_batches && cut <= left,
            "{cut} calls were cut, {:?} have no answer",
            self.running
        );
    }
}

fn answer_to(method: &str) -> &'static str {
    match method {
        "roots/list" => r#"{"roots":[]}"#,
        "sampling/createMessage" => {
            r#"{"role":"assistant","model":"m","content":{"type":"text","text":"t"}}"#
        }
        _ => r#"{"action":"accept","content":{}}"#,
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}
