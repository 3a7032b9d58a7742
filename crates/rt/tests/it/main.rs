//! The driver against scripts: both eras, faults of the line, cancellation, drain. In virtual time.
#![allow(clippy::unwrap_used)]

mod asked;
mod brought;
mod calling;
mod cancels;
mod changes;
mod children;
mod faults;
mod given_up;
mod hostile;
mod journal;
mod late;
mod layers;
mod legacy;
mod life;
mod modern;
mod opening;
mod questions;
mod races;
mod reported;
mod rounds;
mod states;
mod storms;
mod tools;

use polyport_proto::Limits;
use polyport_rt::Service;
use polyport_testkit::Script;
use polyport_testkit::handlers::Puppet;

/// Plays a script against a puppet, then ends.
async fn check(script: &str) {
    let mut peer = Script::connect(Service::new(Puppet::default()));
    peer.play(script).await;
}

const OPEN: &str = r#"
    > {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
    < {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"puppet","version":"1"}}}
    > {"jsonrpc":"2.0","method":"notifications/initialized"}
"#;

/// The envelope of a modern request.
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// The default bounds but for one.
fn limits(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits);
    limits
}
