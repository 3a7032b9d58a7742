//! One of the clients: its words, how it asks, and what it looks for in all that comes back.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use polyport::serde_json::{self, Value, json};

use super::Report;
use crate::rng::Rng;
use crate::wire::{Answer, Length, Wire, head, post, request};

/// What every secret begins with.
const MARK: &str = "secret-of-";
/// No answer may come later.
const LATEST: Duration = Duration::from_secs(20);
/// The token of every call that reports progress, whoever makes it.
const TOKEN: &str = "t";

/// In which era a client speaks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Era {
    Modern,
    Legacy,
}

/// A client.
pub(super) struct Client {
    address: SocketAddr,
    rng: Rng,
    report: Arc<Report>,
    era: Era,
    /// What all its texts begin with, and nobody else's.
    own: String,
}

/// A question, and where its text stands in the answer.
struct Question {
    method: &'static str,
    name: String,
    params: Value,
    text: String,
    /// The text is in each of so many notifications.
    notes: bool,
    pointer: &'static str,
}

type Fault = String;

impl Client {
    pub(super) fn new(
        number: usize,
        address: SocketAddr,
        mut rng: Rng,
        report: Arc<Report>,
    ) -> Self {
        let own = format!("{MARK}{number:04}-{:016x}", rng.number());
        Self {
            address,
            rng,
            report,
            era: if number.is_multiple_of(2) {
                Era::Modern
            } else {
                Era::Legacy
            },
            own,
        }
    }

    /// Comes, asks a few times, and leaves in one way or another.
    pub(super) async fn visit(&mut self) {
        if let Err(fault) = self.try_visit().await {
            self.report.fault(format!("{}: {fault}", self.own));
            // A server that is gone would fill the report in no time.
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    async fn try_visit(&mut self) -> Result<(), Fault> {
        let mut wire = self.connect().await?;
        let session = match self.era {
            Era::Modern => None,
            Era::Legacy => Some(self.open(&mut wire).await?),
        };
        let session = session.as_deref();
        let listening = match session {
            Some(session) if self.rng.percent(50) => Some(self.listen(session).await?),
            _ => None,
        };
        // The ids are those of everybody.
        for id in 0..self.rng.within(3, 9) {
            let question = self.question();
            let text = self.request(id, &question, session);
            let answer = exchange(&mut wire, &text).await?;
            self.judge(&answer, id, &question)?;
        }
        if self.rng.percent(50) {
            self.ask_on_two_ways(&mut wire, session).await?;
        }
        if self.rng.percent(40) {
            self.leave_in_the_middle(session).await?;
        }
        match session {
            Some(session) if self.rng.percent(70) => self.end(&mut wire, session).await?,
            // The others are forgotten, and found by nobody.
            _ => return Ok(()),
        }
        // The stream has ended with its session; whatever stood on it belonged there.
        if let Some(mut listening) = listening {
            let stream = exchange(&mut listening, b"").await?;
            self.look(&stream.body)?;
        }
        Ok(())
    }

    /// A stream for what belongs to no call.
    async fn listen(&self, session: &str) -> Result<Wire, Fault> {
        let mut wire = self.connect().await?;
        let headers = [
            ("Host", "127.0.0.1"),
            ("Accept", "text/event-stream"),
            ("Mcp-Session-Id", session),
        ];
        let text = head("GET", "/mcp", &headers);
        let sent = wire.send(text.as_bytes()).await;
        sent.map_err(|error| error.to_string())?;
        Ok(wire)
    }

    async fn connect(&self) -> Result<Wire, Fault> {
        let connecting = Wire::connect(self.address.port());
        connecting.await.map_err(|e| format!("connecting: {e}"))
    }

    async fn open(&mut self, wire: &mut Wire) -> Result<String, Fault> {
        let revision = *self.rng.pick(&["2025-03-26", "2025-06-18", "2025-11-25"]);
        let hello = json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                "protocolVersion": revision, "capabilities": {},
                "clientInfo": {"name": self.own, "version": "1"},
            },
        });
        let opened = exchange(wire, &post(&[], hello.to_string())).await?;
        self.look(&opened.body)?;
        let session = opened
            .session
            .ok_or_else(|| format!("no session: {}", opened.status))?;
        self.report.opened(&session);
        let named = [("Mcp-Session-Id", session.as_str())];
        for message in [
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": {"level": "info"}}),
        ] {
            let done = exchange(wire, &post(&named, message.to_string())).await?;
            if !matches!(done.status, 200 | 202) {
                return Err(format!("{message} is answered {}", done.status));
            }
        }
        Ok(session)
    }

    fn question(&mut self) -> Question {
        let text = self.rng.secret(&format!("{}-", self.own));
        let tool = |name: &str, pointer, notes| Question {
            method: "tools/call",
            name: name.to_owned(),
            params: json!({"name": name, "arguments": {"text": text}}),
            text: text.clone(),
            notes,
            pointer,
        };
        match self.rng.within(0, 6) {
            0 => tool("echo", "/content/0/text", false),
            1 => tool("fail", "/content/0/text", false),
            // Where a revision has no structured values, the text has them.
            2 => tool("structured", "/content/0/text", false),
            3 => Question {
                method: "prompts/get",
                name: "ask".to_owned(),
                params: json!({"name": "ask", "arguments": {"text": text}}),
                text,
                notes: false,
                pointer: "/messages/0/content/text",
            },
            4 => Question {
                method: "resources/read",
                name: format!("secret://{text}"),
                params: json!({"uri": format!("secret://{text}")}),
                text,
                notes: false,
                pointer: "/contents/0/text",
            },
            _ => tool("tell", "/content/0/text", true),
        }
    }

    /// The bytes of a question. Every client has the same ids and the same token.
    fn request(&self, id: usize, question: &Question, session: Option<&str>) -> Vec<u8> {
        let mut params = question.params.clone();
        let mut meta = json!({});
        if question.notes {
            meta["progressToken"] = json!(TOKEN);
        }
        let Some(session) = session else {
            meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
            meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
            if question.notes {
                meta["io.modelcontextprotocol/logLevel"] = json!("info");
            }
            params["_meta"] = meta;
            let message =
                json!({"jsonrpc": "2.0", "id": id, "method": question.method, "params": params});
            let headers = [
                ("MCP-Protocol-Version", "2026-07-28"),
                ("Mcp-Method", question.method),
                ("Mcp-Name", question.name.as_str()),
            ];
            return post(&headers, message.to_string());
        };
        params["_meta"] = meta;
        let message =
            json!({"jsonrpc": "2.0", "id": id, "method": question.method, "params": params});
        post(&[("Mcp-Session-Id", session)], message.to_string())
    }

    /// Two calls at once, on two connections; in one session they have two ids.
    async fn ask_on_two_ways(
        &mut self,
        wire: &mut Wire,
        session: Option<&str>,
    ) -> Result<(), Fault> {
        let mut other = self.connect().await?;
        let (first, second) = (self.question(), self.question());
        let other_id = if session.is_some() { 1 } else { 0 };
        let texts = [
            self.request(0, &first, session),
            self.request(other_id, &second, session),
        ];
        let (one, two) = tokio::join!(exchange(wire, &texts[0]), exchange(&mut other, &texts[1]));
        self.judge(&one?, 0, &first)?;
        self.judge(&two?, other_id, &second)
    }

    /// Begins a call and goes, or ends its session meanwhile.
    async fn leave_in_the_middle(&mut self, session: Option<&str>) -> Result<(), Fault> {
        let mut wire = self.connect().await?;
        let mut question = self.question();
        question.name = "tell".to_owned();
        question.method = "tools/call";
        question.notes = true;
        question.params = json!({"name": "tell", "arguments": {"text": question.text}});
        let text = self.request(100, &question, session);
        wire.send(&text).await.map_err(|e| e.to_string())?;
        let pause = self.rng.millis(0, 12);
        tokio::time::sleep(pause).await;
        self.report.left.fetch_add(1, Ordering::Relaxed);
        if let Some(session) = session.filter(|_| self.rng.percent(30)) {
            let mut another = self.connect().await?;
            self.end(&mut another, session).await?;
            // What comes of the call is its own, as far as it comes.
            if let Ok(answer) = exchange(&mut wire, b"").await {
                self.look(&answer.body)?;
            }
            return Ok(());
        }
        if self.rng.percent(50) {
            wire.reset();
        }
        match session {
            Some(session) => self.come_back(session).await,
            None => Ok(()),
        }
    }

    /// Takes up a stream at an event whose id many others have had, too: what comes is its own, or nothing.
    async fn come_back(&mut self, session: &str) -> Result<(), Fault> {
        let mut wire = self.connect().await?;
        let event = format!("{}-{}", self.rng.within(0, 12), self.rng.within(0, 4));
        let headers = [
            ("Host", "127.0.0.1"),
            ("Accept", "text/event-stream"),
            ("Mcp-Session-Id", session),
            ("Last-Event-ID", event.as_str()),
        ];
        let sent = wire.send(head("GET", "/mcp", &headers).as_bytes()).await;
        sent.map_err(|error| error.to_string())?;
        let begun = tokio::time::timeout(LATEST, wire.head()).await;
        let Ok(Ok((answer, Length::Chunks))) = begun else {
            return match begun {
                Ok(Ok((refused, _))) if refused.status >= 400 => Ok(()),
                _ => Err(format!("coming back to {event}: {begun:?}")),
            };
        };
        if answer.status != 200 {
            return Err(format!("coming back to {event}: {}", answer.status));
        }
        // A stream may go on for ever; a moment is enough for what is kept.
        while let Ok(Ok(Some(chunk))) =
            tokio::time::timeout(Duration::from_millis(30), wire.chunk()).await
        {
            self.look(&chunk)?;
            self.report.replayed.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    async fn end(&self, wire: &mut Wire, session: &str) -> Result<(), Fault> {
        let headers = [("Host", "127.0.0.1"), ("Mcp-Session-Id", session)];
        let gone = exchange(wire, &request("DELETE", "/mcp", &headers, "")).await?;
        self.look(&gone.body)?;
        match gone.status {
            204 | 404 => Ok(()),
            status => Err(format!("the end is answered {status}")),
        }
    }

    /// Nothing in these bytes may be anybody else's.
    fn look(&self, bytes: &[u8]) -> Result<(), Fault> {
        let text = String::from_utf8_lossy(bytes);
        self.report
            .bytes
            .fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let foreign = text
            .match_indices(MARK)
            .filter(|(at, _)| !text[*at..].starts_with(&self.own));
        match foreign.count() {
            0 => Ok(()),
            n => {
                let bytes = n * self.own.len();
                self.report
                    .foreign
                    .fetch_add(bytes as u64, Ordering::Relaxed);
                Err(format!("somebody else's secret: {text}"))
            }
        }
    }

    /// The answer has to be whole, to this very question, and all its own.
    fn judge(&self, answer: &Answer, id: usize, question: &Question) -> Result<(), Fault> {
        self.look(&answer.body)?;
        let wrong = |what: &str| {
            let body = String::from_utf8_lossy(&answer.body);
            format!(
                "{} {}: {what}: {} {body}",
                question.method, question.name, answer.status
            )
        };
        if answer.status != 200 {
            return Err(wrong("not answered"));
        }
        let messages = messages(answer).map_err(|error| wrong(&error.to_string()))?;
        let (last, notes) = messages.split_last().ok_or_else(|| wrong("nothing came"))?;
        if last["id"] != id {
            return Err(wrong("another id"));
        }
        let said = last["result"].pointer(question.pointer);
        let said = said.and_then(Value::as_str).unwrap_or_default();
        let value = format!("{{\"text\":\"{}\"}}", question.text);
        if said != question.text && said != value {
            return Err(wrong("another text"));
        }
        for note in notes {
            let params = &note["params"];
            let text = match note["method"].as_str() {
                Some("notifications/progress") if params["progressToken"] == TOKEN => {
                    &params["message"]
                }
                Some("notifications/message") => &params["data"],
                _ => return Err(wrong("another notification")),
            };
            if !question.notes || *text != question.text.as_str() {
                return Err(wrong("a notification of another call"));
            }
        }
        self.report.calls.fetch_add(1, Ordering::Relaxed);
        self.report
            .notes
            .fetch_add(notes.len() as u64, Ordering::Relaxed);
        Ok(())
    }
}

fn messages(answer: &Answer) -> Result<Vec<Value>, serde_json::Error> {
    if !answer.events {
        return Ok(vec![serde_json::from_slice(&answer.body)?]);
    }
    let text = String::from_utf8_lossy(&answer.body);
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    // An event without data only says where to come back to.
    let data = data.filter(|data| !data.is_empty());
    data.map(serde_json::from_str).collect()
}

async fn exchange(wire: &mut Wire, request: &[u8]) -> Result<Answer, Fault> {
    let both = async {
        wire.send(request).await?;
        wire.answer().await
    };
    match tokio::time::timeout(LATEST, both).await {
        Err(_) => Err(format!("no answer within {LATEST:?}")),
        Ok(answer) => answer.map_err(|error: io::Error| error.to_string()),
    }
}
