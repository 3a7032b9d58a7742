//! Clients that behave: each call carries a secret of its own, and the answer must be theirs, whole, alone and in time.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use polyport::Stop;
use polyport::serde_json::{self, Value, json};

use crate::record::Record;
use polyport_bench::rng::Rng;
use polyport_bench::wire::{Answer, Wire, post};
use polyport_bench::words::{
    INITIALIZE, INITIALIZED, OURS, THEIRS, call, call_with_progress, modern_call, modern_headers,
};

/// No answer may come later.
pub(crate) const LATEST: Duration = Duration::from_secs(5);

/// A server as its clients know it.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) name: &'static str,
    pub(crate) port: u16,
    /// It has the demo's tools and files; otherwise only `echo` and `add`.
    pub(crate) rich: bool,
    /// It has a tool that asks its user, and a resource that changes.
    pub(crate) asks: bool,
    /// What the file `welcome.md` says.
    pub(crate) welcome: Arc<str>,
}

/// One question and what is right.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    /// The text of the answer.
    pub(crate) text: Option<String>,
    /// Its structured content.
    pub(crate) structured: Option<Value>,
    /// It reports progress so many times.
    pub(crate) steps: usize,
}

impl Question {
    pub(crate) fn echo(text: String) -> Self {
        Self {
            tool: "echo",
            arguments: json!({"text": text}),
            text: Some(text),
            structured: None,
            steps: 0,
        }
    }

    /// Any that the server can answer.
    pub(crate) fn any(rng: &mut Rng, rich: bool, welcome: &str) -> Self {
        let secret = rng.secret(OURS);
        match rng.within(0, if rich { 6 } else { 3 }) {
            0 => {
                let (a, b) = (rng.within(0, 1 << 20), rng.within(0, 1 << 20));
                Self {
                    tool: "add",
                    arguments: json!({"a": a, "b": b}),
                    text: None,
                    structured: Some(json!((a + b) as f64)),
                    steps: 0,
                }
            }
            1 if rng.percent(10) => Self::echo(secret.repeat(rng.within(2_000, 8_000))),
            1 => Self::echo(secret.repeat(rng.within(1, 100))),
            2 => Self::echo(secret),
            3 | 4 if !welcome.is_empty() => Self {
                tool: "read_text_file",
                arguments: json!({"path": "welcome.md"}),
                text: Some(welcome.to_owned()),
                structured: None,
                steps: 0,
            },
            _ => {
                let to = rng.within(1, 6);
                Self {
                    tool: "count",
                    arguments: json!({"to": to, "delay_ms": rng.within(1, 30)}),
                    text: Some(format!("counted to {to}")),
                    structured: None,
                    steps: to,
                }
            }
        }
    }

    /// What is wrong with the messages that came for it, the last of which has to be the answer.
    pub(crate) fn judge(&self, id: &str, messages: &[Value]) -> Result<(), String> {
        let (answer, notes) = messages.split_last().ok_or("nothing came")?;
        if answer["id"] != id {
            return Err(format!("the answer is to {}", answer["id"]));
        }
        let result = &answer["result"];
        if let Some(text) = &self.text
            && result["content"][0]["text"] != text.as_str()
        {
            return Err("another text".to_owned());
        }
        if let Some(sum) = &self.structured
            && result["structuredContent"]["sum"].as_f64() != sum.as_f64()
        {
            return Err("another sum".to_owned());
        }
        if result["content"].as_array().map(Vec::len) != Some(1) || result["isError"] == true {
            return Err("no plain result".to_owned());
        }
        let mut before = 0.0;
        for note in notes
            .iter()
            .filter(|n| n["method"] == "notifications/progress")
        {
            let progress = note["params"]["progress"].as_f64().unwrap_or_default();
            if note["params"]["progressToken"] != id || progress <= before {
                return Err("progress of another call".to_owned());
            }
            before = progress;
        }
        if notes.len() > self.steps * 2 {
            return Err(format!(
                "{} notifications for {} steps",
                notes.len(),
                self.steps
            ));
        }
        Ok(())
    }
}

/// What is wrong with the bytes of an answer, whatever they mean: nobody else's words may be in them.
pub(crate) fn foreign(body: &[u8], id: &str, question: &str) -> Result<(), String> {
    let text = std::str::from_utf8(body).map_err(|_| "the answer is no UTF-8".to_owned())?;
    if text.contains(THEIRS) {
        return Err("a hostile client's words are in the answer".to_owned());
    }
    let secret = OURS.len() + 32;
    for (at, _) in text.match_indices(OURS) {
        let found = text.get(at..at + secret).unwrap_or_else(|| &text[at..]);
        if found != id && !question.contains(found) {
            return Err(format!("another client's secret is in the answer: {found}"));
        }
    }
    Ok(())
}

/// One who calls until told to stop.
#[derive(Debug)]
pub(crate) struct Ordinary {
    pub(crate) place: Place,
    pub(crate) modern: bool,
    pub(crate) rng: Rng,
    pub(crate) record: Arc<Record>,
    pub(crate) stop: Stop,
}

impl Ordinary {
    pub(crate) async fn run(mut self) {
        while !self.stop.is_stopped() {
            if let Err(reason) = self.visit().await {
                let (name, era) = (
                    self.place.name,
                    if self.modern { "modern" } else { "legacy" },
                );
                self.record.fault(format!("{name}, {era} client: {reason}"));
                // A server that is gone would fill the record in no time.
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        }
    }

    /// A connection, some calls, and an end as it should be.
    async fn visit(&mut self) -> Result<(), String> {
        let mut wire = within("connecting", Wire::connect(self.place.port)).await?;
        let mut session = None;
        if !self.modern {
            session = self.open(&mut wire).await?;
            if session.is_none() {
                self.record.busy();
                tokio::time::sleep(Duration::from_secs(1)).await;
                return Ok(());
            }
        }
        for _ in 0..self.rng.within(1, 80) {
            if self.stop.is_stopped() {
                break;
            }
            self.ask(&mut wire, session.as_deref()).await?;
            tokio::time::sleep(self.rng.millis(1, 40)).await;
        }
        if let Some(session) = session {
            let headers = [("Host", "localhost"), ("Mcp-Session-Id", session.as_str())];
            let farewell = polyport_bench::wire::request("DELETE", "/mcp", &headers, "");
            let gone = exchange(&mut wire, &farewell, "the farewell").await?;
            if gone.status != 204 {
                return Err(format!("the farewell is answered {}", gone.status));
            }
        }
        Ok(())
    }

    /// None: all sessions are taken.
    async fn open(&self, wire: &mut Wire) -> Result<Option<String>, String> {
        let opened = exchange(wire, &post(&[], INITIALIZE), "initialize").await?;
        if opened.status == 503 {
            return Ok(None);
        }
        let session = opened.session;
        let session = session.ok_or_else(|| format!("no session: {}", opened.status))?;
        let headers = [("Mcp-Session-Id", session.as_str())];
        let done = exchange(wire, &post(&headers, INITIALIZED), "initialized").await?;
        if done.status != 202 {
            return Err(format!("initialized is answered {}", done.status));
        }
        Ok(Some(session))
    }

    async fn ask(&mut self, wire: &mut Wire, session: Option<&str>) -> Result<(), String> {
        let question = Question::any(&mut self.rng, self.place.rich, &self.place.welcome);
        let id = self.rng.secret(OURS);
        let (name, arguments) = (question.tool, question.arguments.to_string());
        let quoted = format!("\"{id}\"");
        let request = match session {
            Some(session) => {
                let message = call_with_progress(&quoted, name, &arguments, &quoted);
                post(&[("Mcp-Session-Id", session)], message)
            }
            None if question.steps > 0 => {
                let token = format!(",\"progressToken\":{quoted}");
                post(
                    &modern_headers(name),
                    modern_call(&quoted, name, &arguments, &token),
                )
            }
            None => post(
                &modern_headers(name),
                modern_call(&quoted, name, &arguments, ""),
            ),
        };
        let begun = Instant::now();
        let answer = exchange(wire, &request, name).await?;
        let took = begun.elapsed();
        let wrong = |reason: String| {
            let body = String::from_utf8_lossy(&answer.body[..answer.body.len().min(400)]);
            format!("{name}: {reason}: {} {body}", answer.status)
        };
        if answer.status != 200 {
            return Err(wrong("not answered".to_owned()));
        }
        foreign(&answer.body, &id, &arguments).map_err(wrong)?;
        let messages = messages(&answer).map_err(wrong)?;
        question.judge(&id, &messages).map_err(wrong)?;
        self.record.answered(self.place.name, took);
        Ok(())
    }
}

/// A short question that every server answers, on a connection of its own: for the end of a run.
pub(crate) async fn still_answers(place: &Place, rng: &mut Rng) -> Result<(), String> {
    let mut wire = within("connecting", Wire::connect(place.port)).await?;
    let id = rng.secret(OURS);
    let question = Question::echo(rng.secret(OURS));
    let message = call(
        &format!("\"{id}\""),
        "echo",
        &question.arguments.to_string(),
    );
    let message = message.replacen(
        "\"name\"",
        &format!("\"_meta\":{{{}}},\"name\"", polyport_bench::words::META),
        1,
    );
    let answer = exchange(&mut wire, &post(&modern_headers("echo"), message), "echo").await?;
    question.judge(&id, &messages(&answer)?)
}

pub(crate) fn messages(answer: &Answer) -> Result<Vec<Value>, String> {
    let parse = |text: &[u8]| serde_json::from_slice(text).map_err(|e| format!("no JSON: {e}"));
    if !answer.events {
        return Ok(vec![parse(&answer.body)?]);
    }
    let text = std::str::from_utf8(&answer.body).map_err(|_| "no UTF-8".to_owned())?;
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| parse(data.as_bytes())).collect()
}

pub(crate) async fn exchange(
    wire: &mut Wire,
    request: &[u8],
    what: &str,
) -> Result<Answer, String> {
    let both = async {
        wire.send(request).await?;
        wire.answer().await
    };
    within(what, both).await
}

pub(crate) async fn within<T>(
    what: &str,
    work: impl Future<Output = io::Result<T>>,
) -> Result<T, String> {
    match tokio::time::timeout(LATEST, work).await {
        Err(_) => Err(format!("{what}: no answer within {LATEST:?}")),
        Ok(Err(error)) => Err(format!("{what}: {error}")),
        Ok(Ok(done)) => Ok(done),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_word_is_found() {
        let (id, other) = (
            format!("{OURS}{}", "0".repeat(32)),
            format!("{OURS}{}", "1".repeat(32)),
        );
        let check = |body: &str| foreign(body.as_bytes(), &id, "{}").is_ok();
        assert!(check("plain"));
        assert!(check(&format!("a {id} b {id}")));
        assert!(!check(&format!("a {id} b {other}")));
        assert!(!check("theirs-1"));
        assert!(!check("ours-cut"));
        assert!(foreign(&[0xff], &id, "").is_err());
    }

    #[test]
    fn a_wrong_answer_is_found() {
        let question = Question::echo("t".to_owned());
        let right = json!({"id": "a", "result": {"content": [{"text": "t"}]}});
        let note = json!({"method": "notifications/progress", "params": {"progressToken": "b", "progress": 1}});
        assert_eq!(question.judge("a", std::slice::from_ref(&right)), Ok(()));
        assert!(question.judge("b", std::slice::from_ref(&right)).is_err());
        assert!(question.judge("a", &[note, right]).is_err());
        assert!(question.judge("a", &[]).is_err());
        let wrong = json!({"id": "a", "result": {"content": [{"text": "u"}]}});
        assert!(question.judge("a", &[wrong]).is_err());
        let failed = json!({"id": "a", "error": {"code": 1}});
        assert!(question.judge("a", &[failed]).is_err());
    }
}
