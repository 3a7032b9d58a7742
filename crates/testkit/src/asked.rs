//! Calls that are made in place, without a connection, by whoever the test says.

use std::sync::Arc;

use polyport_proto::{Admitted, ClientFacts, Envelope, Outcome, Principal, Revision};
use polyport_rt::{Alert, Call, Context, Outlet, Service};
use polyport_wire::{Params, Raw};
use serde_json::Value;

/// Takes what a call says, and forgets it.
struct Nowhere;

impl Alert for Nowhere {
    fn alert(&self) {}
}

impl Outlet for Nowhere {
    fn note(&self, _context: &Context, _message: Vec<u8>) -> Result<(), Vec<u8>> {
        Ok(())
    }

    fn transport(&self) -> &'static str {
        "stdio"
    }
}

/// Somebody whom an authorization layer has proved.
pub fn principal(subject: &str) -> Arc<Principal> {
    Arc::new(Principal {
        issuer: "https://issuer.test".into(),
        client: "client".into(),
        subject: subject.into(),
    })
}

/// A modern call with these params, asked by this subject.
///
/// # Panics
/// The params are no JSON object.
pub fn call(method: &'static str, params: &str, subject: Option<&str>) -> Call {
    declaring("{}", method, params, subject)
}

/// The same from a client with these capabilities.
///
/// # Panics
/// The params are no JSON object.
pub fn declaring(
    capabilities: &'static str,
    method: &'static str,
    params: &str,
    subject: Option<&str>,
) -> Call {
    let client = ClientFacts {
        info: None,
        capabilities: Raw::from_static(capabilities),
    };
    let envelope = Envelope::stated(Revision::LATEST, client, None, None)
        .with_principal(subject.map(principal));
    let limits = polyport_wire::Limits::default();
    let params = Params::parse(params.to_owned().into(), &limits).expect("params are an object");
    Call::new(
        Admitted {
            id: 7.into(),
            method,
            params,
            envelope,
        },
        Arc::new(Nowhere),
    )
}

/// A call of a tool.
pub fn tool(name: &str, subject: Option<&str>) -> Call {
    call("tools/call", &format!(r#"{{"name":"{name}"}}"#), subject)
}

/// Asks the handler of a service, in a task.
pub fn ask(service: &Service, call: Call) -> tokio::task::JoinHandle<Outcome> {
    tokio::spawn(service.handler.clone().call_dyn(call))
}

/// The text of a result, or the message of an error.
///
/// # Panics
/// It is neither.
pub fn said(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Complete(result) => {
            let result: Value = result.decode().expect("results are JSON");
            let text = result["content"][0]["text"].as_str();
            text.map_or_else(|| result.to_string(), str::to_owned)
        }
        Outcome::Failed(error) => error.to_string(),
        other => panic!("{other:?}"),
    }
}
