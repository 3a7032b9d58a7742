//! A handler that behaves as the name of the called tool says: at once, later, never, or badly.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use polyport_proto::http::HeaderParam;
use polyport_proto::{Code, Envelope, Level, NeedInput, Notice, Outcome, Question, RpcError};
use polyport_rt::{Bus, Call, Context, Handler};
use polyport_wire::{Member, Raw};
use tokio::sync::Notify;

/// What a [`Puppet`] has seen.
#[derive(Debug, Default)]
pub struct Seen {
    /// Calls that began.
    pub calls: AtomicUsize,
    /// Calls that learnt that they were cancelled.
    pub cancelled: AtomicUsize,
    /// Of these, calls that had the time to tidy up.
    pub tidied: AtomicUsize,
    /// Calls that were dropped before they had ended.
    pub dropped: AtomicUsize,
    /// Notifications.
    pub notices: AtomicUsize,
    /// Steps that run once and did.
    pub steps: AtomicUsize,
    /// Who asked, as an authorization layer proved; call by call.
    subjects: Mutex<Vec<Option<String>>>,
}

impl Seen {
    /// Who asked, as an authorization layer proved; call by call.
    pub fn subjects(&self) -> Vec<Option<String>> {
        let subjects = self.subjects.lock();
        subjects.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets go of who asked, for tests that measure memory.
    pub fn forget(&self) {
        *self.subjects.lock().unwrap_or_else(PoisonError::into_inner) = Vec::new();
    }

    fn note(&self, context: &Context) {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let subject = context.envelope().principal();
        let subject = subject.map(|principal| principal.subject.to_string());
        let subjects = self.subjects.lock();
        subjects
            .unwrap_or_else(PoisonError::into_inner)
            .push(subject);
    }
}

/// Answers `tools/call` by the tool's name: steps with ` then ` between them, see `Puppet::step`. A call whose steps are over
/// gives back its arguments. Discovery says that its name is puppet.
#[derive(Clone, Debug, Default)]
pub struct Puppet {
    /// What it has seen.
    pub seen: Arc<Seen>,
    /// Lets go of one call that waits to be `told`.
    pub told: Arc<Notify>,
    /// The steps that discovery takes before it answers; defaults to none.
    pub discovers: &'static str,
    /// Panics over everything that is no call. Defaults to false.
    pub clumsy: bool,
    /// Where it tells what changes; everything may be subscribed to but `nowhere`.
    pub bus: Bus,
}

impl Puppet {
    /// One step of a call. Some: the call ends with it.
    async fn step(&self, step: &str, cx: &Context) -> Option<Outcome> {
        match step {
            "echo" | "" => {}
            "slow" => tokio::time::sleep(Duration::from_secs(1)).await,
            "two minutes" => tokio::time::sleep(Duration::from_secs(120)).await,
            "told" => self.told.notified().await,
            "never" => std::future::pending().await,
            "panics" => panic!("as it was told"),
            "explodes" => {
                let _bomb = Bomb;
                std::future::pending().await
            }
            "refuses" => return Some(Outcome::Failed(RpcError::invalid_params("refused"))),
            "lacks sampling" => {
                let error = RpcError::missing_capability("{\"sampling\":{}}");
                return Some(Outcome::Failed(error));
            }
            "sends away" => return Some(send_away(cx)),
            "is unknown" => {
                return Some(Outcome::Failed(RpcError::method_not_found("tools/call")));
            }
            "null" => return Some(Outcome::Complete(Raw::from_static("null"))),
            "pretty" => {
                let text = "{\n  \"a\": \"b\\n c\",\r\n  \"d\": [\n1]}";
                return Some(Outcome::Complete(Raw::from_static(text)));
            }
            "progress" => {
                for n in 1..=3 {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    cx.progress(f64::from(n), Some(3.0), None);
                }
            }
            "burst" => (1..=100).for_each(|n| cx.progress(f64::from(n), None, None)),
            "backwards" => [1.0, 2.0, 2.0, 1.0, f64::NAN, 2.5]
                .into_iter()
                .for_each(|n| cx.progress(n, None, None)),
            "logs" => cx.log(Level::Info, Some("puppet"), "{\"n\":1}"),
            "ten logs" => {
                (0..10).for_each(|n| cx.log(Level::Info, Some("puppet"), &format!("{{\"n\":{n}}}")))
            }
            "releases" => {
                if !cx.release(Duration::from_secs(3)) {
                    return Some(Outcome::Complete(Raw::from_static("{\"released\":false}")));
                }
            }
            "tidy" => {
                cx.cancelled().await;
                self.seen.cancelled.fetch_add(1, Ordering::SeqCst);
                cx.progress(1.0, None, None);
                tokio::time::sleep(Duration::from_millis(500)).await;
                self.seen.tidied.fetch_add(1, Ordering::SeqCst);
            }
            other => match other.split_once(' ') {
                Some(("asks", keys)) => return self.ask(keys, cx).await,
                Some(("impatient", key)) => {
                    let asked = cx.ask(question(key));
                    let asked = tokio::time::timeout(Duration::from_secs(5), asked).await;
                    let text = if asked.is_ok() { "answered" } else { "nobody" };
                    return Some(Outcome::Complete(Raw::trusted(format!(
                        "{{\"end\":\"{text}\"}}"
                    ))));
                }
                Some(("counts", key)) => self.count_once(key, cx),
                Some(("gives", keys)) => return give_back(keys, cx),
                _ => {
                    let error = RpcError::invalid_params(format!("Unknown tool: {other}"));
                    return Some(Outcome::Failed(error));
                }
            },
        }
        None
    }

    /// Asks under each of the keys, `a+b` at once and `a b` one after the other. None: all had answers, which are in the result
    /// of `answers`.
    async fn ask(&self, keys: &str, cx: &Context) -> Option<Outcome> {
        for together in keys.split(' ') {
            let mut asks: Vec<_> = together
                .split('+')
                .map(|key| Some(Box::pin(cx.ask(question(key)))))
                .collect();
            let answered = std::future::poll_fn(|task| {
                let mut open = false;
                for slot in &mut asks {
                    match slot.as_mut().map(|ask| ask.as_mut().poll(task)) {
                        Some(Poll::Ready(Ok(_))) => *slot = None,
                        Some(Poll::Ready(Err(no))) => return Poll::Ready(Err(no)),
                        Some(Poll::Pending) => open = true,
                        None => {}
                    }
                }
                if open {
                    Poll::Pending
                } else {
                    Poll::Ready(Ok(()))
                }
            });
            if let Err(no) = answered.await {
                return Some(Outcome::Failed(polyport_rt::ask::refusal(&no)));
            }
        }
        let answers = keys.split(['+', ' ']).filter_map(|key| {
            let answer = cx.answer(key)?;
            Some(format!("\"{key}\":{}", answer.as_str()))
        });
        let answers = answers.collect::<Vec<_>>().join(",");
        Some(Outcome::Complete(Raw::trusted(format!("{{{answers}}}"))))
    }

    /// A step that runs once; how often it ran is in [`Seen::steps`].
    fn count_once(&self, key: &str, cx: &Context) {
        if matches!(cx.begin_step(key), Ok(None)) {
            self.seen.steps.fetch_add(1, Ordering::SeqCst);
            cx.end_step(key, Some(Raw::from_static("1")));
        }
    }

    async fn steps(&self, steps: &str, cx: &Context) -> Option<Outcome> {
        let mut ending = Ending(&self.seen, false);
        for step in steps.split(" then ") {
            if let Some(outcome) = self.step(step, cx).await {
                ending.1 = true;
                return Some(outcome);
            }
        }
        ending.1 = true;
        None
    }
}

impl Handler for Puppet {
    async fn call(&self, call: Call) -> Outcome {
        self.seen.note(&call.context);
        match call.method {
            "server/discover" => {
                let outcome = self.steps(self.discovers, &call.context).await;
                outcome.unwrap_or_else(|| Outcome::Complete(Raw::from_static(
                    "{\"capabilities\":{\"tools\":{}},\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"puppet\",\"version\":\"1\"}}}",
                )))
            }
            "tools/call" => {
                let name = call.params.name().map(|name| name.into_owned());
                let outcome = self.steps(&name.unwrap_or_default(), &call.context).await;
                outcome.unwrap_or_else(|| {
                    let arguments = call.params.member(Member::Arguments);
                    Outcome::Complete(arguments.unwrap_or_else(|| Raw::from_static("{}")))
                })
            }
            "tools/list" => Outcome::Complete(Raw::from_static("{\"tools\":[]}")),
            "resources/read" => Outcome::Failed(RpcError::resource_not_found(
                &call.params.uri().unwrap_or_default(),
            )),
            "resources/subscribe" if call.params.uri().as_deref() == Some("nowhere") => {
                Outcome::Failed(RpcError::resource_not_found("nowhere"))
            }
            "resources/subscribe" | "resources/unsubscribe" => {
                Outcome::Complete(Raw::from_static("{}"))
            }
            "subscriptions/listen" => {
                Outcome::Complete(call.params.raw().unwrap_or_else(|| Raw::from_static("{}")))
            }
            method => Outcome::Failed(RpcError::method_not_found(method)),
        }
    }

    fn bus(&self) -> Option<Bus> {
        Some(self.bus.clone())
    }

    fn notice(&self, _notice: Notice) {
        self.seen.notices.fetch_add(1, Ordering::SeqCst);
        assert!(!self.clumsy, "as it was told");
    }

    fn header_params(&self, _tool: &str, _: &Envelope) -> Option<Arc<[HeaderParam]>> {
        assert!(!self.clumsy, "as it was told");
        None
    }
}

/// The question that a key stands for: `roots…` and `model…` ask for these, `page…` sends to a page, others show a form.
fn question(key: &str) -> Question {
    let (method, params) = match key {
        key if key.starts_with("roots") => ("roots/list", None),
        key if key.starts_with("model") => (
            "sampling/createMessage",
            Some("{\"messages\":[],\"maxTokens\":1}"),
        ),
        key if key.starts_with("page") => (
            "elicitation/create",
            Some("{\"mode\":\"url\",\"message\":\"m\",\"url\":\"https://a.example\"}"),
        ),
        _ => (
            "elicitation/create",
            Some("{\"message\":\"m\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}"),
        ),
    };
    Question {
        key: key.to_owned(),
        method,
        params: params.map(Raw::from_static),
        is_passed_on: false,
    }
}

/// Gives back questions under these keys, one round each, and counts the rounds in its state.
fn give_back(keys: &str, cx: &Context) -> Option<Outcome> {
    let round: usize = cx.state().map_or(0, |state| state.parse().unwrap_or(99));
    let Some(key) = keys.split(' ').nth(round) else {
        let answers = keys.split(' ').filter_map(|key| {
            let answer = cx.answer(key)?;
            Some(format!("\"{key}\":{}", answer.as_str()))
        });
        let answers = answers.collect::<Vec<_>>().join(",");
        return Some(Outcome::Complete(Raw::trusted(format!("{{{answers}}}"))));
    };
    let questions = match key {
        "wait" | "nothing" => Vec::new(),
        "twice" => vec![question(key), question(key)],
        key => vec![question(key)],
    };
    Some(Outcome::NeedInput(NeedInput {
        questions,
        state: (key != "nothing").then(|| (round + 1).to_string()),
        ..NeedInput::default()
    }))
}

/// Refuses until a page has been visited.
fn send_away(cx: &Context) -> Outcome {
    let visit = cx.visit("page").expect("the system gives random bytes");
    let data = format!(
        "{{\"elicitations\":[{{\"mode\":\"url\",\"message\":\"m\",\"url\":\"https://a.example\",\"elicitationId\":\"{}\"}}]}}",
        visit.id()
    );
    let error = RpcError::new(Code::VisitFirst, "a page first");
    Outcome::Failed(error.with_data(Raw::trusted(data)))
}

/// Counts a call that is dropped before this says that it has ended.
struct Ending<'a>(&'a Seen, bool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if !self.1 {
            self.0.dropped.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "as it was told");
    }
}
