//! Clients whose users are asked in the middle of a call, and clients that hear of changes: they behave, and judge what they get.

use std::sync::Arc;
use std::time::Instant;

use polyport::Stop;
use polyport::serde_json::{self, Value, json};

use crate::ordinary::{Place, exchange, foreign, messages, within};
use crate::record::Record;
use polyport_bench::rng::Rng;
use polyport_bench::wire::{Length, Wire, head, post};
use polyport_bench::words::{
    CLOCK, INITIALIZE_ABLE, INITIALIZED, LISTEN, OURS, able_call, call, listen, modern_headers,
};

/// In which way a client is asked, or hears of changes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Manner {
    /// By a request on the stream of its call.
    Legacy,
    /// By a result that wants the call again, with answers.
    Modern,
    /// `subscriptions/listen`.
    Listens,
    /// `resources/subscribe` and a stream of its session.
    Subscribes,
}

/// One who is asked until told to stop.
#[derive(Debug)]
pub(crate) struct Asked {
    place: Place,
    manner: Manner,
    rng: Rng,
    record: Arc<Record>,
}

impl Asked {
    pub(crate) fn new(place: Place, manner: Manner, rng: Rng, record: Arc<Record>) -> Self {
        Self {
            place,
            manner,
            rng,
            record,
        }
    }

    pub(crate) async fn run(mut self, stop: Stop) {
        while !stop.is_stopped() {
            if let Err(reason) = self.visit().await {
                let (name, manner) = (self.place.name, self.manner);
                self.record.fault(format!("{name}, {manner:?}: {reason}"));
                tokio::time::sleep(self.rng.millis(400, 600)).await;
            }
            tokio::time::sleep(self.rng.millis(5, 60)).await;
        }
    }

    async fn visit(&mut self) -> Result<(), String> {
        let mut wire = within("connecting", Wire::connect(self.place.port)).await?;
        let begun = Instant::now();
        match self.manner {
            Manner::Modern => self.rounds(&mut wire).await?,
            Manner::Listens => {
                wire_send(&mut wire, &post(&LISTEN, listen("\"l\""))).await?;
                self.hear(&mut wire, "notifications/subscriptions/acknowledged")
                    .await?;
            }
            Manner::Legacy | Manner::Subscribes => {
                let Some(session) = self.open(&mut wire).await? else {
                    self.record.busy();
                    tokio::time::sleep(self.rng.millis(500, 1_000)).await;
                    return Ok(());
                };
                if matches!(self.manner, Manner::Legacy) {
                    self.answer_in(&mut wire, &session).await?;
                } else {
                    self.subscribe_in(&mut wire, &session).await?;
                }
                let headers = [("Host", "localhost"), ("Mcp-Session-Id", session.as_str())];
                let farewell = polyport_bench::wire::request("DELETE", "/mcp", &headers, "");
                let mut other = within("connecting", Wire::connect(self.place.port)).await?;
                let gone = exchange(&mut other, &farewell, "the farewell").await?;
                if gone.status != 204 {
                    return Err(format!("the farewell is answered {}", gone.status));
                }
            }
        }
        self.record.answered(self.place.name, begun.elapsed());
        Ok(())
    }

    /// None: all sessions are taken.
    async fn open(&self, wire: &mut Wire) -> Result<Option<String>, String> {
        let opened = exchange(wire, &post(&[], INITIALIZE_ABLE), "initialize").await?;
        if opened.status == 503 {
            return Ok(None);
        }
        let session = opened.session.ok_or("no session")?;
        let headers = [("Mcp-Session-Id", session.as_str())];
        let done = exchange(wire, &post(&headers, INITIALIZED), "initialized").await?;
        match done.status {
            202 => Ok(Some(session)),
            status => Err(format!("initialized is answered {status}")),
        }
    }

    async fn rounds(&mut self, wire: &mut Wire) -> Result<(), String> {
        let (text, name) = (self.rng.secret(OURS), self.rng.secret(OURS));
        let arguments = format!("{{\"text\":\"{text}\"}}");
        let ask = post(
            &modern_headers("badge"),
            able_call("\"a\"", "badge", &arguments, ""),
        );
        let asked = exchange(wire, &ask, "badge").await?;
        let result = last(&messages(&asked)?)?["result"].clone();
        let state = result["requestState"]
            .as_str()
            .ok_or_else(|| result.to_string())?;
        if result["inputRequests"]["who"]["method"] != "elicitation/create" {
            return Err(format!("not asked: {result}"));
        }
        let answers = json!({"who": accept(&name)});
        let more = format!(
            ",\"requestState\":{},\"inputResponses\":{answers}",
            json!(state)
        );
        let again = able_call("\"b\"", "badge", &arguments, &more);
        let done = exchange(wire, &post(&modern_headers("badge"), again), "badge").await?;
        foreign(&done.body, &text, &name)?;
        judge(&last(&messages(&done)?)?, "b", &text, &name)
    }

    /// A call whose stream brings the question; the answer goes another way.
    async fn answer_in(&mut self, wire: &mut Wire, session: &str) -> Result<(), String> {
        let (text, name) = (self.rng.secret(OURS), self.rng.secret(OURS));
        let headers = [("Mcp-Session-Id", session)];
        let arguments = format!("{{\"text\":\"{text}\"}}");
        wire_send(wire, &post(&headers, call("\"c\"", "badge", &arguments))).await?;
        let mut events = Events::open(wire).await?;
        let question = events.next().await?;
        if question["method"] != "elicitation/create" {
            return Err(format!("not asked: {question}"));
        }
        tokio::time::sleep(self.rng.millis(0, 30)).await;
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": accept(&name)});
        let mut other = within("connecting", Wire::connect(self.place.port)).await?;
        let request = post(&headers, answer.to_string());
        let taken = exchange(&mut other, &request, "an answer").await?;
        if taken.status != 202 {
            return Err(format!("an answer is answered {}", taken.status));
        }
        judge(&events.next().await?, "c", &text, &name)
    }

    async fn subscribe_in(&mut self, wire: &mut Wire, session: &str) -> Result<(), String> {
        let headers = [("Mcp-Session-Id", session)];
        let subscribe = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": CLOCK}});
        let request = post(&headers, subscribe.to_string());
        let done = exchange(wire, &request, "subscribe").await?;
        if last(&messages(&done)?)?["result"].is_null() {
            return Err("it cannot be subscribed to".to_owned());
        }
        let headers = [
            ("Host", "localhost"),
            ("Accept", "text/event-stream"),
            ("Mcp-Session-Id", session),
        ];
        wire_send(wire, head("GET", "/mcp", &headers).as_bytes()).await?;
        self.hear(wire, "notifications/resources/updated").await
    }

    /// Hears the first message and some changes.
    async fn hear(&mut self, wire: &mut Wire, first: &str) -> Result<(), String> {
        let mut events = Events::open(wire).await?;
        let heard = events.next().await?;
        if heard["method"] != first {
            return Err(format!("{heard} instead of {first}"));
        }
        for _ in 0..self.rng.within(1, 10) {
            let change = events.next().await?;
            if change["method"] != "notifications/resources/updated"
                || change["params"]["uri"] != CLOCK
            {
                return Err(format!("it heard {change}"));
            }
        }
        Ok(())
    }
}

/// The messages of a stream of events, one after the other.
struct Events<'a> {
    wire: &'a mut Wire,
    buffer: String,
}

impl<'a> Events<'a> {
    async fn open(wire: &'a mut Wire) -> Result<Self, String> {
        let (answer, length) = within("a stream", wire.head()).await?;
        if answer.status != 200 || !answer.events || length != Length::Chunks {
            return Err(format!("no stream: {}", answer.status));
        }
        Ok(Self {
            wire,
            buffer: String::new(),
        })
    }

    async fn next(&mut self) -> Result<Value, String> {
        loop {
            if let Some((event, rest)) = self.buffer.split_once("\n\n") {
                let data = event.lines().find_map(|line| line.strip_prefix("data: "));
                let data = data.filter(|data| !data.is_empty());
                let message = data.map(serde_json::from_str);
                self.buffer = rest.to_owned();
                match message {
                    Some(Ok(message)) => return Ok(message),
                    Some(Err(error)) => return Err(format!("no JSON: {error}")),
                    // A comment, or an event that only has an id.
                    None => continue,
                }
            }
            let chunk = within("an event", self.wire.chunk()).await?;
            let chunk = chunk.ok_or("the stream has ended")?;
            self.buffer += std::str::from_utf8(&chunk).map_err(|_| "no UTF-8")?;
        }
    }
}

async fn wire_send(wire: &mut Wire, request: &[u8]) -> Result<(), String> {
    within("sending", wire.send(request)).await
}

fn accept(name: &str) -> Value {
    json!({"action": "accept", "content": {"name": name}})
}

fn last(messages: &[Value]) -> Result<Value, String> {
    messages
        .last()
        .cloned()
        .ok_or_else(|| "nothing came".to_owned())
}

fn judge(answer: &Value, id: &str, text: &str, name: &str) -> Result<(), String> {
    let right = answer["id"] == id
        && answer["result"]["content"][0]["text"] == format!("{text} {name}").as_str();
    if right {
        Ok(())
    } else {
        Err(format!("no badge for {text} {name}: {answer}"))
    }
}
