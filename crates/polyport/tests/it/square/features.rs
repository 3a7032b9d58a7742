//! What a pair of a client and a server may be capable of: a server that offers all of it, a client that answers, what of it
//! works, and the transports between them.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use polyport::client::{Connect, Target};
use polyport::http::{Config, Endpoint, bind};
use polyport::model::{Blocks, Content, CreateMessageResult, ElicitResult, Object, Role, Root};
use polyport::schemars::JsonSchema;
use polyport::serde::{Deserialize, Serialize};
use polyport::{
    Client, ClientError, Json, Level, OnProgress, Patience, Raw, Revisions, Server, Service, Wait,
    stop,
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// Nothing in these tests takes so long.
pub(super) const LONG: Duration = Duration::from_secs(20);
pub(super) const TRANSPORTS: [&str; 4] = ["stdio", "Streamable HTTP", "HTTP+SSE", "WebSocket"];

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Name {
    name: String,
}

pub(super) fn server() -> Server {
    Server::new("square", "1")
        .tool("echo", "Says it again.", |_cx, name: Name| async move {
            Ok(name.name)
        })
        .tool(
            "structured",
            "Gives a value.",
            |_cx, name: Name| async move { Ok(Json(name)) },
        )
        .tool("steps", "Tells how far it is.", |cx, (): ()| async move {
            cx.progress_of(1.0, 2.0, "half");
            cx.log(Level::Info, "on the way");
            Ok("done")
        })
        .tool("form", "Asks for a name.", |cx, (): ()| async move {
            let name: Name = cx.elicit("who", "Who?").await?;
            Ok(name.name)
        })
        .tool("page", "Sends to a page.", |cx, (): ()| async move {
            cx.elicit_url("page", "Look there", "https://example.test/")
                .await?;
            Ok("seen")
        })
        .tool("sample", "Asks a model.", |cx, (): ()| async move {
            Ok(cx.sample_text("said", "Say something", 10).await?)
        })
        .tool("roots", "Asks where.", |cx, (): ()| async move {
            Ok(cx.roots("where").await?[0].uri.clone())
        })
        .resource("test://one", "one", |_cx| async { Ok("the one") })
        .prompt("greet", "Greets.", |_cx, name: Name| async move {
            Ok(format!("Greet {}", name.name))
        })
}

/// What a pair may be capable of, in the order of the table.
pub(super) const FEATURES: [&str; 10] = [
    "lists",
    "calls",
    "structured results",
    "resources",
    "prompts",
    "progress",
    "forms",
    "pages",
    "sampling",
    "roots",
];

/// What of all this works over a connection.
pub(super) async fn works(client: &Client) -> Vec<&'static str> {
    let none = Raw::from_static("{}");
    let name = Raw::from_static("{\"name\":\"Ada\"}");
    let mut seen = Vec::new();
    let mut note = |feature, is_there: bool| {
        if is_there {
            seen.push(feature);
        }
    };
    let lists = async {
        let counts = (
            client.tools().await?.len(),
            client.resources().await?.len(),
            client.prompts().await?.len(),
        );
        Ok::<_, ClientError>(counts == (7, 1, 1))
    };
    note("lists", lists.await.unwrap());
    let said = |result: Result<polyport::model::CallToolResult, ClientError>| {
        // It may also be refused, as by a server that may not ask what it wants to.
        let result = serde_json::to_value(result.ok()).unwrap();
        if result.is_null() || result["isError"] == true {
            return String::new();
        }
        result["content"][0]["text"].as_str().unwrap().to_owned()
    };
    note(
        "calls",
        said(client.call_tool("echo", &name).await) == "Ada",
    );
    let result = client.call_tool("structured", &name).await.unwrap();
    let value = serde_json::to_value(&result).unwrap();
    note(
        "structured results",
        value["structuredContent"]["name"] == "Ada",
    );
    let page = client.read("test://one").await.unwrap();
    let page = serde_json::to_value(&page).unwrap();
    note("resources", page["contents"][0]["text"] == "the one");
    let asked = json!({"name": "greet", "arguments": {"name": "Ada"}}).to_string();
    let prompt = client
        .request_raw("prompts/get", &asked, None)
        .await
        .unwrap();
    let prompt: Value = prompt.decode().unwrap();
    note(
        "prompts",
        prompt["messages"][0]["content"]["text"] == "Greet Ada",
    );
    let heard = Arc::new(Mutex::new(0.0));
    let hears = heard.clone();
    let progress: OnProgress = Arc::new(move |told| *hears.lock().unwrap() += told.value());
    let wait = Wait {
        total: Some(LONG),
        progress: Some(progress),
        ..Wait::default()
    };
    let asked = json!({"name": "steps", "arguments": {}}).to_string();
    let done = client.request_raw("tools/call", &asked, Some(wait)).await;
    note("progress", done.is_ok() && *heard.lock().unwrap() == 1.0);
    for (feature, tool, want) in [
        ("forms", "form", "Ada"),
        ("pages", "page", "seen"),
        ("sampling", "sample", "hello"),
        ("roots", "roots", "file:///home/ada"),
    ] {
        note(feature, said(client.call_tool(tool, &none).await) == want);
    }
    seen
}

pub(crate) fn answering(connect: Connect, speaks: Revisions) -> Connect {
    let patience = Patience {
        probe: LONG,
        handshake: LONG,
        request: LONG,
    };
    connect
        .speaks(speaks)
        .patience(patience)
        .on_form(|_| async {
            let mut content = Object::new();
            content.insert("name", Raw::from_static("\"Ada\""));
            ElicitResult::accept(Some(content))
        })
        .on_page(|_| async { ElicitResult::accept(None) })
        .on_sample(|_| async {
            Ok(CreateMessageResult {
                role: Role::Assistant,
                content: Blocks::One(Box::new(Content::text("hello"))),
                model: "m".to_owned(),
                stop_reason: None,
                meta: None,
                extra: Object::new(),
            })
        })
        .roots([Root::new("file:///home/ada")])
}

/// Holds a page of the documents to what is so, or writes it anew.
pub(super) fn hold(name: &str, page: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, page).unwrap();
    }
    let known = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        known == page,
        "docs/{name} is not what is so (UPDATE_GOLDEN=1 writes it anew):\n{page}"
    );
}

/// A service that is served over one of the transports.
pub(super) struct Serving(Option<(stop::Stopper, JoinHandle<()>)>);

impl Serving {
    pub(super) async fn end(self) {
        if let Some((stopper, serving)) = self.0 {
            stopper.stop();
            tokio::time::timeout(LONG, serving).await.unwrap().unwrap();
        }
    }
}

/// Serves over a transport, and says how it is reached.
pub(super) async fn serve(service: Service, transport: &str) -> (Connect, Serving) {
    if transport == "stdio" {
        return (Connect::service(service), Serving(None));
    }
    let endpoint = Endpoint::new(service, Config::default());
    let bound = bind(endpoint, ([127, 0, 0, 1], 0).into(), false)
        .await
        .unwrap();
    let address = bound.address();
    let (stopper, stopped) = stop::stop();
    let serving = tokio::spawn(async move {
        bound.serve(stopped).await;
    });
    let url = match transport {
        "Streamable HTTP" => format!("http://{address}/mcp"),
        "HTTP+SSE" => format!("http://{address}/sse"),
        _ => format!("ws://{address}/ws"),
    };
    let connect = Connect::http(Target::new(&url).unwrap());
    (connect, Serving(Some((stopper, serving))))
}
