//! The check of `requestState`: what a call keeps between its rounds, and for which request it is taken up again.

use std::sync::Arc;

use polyport_proto::{
    Admitted, Code, Limits, NeedInput, Outcome, Peer, Principal, Question, Revisions, Turn,
};
use polyport_rt::run::{Begun, begin};
use polyport_rt::{Alert, Call, Context, Handler, Outlet, SealKey, Service};
use polyport_wire::{Message, Raw};

use crate::meaning;

/// Reads four lines of `data`: arguments of a call, other arguments, what the call keeps, and a state that somebody made up.
///
/// - A state that we did not seal is refused; so is one of ours that was cut, changed, or sealed with another key.
/// - What a call keeps (a step's result, a text of its own, the answer) is there in its next round, whatever is in it.
/// - The state is taken up for the same arguments in any spelling, and for no others; nor for another tool, method or principal.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.splitn(4, '\n');
    let mut line = || lines.next().unwrap_or_default();
    let (arguments, others, kept, made_up) = (line(), line(), line(), line());
    for state_bytes in [Limits::default().state_bytes, 0] {
        let service = Play::service(kept, 1, state_bytes);
        let play = Play { service, kept };
        play.check_made_up(made_up);
        play.check_rounds(arguments, others, data.len());
    }
}

struct Play<'a> {
    service: Service,
    kept: &'a str,
}

/// How a request that brings a state is met.
#[derive(Debug, Eq, PartialEq)]
enum Met {
    TakenUp,
    Refused,
}

impl Play<'_> {
    fn service(kept: &str, key: u8, state_bytes: usize) -> Service {
        let mut limits = Limits::default();
        limits.state_bytes = state_bytes;
        Service::new(Keeper(kept.to_owned()))
            .seal_keys(vec![SealKey::new([key; 32])])
            .limits(limits)
    }

    fn check_made_up(&self, made_up: &str) {
        let request = Request::plain("{}");
        let met = self.bring(&self.service, &request, made_up);
        assert_eq!(met, Some(Met::Refused), "nobody sealed {made_up:?}");
    }

    fn check_rounds(&self, arguments: &str, others: &str, chosen: usize) {
        let request = Request::plain(arguments);
        let Some(call) = request.call("") else {
            return;
        };
        let Outcome::NeedInput(need) = run(&self.service, call) else {
            panic!("the first round asks");
        };
        let state = need.state.expect("a round has a state");
        let bring = |request: &Request<'_>| self.bring(&self.service, request, &state);
        for _ in 0..2 {
            assert_eq!(bring(&request), Some(Met::TakenUp), "brought as it was");
        }
        self.check_damage(&request, &state, chosen);
        let mut other = Request::plain(arguments);
        other.name = "other";
        assert_eq!(bring(&other), Some(Met::Refused), "another tool");
        other = Request::plain(arguments);
        other.method = "prompts/get";
        assert_ne!(bring(&other), Some(Met::TakenUp), "another method");
        other = Request::plain(arguments);
        other.subject = Some("eve");
        assert_eq!(bring(&other), Some(Met::Refused), "another principal");
        let Some(meaning) = meaning::read(arguments) else {
            return;
        };
        let respelt = meaning::respell(&meaning);
        assert_eq!(
            bring(&Request::plain(&respelt)),
            Some(Met::TakenUp),
            "{arguments} spelt {respelt}"
        );
        let others = Request::plain(others);
        let Some(met) = bring(&others) else { return };
        if let Some(other) = meaning::read(others.arguments) {
            assert_eq!(
                met == Met::TakenUp,
                other == meaning,
                "{arguments} and {}",
                others.arguments
            );
        }
    }

    fn check_damage(&self, request: &Request<'_>, state: &str, chosen: usize) {
        let stranger = Self::service(self.kept, 2, Limits::default().state_bytes);
        let met = self.bring(&stranger, request, state);
        assert_eq!(met, Some(Met::Refused), "another key");
        let at = chosen % state.len();
        let mut damaged = state.to_owned();
        let other = if &state[at..=at] == "A" { "B" } else { "A" };
        damaged.replace_range(at..=at, other);
        let longer = format!("{state}A");
        for damaged in [&damaged, &state[..at], &longer] {
            let met = self.bring(&self.service, request, damaged);
            assert_eq!(met, Some(Met::Refused), "{state} as {damaged}");
        }
    }

    /// None: such a request is let in by nobody.
    fn bring(&self, service: &Service, request: &Request<'_>, state: &str) -> Option<Met> {
        let (key, state) = (Raw::encode(self.kept), Raw::encode(state));
        let (key, state) = (key.expect("a text"), state.expect("a text"));
        let call = request.call(&format!(
            r#","requestState":{},"inputResponses":{{{}:{ANSWER}}}"#,
            state.as_str(),
            key.as_str()
        ))?;
        match run(service, call) {
            Outcome::Complete(_) => Some(Met::TakenUp),
            Outcome::Failed(error)
                if error.code == Code::InvalidParams
                    && error.message.starts_with("requestState is unknown") =>
            {
                Some(Met::Refused)
            }
            outcome => panic!("neither taken up nor refused: {outcome:?}"),
        }
    }
}

/// What a client sends.
struct Request<'a> {
    method: &'a str,
    name: &'a str,
    arguments: &'a str,
    subject: Option<&'a str>,
}

impl<'a> Request<'a> {
    fn plain(arguments: &'a str) -> Self {
        Self {
            method: "tools/call",
            name: "n",
            arguments,
            subject: None,
        }
    }

    /// None: it is refused before anybody looks at a state.
    fn call(&self, more: &str) -> Option<Call> {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{}","params":{{"name":"{}","arguments":{}{more},"_meta":{META}}}}}"#,
            self.method, self.name, self.arguments
        );
        let message = Message::parse(text.into(), &polyport_wire::Limits::default());
        // The text of the arguments may hold more than arguments.
        let whole = message.as_ref().is_ok_and(|message| {
            message.params().arguments() == Some(self.arguments.trim_matches([' ', '\t', '\r']))
        });
        let mut peer = Peer::<()>::new(Revisions::ALL, &Limits::default());
        let turn = peer.handle(message, None, &mut Vec::new());
        let Turn::Call(_, mut admitted) = turn else {
            return None;
        };
        self.prove(&mut admitted);
        whole.then(|| Call::new(admitted, Arc::new(Nowhere)))
    }

    fn prove(&self, admitted: &mut Admitted) {
        let Some(subject) = self.subject else { return };
        let principal = Principal {
            issuer: "i".into(),
            client: "c".into(),
            subject: subject.into(),
        };
        let envelope = admitted.envelope.clone();
        admitted.envelope = envelope.with_principal(Some(Arc::new(principal)));
    }
}

fn run(service: &Service, call: Call) -> Outcome {
    match begin(service, call) {
        Begun::Ready(outcome) => outcome,
        Begun::Pending(_) => panic!("nothing here waits"),
    }
}

/// Asks once; in the next round it looks whether all is there that it kept under and as this text.
struct Keeper(String);

impl Handler for Keeper {
    async fn call(&self, call: Call) -> Outcome {
        let Self(text) = self;
        let cx = &call.context;
        let value = Raw::encode(text).expect("a text");
        match cx.begin_step(text) {
            Ok(None) => cx.end_step(text, Some(value)),
            Err(no) => panic!("{no}"),
            Ok(Some(kept)) => assert_eq!(kept.as_str(), value.as_str(), "the step's result"),
        }
        let Some(state) = cx.state() else {
            let question = Question {
                key: text.clone(),
                method: "roots/list",
                params: None,
                is_passed_on: false,
            };
            return Outcome::NeedInput(NeedInput {
                questions: vec![question],
                state: Some(text.clone()),
                ..NeedInput::default()
            });
        };
        assert_eq!(&state, text, "its own text");
        let answer = cx.answer(text).expect("the answer");
        assert_eq!(answer.as_str(), ANSWER);
        Outcome::Complete(Raw::from_static("{}"))
    }
}

/// Nothing is said here before the end.
struct Nowhere;

impl Alert for Nowhere {
    fn alert(&self) {}
}

impl Outlet for Nowhere {
    fn note(&self, _context: &Context, message: Vec<u8>) -> Result<(), Vec<u8>> {
        Err(message)
    }

    fn transport(&self) -> &'static str {
        "none"
    }
}

const ANSWER: &str = r#"{"roots":[{"uri":"file:///w"}]}"#;
const META: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}}"#;
