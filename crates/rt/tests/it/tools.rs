//! A handler made of one function, for calls that no script can say.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use polyport_proto::{Outcome, Question, RpcError};
use polyport_rt::{BoxFuture, Call, Context, Handler, NoAnswer, Service};
use polyport_wire::Raw;

/// What a [`Puppet`](polyport_testkit::handlers::Puppet) says of itself, so that openings look the same.
const DISCOVERED: &str = r#"{"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"puppet","version":"1"}}}"#;

/// Runs one function for each `tools/call`.
pub(crate) struct Tools(Arc<dyn Fn(Call) -> BoxFuture<Outcome> + Send + Sync>);

impl Handler for Tools {
    async fn call(&self, call: Call) -> Outcome {
        match call.method {
            "tools/call" => (self.0)(call).await,
            "server/discover" => Outcome::Complete(Raw::from_static(DISCOVERED)),
            method => Outcome::Failed(RpcError::method_not_found(method)),
        }
    }
}

/// A service whose every tool is this function, which ends with a word.
pub(crate) fn service<Fut>(tool: impl Fn(Context) -> Fut + Send + Sync + 'static) -> Service
where
    Fut: Future<Output = Result<String, NoAnswer>> + Send + 'static,
{
    Service::new(Tools(Arc::new(move |call| {
        let running = tool(call.context);
        Box::pin(async move {
            match running.await {
                Ok(end) => Outcome::Complete(Raw::trusted(format!("{{\"end\":\"{end}\"}}"))),
                Err(no) => Outcome::Failed(polyport_rt::ask::refusal(&no)),
            }
        })
    })))
}

/// Asks with a form.
pub(crate) fn form(key: impl Into<String>) -> Question {
    Question {
        key: key.into(),
        method: "elicitation/create",
        params: Some(Raw::from_static(
            "{\"message\":\"m\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}",
        )),
        is_passed_on: false,
    }
}

/// Counts.
#[derive(Clone, Default)]
pub(crate) struct Count(Arc<AtomicUsize>);

impl Count {
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// Time that passes for threads, which no virtual clock knows: gives up after 20 seconds.
pub(crate) async fn until(what: &str, done: impl Fn() -> bool) {
    for _ in 0..2_000 {
        if done() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what} never came");
}
