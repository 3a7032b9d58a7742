//! A handler that behaves as the name of the called tool says: at once, later, never, or badly.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use polyport_proto::{Notice, Outcome, RpcError};
use polyport_rt::{Call, Handler};
use polyport_wire::Raw;

/// What a [`Puppet`] has seen.
#[derive(Debug, Default)]
pub struct Seen {
    /// Calls that began.
    pub calls: AtomicUsize,
    /// Calls that learnt that they were cancelled.
    pub cancelled: AtomicUsize,
    /// Notifications.
    pub notices: AtomicUsize,
}

/// Answers `tools/call` by the tool's name; see [`Handler::call`] of it. Discovery says that its name is puppet.
#[derive(Clone, Debug, Default)]
pub struct Puppet {
    /// What it has seen.
    pub seen: Arc<Seen>,
}

impl Puppet {
    async fn act(&self, name: &str, call: &Call) -> Outcome {
        let cx = &call.context;
        match name {
            "echo" => {}
            "slow" => tokio::time::sleep(Duration::from_secs(1)).await,
            "never" => std::future::pending().await,
            "panics" => panic!("as it was told"),
            "panics later" => {
                tokio::time::sleep(Duration::from_millis(1)).await;
                panic!("as it was told");
            }
            "refuses" => return Outcome::Failed(RpcError::invalid_params("refused")),
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
            "logs" => cx.log(polyport_proto::Level::Info, Some("puppet"), "{\"n\":1}"),
            "tidy" => {
                cx.cancelled().await;
                self.seen.cancelled.fetch_add(1, Ordering::SeqCst);
                cx.progress(1.0, None, None);
            }
            "pretty" => {
                return Outcome::Complete(Raw::from_static(
                    "{\n  \"a\": \"b\\n c\",\r\n  \"d\": [\n1]}",
                ));
            }
            other => {
                return Outcome::Failed(RpcError::invalid_params(format!("Unknown tool: {other}")));
            }
        }
        Outcome::Complete(
            call.params
                .member(polyport_wire::Member::Arguments)
                .unwrap_or_else(|| Raw::from_static("{}")),
        )
    }
}

impl Handler for Puppet {
    async fn call(&self, call: Call) -> Outcome {
        self.seen.calls.fetch_add(1, Ordering::SeqCst);
        match call.method {
            "server/discover" => Outcome::Complete(Raw::from_static(
                "{\"capabilities\":{\"tools\":{}},\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"puppet\",\"version\":\"1\"}}}",
            )),
            "tools/call" => {
                let name = call
                    .params
                    .name()
                    .map(|name| name.into_owned())
                    .unwrap_or_default();
                self.act(&name, &call).await
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
    }
}
