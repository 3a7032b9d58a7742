//! Results of tools are held to the output schemas that a client has listed.

use polyport::client::Connect;
use polyport::model::CallToolResult;
use polyport::{Call, Client, ClientError, Handler, Outcome, Raw, Revision, Revisions, Service};
use serde_json::{Value, json};

/// A server whose tools give back what they are told to.
struct Echo;

impl Handler for Echo {
    async fn call(&self, call: Call) -> Outcome {
        let said = match call.method {
            "tools/list" => {
                let number = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
                json!({"tools": [
                    {"name": "number", "inputSchema": {"type": "object"}, "outputSchema": number},
                    {"name": "free", "inputSchema": {"type": "object"}},
                    {"name": "odd", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object", "properties": {"n": {"type": 7}}}},
                ]})
            }
            "tools/call" => serde_json::from_str(call.params.arguments().unwrap()).unwrap(),
            _ => json!({"capabilities": {"tools": {}}}),
        };
        Outcome::Complete(Raw::encode(&said).unwrap())
    }
}

async fn connected(connect: Connect, revision: Revision) -> Client {
    let connect = connect.speaks(Revisions::NONE.with(revision));
    connect.connect().await.unwrap()
}

fn echo() -> Connect {
    Connect::service(Service::new(Echo))
}

fn result(structured: &Value) -> Value {
    let mut result = json!({"content": [{"type": "text", "text": "t"}]});
    if !structured.is_null() {
        result["structuredContent"] = structured.clone();
    }
    result
}

async fn call(client: &Client, tool: &str, result: &Value) -> Result<CallToolResult, ClientError> {
    let arguments = Raw::encode(result).unwrap();
    client.call_tool(tool, &arguments).await
}

// req: S-PROMISED
#[tokio::test]
async fn a_result_that_is_not_what_its_tool_says_is_an_error_that_holds_it() {
    for revision in [
        Revision::V2025_06_18,
        Revision::V2025_11_25,
        Revision::V2026_07_28,
    ] {
        let client = connected(echo(), revision).await;
        let bad = result(&json!({"n": "x"}));
        // What the tools say is not known yet.
        call(&client, "number", &bad).await.unwrap();
        client.tools().await.unwrap();
        for (structured, why) in [
            (json!({"n": 1}), None),
            (json!({"n": "x"}), Some("/n: ")),
            (json!({}), Some("")),
            (json!(null), Some("there is no structured result")),
        ] {
            let got = call(&client, "number", &result(&structured)).await;
            match (got, why) {
                (Ok(got), None) => assert_eq!(got.content.len(), 1),
                (Err(ClientError::Misfit { tool, why, result }), Some(want)) => {
                    assert_eq!(tool, "number");
                    assert!(why.starts_with(want) && !why.is_empty(), "{why}");
                    let kept = result
                        .structured_content
                        .map(|s| s.decode::<Value>().unwrap());
                    assert_eq!(kept.unwrap_or_default(), structured);
                    assert_eq!(result.content.len(), 1);
                }
                (got, why) => panic!("{revision} {structured}: {got:?}, not {why:?}"),
            }
        }
        // Nobody has promised anything of it, or nothing that can be read.
        for tool in ["free", "odd", "unlisted"] {
            call(&client, tool, &bad).await.unwrap();
        }
    }
}

// req: S-PROMISED, BR-144
#[tokio::test]
async fn br_144_a_failure_is_held_to_nothing() {
    let client = connected(echo(), Revision::V2025_11_25).await;
    client.tools().await.unwrap();
    let mut failed = result(&json!({"err": [1]}));
    failed["isError"] = json!(true);
    let failed = call(&client, "number", &failed).await.unwrap();
    assert_eq!(failed.is_error, Some(true));
}

// req: S-PROMISED
#[tokio::test]
async fn results_are_taken_as_they_are_where_that_is_said_or_the_revision_has_none() {
    for (connect, revision) in [
        (echo().no_output_check(), Revision::V2025_11_25),
        (echo(), Revision::V2025_03_26),
        (echo(), Revision::V2024_11_05),
    ] {
        let client = connected(connect, revision).await;
        client.tools().await.unwrap();
        let bad = result(&json!({"n": "x"}));
        call(&client, "number", &bad).await.unwrap();
    }
}
