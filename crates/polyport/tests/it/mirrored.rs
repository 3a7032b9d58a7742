//! Arguments that clients repeat in headers: what a tool's schema says of them is what the endpoint looks at.

use http_body_util::{BodyExt, Full};
use polyport::http::{Config, Endpoint, HeaderParam, ParamKind};
use polyport::{Raw, Server, Tool};
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
    let service = Server::new("s", "1")
        .add_tool(tool(nested()))
        .into_service();
    let found = service.header_params("t").unwrap().unwrap();
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
    assert!(service.header_params("none").unwrap().is_none());
    let endpoint = Endpoint::new(service, Config::default());
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "t", "arguments": {"region": "eu", "where": {"row": 7, "exact": true}},
        "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}},
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
        let mut request = http::Request::post("/mcp")
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "tools/call")
            .header("mcp-name", "t");
        for (name, value) in [("region", region), ("row", row), ("x-exact", exact)] {
            if let Some(value) = value {
                request = request.header(format!("mcp-param-{name}"), value);
            }
        }
        let request = request.body(Full::new(bytes::Bytes::from(body.to_string())));
        let response = endpoint.handle(request.unwrap()).await;
        assert_eq!(response.status(), status, "{region:?} {row:?} {exact:?}");
        let text = response.into_body().collect().await.unwrap().to_bytes();
        let answer: Value = serde_json::from_slice(&text).unwrap();
        let code = answer["error"]["code"].as_i64();
        assert_eq!(code, (status == 400).then_some(-32020), "{answer}");
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
