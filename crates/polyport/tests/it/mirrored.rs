//! Arguments that clients repeat in headers: what a tool's schema says of them is what the endpoint looks at.

use http_body_util::{BodyExt, Full};
use polyport::client::Connect;
use polyport::http::{Config, Endpoint, HeaderParam, ParamKind};
#[cfg(feature = "http-client")]
use polyport::testing::connect_to;
use polyport::{ClientFacts, Envelope, Era, Raw, Revision, Revisions, Server, Service, Tool};
use serde_json::{Value, json};

fn tool(schema: Value) -> Tool {
    Tool::raw("t", "", schema, |_cx, arguments: Raw| async move {
        Ok(arguments.as_str().to_owned())
    })
}

fn nested() -> Value {
    json!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "where": {"type": "object", "properties": {
            "row": {"type": "integer", "x-mcp-header": "Row"},
            "exact": {"type": "boolean", "x-mcp-header": "X-Exact"},
        }},
        "rest": {"type": "number"},
    }})
}

// req: V-503
#[tokio::test]
async fn v_503_the_schema_says_which_arguments_are_repeated() {
    let server = || {
        Server::new("s", "1")
            .add_tool(tool(nested()))
            .into_service()
    };
    let service = server();
    let nobody = Envelope::stated(
        Revision::LATEST,
        ClientFacts {
            info: None,
            capabilities: Raw::from_static("{}"),
        },
        None,
        None,
    );
    let found = service.header_params("t", &nobody).unwrap().unwrap();
    let param = |header: &'static str, path: &[&str], kind| HeaderParam {
        header: http::HeaderName::from_static(header),
        path: path.iter().map(|key| (*key).to_owned()).collect(),
        kind,
    };
    assert_eq!(
        *found,
        [
            param("mcp-param-region", &["region"], ParamKind::String),
            param("mcp-param-row", &["where", "row"], ParamKind::Integer),
            param("mcp-param-x-exact", &["where", "exact"], ParamKind::Boolean),
        ]
    );
    let none = service.header_params("none", &nobody).unwrap();
    assert!(none.is_none());
    holds(&Endpoint::new(service, Config::default())).await;
    // A relay knows them from the lists that pass.
    for era in [Era::Legacy, Era::Modern] {
        let behind = Connect::service(server()).speaks(Revisions::of(era));
        let relay = behind.connect().await.unwrap().into_handler();
        let endpoint = Endpoint::new(Service::new(relay), Config::default());
        let list =
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta()}});
        let listed = endpoint
            .handle(post("tools/list", &list).body(body(&list)).unwrap())
            .await;
        assert_eq!(listed.status(), 200);
        holds(&endpoint).await;
    }
}

fn meta() -> Value {
    json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}})
}

fn body(message: &Value) -> Full<bytes::Bytes> {
    Full::new(bytes::Bytes::from(message.to_string()))
}

fn post(method: &str, message: &Value) -> http::request::Builder {
    let request = http::Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method);
    match message["params"]["name"].as_str() {
        Some(name) => request.header("mcp-name", name),
        None => request,
    }
}

/// A call whose headers say something else than its body, or not all, is refused.
async fn holds(endpoint: &Endpoint) {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "t", "arguments": {"region": "eu", "where": {"row": 7, "exact": true}}, "_meta": meta(),
    }});
    for (region, row, exact, status) in [
        (Some("eu"), Some("7"), Some("true"), 200),
        (Some("EU"), Some("7"), Some("true"), 400),
        (None, Some("7"), Some("true"), 400),
        (Some("eu"), Some("8"), Some("true"), 400),
        (Some("eu"), None, Some("true"), 400),
        (Some("eu"), Some("7"), Some("false"), 400),
        (Some("eu"), Some("7"), None, 400),
    ] {
        let mut request = post("tools/call", &call);
        for (name, value) in [("region", region), ("row", row), ("x-exact", exact)] {
            if let Some(value) = value {
                request = request.header(format!("mcp-param-{name}"), value);
            }
        }
        let response = endpoint.handle(request.body(body(&call)).unwrap()).await;
        assert_eq!(response.status(), status, "{region:?} {row:?} {exact:?}");
        let text = response.into_body().collect().await.unwrap().to_bytes();
        let answer: Value = serde_json::from_slice(&text).unwrap();
        let code = answer["error"]["code"].as_i64();
        assert_eq!(code, (status == 400).then_some(-32020), "{answer}");
    }
}

/// Tools that are marked well, wrongly, and not at all, in two pages.
#[cfg(feature = "http-client")]
fn marked(asked: &polyport_testkit::web::Asked) -> polyport_testkit::web::Reply {
    let message = asked.message();
    let tool = |name: &str, mark: Value| json!({"name": name, "inputSchema": {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": mark}}}});
    let mut result = match (message["method"].as_str(), message["params"].get("cursor")) {
        (Some("server/discover"), _) => {
            json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
        }
        (Some("tools/list"), None) => {
            json!({"tools": [tool("good", json!("A")), tool("bad", json!(7))], "nextCursor": "2"})
        }
        (Some("tools/list"), _) => {
            json!({"tools": [{"name": "plain", "inputSchema": {"type": "object"}}, tool("more", json!("B"))]})
        }
        _ => {
            let header = |name| json!(asked.header(name));
            json!({"content": [], "structuredContent": [header("mcp-param-a"), header("mcp-param-b")]})
        }
    };
    result["resultType"] = json!("complete");
    let id = &message["id"];
    polyport_testkit::web::Reply::json(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

// req: V-503
#[cfg(feature = "http-client")]
#[tokio::test]
async fn v_503_a_relay_says_in_headers_what_its_server_wants_there() {
    let web = polyport_testkit::Web::serve(marked).await;
    let target = polyport::client::Target::new(&web.url("/mcp")).unwrap();
    let connect = Connect::http(target).speaks(Revisions::of(Era::Modern));
    let relay = connect.connect().await.unwrap().into_handler();
    let client = connect_to(Service::new(relay), Revision::LATEST, &json!({}))
        .await
        .unwrap();
    let mut names = Vec::new();
    for page in [json!({}), json!({"cursor": "2"})] {
        let list = client.request("tools/list", &page).await.unwrap();
        let tools = list["tools"].as_array().unwrap().clone();
        names.extend(
            tools
                .iter()
                .map(|tool| tool["name"].as_str().unwrap().to_owned()),
        );
    }
    assert_eq!(names, ["good", "plain", "more"]);
    for (name, want) in [
        ("good", json!(["b", null])),
        ("plain", json!([null, null])),
        ("more", json!([null, "b"])),
    ] {
        let result = client.call(name, &json!({"a": "b"})).await.unwrap();
        assert_eq!(result["structuredContent"], want, "{name}");
    }
}

// req: V-503
#[test]
fn v_503_a_header_that_cannot_be_compared_is_a_fault_of_the_program() {
    let one = |property: Value| json!({"type": "object", "properties": {"a": property}});
    for (schema, fits) in [
        (one(json!({"type": "string", "x-mcp-header": "A"})), true),
        (one(json!({"type": "number", "x-mcp-header": "A"})), false),
        (one(json!({"type": "array", "x-mcp-header": "A"})), false),
        (
            one(json!({"type": ["string", "null"], "x-mcp-header": "A"})),
            false,
        ),
        (one(json!({"x-mcp-header": "A"})), false),
        (one(json!({"type": "string", "x-mcp-header": "A B"})), false),
        (one(json!({"type": "string", "x-mcp-header": ""})), false),
        (one(json!({"type": "string", "x-mcp-header": 1})), false),
        (
            json!({"type": "object", "properties": {
                "a": {"type": "string", "x-mcp-header": "A"},
                "b": {"type": "string", "x-mcp-header": "a"},
            }}),
            false,
        ),
        // Not reached by properties alone.
        (
            one(json!({"type": "array", "items": {"type": "string", "x-mcp-header": "A"}})),
            false,
        ),
        (
            one(json!({"anyOf": [{"type": "string", "x-mcp-header": "A"}]})),
            false,
        ),
        (
            json!({"type": "object", "$defs": {"a": {"type": "string", "x-mcp-header": "A"}}}),
            false,
        ),
        (json!({"type": "object", "x-mcp-header": "A"}), false),
        // No marks: a name, and values.
        (
            json!({"type": "object", "properties": {"x-mcp-header": {"type": "array"}}}),
            true,
        ),
        (
            one(
                json!({"type": "object", "default": {"x-mcp-header": 1}, "const": {"x-mcp-header": 1}}),
            ),
            true,
        ),
    ] {
        let text = schema.to_string();
        let built = std::panic::catch_unwind(|| Server::new("s", "1").add_tool(tool(schema)));
        assert_eq!(built.is_ok(), fits, "{text}");
    }
}
