//! What a client holds to whatever a server over HTTP does: lists end, and nothing that is secret is said.

use std::fmt::Write as _;
use std::sync::Arc;

use polyport::client::{Connect, Target};
use polyport::{Client, Raw, Revision, Revisions};
use polyport_testkit::web::{Asked, Reply, Then};
use polyport_testkit::{Log, Web};
use serde_json::{Value, json};

fn result(asked: &Asked, result: Value) -> Reply {
    let mut result = result;
    result["resultType"] = json!("complete");
    Reply::json(&json!({"jsonrpc": "2.0", "id": asked.message()["id"], "result": result}))
}

fn discovered(asked: &Asked) -> Reply {
    let found = json!({"supportedVersions": [Revision::LATEST.name()], "ttlMs": 0, "cacheScope": "private",
        "capabilities": {"tools": {}, "resources": {}, "prompts": {}}});
    result(asked, found)
}

async fn connected(web: &Web, path: &str, header: Option<(&str, &str)>) -> Client {
    let mut target = Target::new(&web.url(path)).unwrap();
    if let Some((name, value)) = header {
        target = target.header(name, value).unwrap();
    }
    let connect = Connect::http(target).speaks(Revisions::NONE.with(Revision::LATEST));
    connect.connect().await.unwrap()
}

// req: V-414
#[tokio::test]
async fn v_414_lists_without_an_end_are_given_up() {
    // The next cursor of each, by how many pages there were.
    type Cursor = fn(usize) -> String;
    let cursors: [(&str, Cursor); 4] = [
        ("the same", |_| "a".to_owned()),
        ("an empty one", |_| String::new()),
        ("a circle", |n| ["a", "b", "c"][n % 3].to_owned()),
        ("always another", |n| n.to_string()),
    ];
    for (name, cursor) in cursors {
        let asked = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counts = asked.clone();
        let web = Web::serve(move |asked| {
            if asked.message()["method"] == "server/discover" {
                return discovered(asked);
            }
            let n = counts.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let tool = json!({"name": "t", "inputSchema": {"type": "object"}});
            let page = json!({"tools": [tool], "resources": [], "resourceTemplates": [], "prompts": [],
                "nextCursor": cursor(n), "ttlMs": 0, "cacheScope": "private"});
            result(asked, page)
        })
        .await;
        let client = connected(&web, "/mcp", None).await;
        let mut errors = vec![client.tools().await.map(drop)];
        if name == "the same" {
            errors.push(client.resources().await.map(drop));
            errors.push(client.resource_templates().await.map(drop));
            errors.push(client.prompts().await.map(drop));
        }
        for error in errors {
            let error = error.unwrap_err().to_string();
            assert!(error.contains("page"), "{name}: {error}");
        }
        let asked = asked.load(std::sync::atomic::Ordering::SeqCst);
        assert!(asked <= 1_001, "{name}: {asked} pages");
    }
}

/// Stands in a header, in the address, and in arguments.
const CANARY: &str = "canary-5f0e";

// req: V-1105
// req: V-1106
#[tokio::test]
async fn v_1105_v_1106_no_secret_is_in_logs_errors_or_debug() {
    let log = Log::at(tracing::Level::TRACE);
    let mut said = String::new();
    for kind in ["ok", "refused", "401", "500", "elsewhere", "junk", "cut"] {
        let web = Web::serve(move |asked| {
            if asked.message()["method"] == "server/discover" {
                return discovered(asked);
            }
            match kind {
                "ok" => result(asked, json!({"content": []})),
                "refused" => Reply::json(&json!({"jsonrpc": "2.0", "id": asked.message()["id"],
                    "error": {"code": -32603, "message": "no"}})),
                "401" => Reply::of("401 Who", "text/plain", "WWW-Authenticate: Bearer\r\n", ""),
                "500" => Reply::of("500 Oops", "text/plain", "", "oops"),
                "elsewhere" => {
                    let head = "Location: http://evil.test/mcp\r\n";
                    Reply::of("307 Temporary Redirect", "text/plain", head, "")
                }
                "junk" => Reply::of("200 OK", "application/json", "", "{\"jsonrpc\""),
                _ => Reply::raw("HTTP/1.1 200 O", Then::End),
            }
        })
        .await;
        let secret = format!("Bearer {CANARY}");
        let path = format!("/mcp?key={CANARY}");
        let client = connected(&web, &path, Some(("Authorization", &secret))).await;
        let arguments: Raw = serde_json::from_value(json!({"password": CANARY})).unwrap();
        let called = client.call_tool("t", &arguments).await;
        assert_eq!(called.is_ok(), kind == "ok", "{kind}: {called:?}");
        write!(said, "{client:?} {called:?} ").unwrap();
        if let Err(error) = called {
            write!(said, "{error} {error:#?}").unwrap();
        }
        // It was really sent.
        let asked = web.asked();
        let last = asked.last().unwrap();
        assert!(last.path.contains(CANARY) && last.body.contains(CANARY));
        assert_eq!(last.header("authorization"), Some(&*secret));
    }
    assert!(!said.contains(CANARY), "{said}");
    let logged = log.text();
    assert!(!logged.contains(CANARY), "{logged}");
}
