//! The state of a call between rounds of the modern era, as text: sealed, bound to who asked what, and read again. What is too long
//! to travel stays here under a handle.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use polyport_proto::{Limits, NeedInput, Principal, Question, RpcError};
use polyport_wire::{Params, Raw, canonical, splice};
use ring::digest::{SHA256, digest};

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
    let params = context.params();
    // Absent, null and empty arguments are the same.
    let has_arguments = params.arguments().is_some_and(|text| {
        let members = text.strip_prefix('{').map(str::trim_start);
        text != "null" && members.is_none_or(|members| !members.starts_with('}'))
    });
    let without = ["_meta", "inputResponses", "requestState", "arguments"];
    let without = &without[..without.len() - usize::from(has_arguments)];
    canonical(params.text().unwrap_or("{}"), without, &mut text);
    digest(&SHA256, &text).as_ref().to_vec()
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
