//! The schemas of Rust types: their shape as input schemas, and that closing them shuts out no argument that serde takes.

use std::collections::{BTreeMap, HashMap};

use schemars::{JsonSchema, schema_for};
use serde::de::DeserializeOwned;

use super::*;

/// Where to look.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Search {
    /// Text to find
    zebra: String,
    apple: Option<u8>,
    #[serde(default)]
    title: Vec<String>,
    within: Option<Within>,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Within {
    from: i64,
    to: Option<i64>,
}

#[derive(Deserialize, JsonSchema)]
struct Empty {}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Closed {}

#[derive(Deserialize, JsonSchema)]
struct Unit;

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Tree {
    value: i64,
    left: Option<Box<Self>>,
    #[serde(default)]
    rest: Vec<Self>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind")]
#[allow(dead_code)]
enum Shape {
    Circle { radius: f64 },
    Range(Within),
    Nothing,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
enum Outside {
    Move(i32),
    Say { text: String },
    Stop,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "t", content = "c")]
#[allow(dead_code)]
enum Adjacent {
    A(Within),
    B,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)]
enum Untagged {
    One { one: i64 },
    Two { one: String, two: Within },
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Flat {
    name: String,
    #[serde(flatten)]
    within: Within,
    #[serde(flatten)]
    shape: Shape,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct FlatMap {
    name: String,
    #[serde(flatten)]
    rest: HashMap<String, Value>,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct FlatOption {
    name: String,
    #[serde(flatten)]
    within: Option<Within>,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Point {
    x: i64,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Maps {
    counts: BTreeMap<u8, Point>,
    any: serde_json::Map<String, Value>,
    value: Value,
    pair: (u8, Point),
    unit: (),
    shapes: Vec<Shape>,
}

fn schema_of<T: JsonSchema>() -> Value {
    tool_schema(schema_for!(T))
}

#[test]
fn the_root_is_a_plain_object_and_order_is_kept() {
    let text = serde_json::to_string(&schema_of::<Search>()).unwrap();
    assert_eq!(
        text,
        concat!(
            r#"{"type":"object","description":"Where to look.","properties":{"#,
            r#""zebra":{"description":"Text to find","type":"string"},"#,
            r#""apple":{"type":["integer","null"],"minimum":0,"maximum":255},"#,
            r#""title":{"type":"array","items":{"type":"string"},"default":[]},"#,
            r##""within":{"anyOf":[{"$ref":"#/$defs/Within"},{"type":"null"}]}},"required":["zebra"],"##,
            r#""$defs":{"Within":{"type":"object","properties":{"from":{"type":"integer"},"#,
            r#""to":{"type":["integer","null"]}},"required":["from"]}}}"#,
        )
    );
    assert_eq!(
        serde_json::from_str::<Value>(&text).unwrap().to_string(),
        text
    );
}

#[test]
fn no_arguments_are_a_closed_object_without_properties() {
    let none = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    for mut schema in [
        schema_of::<()>(),
        schema_of::<Empty>(),
        schema_of::<Closed>(),
        schema_of::<Unit>(),
    ] {
        assert_eq!(schema, none);
        close(&mut schema);
        assert_eq!(schema, none);
        assert_eq!(
            says(&schema, r#"{"a":1}"#),
            r#"arguments: unknown property "a"; none are taken here"#
        );
    }
}

#[test]
fn any_arguments_are_an_open_object() {
    for mut schema in [
        schema_of::<Value>(),
        tool_schema(schemars::Schema::from(true)),
    ] {
        close(&mut schema);
        assert_eq!(schema, json!({ "type": "object" }));
    }
    let mut map = schema_of::<serde_json::Map<String, Value>>();
    close(&mut map);
    assert_eq!(
        map,
        json!({ "type": "object", "additionalProperties": true })
    );
    let never = tool_schema(schemars::Schema::from(false));
    assert_eq!(
        says(&never, "{}"),
        "arguments: {} is of a kind that the schema rules out"
    );
}

#[test]
fn a_root_that_stands_for_another_becomes_that() {
    let within = schema_of::<Within>();
    assert_eq!(schema_of::<Option<Within>>(), within);
    assert_eq!(schema_of::<Box<Within>>(), within);
    assert_eq!(
        schema_of::<Option<Tree>>()["properties"]["value"],
        json!({ "type": "integer" })
    );
    assert!(schema_of::<Option<Tree>>()["$defs"]["Tree"].is_object());
    let in_circle: schemars::Schema =
        json!({ "$ref": "#/$defs/A", "$defs": { "A": { "$ref": "#/$defs/A" } } })
            .try_into()
            .unwrap();
    assert_eq!(tool_schema(in_circle)["type"], "object");
}

#[test]
fn formats_of_rusts_numbers_are_left_out_and_others_kept() {
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Numbers {
        a: u32,
        b: Vec<Option<f64>>,
        c: BTreeMap<String, usize>,
        #[schemars(extend("format" = "date-time"))]
        d: String,
        /// A property of that name.
        format: i128,
    }
    for schema in [schema_of::<Numbers>(), output_schema(schema_for!(Numbers))] {
        let text = schema.to_string();
        assert_eq!(text.matches("format").count(), 3, "{text}");
        assert_eq!(schema["properties"]["d"]["format"], "date-time");
        assert_eq!(schema["properties"]["format"]["type"], "integer");
    }
}

#[test]
fn results_keep_their_type() {
    let of = |root| output_schema(root)["type"].clone();
    assert_eq!(of(schema_for!(Within)), "object");
    assert_eq!(of(schema_for!(Tree)), "object");
    assert_eq!(of(schema_for!(Shape)), "object");
    assert_eq!(of(schema_for!(Adjacent)), "object");
    assert_eq!(of(schema_for!(Untagged)), "object");
    assert_eq!(of(schema_for!(Empty)), "object");
    assert_eq!(of(schema_for!(Vec<Within>)), "array");
    assert_eq!(of(schema_for!(())), "null");
    // Some of the forms are no objects, or nothing is said.
    for root in [
        schema_for!(Outside),
        schema_for!(Option<Within>),
        schema_for!(Value),
    ] {
        assert_eq!(of(root), Value::Null);
    }
    assert_eq!(output_schema(schemars::Schema::from(true)), json!({}));
}

#[test]
fn a_root_that_can_never_be_an_object_keeps_its_type() {
    assert_eq!(schema_of::<String>()["type"], "string");
    assert_eq!(schema_of::<Vec<Within>>()["type"], "array");
    assert_eq!(schema_of::<(u8, u8)>()["type"], "array");
}

#[test]
fn a_dialect_other_than_the_default_is_kept() {
    let generator = schemars::generate::SchemaSettings::draft07().into_generator();
    let mut schema = tool_schema(generator.into_root_schema_for::<Search>());
    assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
    close(&mut schema);
    assert_eq!(
        schema["definitions"]["Within"]["additionalProperties"],
        false
    );
    assert!(compile(&schema).covers);
}

#[test]
fn a_property_called_title_stays() {
    let schema = tool_schema(
        json!({ "title": "T", "type": "object", "properties": { "title": { "title": "x" } } })
            .try_into()
            .unwrap(),
    );
    assert_eq!(
        schema,
        json!({ "type": "object", "properties": { "title": { "title": "x" } } })
    );
}

/// What serde takes, the closed schema takes; what is misspelt, it refuses.
fn check_type<T: DeserializeOwned + JsonSchema>(taken: &[&str], refused: &[&str]) {
    let mut schema = schema_of::<T>();
    let open = Validator::new(&schema).unwrap();
    close(&mut schema);
    let once = schema.clone();
    close(&mut schema);
    assert_eq!(schema, once, "closing twice");
    let validator = Validator::new(&schema).unwrap();
    for text in taken {
        assert!(serde_json::from_str::<T>(text).is_ok(), "serde on {text}");
        assert_eq!(open.check(text), Ok(()), "{text}");
        assert_eq!(validator.check(text), Ok(()), "{text} under {schema}");
    }
    for text in refused {
        assert!(validator.check(text).is_err(), "{text} under {schema}");
    }
}

#[test]
fn closing_refuses_misspelt_names_and_nothing_that_serde_takes() {
    check_type::<Search>(
        &[
            r#"{"zebra":"a"}"#,
            r#"{"zebra":"a","apple":null,"title":["t"],"within":{"from":1,"to":null}}"#,
        ],
        &[
            r#"{"zebra":"a","aple":1}"#,
            r#"{"zebra":"a","within":{"from":1,"two":2}}"#,
            r#"{"apple":1}"#,
        ],
    );
    check_type::<Tree>(
        &[
            r#"{"value":1}"#,
            r#"{"value":1,"left":{"value":2,"left":null},"rest":[{"value":3}]}"#,
        ],
        &[
            r#"{"value":1,"right":null}"#,
            r#"{"value":1,"rest":[{"value":1,"x":0}]}"#,
        ],
    );
    check_type::<Shape>(
        &[
            r#"{"kind":"Circle","radius":1}"#,
            r#"{"kind":"Range","from":1}"#,
            r#"{"kind":"Range","from":1,"to":2}"#,
            r#"{"kind":"Nothing"}"#,
        ],
        &[
            r#"{"kind":"Circle","radius":1,"r":1}"#,
            r#"{"kind":"Nothing","x":1}"#,
            r#"{"kind":"Range"}"#,
        ],
    );
    check_type::<Outside>(
        &[r#"{"Move":1}"#, r#"{"Say":{"text":"a"}}"#],
        &[
            r#"{"Say":{"text":"a","loud":true}}"#,
            r#"{"Move":1,"Say":{"text":""}}"#,
        ],
    );
    check_type::<Adjacent>(
        &[r#"{"t":"A","c":{"from":1}}"#, r#"{"t":"B"}"#],
        &[r#"{"t":"A","c":{"from":1,"x":1}}"#, r#"{"t":"B","d":1}"#],
    );
    check_type::<Untagged>(
        &[r#"{"one":1}"#, r#"{"one":"1","two":{"from":1}}"#],
        &[
            r#"{"one":1,"three":1}"#,
            r#"{"one":"1","two":{"from":1,"x":1}}"#,
        ],
    );
}

#[test]
fn closing_leaves_open_what_several_places_or_a_map_describe() {
    check_type::<Flat>(
        &[
            r#"{"name":"n","from":1,"kind":"Circle","radius":2}"#,
            r#"{"name":"n","from":1,"to":2,"kind":"Nothing"}"#,
        ],
        &[r#"{"name":"n","kind":"Nothing"}"#],
    );
    check_type::<FlatMap>(
        &[r#"{"name":"n"}"#, r#"{"name":"n","x":1,"y":{"z":[]}}"#],
        &[r#"{"x":1}"#],
    );
    check_type::<FlatOption>(
        &[r#"{"name":"n"}"#, r#"{"name":"n","from":1,"to":2}"#],
        &[r#"{"from":1}"#],
    );
    check_type::<Maps>(
        &[
            r#"{"counts":{"1":{"x":1}},"any":{"x":1},"value":{"y":[{}]},"pair":[1,{"x":1}],"unit":null,
                "shapes":[{"kind":"Range","from":1}]}"#,
        ],
        &[
            r#"{"counts":{"1":{"x":1,"y":1}},"any":{},"value":0,"pair":[1,{"x":1}],"unit":null,"shapes":[]}"#,
            r#"{"counts":{},"any":{},"value":0,"pair":[1,{"x":1,"y":1}],"unit":null,"shapes":[]}"#,
            r#"{"counts":{},"any":{},"value":0,"pair":[1,{"x":1}],"unit":null,"shapes":[],"more":1}"#,
        ],
    );
}

#[test]
fn closing_touches_only_schemas_and_only_where_nothing_is_said() {
    let object = json!({ "properties": { "x": {} } });
    let stated = json!({
        "properties": { "properties": { "const": object, "enum": [object], "default": object, "examples": [object] } },
        "additionalProperties": true,
        "not": { "properties": { "x": object } },
        "if": object,
        "contains": object,
        "$defs": { "A": { "properties": {}, "unevaluatedProperties": false } },
    });
    let mut closed = stated.clone();
    close(&mut closed);
    assert_eq!(closed, stated);

    let mut joined = json!({ "allOf": [{ "$ref": "#/$defs/A" }, { "properties": { "b": object } }], "$defs": { "A": object, "B": object } });
    close(&mut joined);
    assert_eq!(joined["$defs"]["A"], object);
    assert_eq!(joined["$defs"]["B"]["additionalProperties"], false);
    assert_eq!(
        joined["allOf"][1]["properties"]["b"]["additionalProperties"],
        false
    );
    assert!(joined["allOf"][1].get("additionalProperties").is_none());
    let mut boolean = json!(true);
    close(&mut boolean);
    assert_eq!(boolean, json!(true));
}
