//! The SDK as an author uses it, seen by clients of every revision.
#![allow(clippy::unwrap_used)]

mod blocking;
mod changes;
mod children;
mod client;
mod client_changes;
mod conforms;
#[cfg(feature = "http-client")]
mod distrust;
mod dying;
#[cfg(feature = "http-client")]
mod forgotten;
mod frames;
mod fresh;
mod handles;
mod heavy;
mod hostile;
mod integers;
mod kinds;
mod life;
mod lists;
#[cfg(feature = "macros")]
mod macros;
mod mirrored;
mod output;
mod parts;
mod pool;
mod promised;
mod questions;
mod relayed;
#[cfg(feature = "http-client")]
mod reopened;
mod resources;
#[cfg(all(feature = "http-client", feature = "ws"))]
mod said;
mod schemas;
#[cfg(all(feature = "http-client", feature = "ws"))]
mod square;
mod steps;
mod tasks;
#[cfg(feature = "http-client")]
mod threads;
mod tools;
#[cfg(feature = "http-client")]
mod unknown;
mod uris;
mod verdicts;
mod visiting;
mod visits;

use polyport::schemars::JsonSchema;
use polyport::serde::{Deserialize, Serialize};
use polyport::testing::{TestPeer, connect};
use polyport::{Json, Revision, Server};
use serde_json::Value;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Add {
    /// First number.
    pub(crate) a: f64,
    /// Second number.
    pub(crate) b: f64,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Sum {
    pub(crate) sum: f64,
}

/// Connects in one revision.
async fn peer(server: Server, revision: Revision) -> TestPeer {
    connect(server, revision).await.unwrap()
}

/// The JSON-RPC error of a request that is refused.
async fn refused(peer: &TestPeer, method: &str, params: Value) -> Value {
    match peer.request(method, &params).await {
        Err(polyport::CallError::Refused(error)) => serde_json::from_str(error.as_str()).unwrap(),
        other => panic!("{method} {params}: {other:?}"),
    }
}

fn adder() -> Server {
    Server::new("adder", "1").tool("add", "Adds.", |_cx, n: Add| async move {
        Ok(Json(Sum { sum: n.a + n.b }))
    })
}
