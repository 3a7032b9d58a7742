//! The gateway as clients see it, in every pair of eras.
#![allow(clippy::unwrap_used)]

mod apart;
mod calls;
mod changing;
mod complaints;
mod faults;
mod keys;
mod life;
mod lists;
mod room;
mod rules;
mod sealed;
mod square;
mod storms;
mod tasks;
mod through;
mod wire;

use std::collections::BTreeMap;

use polyport::client::{Connect, Wanted};
use polyport::testing::{TestPeer, connect_to};
use polyport::{
    Client, Cx, Resource, Revision, Revisions, Server, ServerHandle, Service, Template, Tool,
};
use polyport_gateway::{Gateway, Upstream};
use serde_json::{Value, json};

/// The newest revision of each era.
pub(crate) const ERAS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

/// A server with a tool that is its own, and things that others have, too.
pub(crate) fn server(name: &'static str) -> Server {
    let own: &'static str = if name == "a" { "alpha" } else { "beta" };
    Server::new(name, "1")
        .instructions(format!("Ask {name}."))
        .tool(
            "same",
            "The same.",
            move |_cx, (): ()| async move { Ok(name) },
        )
        .tool(own, "Its own.", move |cx: Cx, (): ()| async move {
            cx.progress_of(1.0, 2.0, name);
            Ok(own)
        })
        .add_resource(Resource::new("x://same", "same", move |_cx| async move {
            Ok(name)
        }))
        .add_resource(Resource::new(
            format!("x://{own}"),
            own,
            move |_cx| async move { Ok(own) },
        ))
        .add_template(Template::new(
            &format!("t{name}://{{id}}"),
            "t",
            |_cx, vars| async move {
                let vars: BTreeMap<String, String> = vars;
                Ok(vars["id"].clone())
            },
        ))
        .prompt(
            "same",
            "The same.",
            move |_cx, (): ()| async move { Ok(name) },
        )
}

pub(crate) fn upstream(server: Server, name: &str, revision: Revision) -> Upstream {
    let connect = Connect::service(server.into_service());
    Upstream::new(name, connect.speaks(Revisions::NONE.with(revision)))
}

pub(crate) async fn client(gateway: Gateway, revision: Revision) -> TestPeer {
    connect_to(Service::new(gateway), revision, &json!({}))
        .await
        .unwrap()
}

/// A client that hears of changes.
pub(crate) async fn listener(gateway: Gateway, revision: Revision) -> Client {
    let outer = Connect::service(Service::new(gateway)).speaks(Revisions::NONE.with(revision));
    outer.connect().await.unwrap()
}

/// All that lists may tell of.
pub(crate) fn lists() -> Wanted {
    Wanted {
        lists: true,
        ..Wanted::default()
    }
}

pub(crate) fn resources<const N: usize>(uris: [&str; N]) -> Wanted {
    Wanted {
        resources: uris.map(str::to_owned).to_vec(),
        ..Wanted::default()
    }
}

/// A gateway to two servers, the first of which changes.
pub(crate) fn changing(theirs: Revision) -> (ServerHandle, Gateway) {
    let one = server("a");
    let handle = one.handle();
    let gateway = Gateway::new([
        upstream(one, "one", theirs),
        upstream(server("b"), "two", theirs),
    ]);
    (handle, gateway)
}

/// A tool that was not there before.
pub(crate) fn more(name: impl Into<String>) -> Tool {
    Tool::new(name, "", |_cx, (): ()| async { Ok("more") })
}

pub(crate) async fn both(theirs: Revision, ours: Revision) -> TestPeer {
    let gateway = Gateway::new([
        upstream(server("a"), "one", theirs),
        upstream(server("b"), "two", theirs),
    ]);
    client(gateway, ours).await
}

pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

pub(crate) fn names(list: &Value, key: &str) -> Vec<String> {
    let entries = list.as_array().unwrap().iter();
    entries
        .map(|entry| entry[key].as_str().unwrap().to_owned())
        .collect()
}
