//! One server made three times: with the builder, from marked functions, from a marked `impl` block. Clients see no difference.

mod builder;
mod free;
mod hygiene;
mod shared;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use polyport::model::{Annotations, Icon, Object, Role};
use polyport::schemars::JsonSchema;
use polyport::serde::{Deserialize, Serialize};
use polyport::testing::TestPeer;
use polyport::{CallError, Raw, Revision, Server};
use serde_json::{Value, json};

use crate::peer;

#[derive(Serialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Sum {
    sum: i64,
}

/// What is wanted.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Order {
    /// Which.
    item: String,
    pieces: u32,
}

#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(crate = "polyport::serde", rename_all = "lowercase")]
#[schemars(crate = "polyport::schemars")]
enum Manner {
    Harsh,
    #[default]
    Kind,
}

fn icons() -> Vec<Icon> {
    vec![Icon {
        src: "https://example.org/i.png".to_owned(),
        ..Icon::default()
    }]
}

fn annotations() -> Annotations {
    Annotations {
        audience: Some(vec![Role::User]),
        last_modified: Some("2026-01-01T00:00:00Z".to_owned()),
        ..Annotations::default()
    }
}

fn meta() -> Object {
    Object::from([("org.example/x", Raw::from_static("1"))])
}

fn shelf() -> Value {
    json!({"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]})
}

const LISTS: [&str; 4] = [
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
];

fn calls() -> Vec<(&'static str, Value)> {
    let tool = |name: &str, arguments: Value| {
        ("tools/call", json!({"name": name, "arguments": arguments}))
    };
    let prompt = |name: &str, arguments: Value| {
        ("prompts/get", json!({"name": name, "arguments": arguments}))
    };
    let read = |uri: &str| ("resources/read", json!({"uri": uri}));
    let complete = |of: Value, name: &str| {
        let argument = json!({"name": name, "value": "R"});
        let context = json!({"arguments": {"code": "x"}});
        let params = json!({"ref": of, "argument": argument, "context": context});
        ("completion/complete", params)
    };
    let of_prompt = |name: &str| json!({"type": "ref/prompt", "name": name});
    let of_template = |uri: &str| json!({"type": "ref/resource", "uri": uri});
    vec![
        tool("forecast", json!({"city": "Oslo"})),
        tool(
            "forecast",
            json!({"city": "Oslo", "days": 2, "fahrenheit": true, "where": "us", "tags": ["a"], "type": "Z"}),
        ),
        tool("forecast", json!({"city": ""})),
        tool("forecast", json!({"city": "Oslo", "days": 15})),
        tool("forecast", json!({"city": "Oslo", "region": "us"})),
        tool("forecast", json!({"city": "Oslo", "tags": ["A"]})),
        tool("forecast", json!({"city": "Oslo", "type": "ab"})),
        tool("forecast", json!({})),
        tool("sum.of", json!({"a": 1, "b": 2})),
        tool("sum.of", json!({"a": i64::MAX, "b": 2})),
        tool("order", json!({"item": "nail", "pieces": 3})),
        tool("order", json!({"item": "nail", "pieces": 0})),
        tool("order", json!({"item": "nail"})),
        tool("take", json!({"item": "nail"})),
        tool("take", json!({"item": 1})),
        tool("nothing", json!({})),
        tool("nothing", json!({"a": 1})),
        tool("add", json!({})),
        read("x://catalogue"),
        read("x://bytes"),
        read("x://rows/7"),
        read("x://r%20s/7"),
        read("x://rows/256"),
        read("y://a/b"),
        read("y://none"),
        read("z://"),
        prompt(
            "review",
            json!({"code": "x", "in": "Rust", "manner": "harsh"}),
        ),
        prompt("review", json!({"code": "x"})),
        prompt("review", json!({"code": ""})),
        prompt("review", json!({"code": "x", "manner": "odd"})),
        prompt("review", json!({})),
        prompt("hello", json!({})),
        complete(of_prompt("review"), "in"),
        complete(of_prompt("review"), "code"),
        complete(of_prompt("none"), "in"),
        complete(of_template("x://{table}/{row.id}"), "table"),
        complete(of_template("x://{table}/{row.id}"), "row.id"),
        complete(of_template("y://{+path}"), "path"),
    ]
}

/// The answer's text as it came, whether it is a result or an error.
async fn answer(peer: &TestPeer, method: &str, params: &Value) -> String {
    match peer.caller().request(method, &params.to_string()).await {
        Ok(result) => result.as_str().to_owned(),
        Err(CallError::Refused(error)) => format!("refused: {}", error.as_str()),
        Err(other) => panic!("{method} {params}: {other:?}"),
    }
}

// req: S-MACRO
#[tokio::test]
async fn the_same_server_whichever_way_it_is_made() {
    for revision in Revision::ALL {
        let built = peer(builder::server(), revision).await;
        let marked = [
            peer(free::server(), revision).await,
            peer(shared::server(), revision).await,
        ];
        let lists = LISTS.map(|method| (method, json!({})));
        for (method, params) in lists.into_iter().chain(calls()) {
            let want = answer(&built, method, &params).await;
            for peer in &marked {
                assert_eq!(
                    answer(peer, method, &params).await,
                    want,
                    "{revision} {method} {params}"
                );
            }
        }
    }
}

// req: S-MACRO
#[tokio::test]
async fn what_is_listed_and_answered() {
    let peer = peer(shared::server(), Revision::V2026_07_28).await;
    let listed = peer.request("tools/list", &json!({})).await.unwrap();
    let forecast = &listed["tools"][0];
    assert_eq!(
        forecast["description"],
        "Tells the weather.\n\nFor some days."
    );
    let schema = &forecast["inputSchema"];
    assert_eq!(schema["required"], json!(["city"]));
    assert_eq!(
        schema["properties"]["where"],
        json!({"type": "string", "default": "eu", "x-mcp-header": "Region"})
    );
    assert_eq!(
        schema["properties"]["fahrenheit"]["description"],
        "In degrees Fahrenheit."
    );
    assert_eq!(listed["tools"][1]["name"], "sum.of");
    assert_eq!(
        listed["tools"][1]["outputSchema"]["required"],
        json!(["sum"])
    );
    let said = peer
        .call("forecast", &json!({"city": "Oslo"}))
        .await
        .unwrap();
    assert_eq!(said["content"][0]["text"], "Oslo 5 None eu [] None");
    let read = peer
        .request("resources/read", &json!({"uri": "x://rows/7"}))
        .await
        .unwrap();
    assert_eq!(read["contents"][0]["text"], "rows 7");
    let templates = peer.request("resources/templates/list", &json!({})).await;
    let row = &templates.unwrap()["resourceTemplates"][0];
    assert_eq!(row["annotations"]["audience"], json!(["user"]));
    assert_eq!(
        (
            &row["_meta"]["org.example/x"],
            row["icons"].as_array().map(Vec::len)
        ),
        (&json!(1), Some(1))
    );
    let of = json!({"type": "ref/resource", "uri": "x://{table}/{row.id}"});
    let params = json!({"ref": of, "argument": {"name": "table", "value": "r"}});
    let completed = peer.request("completion/complete", &params).await.unwrap();
    assert_eq!(completed["completion"]["values"], json!(["rows"]));
}

// req: S-MACRO
#[tokio::test]
async fn all_calls_share_one_value() {
    let shop = Arc::new(shared::Shop::default());
    let peer = peer(
        Server::new("s", "1").with(shop.clone()),
        Revision::V2025_11_25,
    )
    .await;
    for n in 1..4 {
        peer.call("forecast", &json!({"city": "Oslo"}))
            .await
            .unwrap();
        assert_eq!(shop.count(), n);
    }
}

/// Holds its thread until it is let go.
struct Gate(Arc<AtomicBool>);

#[polyport::parts]
impl Gate {
    fn wait(&self) -> &'static str {
        let begun = Instant::now();
        while !self.0.load(Ordering::SeqCst) && begun.elapsed() < Duration::from_secs(30) {
            std::thread::yield_now();
        }
        "done"
    }

    #[tool]
    fn tool(&self) -> &'static str {
        self.wait()
    }

    #[prompt]
    fn prompt(&self) -> &'static str {
        self.wait()
    }

    #[resource("gate://fixed")]
    fn fixed(&self) -> &'static str {
        self.wait()
    }

    #[resource("gate://any/{name}")]
    fn any(&self, name: String) -> String {
        name + self.wait()
    }

    #[tool]
    async fn open(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

// req: S-BLOCK
// req: S-MACRO
#[tokio::test]
async fn a_function_that_is_not_async_holds_nothing_up() {
    let gate = Arc::new(AtomicBool::new(false));
    let server = Server::new("s", "1").with(Gate(gate.clone()));
    let peer = Arc::new(peer(server, Revision::V2025_11_25).await);
    let waiting: Vec<_> = [
        ("tools/call", json!({"name": "tool"})),
        ("prompts/get", json!({"name": "prompt"})),
        ("resources/read", json!({"uri": "gate://fixed"})),
        ("resources/read", json!({"uri": "gate://any/x"})),
    ]
    .map(|(method, params)| {
        let peer = peer.clone();
        tokio::spawn(async move { peer.request(method, &params).await })
    })
    .into();
    for _ in 0..10 {
        peer.request("ping", &json!({})).await.unwrap();
    }
    assert!(waiting.iter().all(|call| !call.is_finished()));
    peer.call("open", &json!({})).await.unwrap();
    for call in waiting {
        let answer = call.await.unwrap().unwrap().to_string();
        assert!(answer.contains("done"), "{answer}");
    }
}
