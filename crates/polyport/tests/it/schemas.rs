//! Schemas of tools on their way: those written by hand as they are, those of Rust types as serde reads them.

use std::collections::{BTreeMap, HashMap};

use polyport::schemars::JsonSchema;
use polyport::serde::{Deserialize, Serialize};
use polyport::{Cx, Json, Raw, Revision, Server, Tool, ToolError, ToolResult};
use serde_json::{Value, json};

use crate::peer;

/// A tool that gives back its arguments, under a schema written by hand.
fn echo(name: &str, schema: Value) -> Tool {
    Tool::raw(name, "", schema, |_cx: Cx, arguments: Raw| async move {
        Ok(arguments.as_str().to_owned())
    })
}

/// Is a call with these arguments let in?
async fn takes(peer: &polyport::testing::TestPeer, tool: &str, arguments: &Value) -> bool {
    let got = peer.call(tool, arguments).await.unwrap();
    got.get("isError").is_none()
}

// req: BR-148
#[tokio::test]
async fn br_148_schemas_travel_as_they_were_written() {
    let schemas = [
        r#"{"type":"object","zebra":1,"properties":{"z":{"type":"string"},"a":{"type":"integer"},"m":{}},"required":["z"]}"#,
        r##"{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","definitions":{"n":{"type":"null"}},"properties":{"a":{"$ref":"#/definitions/n"}}}"##,
        r##"{"type":"object","$defs":{"b":{"minimum":1.0},"a":{"const":null}},"properties":{"x":{"$ref":"#/$defs/a","description":"beside"}},"additionalProperties":false}"##,
        r#"{"type":"object","properties":{"title":{"title":"Title","type":"string"},"description":{"type":"string"},"type":{"type":"string"},"default":{"default":{"title":1}}}}"#,
        r#"{"type":"object","properties":{"e":{"enum":[1,1.5,"a",null,true,{"title":"x"}]}},"unevaluatedProperties":false}"#,
        r#"{"type":"object","allOf":[{"if":{"required":["a"]},"then":{"required":["b"]},"else":false}],"dependentSchemas":{"a":{}},"patternProperties":{"^x-":{}}}"#,
        r#"{"type":"object","properties":{"l":{"type":"array","prefixItems":[{"type":"string"}],"items":false,"uniqueItems":true,"contains":{},"minContains":0}}}"#,
        r#"{"type":"object","properties":{"n":{"type":["string","null"],"format":"date-time","nullable":true,"x-own":{"deep":[1]}}},"$comment":"c","examples":[{}]}"#,
        r#"{"type":"object","properties":{"big":{"maximum":123456789012345678901234567890,"multipleOf":1e-7}}}"#,
        r#"{"type":"object","$id":"https://x.test/s","$anchor":"a","properties":{"é\u0000\"":{"type":"string"}},"propertyNames":{"maxLength":9},"minProperties":0}"#,
    ];
    let server = || {
        let server = Server::new("s", "1");
        schemas
            .iter()
            .enumerate()
            .fold(server, |server, (at, text)| {
                let schema: Value = serde_json::from_str(text).unwrap();
                let tool = echo(&format!("t{at}"), schema.clone());
                server.add_tool(tool.output_schema(schema))
            })
    };
    for revision in Revision::ALL {
        let peer = peer(server(), revision).await;
        let list = peer.request("tools/list", &json!({})).await.unwrap();
        for (at, text) in schemas.iter().enumerate() {
            // Compared as text: the order of members counts.
            let want = serde_json::from_str::<Value>(text).unwrap().to_string();
            let tool = &list["tools"][at];
            assert_eq!(tool["inputSchema"].to_string(), want, "{revision}");
            if let Some(output) = tool.get("outputSchema") {
                assert_eq!(output.to_string(), want, "{revision}");
            }
        }
    }
}

#[derive(Deserialize, JsonSchema, Serialize)]
struct Node {
    name: String,
    #[serde(default)]
    children: Vec<Self>,
}

// req: BR-149
#[tokio::test]
async fn br_149_references_are_followed_and_recursion_ends() {
    let named = json!({
        "type": "object",
        "properties": {
            "plain": {"$ref": "#/$defs/N"},
            "beside": {"$ref": "#/$defs/N", "maximum": 9},
            "slash": {"$ref": "#/$defs/a~1b"},
            "tilde": {"$ref": "#/$defs/a~0b"},
            "space": {"$ref": "#/$defs/a%20b"},
            "quote": {"$ref": "#/$defs/%22"},
        },
        "$defs": {"N": {"type": "integer"}, "a/b": {"const": 1}, "a~b": {"const": 2}, "a b": {"const": 3}, "\"": {"const": 4}},
    });
    let recursive = json!({
        "type": "object",
        "properties": {"children": {"type": "array", "items": {"$ref": "#"}}, "loop": {"$ref": "#/$defs/loop"}},
        "additionalProperties": false,
        "$defs": {"loop": {"type": ["object", "null"], "properties": {"loop": {"$ref": "#/$defs/loop"}}, "additionalProperties": false}},
    });
    let server = Server::new("s", "1")
        .add_tool(echo("named", named))
        .add_tool(echo("recursive", recursive))
        .tool("tree", "", |_cx, node: Node| async move { Ok(Json(node)) });
    let peer = peer(server, Revision::LATEST).await;
    let list = peer.request("tools/list", &json!({})).await.unwrap();
    assert_eq!(list["tools"][2]["inputSchema"]["type"], "object");
    let mut deep = json!({"name": "leaf", "children": []});
    let mut chain = Value::Null;
    for _ in 0..30 {
        deep = json!({"name": "n", "children": [deep, {"name": "m"}]});
        chain = json!({"loop": chain});
    }
    let mut bad = deep.clone();
    *bad.pointer_mut(&"/children/0".repeat(20)).unwrap() = json!({"name": 1});
    for (tool, arguments, let_in) in [
        (
            "named",
            json!({"plain": 1, "beside": 9, "slash": 1, "tilde": 2, "space": 3, "quote": 4}),
            true,
        ),
        ("named", json!({"plain": "1"}), false),
        ("named", json!({"beside": 10}), false),
        ("named", json!({"slash": 2}), false),
        ("named", json!({"tilde": 1}), false),
        ("named", json!({"space": 1}), false),
        ("named", json!({"quote": 1}), false),
        (
            "recursive",
            json!({"children": [{"children": [{}]}, {}]}),
            true,
        ),
        (
            "recursive",
            json!({"children": [{"children": [{"x": 1}]}]}),
            false,
        ),
        ("recursive", chain.clone(), true),
        ("recursive", json!({"loop": {"other": 1}}), false),
        ("tree", deep.clone(), true),
        ("tree", bad, false),
        ("tree", json!({"name": "a", "childs": []}), false),
    ] {
        assert_eq!(
            takes(&peer, tool, &arguments).await,
            let_in,
            "{tool} {arguments:.200}"
        );
    }
}

#[derive(Deserialize, JsonSchema)]
struct Odd {
    #[serde(rename = "$ref")]
    reference: String,
    #[serde(rename = "$defs", default)]
    definitions: Option<u8>,
    #[serde(rename = "properties", default)]
    properties: Vec<String>,
}

// req: BR-150
#[tokio::test]
async fn br_150_properties_may_be_named_like_keywords() {
    let names = [
        "$ref",
        "$defs",
        "type",
        "properties",
        "required",
        "anyOf",
        "enum",
        "$schema",
        "const",
    ];
    let properties: BTreeMap<_, _> = names
        .iter()
        .map(|name| (*name, json!({"type": "string"})))
        .collect();
    let schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    let server = Server::new("s", "1")
        .add_tool(echo("raw", schema.clone()))
        .add_tool(echo(
            "slow",
            json!({"type": "object", "properties": properties, "not": {"required": ["nothing"]}}),
        ))
        .tool("odd", "", |_cx, odd: Odd| async move {
            Ok(format!(
                "{} {:?} {:?}",
                odd.reference, odd.definitions, odd.properties
            ))
        });
    let peer = peer(server, Revision::LATEST).await;
    let list = peer.request("tools/list", &json!({})).await.unwrap();
    assert_eq!(list["tools"][0]["inputSchema"], schema);
    assert_eq!(
        list["tools"][2]["inputSchema"]["properties"]["$ref"],
        json!({"type": "string"})
    );
    for tool in ["raw", "slow"] {
        for name in names {
            assert!(
                takes(&peer, tool, &json!({name: "#/nowhere"})).await,
                "{tool} {name}"
            );
            assert!(
                !takes(&peer, tool, &json!({name: 1})).await,
                "{tool} {name}"
            );
        }
    }
    let got = peer
        .call(
            "odd",
            &json!({"$ref": "r", "$defs": 1, "properties": ["p"]}),
        )
        .await;
    assert_eq!(got.unwrap()["content"][0]["text"], "r Some(1) [\"p\"]");
}

#[derive(Deserialize, JsonSchema)]
struct Any {
    any: Value,
    #[serde(default)]
    perhaps: Option<Value>,
}

// req: BR-151
#[tokio::test]
async fn br_151_no_parameters_and_parameters_of_any_type() {
    #[derive(Deserialize, JsonSchema)]
    struct Empty {}
    for revision in Revision::ALL {
        let server = Server::new("s", "1")
            .tool("unit", "", |_cx, (): ()| async { Ok("done") })
            .tool("empty", "", |_cx, _: Empty| async { Ok("done") })
            .add_tool(echo("raw", json!({"type": "object"})))
            .tool("any", "", |_cx, any: Any| async move {
                Ok(format!("{} {:?}", any.any, any.perhaps))
            });
        let peer = peer(server, revision).await;
        let list = peer.request("tools/list", &json!({})).await.unwrap();
        for (at, name) in ["unit", "empty", "raw"].into_iter().enumerate() {
            assert_eq!(list["tools"][at]["inputSchema"]["type"], "object");
            for params in [
                json!({"name": name}),
                json!({"name": name, "arguments": {}}),
                json!({"name": name, "arguments": null}),
            ] {
                let got = peer.request("tools/call", &params).await.unwrap();
                let want = if name == "raw" { "{}" } else { "done" };
                assert_eq!(got["content"][0]["text"], want, "{revision} {params}");
            }
        }
        for any in [
            json!(1),
            json!("a"),
            json!([{}]),
            json!(true),
            json!(null),
            json!({"a": 1}),
        ] {
            let got = peer.call("any", &json!({"any": any})).await.unwrap();
            assert_eq!(got["content"][0]["text"], format!("{any} None"), "{got}");
        }
        assert!(!takes(&peer, "any", &json!({})).await);
    }
}

mod derived {
    //! What serde is told of the fields of a Rust type.

    use super::*;

    #[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
    #[serde(rename_all = "camelCase")]
    pub(super) struct Fields {
        /// The type.
        pub(super) r#type: String,
        /// Ourselves.
        pub(super) self_: u8,
        pub(super) schema: Option<bool>,
        #[serde(rename = "with space")]
        pub(super) renamed: i64,
        #[serde(default)]
        pub(super) snake_case: Vec<f64>,
        #[serde(default = "seven")]
        pub(super) seven: u8,
        #[serde(flatten)]
        pub(super) more: More,
        #[serde(skip)]
        pub(super) skipped: String,
    }

    #[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
    pub(super) struct More {
        pub(super) clone: String,
        #[serde(default)]
        pub(super) counts: HashMap<String, u32>,
        #[serde(default)]
        pub(super) choice: Choice,
    }

    #[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub(super) enum Choice {
        #[default]
        FirstOne,
        SecondOne,
    }

    fn seven() -> u8 {
        7
    }
}

use derived::{Choice, Fields, More};

async fn echo_fields(_cx: Cx, fields: Fields) -> Result<ToolResult, ToolError> {
    Ok(ToolResult::structured(&fields)?)
}

/// Every value of every field, of its type and of others, present and absent.
fn cases(full: &Value, names: &[&str]) -> Vec<Value> {
    let values = [
        json!(null),
        json!(true),
        json!(1),
        json!(-1),
        json!(300),
        json!(1.5),
        json!(""),
        json!("second-one"),
        json!([]),
        json!([1]),
        json!({}),
        json!({"a": 1}),
    ];
    let mut cases = vec![full.clone(), json!({})];
    for name in names {
        let mut without = full.clone();
        without.as_object_mut().unwrap().shift_remove(*name);
        cases.push(without);
        for value in &values {
            let mut with = full.clone();
            with[*name] = value.clone();
            cases.push(with);
        }
    }
    cases
}

// req: BR-158
#[tokio::test]
async fn br_158_the_schema_is_what_serde_reads() {
    let server = Server::new("s", "1").tool("fields", "", echo_fields);
    let peer = peer(server, Revision::LATEST).await;
    let list = peer.request("tools/list", &json!({})).await.unwrap();
    let schema = &list["tools"][0]["inputSchema"];
    let properties = schema["properties"].as_object().unwrap();
    let names: Vec<_> = properties.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "type",
            "self",
            "schema",
            "with space",
            "snakeCase",
            "seven",
            "clone",
            "counts",
            "choice"
        ]
    );
    assert_eq!(properties["type"]["description"], "The type.");
    assert_eq!(properties["self"]["description"], "Ourselves.");
    assert_eq!(properties["seven"]["default"], 7);
    let mut required: Vec<_> = schema["required"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r.as_str().unwrap())
        .collect();
    required.sort_unstable();
    assert_eq!(required, ["clone", "self", "type", "with space"]);
    let full = serde_json::to_value(Fields {
        r#type: "t".to_owned(),
        schema: Some(true),
        snake_case: vec![0.5],
        more: More {
            choice: Choice::SecondOne,
            counts: HashMap::from([("a".to_owned(), 1)]),
            ..More::default()
        },
        ..Fields::default()
    })
    .unwrap();
    let cases = cases(&full, &names);
    let mut counts = [0, 0];
    for arguments in &cases {
        let read = serde_json::from_value::<Fields>(arguments.clone());
        let got = peer.call("fields", arguments).await.unwrap();
        let let_in = got.get("isError").is_none();
        assert_eq!(let_in, read.is_ok(), "{arguments} {got}");
        if let Ok(read) = read {
            assert_eq!(
                got["structuredContent"],
                serde_json::to_value(read).unwrap()
            );
        }
        counts[usize::from(let_in)] += 1;
    }
    assert!(counts[0] > 20 && counts[1] > 20, "{counts:?}");
}
