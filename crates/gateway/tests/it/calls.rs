//! Calls reach the server whose they are.

use polyport::http::{Config, Endpoint};
use polyport::{Raw, Server, Service, Tool};
use polyport_gateway::Gateway;
use serde_json::json;

use crate::{ERAS, both, text, upstream};

// req: S-GATE-CALLS
#[tokio::test]
async fn each_call_reaches_its_server() {
    for theirs in ERAS {
        for ours in ERAS {
            let client = both(theirs, ours).await;
            for (tool, want) in [
                ("one__same", "a"),
                ("two__same", "b"),
                ("alpha", "alpha"),
                ("beta", "beta"),
            ] {
                let result = client.call(tool, &json!({})).await.unwrap();
                assert_eq!(text(&result), want, "{ours} to {theirs}");
            }
            let unknown = client.call("same", &json!({})).await.unwrap_err();
            assert!(
                unknown.to_string().contains("Unknown tool: same"),
                "{unknown}"
            );
            let result = client
                .request("prompts/get", &json!({"name": "two__same"}))
                .await
                .unwrap();
            assert_eq!(result["messages"][0]["content"]["text"], "b");
            for (uri, want) in [
                ("one+x://same", "a"),
                ("two+x://same", "b"),
                ("x://beta", "beta"),
                ("tb://17", "17"),
            ] {
                let result = client
                    .request("resources/read", &json!({"uri": uri}))
                    .await
                    .unwrap();
                assert_eq!(
                    result["contents"][0]["text"], want,
                    "{uri}: {ours} to {theirs}"
                );
                assert_eq!(result["contents"][0]["uri"], uri, "{ours} to {theirs}");
            }
            let missing = client
                .request("resources/read", &json!({"uri": "x://none"}))
                .await;
            let want = if ours == ERAS[0] { "-32002" } else { "-32602" };
            assert!(missing.unwrap_err().to_string().contains(want));
        }
    }
}

// req: V-503
#[tokio::test]
async fn v_503_headers_say_what_the_body_says_as_the_clients_list_has_it() {
    let tool = |name: &str, header: &str| {
        let marked = json!({"type": "string", "x-mcp-header": header});
        let schema = json!({"type": "object", "properties": {"a": marked}});
        Tool::raw(name, "", schema, |_cx, _: Raw| async { Ok("done") })
    };
    let server = |own| {
        Server::new("s", "1")
            .add_tool(tool("same", own))
            .add_tool(tool(own, own))
    };
    let gateway = Gateway::new([
        upstream(server("x"), "one", ERAS[0]),
        upstream(server("y"), "two", ERAS[1]),
    ]);
    let endpoint = Endpoint::new(Service::new(gateway), Config::default());
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    let ask = async |method: &str, name: &str, header: &str| {
        let params = json!({"_meta": meta, "name": name, "arguments": {"a": "b"}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut request = http::Request::post("/mcp")
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", method);
        if method == "tools/call" {
            request = request.header("mcp-name", name);
            request = request.header(format!("mcp-param-{header}"), "b");
        }
        let body = http_body_util::Full::new(bytes::Bytes::from(body.to_string()));
        endpoint
            .handle(request.body(body).unwrap())
            .await
            .status()
            .as_u16()
    };
    assert_eq!(ask("tools/list", "", "").await, 200);
    for (name, header) in [
        ("one__same", "x"),
        ("two__same", "y"),
        ("x", "x"),
        ("y", "y"),
    ] {
        let other = if header == "x" { "y" } else { "x" };
        assert_eq!(ask("tools/call", name, header).await, 200, "{name}");
        assert_eq!(ask("tools/call", name, other).await, 400, "{name}");
    }
}
