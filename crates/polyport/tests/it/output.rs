//! Structured results against the schema that their tool has promised; and every kind of fault with its cause in the log.

use polyport::serde_json::Value;
use polyport::{
    Completer, Cx, Fault, Page, Raw, ResourceSource, Revision, Server, Tool, ToolError, ToolResult,
};
use polyport_testkit::Log;
use serde_json::json;

use crate::{peer, refused};

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "n": {"type": "integer", "maximum": 9},
            "list": {"type": "array", "items": {"$ref": "#/$defs/text"}},
        },
        "required": ["n"],
        "$defs": {"text": {"type": "string"}},
    })
}

/// Gives back what it is given, under a promise.
fn promising() -> Server {
    let given = |arguments: Raw| -> Result<ToolResult, ToolError> {
        let arguments: Value = arguments.decode()?;
        let result = ToolResult::structured(&arguments["value"])?;
        Ok(if arguments["fails"] == true {
            result.as_error()
        } else {
            result
        })
    };
    let tool = Tool::raw(
        "give",
        "",
        json!({"type": "object"}),
        move |_cx, a| async move { given(a) },
    );
    Server::new("s", "1").add_tool(tool.output_schema(schema()))
}

// req: D-06, S-STRUCTURED
#[tokio::test]
async fn d_06_what_breaks_an_output_schema_is_our_fault_with_tool_and_place_in_the_log() {
    for revision in Revision::ALL {
        for (value, places) in [
            (json!({"n": 1}), None),
            (json!({"n": 1, "list": ["a"], "more": "s3cret"}), None),
            (
                json!({"n": "s3cret"}),
                Some("at #/n by #/properties/n/type"),
            ),
            (json!({"list": ["s3cret"]}), Some("at # by #/required")),
            (
                json!({"n": 10, "list": ["a", 1]}),
                Some("at #/n by #/properties/n/maximum; at #/list/1 by #/$defs/text/type"),
            ),
            (json!(["s3cret"]), Some("at # by #/type")),
            (json!(null), Some("at # by #/type")),
        ] {
            let log = Log::at(tracing::Level::TRACE);
            let peer = peer(promising().check_output(true), revision).await;
            let params = json!({"name": "give", "arguments": {"value": value}});
            let Some(places) = places else {
                let got = peer.request("tools/call", &params).await.unwrap();
                assert_eq!(got["content"][0]["text"], value.to_string());
                continue;
            };
            let error = refused(&peer, "tools/call", params).await;
            assert_eq!(
                (error["code"].as_i64(), error["message"].as_str()),
                (Some(-32603), Some("Internal error"))
            );
            let cause = log.events("call failed").pop().unwrap();
            assert_eq!(
                cause.get("error_id"),
                error["data"]["errorId"].as_str().unwrap()
            );
            assert_eq!(
                cause.get("cause"),
                format!("the tool \"give\" gave what its output schema does not allow; {places}")
            );
            assert!(!log.text().contains("s3cret"), "{}", log.text());
        }
    }
}

// req: BR-144, S-STRUCTURED
#[tokio::test]
async fn br_144_a_failure_may_have_any_structured_value() {
    for revision in Revision::ALL {
        let peer = peer(promising().check_output(true), revision).await;
        let arguments = json!({"value": {"err": "no such city"}, "fails": true});
        let got = peer.call("give", &arguments).await.unwrap();
        assert_eq!(got["isError"], true, "{revision}");
        let text = json!({"type": "text", "text": "{\"err\":\"no such city\"}"});
        assert_eq!(got["content"], json!([text]));
        let whole = ![Revision::V2024_11_05, Revision::V2025_03_26].contains(&revision);
        let value = arguments["value"].clone();
        assert_eq!(got.get("structuredContent"), whole.then_some(&value));
    }
}

#[tokio::test]
async fn results_are_not_looked_into_where_that_is_turned_off() {
    let peer = peer(promising().check_output(false), Revision::LATEST).await;
    let got = peer.call("give", &json!({"value": {"n": "x"}})).await;
    assert_eq!(got.unwrap()["structuredContent"], json!({"n": "x"}));
}

#[tokio::test]
async fn too_much_to_tell_is_no_fault() {
    // What the full validator alone understands, with more values than it takes.
    let promised = json!({"type": "array", "contains": {"const": 1}});
    let tool = Tool::new("many", "", |_cx, (): ()| async {
        Ok(ToolResult::structured(&vec![vec![0; 75_000]; 4])?)
    });
    let server = Server::new("s", "1").add_tool(tool.output_schema(promised));
    let peer = peer(server.check_output(true), Revision::LATEST).await;
    let got = peer.call("many", &json!({})).await.unwrap();
    assert_eq!(got["structuredContent"].as_array().unwrap().len(), 4);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "tool \"bad\": its output schema: schema at #/type")]
fn an_output_schema_that_is_none_is_a_fault_of_the_program() {
    let tool = Tool::new("bad", "", |_cx, (): ()| async { Ok("") });
    let _ = Server::new("s", "1").add_tool(tool.output_schema(json!({"type": "thing"})));
}

/// Panics over everything.
struct Clumsy;

type Answer<T> = polyport::BoxFuture<Result<T, Fault>>;

impl ResourceSource for Clumsy {
    fn list(&self, _cx: Cx, _from: Option<String>) -> Answer<Page<polyport::model::Resource>> {
        panic!("s3cret cause")
    }

    fn read(
        &self,
        _cx: Cx,
        _uri: String,
    ) -> Answer<Option<Vec<polyport::model::ResourceContents>>> {
        Box::pin(async { panic!("s3cret cause") })
    }
}

/// Fails in every part of a server, in every way: at once, later, blocking its thread, by a fault of its own.
fn clumsy() -> Server {
    async fn later<T>() -> Result<T, Fault> {
        tokio::task::yield_now().await;
        panic!("s3cret cause")
    }
    fn at_once<T>() -> T {
        panic!("s3cret cause")
    }
    let blocking = |_cx: Cx, (): ()| -> Result<String, ToolError> { panic!("s3cret cause") };
    Server::new("s", "1")
        .tool("at once", "", |_cx, (): ()| {
            at_once::<std::future::Ready<Result<(), _>>>()
        })
        .tool("later", "", |_cx, (): ()| async {
            Ok(later::<()>().await?)
        })
        .tool("fault", "", |_cx, (): ()| async {
            Err::<(), _>(Fault::internal("s3cret cause").into())
        })
        .add_tool(Tool::blocking("blocking", "", blocking))
        .prompt("at once", "", |_cx, (): ()| {
            at_once::<std::future::Ready<Result<String, _>>>()
        })
        .prompt("later", "", |_cx, (): ()| later::<String>())
        .resource("x://once", "once", |_cx| {
            at_once::<std::future::Ready<Result<String, _>>>()
        })
        .resource("x://later", "later", |_cx| later::<String>())
        .template("t://{x}", "t", |_cx, _values| later::<String>())
        .completer(Completer::of_template(
            "t://{x}",
            "x",
            |_cx, _typed, _settled| later::<Vec<String>>(),
        ))
        .resource_source(Clumsy)
}

// req: D-06
#[tokio::test]
async fn d_06_every_panic_ends_its_call_only_and_the_log_has_the_cause_under_the_id() {
    let calls = [
        ("tools/call", json!({"name": "at once"})),
        ("tools/call", json!({"name": "later"})),
        ("tools/call", json!({"name": "fault"})),
        ("tools/call", json!({"name": "blocking"})),
        ("prompts/get", json!({"name": "at once"})),
        ("prompts/get", json!({"name": "later"})),
        ("resources/read", json!({"uri": "x://once"})),
        ("resources/read", json!({"uri": "x://later"})),
        ("resources/read", json!({"uri": "t://1"})),
        ("resources/read", json!({"uri": "u://1"})),
        ("resources/list", json!({})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/resource", "uri": "t://{x}"}, "argument": {"name": "x", "value": ""}}),
        ),
    ];
    for revision in Revision::ALL {
        let log = Log::at(tracing::Level::WARN);
        let peer = peer(clumsy(), revision).await;
        for (method, params) in &calls {
            let error = refused(&peer, method, params.clone()).await;
            let id = error["data"]["errorId"].as_str().unwrap();
            let want =
                json!({"code": -32603, "message": "Internal error", "data": {"errorId": id}});
            assert_eq!(error, want, "{revision} {method} {params}");
            let cause = log.events("call failed").pop().unwrap();
            assert_eq!((cause.get("error_id"), cause.get("method")), (id, *method));
            assert!(cause.get("cause").contains("s3cret cause"));
            // The end of the call is an error, too, and has the id without the cause.
            let ended = log.events("call ended").pop().unwrap();
            assert_eq!(
                (
                    ended.get("error_id"),
                    ended.get("outcome"),
                    ended.head.as_str()
                ),
                (id, "failed", "ERROR polyport::calls")
            );
            assert!(!format!("{ended:?}").contains("s3cret"));
        }
        assert_eq!(log.events("call failed").len(), calls.len());
        let alive = peer.request("tools/list", &json!({})).await.unwrap();
        assert_eq!(alive["tools"].as_array().unwrap().len(), 4, "{revision}");
    }
}
