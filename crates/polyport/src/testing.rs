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

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use polyport_proto::{ClientFacts, Revision};
use polyport_rt::{Answerer, CallError, Caller, Ended, Service, Stopper, memory, stop};
use polyport_wire::Raw;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::server::Server;

/// How long a test waits for one answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A client that is connected to a server in the same process.
pub struct TestPeer {
    caller: Caller,
    opened: Option<Raw>,
    answerer: Option<Answerer>,
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
        answerer: None,
        stopper,
        serving,
    })
}

impl TestPeer {
    /// Answers what the server asks in the middle of a call, in both eras: from the method and the parameters of the question to its
    /// result.
    #[must_use]
    pub fn answering(
        mut self,
        answer: impl Fn(&str, &Value) -> Value + Send + Sync + 'static,
    ) -> Self {
        let answerer: Answerer = Arc::new(move |method, params| {
            let params = params.as_ref().map(value).unwrap_or_default();
            let answer = answer(method, &params);
            let answer = match answer.get("error") {
                Some(error) => Err(Raw::trusted(error.to_string())),
                None => Ok(Raw::trusted(answer.to_string())),
            };
            Box::pin(async { answer })
        });
        self.caller.set_answerer(answerer.clone());
        self.answerer = Some(answerer);
        self
    }

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
        loop {
            let text = params.to_string();
            let asked = self.caller.request_with(method, &text, members);
            let result = asked.await.map(|raw| value(&raw))?;
            let Some(answerer) = &self.answerer else {
                return Ok(result);
            };
            if result["resultType"] != "input_required" {
                return Ok(result);
            }
            let mut responses = serde_json::Map::new();
            for (key, question) in result["inputRequests"].as_object().into_iter().flatten() {
                let params = Raw::encode(&question["params"]).ok();
                let method = question["method"].as_str().unwrap_or_default();
                if let Ok(answer) = answerer(method, params).await {
                    responses.insert(key.clone(), value(&answer));
                }
            }
            params["inputResponses"] = responses.into();
            params["requestState"] = result["requestState"].clone();
        }
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

impl fmt::Debug for TestPeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestPeer")
            .field("caller", &self.caller)
            .finish_non_exhaustive()
    }
}

fn value(raw: &Raw) -> Value {
    raw.decode().expect("a result is checked JSON")
}
