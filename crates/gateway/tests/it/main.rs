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

use polyport::client::Connect;
use polyport::testing::{TestPeer, connect_to};
use polyport::{Cx, Resource, Revision, Revisions, Server, Service, Template};
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
