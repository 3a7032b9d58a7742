//! What a client keeps of a modern server while it is fresh: the requests that reach the server are counted.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use polyport::client::{Connect, List, Wanted};
use polyport::model::{CacheScope, ElicitResult};
use polyport::{
    Bus, Call, Client, Era, Handler, NeedInput, Outcome, Question, Raw, Resource, Revisions,
    Server, Service, Speaker, Template, Tool,
};
use serde_json::{Value, json};

const FRESH: Duration = Duration::from_secs(60);

/// The methods that a client has asked for.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    fn on(&self, connect: Connect) -> Connect {
        let heard = self.0.clone();
        connect.tap(move |speaker, text| {
            let message: Value = serde_json::from_slice(text).unwrap();
            if let (Speaker::Client, Some(method)) = (speaker, message["method"].as_str()) {
                heard.lock().unwrap().push(method.to_owned());
            }
        })
    }

    /// Those since the last time.
    fn take(&self) -> String {
        std::mem::take(&mut *self.0.lock().unwrap()).join(" ")
    }
}

fn server() -> Server {
    let contents = |_cx| async { Ok("a") };
    Server::new("s", "1")
        .cache(FRESH, CacheScope::Private)
        .tool("plain", "Plain.", |_cx, (): ()| async { Ok("plain") })
        .add_resource(Resource::new("s://a", "a", contents))
        .add_template(Template::new("s://{name}", "t", |_cx, _page| async {
            Ok("t")
        }))
}

async fn connected(connect: Connect, era: Era) -> (Client, Heard) {
    let heard = Heard::default();
    let connect = heard.on(connect.speaks(Revisions::of(era)));
    let client = connect.connect().await.unwrap();
    heard.take();
    (client, heard)
}

/// Asks for everything that may be kept, in one way or the other.
async fn lists(client: &Client, heard: &Heard) -> String {
    let tools = client.tools().await.unwrap();
    let raw = client.entries(List::Tools).await.unwrap();
    assert_eq!(tools.len(), raw.len());
    client.resources().await.unwrap();
    client.entries(List::Resources).await.unwrap();
    client.resource_templates().await.unwrap();
    client.entries(List::Templates).await.unwrap();
    heard.take()
}

const ONCE: &str = "tools/list resources/list resources/templates/list";
const TWICE: &str = "tools/list tools/list resources/list resources/list resources/templates/list resources/templates/list";

// req: S-FRESH
#[tokio::test(start_paused = true)]
async fn lists_are_asked_for_once_while_they_are_fresh() {
    let connect = Connect::service(server().into_service());
    let (client, heard) = connected(connect, Era::Modern).await;
    assert_eq!(lists(&client, &heard).await, ONCE);
    assert_eq!(lists(&client, &heard).await, "");
    tokio::time::advance(FRESH.checked_sub(Duration::from_millis(1)).unwrap()).await;
    assert_eq!(lists(&client, &heard).await, "");
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(lists(&client, &heard).await, ONCE);
    // What is no list is asked for whenever it is wanted, and so is what is asked for as text.
    for _ in 0..2 {
        client.ping().await.unwrap();
        let nothing = Raw::from_static("{}");
        client.call_tool("plain", &nothing).await.unwrap();
        client.request_raw("tools/list", "{}", None).await.unwrap();
        assert_eq!(heard.take(), "server/discover tools/call tools/list");
    }
}

// req: S-FRESH
#[tokio::test(start_paused = true)]
async fn nothing_is_kept_where_nothing_says_how_long_or_nobody_wants_it() {
    let plain = || Connect::service(server().into_service());
    let silent = server().cache(Duration::ZERO, CacheScope::Public);
    for (connect, era) in [
        (plain(), Era::Legacy),
        (plain().no_cache(), Era::Modern),
        (Connect::service(silent.into_service()), Era::Modern),
    ] {
        let (client, heard) = connected(connect, era).await;
        assert_eq!(lists(&client, &heard).await, TWICE);
    }
    // A time that a legacy server names has no meaning in its revision.
    let connect = Connect::service(Service::new(Paged(Bus::new())));
    let (client, heard) = connected(connect, Era::Legacy).await;
    for _ in 0..2 {
        let read = client.read("s://a").await.unwrap();
        assert!(read.ttl_ms.is_some());
        assert_eq!(heard.take(), "resources/read");
    }
}

// req: S-FRESH
#[tokio::test(start_paused = true)]
async fn what_has_changed_is_asked_for_again() {
    let server = server();
    let handle = server.handle();
    let connect = Connect::service(server.into_service());
    let (client, heard) = connected(connect, Era::Modern).await;
    let wanted = Wanted {
        lists: true,
        ..Wanted::default()
    };
    let mut changes = client.changes(wanted).await.unwrap();
    heard.take();
    assert_eq!(lists(&client, &heard).await, ONCE);
    let more = Tool::new("more", "More.", |_cx, (): ()| async { Ok("more") });
    handle.add_tool(more).unwrap();
    changes.next().await.unwrap();
    assert_eq!(lists(&client, &heard).await, "tools/list");
    assert_eq!(client.tools().await.unwrap().len(), 2);
    let other = Resource::new("s://b", "b", |_cx| async { Ok("b") });
    handle.add_resource(other).unwrap();
    changes.next().await.unwrap();
    let again = "resources/list resources/templates/list";
    assert_eq!(lists(&client, &heard).await, again);
    // A tool that is not known there may be gone from the list, too.
    let nothing = Raw::from_static("{}");
    client.call_tool("none", &nothing).await.unwrap_err();
    assert_eq!(heard.take(), "tools/call");
    assert_eq!(lists(&client, &heard).await, "tools/list");
}

/// A server whose contents are fresh for a minute, and whose list of tools has two pages; the second one is fresh for ten seconds.
struct Paged(Bus);

impl Handler for Paged {
    async fn call(&self, call: Call) -> Outcome {
        let params: Value =
            serde_json::from_str(call.params.text().unwrap_or_default()).unwrap_or_default();
        let said = match (
            call.method,
            params["cursor"].as_str(),
            params["uri"].as_str(),
        ) {
            ("server/discover", ..) => {
                json!({"capabilities": {"tools": {}, "resources": {"subscribe": true}}})
            }
            ("tools/list", None, _) => {
                json!({"tools": [{"name": "a", "inputSchema": {"type": "object"}}], "nextCursor": "2", "ttlMs": 60_000})
            }
            ("tools/list", ..) => {
                json!({"tools": [{"name": "b", "inputSchema": {"type": "object"}}], "ttlMs": 10_000, "nextCursor": null})
            }
            ("resources/read", _, Some("s://asks")) if params["inputResponses"].is_null() => {
                let question = json!({"mode": "url", "message": "Look", "url": "https://example.test/", "elicitationId": "1"});
                return Outcome::NeedInput(NeedInput {
                    questions: vec![Question {
                        key: "a".into(),
                        method: "elicitation/create",
                        params: Raw::encode(&question).ok(),
                        is_passed_on: false,
                    }],
                    ..NeedInput::default()
                });
            }
            ("resources/read", _, Some(uri)) => {
                json!({"contents": [{"uri": uri, "text": "a"}], "ttlMs": 60_000, "cacheScope": "private"})
            }
            ("subscriptions/listen", ..) => json!({"notifications": params["notifications"]}),
            _ => json!({}),
        };
        Outcome::Complete(Raw::encode(&said).unwrap())
    }

    fn bus(&self) -> Option<Bus> {
        Some(self.0.clone())
    }
}

// req: S-FRESH
#[tokio::test(start_paused = true)]
async fn contents_are_kept_by_their_uri_and_a_list_as_long_as_its_shortest_page() {
    let bus = Bus::new();
    let connect = Connect::service(Service::new(Paged(bus.clone())));
    let connect = connect.on_page(|_page| async { ElicitResult::accept(None) });
    let (client, heard) = connected(connect, Era::Modern).await;
    for uri in ["s://a", "s://b", "s://a", "s://b"] {
        client.read(uri).await.unwrap();
    }
    assert_eq!(heard.take(), "resources/read resources/read");
    // What needed answers on its way depends on more than its URI.
    for _ in 0..2 {
        client.read("s://asks").await.unwrap();
        assert_eq!(heard.take(), "resources/read resources/read");
    }
    for _ in 0..2 {
        assert_eq!(client.tools().await.unwrap().len(), 2);
    }
    assert_eq!(heard.take(), "tools/list tools/list");
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!(client.tools().await.unwrap().len(), 2);
    client.read("s://a").await.unwrap();
    assert_eq!(heard.take(), "tools/list tools/list");

    let wanted = Wanted {
        resources: vec!["s://a".to_owned()],
        ..Wanted::default()
    };
    let mut changes = client.changes(wanted).await.unwrap();
    heard.take();
    bus.updated("s://a");
    changes.next().await.unwrap();
    client.read("s://a").await.unwrap();
    client.read("s://b").await.unwrap();
    assert_eq!(heard.take(), "resources/read");
}

/// A server over HTTP whose list of tools is fresh for an hour. It refuses the first call for its headers, and breaks its first
/// stream of changes.
#[cfg(feature = "http-client")]
fn broken(asked: &polyport_testkit::web::Asked, before: usize) -> polyport_testkit::web::Reply {
    use polyport_testkit::web::{Reply, Then};
    let message = asked.message();
    let id = &message["id"];
    let result =
        |result: Value| Reply::json(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    match message["method"].as_str() {
        Some("server/discover") => result(
            json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {"listChanged": true}}}),
        ),
        Some("tools/list") => result(
            json!({"tools": [{"name": "a", "inputSchema": {"type": "object"}}], "ttlMs": 3_600_000}),
        ),
        Some("tools/call") if before == 0 => {
            let error = json!({"code": -32020, "message": "headers"});
            let error = json!({"jsonrpc": "2.0", "id": id, "error": error});
            Reply::of(
                "400 Bad Request",
                "application/json",
                "",
                &error.to_string(),
            )
        }
        Some("subscriptions/listen") => {
            let told = json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                "params": {"notifications": {"toolsListChanged": true}}});
            let then = if before == 0 {
                Then::End
            } else {
                Then::Silence
            };
            Reply::events("", &format!("data: {told}\n\n"), then)
        }
        _ => result(json!({"content": []})),
    }
}

// req: S-FRESH
#[cfg(feature = "http-client")]
#[tokio::test]
async fn what_may_have_changed_unheard_is_asked_for_again() {
    use polyport::client::{Change, Target};
    let counts = Mutex::new(std::collections::HashMap::<String, usize>::new());
    let web = polyport_testkit::Web::serve(move |asked| {
        let method = asked.message()["method"].to_string();
        let mut counts = counts.lock().unwrap();
        let before = counts.entry(method).or_default();
        *before += 1;
        broken(asked, *before - 1)
    })
    .await;
    let target = Target::new(&web.url("/mcp")).unwrap();
    let (client, heard) = connected(Connect::http(target), Era::Modern).await;
    let listed = async || {
        client.tools().await.unwrap();
        client.tools().await.unwrap();
        heard.take()
    };
    assert_eq!(listed().await, "tools/list");
    let nothing = Raw::from_static("{}");
    client.call_tool("a", &nothing).await.unwrap();
    assert_eq!(heard.take(), "tools/call tools/list tools/call");
    assert_eq!(listed().await, "");
    let wanted = Wanted {
        lists: true,
        ..Wanted::default()
    };
    let mut changes = client.changes(wanted).await.unwrap();
    let heard_of = changes.next().await.unwrap().unwrap();
    assert_eq!(heard_of.change, Change::Reopened);
    assert_eq!(heard.take(), "subscriptions/listen subscriptions/listen");
    assert_eq!(listed().await, "tools/list");
}
