//! Tests of a server without sockets, in any revision.
//!
//! ```
//! # use polyport::{Server, Revision, testing};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Server::new("test", "1").tool("hello", "Says hello.", |_cx, (): ()| async { Ok("hello") });
//! let peer = testing::connect(server, Revision::V2025_06_18).await?;
//! let result = peer.call("hello", &serde_json::json!({})).await?;
//! assert_eq!(result["content"][0]["text"], "hello");
//! # Ok(())
//! # }
//! ```

use std::time::Duration;

use polyport_proto::{ClientFacts, Revision};
use polyport_rt::{CallError, Caller, Ended, Service, Stopper, memory, stop};
use polyport_wire::Raw;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::server::Server;

/// How long a test waits for one answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A client that is connected to a server in the same process.
#[derive(Debug)]
pub struct TestPeer {
    caller: Caller,
    opened: Option<Raw>,
    stopper: Stopper,
    serving: JoinHandle<Ended>,
}

/// Connects to a server in one revision, as a client that can do nothing special.
///
/// # Errors
/// The handshake fails.
pub async fn connect(server: Server, revision: Revision) -> Result<TestPeer, CallError> {
    connect_to(server.into_service(), revision, &json!({})).await
}

/// Connects to a service, as a client with these capabilities.
///
/// # Errors
/// The handshake fails.
pub async fn connect_to(
    service: Service,
    revision: Revision,
    capabilities: &Value,
) -> Result<TestPeer, CallError> {
    let (stopper, stop) = stop::stop();
    let (stream, serving) = memory::connect(service, stop);
    let (reader, writer) = tokio::io::split(stream);
    let client = ClientFacts {
        info: Some(Raw::from_static(
            "{\"name\":\"polyport-test\",\"version\":\"1\"}",
        )),
        capabilities: Raw::trusted(capabilities.to_string()),
    };
    let (caller, opened) = Caller::connect(reader, writer, revision, client, TIMEOUT).await?;
    Ok(TestPeer {
        caller,
        opened,
        stopper,
        serving,
    })
}

impl TestPeer {
    /// What the server answered to `initialize`; none in the modern era.
    pub fn opened(&self) -> Option<Value> {
        self.opened.as_ref().map(value)
    }

    /// Calls a tool.
    ///
    /// # Errors
    /// [`CallError`]; a tool's own failure is a result with `isError`.
    pub async fn call(&self, tool: &str, arguments: &Value) -> Result<Value, CallError> {
        self.request("tools/call", &json!({"name": tool, "arguments": arguments}))
            .await
    }

    /// Any request; `params` is an object.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn request(&self, method: &str, params: &Value) -> Result<Value, CallError> {
        self.request_with(method, params, &json!({})).await
    }

    /// Any request with members of `_meta`.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn request_with(
        &self,
        method: &str,
        params: &Value,
        meta: &Value,
    ) -> Result<Value, CallError> {
        let (mut params, mut members) = (params.clone(), meta.clone());
        // What the test puts into `_meta` itself stands beside what the client has to say there.
        if let Some(own) = params.as_object_mut().and_then(|p| p.remove("_meta"))
            && let (Some(members), Value::Object(own)) = (members.as_object_mut(), own)
        {
            members.extend(own);
        }
        let members = members.to_string();
        let members = members
            .strip_prefix('{')
            .and_then(|m| m.strip_suffix('}'))
            .unwrap_or_default();
        self.caller
            .request_with(method, &params.to_string(), members)
            .await
            .map(|raw| value(&raw))
    }

    /// The notifications that have come and were not taken.
    pub fn notifications(&self) -> Vec<Value> {
        self.caller
            .notifications()
            .iter()
            .filter_map(|n| serde_json::from_slice(n).ok())
            .collect()
    }

    /// The connection itself.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Stops the server and waits for its end.
    pub async fn stop(self) -> Option<Ended> {
        self.stopper.stop();
        self.serving.await.ok()
    }
}

fn value(raw: &Raw) -> Value {
    raw.decode().expect("a result is checked JSON")
}
