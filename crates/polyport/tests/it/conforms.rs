//! Everything that a server says, against the schema of the revision in which it says it. The schemas are those of the
//! specification, in `$MCP_SPEC_DIR` (a folder per revision with its `schema.json`); without it these tests say that they skip.

use std::path::PathBuf;

use polyport::model::{
    Annotations, CacheScope, Content, EmbeddedResource, Icon, Object, ResourceContents,
    ResourceLink, Role,
};
use polyport::schemars::JsonSchema;
use polyport::serde::Deserialize;
use polyport::{
    CallError, Completer, Cx, Fault, Json, PromptReply, Raw, Resource, Revision, Server, Template,
    Tool, ToolError, ToolResult,
};
use serde_json::{Value, json};

use crate::{Sum, peer};

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Words {
    /// A word.
    word: String,
    other: Option<String>,
}

fn annotations() -> Annotations {
    Annotations {
        audience: Some(vec![Role::User, Role::Assistant]),
        priority: serde_json::Number::from_f64(1.0),
        ..Annotations::default()
    }
}

fn meta() -> Object {
    let member = ("test/k", Raw::from_static("{\"n\":1}"));
    [member].into_iter().collect()
}

fn icons() -> Vec<Icon> {
    vec![Icon {
        src: "data:image/png;base64,aQ==".to_owned(),
        mime_type: Some("image/png".to_owned()),
        ..Icon::default()
    }]
}

fn content() -> Vec<Content> {
    let link = ResourceLink {
        uri: "x://y".to_owned(),
        name: "why".to_owned(),
        annotations: Some(annotations()),
        ..ResourceLink::default()
    };
    let embedded = EmbeddedResource::new(ResourceContents::text("x://e", "e"));
    vec![
        Content::text("t"),
        Content::image("aQ==", "image/png"),
        Content::audio("aQ==", "audio/wav"),
        Content::ResourceLink(link),
        Content::Resource(embedded),
    ]
}

/// A server that has one of everything, with every member that may be said of it.
pub(crate) fn whole() -> Server {
    with_rest(with_tools(Server::new("whole", "1")))
        .title("Whole")
        .description("All of it.")
        .website("https://whole.test")
        .icons(icons())
        .instructions("Use it.")
        .page_size(2)
        .cache(std::time::Duration::from_secs(60), CacheScope::Public)
}

fn with_tools(server: Server) -> Server {
    server
        .add_tool(
            Tool::new("add", "Adds.", |cx: Cx, _w: Words| async move {
                cx.progress_of(1.0, 2.0, "half");
                cx.warning(json!({"n": 1}));
                Ok(Json(Sum { sum: 1.0 }))
            })
            .title("Add")
            .read_only()
            .destructive(false)
            .idempotent()
            .open_world(false)
            .icons(icons())
            .meta(meta()),
        )
        .tool("content", "", |_cx, (): ()| async {
            Ok(ToolResult::content(content()).with_meta(meta()))
        })
        .tool("list", "", |_cx, (): ()| async { Ok(Json(vec![1])) })
        .tool("fails", "", |_cx, (): ()| async {
            Err::<(), _>(ToolError::new("no"))
        })
        .tool("faults", "", |_cx, (): ()| async {
            Err::<(), _>(Fault::internal("no").into())
        })
}

fn with_rest(server: Server) -> Server {
    server
        .add_prompt(
            polyport::Prompt::new("ask", "Asks.", |_cx, _w: Words| async {
                let reply = content()
                    .into_iter()
                    .fold(PromptReply::new(), PromptReply::user);
                Ok(reply.assistant("yes"))
            })
            .title("Ask")
            .icons(icons())
            .meta(meta()),
        )
        .add_resource(
            Resource::new("x://text", "text", |_cx| async { Ok("t") })
                .title("Text")
                .description("A text.")
                .mime_type("text/plain")
                .annotations(annotations())
                .icons(icons())
                .meta(meta())
                .size(1),
        )
        .resource("x://blob", "blob", |_cx| async { Ok(vec![1_u8]) })
        .resource("x://third", "third", |_cx| async { Ok("") })
        .add_template(
            Template::new("t://{x}", "t", |_cx, _values| async { Ok("t") })
                .title("T")
                .mime_type("text/plain")
                .annotations(annotations()),
        )
        .completer(Completer::of_prompt(
            "ask",
            "word",
            |_cx, typed, _settled| async move { Ok(vec![typed]) },
        ))
}

/// The specification's schema of one revision.
pub(crate) struct Spec {
    schema: Value,
    key: &'static str,
}

impl Spec {
    pub(crate) fn of(revision: Revision) -> Option<Self> {
        let folder = PathBuf::from(std::env::var_os("MCP_SPEC_DIR")?);
        let text =
            std::fs::read_to_string(folder.join(revision.name()).join("schema.json")).unwrap();
        let schema: Value = serde_json::from_str(&text).unwrap();
        let key = if schema.get("$defs").is_some() {
            "$defs"
        } else {
            "definitions"
        };
        Some(Self { schema, key })
    }

    fn has(&self, definition: &str) -> bool {
        self.schema[self.key].get(definition).is_some()
    }

    /// The same for a message, whose envelope the definitions of the older revisions leave to another one.
    pub(crate) fn check_message(&self, definition: &str, message: &Value) {
        let mut message = message.clone();
        let members = &self.schema[self.key][definition]["properties"];
        for envelope in ["jsonrpc", "id"] {
            if members.get(envelope).is_none() {
                message.as_object_mut().unwrap().shift_remove(envelope);
            }
        }
        self.check(definition, &message);
    }

    /// Does the value fit the definition, and has it only members that the definition knows?
    pub(crate) fn check(&self, definition: &str, value: &Value) {
        let mut schema = self.schema.clone();
        let at = schema.as_object_mut().unwrap();
        at.remove("$ref");
        at.insert(
            "$ref".to_owned(),
            json!(format!("#/{}/{definition}", self.key)),
        );
        let validator = jsonschema::validator_for(&schema).unwrap();
        let errors: Vec<_> = validator
            .iter_errors(value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{definition} {value}: {errors:#?}");
        let known = self.schema[self.key][definition]["properties"].as_object();
        for member in value.as_object().unwrap().keys() {
            assert!(
                known.is_some_and(|known| known.contains_key(member)),
                "{definition} has no {member}"
            );
        }
    }
}

/// What is asked, and the definition of what comes back.
fn asked() -> [(&'static str, Value, &'static str); 15] {
    [
        ("server/discover", json!({}), "DiscoverResult"),
        ("tools/list", json!({}), "ListToolsResult"),
        ("prompts/list", json!({}), "ListPromptsResult"),
        ("resources/list", json!({}), "ListResourcesResult"),
        (
            "resources/templates/list",
            json!({}),
            "ListResourceTemplatesResult",
        ),
        (
            "tools/call",
            json!({"name": "add", "arguments": {"word": "w"}}),
            "CallToolResult",
        ),
        ("tools/call", json!({"name": "content"}), "CallToolResult"),
        ("tools/call", json!({"name": "list"}), "CallToolResult"),
        ("tools/call", json!({"name": "fails"}), "CallToolResult"),
        (
            "prompts/get",
            json!({"name": "ask", "arguments": {"word": "w"}}),
            "GetPromptResult",
        ),
        (
            "resources/read",
            json!({"uri": "x://text"}),
            "ReadResourceResult",
        ),
        (
            "resources/read",
            json!({"uri": "x://blob"}),
            "ReadResourceResult",
        ),
        (
            "resources/read",
            json!({"uri": "t://1"}),
            "ReadResourceResult",
        ),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "ask"}, "argument": {"name": "word", "value": "w"}}),
            "CompleteResult",
        ),
        ("ping", json!({}), "EmptyResult"),
    ]
}

// req: BR-131
#[tokio::test]
#[allow(clippy::print_stdout)]
async fn br_131_whatever_is_said_fits_the_schema_of_its_revision() {
    for revision in Revision::ALL {
        let Some(spec) = Spec::of(revision) else {
            println!("skipped: MCP_SPEC_DIR is not set");
            return;
        };
        let peer = peer(whole(), revision).await;
        if let Some(opened) = peer.opened() {
            spec.check("InitializeResult", &opened);
            let level = json!({"level": "debug"});
            peer.request("logging/setLevel", &level).await.unwrap();
        }
        let meta = json!({"progressToken": 7, "io.modelcontextprotocol/logLevel": "debug"});
        for (method, mut params, definition) in asked() {
            loop {
                let got = match peer.request_with(method, &params, &meta).await {
                    Ok(got) => got,
                    // What the revision does not have.
                    Err(CallError::Refused(error)) => {
                        assert!(
                            error.as_str().contains("-32601"),
                            "{revision} {method} {error:?}"
                        );
                        break;
                    }
                    Err(error) => panic!("{revision} {method}: {error}"),
                };
                // An empty result has no members of its own.
                if definition != "EmptyResult" {
                    spec.check(definition, &got);
                }
                let Some(next) = got.get("nextCursor") else {
                    break;
                };
                params["cursor"] = next.clone();
            }
        }
        check_rest(&spec, &peer).await;
    }
}

/// Notifications and errors.
async fn check_rest(spec: &Spec, peer: &polyport::testing::TestPeer) {
    let mut seen = Vec::new();
    for note in &peer.notifications() {
        let definition = match note["method"].as_str().unwrap() {
            "notifications/progress" => "ProgressNotification",
            "notifications/message" => "LoggingMessageNotification",
            other => panic!("{other}"),
        };
        assert_eq!(note["jsonrpc"], "2.0");
        spec.check_message(definition, note);
        seen.push(definition);
    }
    assert_eq!(seen, ["ProgressNotification", "LoggingMessageNotification"]);
    let definition = if spec.has("JSONRPCErrorResponse") {
        "JSONRPCErrorResponse"
    } else {
        "JSONRPCError"
    };
    for (method, params) in [
        ("tools/call", json!({"name": "faults"})),
        ("tools/call", json!({"name": "none"})),
        ("resources/read", json!({"uri": "x://none"})),
        ("none/such", json!({})),
    ] {
        let error = crate::refused(peer, method, params).await;
        spec.check(
            definition,
            &json!({"jsonrpc": "2.0", "id": 1, "error": error}),
        );
    }
}

// req: BR-127
#[tokio::test]
async fn br_127_lists_keep_their_order_and_cursors_their_place() {
    let names: Vec<_> = (0..40_u64)
        .map(|n| format!("n{}", n.wrapping_mul(2_654_435_761) % 1_000))
        .collect();
    let build = || {
        names
            .iter()
            .fold(Server::new("s", "1").page_size(7), |server, name| {
                let uri = format!("r://{name}");
                server
                    .tool(name.clone(), "", |_cx, (): ()| async { Ok("") })
                    .prompt(name.clone(), "", |_cx, (): ()| async { Ok("") })
                    .resource(uri, name.clone(), |_cx| async { Ok("") })
                    .template(
                        &format!("{name}://{{x}}"),
                        name.clone(),
                        |_cx, _values| async { Ok("") },
                    )
            })
    };
    let lists = [
        ("tools/list", "tools"),
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ];
    for revision in Revision::ALL {
        let mut first = None::<Vec<Value>>;
        // Twice as a program that was started anew, five times each.
        for _ in 0..2 {
            let peer = peer(build(), revision).await;
            for _ in 0..5 {
                let mut pages = Vec::new();
                for (method, key) in lists {
                    let (mut params, mut listed) = (json!({}), Vec::new());
                    loop {
                        let page = peer.request(method, &params).await.unwrap();
                        for item in page[key].as_array().unwrap() {
                            listed.push(item["name"].as_str().unwrap().to_owned());
                        }
                        let next = page.get("nextCursor").cloned();
                        pages.push(page);
                        let Some(next) = next else { break };
                        params = json!({"cursor": next});
                    }
                    assert_eq!(listed, names, "{revision} {method}");
                }
                assert_eq!(first.get_or_insert_with(|| pages.clone()), &pages);
            }
        }
    }
}
