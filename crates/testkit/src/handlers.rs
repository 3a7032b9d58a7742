//! A handler that behaves as the name of the called tool says: at once, later, never, or badly.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use polyport_proto::http::HeaderParam;
use polyport_proto::{Level, Notice, Outcome, RpcError};
use polyport_rt::{Call, Context, Handler};
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
    /// Who asked, as an authorization layer proved; call by call.
    subjects: Mutex<Vec<Option<String>>>,
}

impl Seen {
    /// Who asked, as an authorization layer proved; call by call.
    pub fn subjects(&self) -> Vec<Option<String>> {
        let subjects = self.subjects.lock();
        subjects.unwrap_or_else(PoisonError::into_inner).clone()
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
            "tidy" => {
                cx.cancelled().await;
                self.seen.cancelled.fetch_add(1, Ordering::SeqCst);
                cx.progress(1.0, None, None);
                tokio::time::sleep(Duration::from_millis(500)).await;
                self.seen.tidied.fetch_add(1, Ordering::SeqCst);
            }
            other => {
                let error = RpcError::invalid_params(format!("Unknown tool: {other}"));
                return Some(Outcome::Failed(error));
            }
        }
        None
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
            method => Outcome::Failed(RpcError::method_not_found(method)),
        }
    }

    fn notice(&self, _notice: Notice) {
        self.seen.notices.fetch_add(1, Ordering::SeqCst);
        assert!(!self.clumsy, "as it was told");
    }

    fn header_params(&self, _tool: &str) -> Option<Arc<[HeaderParam]>> {
        assert!(!self.clumsy, "as it was told");
        None
    }
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
