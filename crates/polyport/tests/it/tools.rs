//! Tools: arguments, results, failures, what each revision sees of them.

use polyport::model::{Content, ResourceLink};
use polyport::schemars::JsonSchema;
use polyport::serde::{Deserialize, Serialize};
use polyport::{Cx, Fault, Json, Revision, Server, Tool, ToolError, ToolResult};
use serde_json::{Value, json};

use crate::{Add, adder, peer, refused};

// req: S-STRUCTURED
#[tokio::test]
async fn structured_results_by_revision() {
    for (revision, structured) in [
        (Revision::V2024_11_05, false),
        (Revision::V2025_03_26, false),
        (Revision::V2025_06_18, true),
        (Revision::V2025_11_25, true),
        (Revision::V2026_07_28, true),
    ] {
        let peer = peer(adder(), revision).await;
        let got = peer.call("add", &json!({"a": 1, "b": 2.5})).await.unwrap();
        assert_eq!(
            got["content"],
            json!([{"type": "text", "text": "{\"sum\":3.5}"}]),
            "{revision}"
        );
        assert_eq!(
            got.get("structuredContent"),
            structured.then_some(&json!({"sum": 3.5})),
            "{revision}"
        );
        assert_eq!(got.get("isError"), None);
        let list = peer.request("tools/list", &json!({})).await.unwrap();
        assert_eq!(
            list["tools"][0].get("outputSchema").is_some(),
            structured,
            "{revision}"
        );
        assert_eq!(
            list["tools"][0]["inputSchema"]["required"],
            json!(["a", "b"])
        );
        assert_eq!(
            list["tools"][0]["inputSchema"]["properties"]["a"]["description"],
            "First number."
        );
    }
}

#[tokio::test]
async fn a_structured_value_that_is_no_object() {
    let server =
        || Server::new("s", "1").tool("list", "", |_cx, (): ()| async { Ok(Json(vec![1, 2])) });
    for (revision, whole) in [
        (Revision::V2025_11_25, false),
        (Revision::V2026_07_28, true),
    ] {
        let peer = peer(server(), revision).await;
        let got = peer.call("list", &json!({})).await.unwrap();
        assert_eq!(got["content"][0]["text"], "[1,2]");
        assert_eq!(
            got.get("structuredContent"),
            whole.then_some(&json!([1, 2]))
        );
        let list = peer.request("tools/list", &json!({})).await.unwrap();
        assert_eq!(list["tools"][0].get("outputSchema").is_some(), whole);
    }
}

// req: D-02
// req: BR-038
#[tokio::test]
async fn d_02_arguments_that_do_not_fit_are_told_to_the_model() {
    for revision in Revision::ALL {
        let peer = peer(adder(), revision).await;
        for (arguments, word) in [
            (json!({"a": "1", "b": 2}), "a"),
            (json!({"a": 1}), "b"),
            (json!({}), "a"),
            (json!({"a": 1, "b": 2, "c": 3}), "c"),
            (json!({"a": null, "b": 2}), "a"),
        ] {
            let got = peer.call("add", &arguments).await.unwrap();
            assert_eq!(got["isError"], true, "{arguments}");
            assert!(
                got["content"][0]["text"].as_str().unwrap().contains(word),
                "{got}"
            );
        }
        for params in [
            json!({"name": "add", "arguments": [1, 2]}),
            json!({"name": "add", "arguments": "x"}),
            json!({}),
            json!({"name": 7}),
        ] {
            assert_eq!(refused(&peer, "tools/call", params).await["code"], -32602);
        }
        let unknown = refused(&peer, "tools/call", json!({"name": "nope"})).await;
        assert_eq!(
            (unknown["code"].as_i64(), unknown["message"].as_str()),
            (Some(-32602), Some("Unknown tool: nope"))
        );
    }
}

// req: S-STRUCTURED
#[tokio::test(start_paused = true)]
async fn a_declared_output_that_is_not_given_is_our_fault() {
    let server = || {
        let gives = |name: &str, result: fn() -> Result<ToolResult, ToolError>| {
            Tool::new(name, "", move |_cx, (): ()| async move { result() })
                .output_schema(json!({"type": "object", "properties": {"n": {"type": "integer"}}}))
        };
        Server::new("s", "1")
            .add_tool(gives("text", || Ok(ToolResult::text("just text"))))
            .add_tool(gives("failure", || Err(ToolError::new("no"))))
            .add_tool(gives("both", || {
                Ok(ToolResult::structured(&json!({"n": 1}))?)
            }))
    };
    for revision in Revision::ALL {
        let peer = peer(server(), revision).await;
        let error = refused(&peer, "tools/call", json!({"name": "text"})).await;
        assert_eq!(error["code"], -32603, "{revision}");
        let failure = peer.call("failure", &json!({})).await.unwrap();
        assert_eq!(failure["isError"], true, "{revision}");
        let both = peer.call("both", &json!({})).await.unwrap();
        assert_eq!(both["content"][0]["text"], "{\"n\":1}", "{revision}");
    }
}

// req: BR-044
#[tokio::test]
async fn br_044_texts_stay_texts() {
    #[derive(Deserialize, JsonSchema)]
    struct Text {
        a: String,
    }
    let server = Server::new("s", "1").tool("echo", "", |_cx, t: Text| async move { Ok(t.a) });
    let peer = peer(server, Revision::V2026_07_28).await;
    for text in [
        "123",
        "null",
        "[1]",
        "1e5",
        "",
        "a\u{2028}b\u{0}\"\\\n😀",
        "\u{7f}",
    ] {
        let got = peer.call("echo", &json!({"a": text})).await.unwrap();
        assert_eq!(got["content"][0]["text"], text);
    }
}

// req: BR-152
#[tokio::test]
async fn br_152_a_tool_without_arguments() {
    let server = Server::new("s", "1").tool("now", "", |_cx, (): ()| async { Ok("now") });
    let peer = peer(server, Revision::V2025_11_25).await;
    let list = peer.request("tools/list", &json!({})).await.unwrap();
    assert_eq!(
        list["tools"][0]["inputSchema"],
        json!({"type": "object", "properties": {}, "additionalProperties": false})
    );
    assert_eq!(list["tools"][0].get("description"), None);
    for params in [
        json!({"name": "now"}),
        json!({"name": "now", "arguments": {}}),
        json!({"name": "now", "arguments": null}),
    ] {
        assert_eq!(
            peer.request("tools/call", &params).await.unwrap()["content"][0]["text"],
            "now"
        );
    }
}

// req: S-FAIL
#[tokio::test]
async fn both_kinds_of_failure() {
    let server = Server::new("s", "1")
        .tool("told", "", |_cx, (): ()| async {
            Err::<(), _>(ToolError::new("no such city: try Oslo"))
        })
        .tool("by ?", "", |_cx, (): ()| async {
            Ok("x".parse::<i32>()?.to_string())
        })
        .tool("refused", "", |_cx, (): ()| async {
            Err::<(), _>(Fault::new(-1, "not today").into())
        })
        .tool("internal", "", |_cx, (): ()| async {
            Err::<(), _>(Fault::internal("secret: hunter2").into())
        })
        .tool("needs", "", |_cx, (): ()| async {
            Err::<(), _>(Fault::missing_capability(&json!({"sampling": {}})).into())
        })
        .add_tool(Tool::blocking(
            "blocked",
            "",
            |_cx, (): ()| -> Result<String, ToolError> { panic!("secret") },
        ));
    let peer = peer(server, Revision::V2025_11_25).await;
    let call = async |name: &str| peer.call(name, &json!({})).await.unwrap();
    assert_eq!(
        call("told").await,
        json!({"content": [{"type": "text", "text": "no such city: try Oslo"}], "isError": true})
    );
    assert_eq!(
        call("by ?").await["content"][0]["text"],
        "invalid digit found in string"
    );
    assert_eq!(
        refused(&peer, "tools/call", json!({"name": "refused"})).await,
        json!({"code": -1, "message": "not today"})
    );
    for name in ["internal", "blocked"] {
        let error = refused(&peer, "tools/call", json!({"name": name})).await;
        assert_eq!(
            (error["code"].as_i64(), error["message"].as_str()),
            (Some(-32603), Some("Internal error"))
        );
        assert!(error["data"]["errorId"].is_string() && !error.to_string().contains("secret"));
    }
    // What a legacy client cannot be told as -32021, its model is told (D-29).
    assert_eq!(call("needs").await["isError"], true);
}

// req: D-29
#[tokio::test]
async fn d_29_a_missing_capability_in_both_eras() {
    let server = || {
        Server::new("s", "1")
            .tool("needs", "", |_cx, (): ()| async {
                Err::<(), _>(Fault::missing_capability(&json!({"sampling": {}})).into())
            })
            .prompt("needs", "", |_cx, (): ()| async {
                Err::<String, _>(Fault::missing_capability(&json!({"sampling": {}})))
            })
    };
    let modern = peer(server(), Revision::V2026_07_28).await;
    let error = refused(&modern, "tools/call", json!({"name": "needs"})).await;
    assert_eq!(
        (error["code"].as_i64(), &error["data"]),
        (
            Some(-32021),
            &json!({"requiredCapabilities": {"sampling": {}}})
        )
    );
    let legacy = peer(server(), Revision::V2025_06_18).await;
    assert_eq!(
        legacy.call("needs", &json!({})).await.unwrap()["isError"],
        true
    );
    assert_eq!(
        refused(&legacy, "prompts/get", json!({"name": "needs"})).await["code"],
        -32602
    );
}

#[tokio::test]
async fn content_that_an_older_revision_lacks_is_said_in_its_words() {
    let server = || {
        Server::new("s", "1").tool("all", "", |_cx, (): ()| async {
            let link = ResourceLink {
                uri: "x://y".to_owned(),
                name: "why".to_owned(),
                ..ResourceLink::default()
            };
            Ok(vec![
                Content::text("t"),
                Content::image("aQ==", "image/png"),
                Content::audio("aQ==", "audio/wav"),
                Content::ResourceLink(link),
            ])
        })
    };
    for (revision, kinds) in [
        (Revision::V2024_11_05, ["text", "image", "resource", "text"]),
        (Revision::V2025_03_26, ["text", "image", "audio", "text"]),
        (
            Revision::V2025_06_18,
            ["text", "image", "audio", "resource_link"],
        ),
        (
            Revision::V2026_07_28,
            ["text", "image", "audio", "resource_link"],
        ),
    ] {
        let got = peer(server(), revision)
            .await
            .call("all", &json!({}))
            .await
            .unwrap();
        let got: Vec<_> = got["content"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| c["type"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(got, kinds, "{revision}");
    }
}

// req: D-30
#[tokio::test]
async fn d_30_a_schema_written_by_hand() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "enum": [1, 2]}, "deep": {"$ref": "#/$defs/d"}}, "$defs": {"d": {"type": "string"}}});
    let tool = Tool::raw("raw", "", schema.clone(), |_cx, arguments| async move {
        Ok(arguments.as_str().to_owned())
    });
    let peer = peer(Server::new("s", "1").add_tool(tool), Revision::V2026_07_28).await;
    let list = peer.request("tools/list", &json!({})).await.unwrap();
    assert_eq!(
        serde_json::to_string(&list["tools"][0]["inputSchema"]).unwrap(),
        schema.to_string(),
        "order kept"
    );
    let got = peer
        .call("raw", &json!({"n": 2, "more": 9_007_199_254_740_993_i64}))
        .await
        .unwrap();
    assert_eq!(
        got["content"][0]["text"],
        "{\"n\":2,\"more\":9007199254740993}"
    );
    assert_eq!(
        peer.call("raw", &json!({"n": 3})).await.unwrap()["isError"],
        true
    );
    assert_eq!(
        peer.call("raw", &json!({"deep": 3})).await.unwrap()["isError"],
        true
    );
}

#[test]
#[should_panic(expected = "must be an object")]
fn arguments_are_an_object() {
    let _ = Server::new("s", "1").tool("bad", "", |_cx, _text: String| async { Ok("") });
}

#[test]
#[should_panic(expected = "two tools named")]
fn names_are_unique() {
    let tool = || Tool::new("twice", "", |_cx, (): ()| async { Ok("") });
    let _ = Server::new("s", "1").add_tool(tool()).add_tool(tool());
}

#[tokio::test(start_paused = true)]
async fn progress_and_logs_reach_who_asked() {
    let server = || {
        Server::new("s", "1").tool("work", "", |cx: Cx, (): ()| async move {
            cx.progress(1.0);
            cx.progress_of(2.0, 3.0, "half way");
            cx.debug("quiet");
            cx.warning(json!({"disk": "full"}));
            Ok("")
        })
    };
    let peer = peer(server(), Revision::V2026_07_28).await;
    let meta = json!({"progressToken": 7, "io.modelcontextprotocol/logLevel": "info"});
    peer.request_with("tools/call", &json!({"name": "work"}), &meta)
        .await
        .unwrap();
    assert_eq!(
        peer.notifications(),
        [
            json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 7, "progress": 1}}),
            json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 7, "progress": 2, "total": 3, "message": "half way"}}),
            json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "warning", "data": {"disk": "full"}}}),
        ]
    );
    peer.request("tools/call", &json!({"name": "work"}))
        .await
        .unwrap();
    assert_eq!(peer.notifications(), [] as [Value; 0]);
    // The test's own _meta may be anything, and stands beside the client's.
    for own in [
        json!({}),
        json!({"a": {"b": {}}}),
        // Not the id of a request: what is said of one that waits goes to who asked it.
        json!({"progressToken": 700}),
    ] {
        for with in [json!({}), json!({"c": {"d": {}}})] {
            let params = json!({"name": "work", "_meta": own});
            let got = peer.request_with("tools/call", &params, &with).await;
            assert!(got.is_ok(), "{own} {with}: {got:?}");
        }
    }
    assert_eq!(peer.notifications().len(), 4);
}

#[tokio::test]
async fn the_context_knows_the_client() {
    #[derive(Serialize, JsonSchema)]
    struct Who {
        name: String,
        revision: String,
        sampling: bool,
    }
    let server = || {
        Server::new("s", "1").tool("who", "", |cx: Cx, (): ()| async move {
            let name = cx.client().map(|c| c.name).unwrap_or_default();
            Ok(Json(Who {
                name,
                revision: cx.revision().to_string(),
                sampling: cx.capabilities().has_sampling(),
            }))
        })
    };
    for revision in Revision::ALL {
        let peer = polyport::testing::connect_to(
            server().into_service(),
            revision,
            &json!({"sampling": {}}),
        )
        .await
        .unwrap();
        let got = peer.call("who", &json!({})).await.unwrap();
        let want = json!({"name": "polyport-test", "revision": revision.name(), "sampling": true});
        assert_eq!(
            got["content"][0]["text"]
                .as_str()
                .map(|t| serde_json::from_str::<Value>(t).unwrap()),
            Some(want)
        );
    }
}

#[tokio::test]
async fn results_in_the_modern_era_name_the_server() {
    const SERVER: &str = "io.modelcontextprotocol/serverInfo";
    let server = adder().tool("meta", "", |_cx, _a: Add| async {
        Ok(ToolResult::text("x").with_meta(
            [
                ("k", polyport::Raw::from_static("1")),
                (SERVER, polyport::Raw::from_static("\"another\"")),
            ]
            .into_iter()
            .collect(),
        ))
    });
    let peer = peer(server, Revision::V2026_07_28).await;
    let got = peer.call("add", &json!({"a": 1, "b": 1})).await.unwrap();
    assert_eq!(
        got["_meta"][SERVER],
        json!({"name": "adder", "version": "1"})
    );
    assert_eq!(got["resultType"], "complete");
    let got = peer.call("meta", &json!({"a": 1, "b": 1})).await.unwrap();
    assert_eq!(got["_meta"]["k"], 1);
    assert_eq!(got["_meta"][SERVER]["name"], "adder");
    assert_eq!(got["_meta"].as_object().unwrap().len(), 2);
}
