//! The revision square: a client pinned to each revision against a server pinned to each, over every transport. What comes of it
//! stands in `docs/revisions.md`; `UPDATE_GOLDEN=1` writes it anew.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use polyport::client::{Connect, Target};
use polyport::http::{Config, Endpoint, bind};
use polyport::model::{Blocks, Content, CreateMessageResult, ElicitResult, Object, Role, Root};
use polyport::schemars::JsonSchema;
use polyport::serde::{Deserialize, Serialize};
use polyport::{
    Client, ClientError, Json, Level, OnProgress, Patience, Raw, Revision, Revisions, Server, Wait,
    stop,
};
use serde_json::{Value, json};

/// Nothing in these tests takes so long.
const LONG: Duration = Duration::from_secs(20);
const TRANSPORTS: [&str; 4] = ["stdio", "Streamable HTTP", "HTTP+SSE", "WebSocket"];

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(crate = "polyport::serde")]
#[schemars(crate = "polyport::schemars")]
struct Name {
    name: String,
}

fn server() -> Server {
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
const FEATURES: [&str; 10] = [
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
async fn works(client: &Client) -> Vec<&'static str> {
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
        let result = serde_json::to_value(result.unwrap()).unwrap();
        if result["isError"] == true {
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

fn answering(connect: Connect, speaks: Revisions) -> Connect {
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

/// Connects over a transport, and says what works or why not.
async fn cell(
    transport: &str,
    ours: Revision,
    theirs: Revision,
) -> Result<Vec<&'static str>, String> {
    let speaks = |revision| Revisions::NONE.with(revision);
    let service = server().into_service().speaks(speaks(theirs));
    let (stopper, stopped) = stop::stop();
    let mut serving = None;
    let connect = if transport == "stdio" {
        Connect::service(service)
    } else {
        let endpoint = Endpoint::new(service, Config::default());
        let bound = bind(endpoint, ([127, 0, 0, 1], 0).into(), false)
            .await
            .unwrap();
        let address = bound.address();
        serving = Some(tokio::spawn(bound.serve(stopped)));
        let url = match transport {
            "Streamable HTTP" => format!("http://{address}/mcp"),
            "HTTP+SSE" => format!("http://{address}/sse"),
            _ => format!("ws://{address}/ws"),
        };
        Connect::http(Target::new(&url).unwrap())
    };
    let connected = answering(connect, speaks(ours)).connect().await;
    let cell = match connected {
        Ok(client) => {
            assert_eq!(client.opened().revision, ours);
            let seen = works(&client).await;
            client.close().await;
            Ok(seen)
        }
        Err(error) => Err(error.to_string()),
    };
    stopper.stop();
    if let Some(serving) = serving {
        tokio::time::timeout(LONG, serving).await.unwrap().unwrap();
    }
    cell
}

/// The page as it should be.
async fn page() -> String {
    let mut page = String::from(PREFACE);
    let mut errors: Vec<String> = Vec::new();
    for transport in TRANSPORTS {
        let names = Revision::ALL.map(Revision::name);
        write!(
            page,
            "\n## {transport}\n\n| client \\\\ server | {} |\n",
            names.join(" | ")
        )
        .unwrap();
        page.push_str("|---|---|---|---|---|---|\n");
        for ours in Revision::ALL {
            write!(page, "| {} |", ours.name()).unwrap();
            for theirs in Revision::ALL {
                let shown = match cell(transport, ours, theirs).await {
                    Ok(seen) => {
                        let missing: Vec<_> =
                            FEATURES.into_iter().filter(|f| !seen.contains(f)).collect();
                        match missing[..] {
                            [] => "everything".to_owned(),
                            _ => format!("all but {}", missing.join(", ")),
                        }
                    }
                    Err(error) => {
                        let at = errors.iter().position(|known| *known == error);
                        let at = at.unwrap_or_else(|| {
                            errors.push(error);
                            errors.len() - 1
                        });
                        format!("({})", at + 1)
                    }
                };
                write!(page, " {shown} |").unwrap();
            }
            page.push('\n');
        }
    }
    page.push_str("\n## What the client is told\n\n");
    for (at, error) in errors.iter().enumerate() {
        writeln!(page, "{}. {error}", at + 1).unwrap();
    }
    page
}

const PREFACE: &str = "# The revision square

What works between our client that speaks one revision only and our server that speaks one revision only. Neither is like that unless told:
both speak all five, and meet in the newest that both have. A test writes this page and holds it.

\"Everything\" are lists, calls, structured results, resources, prompts, progress, and questions in the middle of a call: forms, pages,
sampling, roots. What is missing, the revision does not have.
";

// req: S-SQUARE
#[tokio::test]
async fn the_page_says_what_is_so() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/revisions.md");
    let page = page().await;
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, &page).unwrap();
    }
    let known = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        known == page,
        "docs/revisions.md is not what is so (UPDATE_GOLDEN=1 writes it anew):\n{page}"
    );
}
