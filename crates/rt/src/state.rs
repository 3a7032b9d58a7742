//! The state of a call between rounds of the modern era, as text: sealed, bound to who asked what, and read again. What is too long
//! to travel stays here under a handle.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use polyport_proto::{Limits, NeedInput, Principal, Question, RpcError};
use polyport_wire::{Params, Raw, splice};
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::fault::failure;
use crate::random::{self, NoRandomness};
use crate::rounds::Rounds;
use crate::seal::Seals;

/// Keeps and opens the states of all calls of a service.
#[derive(Debug, Default)]
pub(crate) struct States {
    pub(crate) seals: Seals,
    long: Mutex<Long>,
}

/// What is wrong with a `requestState` is nobody's business but ours.
const UNKNOWN: &str = "requestState is unknown, expired, or belongs to another request: send the request again without it";

impl States {
    /// Writes what a call knows into a sealed text, for the client to bring back.
    pub(crate) fn keep(
        &self,
        context: &Context,
        need: NeedInput,
        rounds: &Rounds,
        limits: &Limits,
    ) -> Result<NeedInput, RpcError> {
        let expiry = now().saturating_add(limits.state_life.as_secs());
        let bound = bound(context);
        let failed = |error: NoRandomness| failure(context.method(), &error.to_string());
        let mut text = write(&need.questions, need.state.as_deref(), rounds);
        if text.len() > limits.state_bytes {
            let mut handle = [0; 16];
            random::fill(&mut handle).map_err(failed)?;
            let kept = self
                .long()
                .insert(handle, text, expiry, limits.state_store_bytes);
            if !kept {
                return Err(failure(
                    context.method(),
                    "what the call keeps between rounds is longer than the whole store",
                ));
            }
            text = [b"h".as_slice(), &handle].concat();
        }
        let sealed = self.seals.seal(&text, &bound, expiry).map_err(failed)?;
        Ok(NeedInput {
            state: Some(sealed),
            ..need
        })
    }

    /// Reads what the client brought back: its state, and its answers to what was asked.
    ///
    /// # Errors
    /// The state is not one for this request, or an answer is none.
    pub(crate) fn resume(&self, context: &Context, params: &Params) -> Result<Rounds, RpcError> {
        let unknown = || RpcError::invalid_params(UNKNOWN);
        let responses = params.input_responses().filter(|text| *text != "null");
        if responses.is_some_and(|text| !text.starts_with('{')) {
            return Err(RpcError::invalid_params(
                "inputResponses must be an object: one answer under the key of each question",
            ));
        }
        let Some(sealed) = params.request_state() else {
            let mut rounds = Rounds::default();
            rounds.offered = responses.map(members).unwrap_or_default();
            return Ok(rounds);
        };
        let sealed: String = serde_json::from_str(sealed).map_err(|_| unknown())?;
        let now = now();
        let mut text = self
            .seals
            .open(&sealed, &bound(context), now)
            .ok_or_else(unknown)?;
        if let Some(handle) = text.strip_prefix(b"h") {
            text = self.long().get(handle, now).ok_or_else(unknown)?;
        }
        let (mut rounds, asked) = read(&text).ok_or_else(unknown)?;
        if let Some(text) = responses {
            take_answers(params, text, &asked, &mut rounds)?;
        }
        Ok(rounds)
    }

    fn long(&self) -> std::sync::MutexGuard<'_, Long> {
        self.long.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers to what was not asked are passed over (basic/patterns/mrtr).
fn take_answers(
    params: &Params,
    text: &str,
    asked: &HashMap<String, String>,
    rounds: &mut Rounds,
) -> Result<(), RpcError> {
    let mut wrong = None;
    splice::members(text, |key, value| {
        let Some(method) = asked.get(key) else { return };
        let answer = params.slice(value);
        match Question::check_answer(method, &answer) {
            Ok(()) => _ = rounds.answers.insert(key.to_owned(), answer),
            Err(why) => {
                wrong = Some(format!(
                    "inputResponses: the answer under {:?} is none to {method}: {why}",
                    polyport_proto::outcome::shorten(key)
                ));
            }
        }
    });
    wrong.map_or(Ok(()), |why| Err(RpcError::invalid_params(why)))
}

/// `{"a": answers, "s": steps, "q": methods of the open questions by key, "x": the handler's own text}`.
fn write(questions: &[Question], state: Option<&str>, rounds: &Rounds) -> Vec<u8> {
    let raws = |raws: &HashMap<String, Raw>| {
        let sorted: BTreeMap<_, _> = raws.iter().collect();
        serde_json::to_string(&sorted).expect("made of texts and JSON")
    };
    let asked: BTreeMap<_, _> = questions.iter().map(|q| (&q.key, q.method)).collect();
    let mut out = format!(
        "{{\"a\":{},\"s\":{},\"q\":{}",
        raws(&rounds.answers),
        raws(&rounds.steps),
        serde_json::to_string(&asked).expect("made of texts")
    )
    .into_bytes();
    if let Some(state) = state {
        out.extend_from_slice(b",\"x\":");
        polyport_wire::write::string(&mut out, state);
    }
    out.push(b'}');
    out
}

/// What we wrote has no bounds: a step may have come to more than a message may hold.
fn read(text: &[u8]) -> Option<(Rounds, HashMap<String, String>)> {
    let text = std::str::from_utf8(text).ok()?;
    let mut rounds = Rounds::default();
    let mut asked = HashMap::new();
    splice::members(text, |key, value| match key {
        "a" => rounds.answers = members(value),
        "s" => rounds.steps = members(value),
        "q" => asked = serde_json::from_str(value).unwrap_or_default(),
        "x" => rounds.state = serde_json::from_str(value).ok(),
        _ => {}
    });
    Some((rounds, asked))
}

/// The members of an object, each a text of its own.
fn members(object: &str) -> HashMap<String, Raw> {
    let mut members = HashMap::new();
    splice::members(object, |key, value| {
        members.insert(key.to_owned(), Raw::trusted(value.to_owned()));
    });
    members
}

/// What a state is bound to: who asks, what, and with which parameters. The client may write them anew in another order.
fn bound(context: &Context) -> Vec<u8> {
    let mut text = Vec::new();
    let mut part = |part: &str| {
        text.extend_from_slice(&(part.len() as u64).to_be_bytes());
        text.extend_from_slice(part.as_bytes());
    };
    match context.envelope().principal().map(AsRef::as_ref) {
        None => part(""),
        Some(Principal {
            issuer,
            client,
            subject,
        }) => [issuer, client, subject].into_iter().for_each(|p| part(p)),
    }
    part(context.method());
    let mut members = BTreeMap::new();
    if let Some(params) = context.params().text() {
        splice::members(params, |key, value| {
            if !matches!(key, "_meta" | "inputResponses" | "requestState") {
                members.insert(key.to_owned(), value);
            }
        });
    }
    for (key, value) in members {
        part(&key);
        part(&canonical(value));
    }
    digest(&SHA256, &text).as_ref().to_vec()
}

/// The same text for values that JSON does not tell apart. What could not be read without loss stays as it was written: two
/// values must never become one here.
fn canonical(text: &str) -> String {
    match serde_json::from_str(text) {
        Ok(value) if numbers_are_plain(text) => {
            let mut out = String::new();
            write_canonical(&value, &mut out);
            out
        }
        _ => text.to_owned(),
    }
}

/// Is every number of this JSON text one that a reader of ours keeps exactly?
fn numbers_are_plain(text: &str) -> bool {
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => {
                while let Some(byte) = bytes.next().filter(|byte| *byte != b'"') {
                    if byte == b'\\' {
                        bytes.next();
                    }
                }
            }
            b'-' | b'0'..=b'9' => {
                let (mut digits, mut whole) = (usize::from(byte != b'-'), true);
                while let Some(byte) = bytes
                    .next_if(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'))
                {
                    match byte {
                        b'0'..=b'9' => digits += 1,
                        b'.' => whole = false,
                        _ => return false,
                    }
                }
                if digits > if whole { 18 } else { 15 } {
                    return false;
                }
            }
            _ => {}
        }
    }
    true
}

/// Members sorted, `1.0` as `1`.
fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write_canonical(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Object(members) => write_members(members, out),
        #[allow(clippy::cast_possible_truncation)]
        Value::Number(number) => match number.as_f64() {
            Some(n) if number.is_f64() && n.fract() == 0.0 && n.abs() < 9e15 => {
                out.push_str(&(n as i64).to_string());
            }
            _ => out.push_str(&number.to_string()),
        },
        value => out.push_str(&value.to_string()),
    }
}

fn write_members(members: &Map<String, Value>, out: &mut String) {
    let sorted: BTreeMap<_, _> = members.iter().collect();
    out.push('{');
    for (key, value) in sorted {
        out.push_str(&Value::from(key.as_str()).to_string());
        out.push(':');
        write_canonical(value, out);
        out.push(',');
    }
    out.push('}');
}

/// Seconds since 1970: states outlive this process where replicas share their keys.
fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// States that are too long to travel, oldest first.
#[derive(Default)]
struct Long {
    states: HashMap<[u8; 16], (Vec<u8>, u64)>,
    order: VecDeque<[u8; 16]>,
    bytes: usize,
}

impl Long {
    fn insert(&mut self, handle: [u8; 16], text: Vec<u8>, expiry: u64, max: usize) -> bool {
        if text.len() > max {
            return false;
        }
        let now = now();
        while let Some(oldest) = self.order.front().copied() {
            let over = self.states.get(&oldest).is_none_or(|s| s.1 <= now);
            if !over && self.bytes + text.len() <= max {
                break;
            }
            self.order.pop_front();
            if let Some((text, _)) = self.states.remove(&oldest) {
                self.bytes -= text.len();
            }
        }
        self.bytes += text.len();
        self.states.insert(handle, (text, expiry));
        self.order.push_back(handle);
        true
    }

    /// It stays: an answer that was lost on its way is brought once more.
    fn get(&self, handle: &[u8], now: u64) -> Option<Vec<u8>> {
        let handle: [u8; 16] = handle.try_into().ok()?;
        let (text, expiry) = self.states.get(&handle)?;
        (*expiry > now).then(|| text.clone())
    }
}

impl fmt::Debug for Long {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Long").field("bytes", &self.bytes).finish()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn values_that_json_does_not_tell_apart_are_the_same() {
        for (a, b, same) in [
            (
                r#"{"a":1,"b":[true,null]}"#,
                r#"{ "b": [true, null], "a": 1.0 }"#,
                true,
            ),
            (r#""\u0041""#, r#""A""#, true),
            ("1", "2", false),
            ("1", "\"1\"", false),
            ("[1,2]", "[2,1]", false),
            ("[[1],2]", "[[1,2]]", false),
            (r#"{"a":"x,\"b\":1"}"#, r#"{"a":"x","b":1}"#, false),
            ("[1,2]", "[ 1.0, 2 ]", true),
            (
                r#"{"a":999999999999999999,"b":1}"#,
                r#"{"b":1,"a":999999999999999999}"#,
                true,
            ),
            ("0.50", "0.5", true),
            (r#""1e400 \\""#, r#""1e400 \u005c""#, true),
            ("1e400", "1e401", false),
            ("[1e400,1]", "[1e400,2]", false),
            ("1e-400", "0", false),
            ("123456789012345678901", "123456789012345678902", false),
            ("9007199254740993.0", "9007199254740992.0", false),
            ("0.12345678901234567", "0.12345678901234568", false),
            (r#"["\ud800",1]"#, r#"["\ud800",2]"#, false),
        ] {
            assert_eq!(canonical(a) == canonical(b), same, "{a} {b}");
        }
    }

    #[test]
    fn long_states_make_room_oldest_first_and_end() {
        let mut long = Long::default();
        let later = now() + 100;
        for n in 0..10 {
            assert!(long.insert([n; 16], vec![n; 100], later, 350));
        }
        assert!(long.bytes <= 350);
        assert_eq!(long.get(&[6; 16], 0), None);
        assert_eq!(long.get(&[9; 16], 0).unwrap(), vec![9; 100]);
        assert_eq!(long.get(&[9; 16], later), None, "expired");
        assert!(!long.insert([99; 16], vec![0; 400], later, 350));
    }
}
