//! Calls reach the server whose they are.

use std::collections::BTreeSet;

use polyport::http::{Config, Endpoint};
use polyport::{Raw, Resource, Server, Service, Tool};
use polyport_gateway::Gateway;
use serde_json::json;

use crate::{ERAS, both, client, names, text, upstream};

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

/// Addresses of every form, some of which look as if the gateway had made them.
const ADDRESSES: &[&str] = &[
    "memo:a",
    "svn+ssh://h/p",
    "http://h/+x",
    "http://h:8080/a?b=c&d=e+f#g",
    "urn:isbn:0451450523",
    "file:///a%20b/%2e%2e/c",
    "file:///A/b",
    "one+memo:a",
    "two+one+memo:a",
    "one__memo:a",
    "mailto:a@b.c",
    "data:text/plain,one+two",
    "x:/",
    "x://",
    "ui://page/one",
];

// req: BR-137
#[tokio::test]
async fn br_137_an_address_of_any_form_comes_back_as_it_was() {
    let having = |name: &'static str| {
        let mut server = Server::new(name, "1");
        for uri in ADDRESSES {
            let resource =
                Resource::new(
                    *uri,
                    *uri,
                    move |_cx| async move { Ok(format!("{name} {uri}")) },
                );
            server = server.add_resource(resource);
        }
        server
    };
    for theirs in ERAS {
        for ours in ERAS {
            let gateway = Gateway::new([
                upstream(having("a"), "one", theirs),
                upstream(having("b"), "two", theirs),
            ]);
            let client = client(gateway, ours).await;
            let list = client.request("resources/list", &json!({})).await.unwrap();
            let seen = names(&list["resources"], "uri");
            let distinct: BTreeSet<_> = seen.iter().collect();
            assert_eq!(distinct.len(), 2 * ADDRESSES.len(), "{seen:?}");
            let mut read = BTreeSet::new();
            for uri in &seen {
                let page = client.request("resources/read", &json!({"uri": uri})).await;
                let page = page.unwrap_or_else(|error| panic!("{uri}: {error}"));
                assert_eq!(page["contents"][0]["uri"], *uri, "{ours} to {theirs}");
                read.insert(page["contents"][0]["text"].as_str().unwrap().to_owned());
            }
            let each = ADDRESSES
                .iter()
                .flat_map(|uri| ["a", "b"].map(|it| format!("{it} {uri}")));
            assert_eq!(read, each.collect(), "{ours} to {theirs}");
        }
    }
}

/// Names that hold what is put between the name of a server and that of its tool.
// req: BR-185
#[tokio::test]
async fn br_185_a_server_hears_its_own_names() {
    let long = "long_".repeat(25) + "end";
    let tools = [
        "a__b", "b__a__b", "__", "x__", "__x", "a.b-c_d", &long, "a__a__a",
    ];
    let having = |name: &'static str| {
        let mut server = Server::new(name, "1");
        for tool in tools {
            let own = tool.to_owned();
            let schema = json!({"type": "object"});
            server = server.add_tool(Tool::raw(tool, "", schema, move |_cx, _: Raw| {
                let own = own.clone();
                async move { Ok(format!("{name} {own}")) }
            }));
        }
        server
    };
    for theirs in ERAS {
        for ours in ERAS {
            let gateway = Gateway::new([
                upstream(having("1"), "a", theirs),
                upstream(having("2"), "a__b", theirs),
                upstream(having("3"), "b", theirs),
            ]);
            let client = client(gateway, ours).await;
            let list = client.request("tools/list", &json!({})).await.unwrap();
            let mut called = BTreeSet::new();
            for name in names(&list["tools"], "name") {
                let fits = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
                assert!(name.len() <= 128 && name.chars().all(fits), "{name}");
                let result = client.call(&name, &json!({})).await.unwrap();
                assert!(called.insert(text(&result).to_owned()), "{name}: twice");
            }
            let each = ["1", "2", "3"].into_iter();
            let each = each.flat_map(|it| tools.map(|tool| format!("{it} {tool}")));
            assert_eq!(called, each.collect(), "{ours} to {theirs}");
        }
    }
}
