//! Places in schemas of every form, and what texts become there.
#![allow(clippy::unwrap_used)]

use polyport::model::Object;
use serde_json::json;

use super::*;
use crate::arguments::{missing, parse};

/// Schemas of a property `a`, and what is made of texts for it.
fn rows() -> Vec<(Value, Vec<(&'static str, Value)>)> {
    let defs = json!({"N": {"type": "integer"}, "S": {"type": "string"}, "Ns": {"items": {"$ref": "#/$defs/N"}}});
    let integers = [
        json!({"$ref": "#/$defs/N"}),
        json!({"oneOf": [{"$ref": "#/$defs/N"}]}),
        json!({"anyOf": [{"type": "integer"}, {"enum": [7, 8]}]}),
        json!({"allOf": [{"type": "integer"}, {"minimum": 0}]}),
        json!({"allOf": [{"minimum": 0}, {"$ref": "#/$defs/N"}]}),
        json!({"type": ["integer", "string"], "allOf": [{"type": ["integer", "null"]}]}),
        json!({"anyOf": [{"allOf": [{"oneOf": [{"$ref": "#/$defs/N"}]}]}]}),
        json!({"$ref": "#/$defs/N", "description": "One."}),
        json!({"if": {"minimum": 0}, "then": {"type": "integer"}, "else": {"type": "integer"}}),
        json!({"const": 7}),
        json!({"enum": [7, 12]}),
    ];
    let mut rows: Vec<(Value, Vec<(&str, Value)>)> = integers
        .into_iter()
        .map(|schema| (schema, vec![("7", json!(7))]))
        .collect();
    rows.extend([
        (
            json!({"anyOf": [{"$ref": "#/$defs/N"}, {"$ref": "#/$defs/S"}]}),
            vec![("7", json!(7)), ("x", json!("x")), ("7.5", json!("7.5"))],
        ),
        (
            json!({"oneOf": [{"type": "integer"}, {}]}),
            vec![("7", json!(7)), ("x", json!("x"))],
        ),
        (
            json!({"allOf": [{"$ref": "#/$defs/S"}]}),
            vec![("7", json!("7")), ("true", json!("true"))],
        ),
        (
            json!({"enum": [true, "x", 1.5]}),
            vec![
                ("true", json!(true)),
                ("1.5", json!(1.5)),
                ("x", json!("x")),
            ],
        ),
        (
            json!({"anyOf": [{"type": "null"}, {"properties": {"b": {"type": "integer"}}}]}),
            vec![("null", json!(null)), ("{\"b\": 1}", json!({"b": 1}))],
        ),
        (json!({"$ref": "#/$defs/Ns"}), vec![("[1]", json!([1]))]),
        (
            json!({"prefixItems": [{"type": "integer"}]}),
            vec![("[1]", json!([1]))],
        ),
    ]);
    for (schema, _) in &mut rows {
        *schema = json!({"a": schema, "$defs": defs});
    }
    rows
}

fn given(words: &[&str], schema: &Value) -> Value {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let given = parse(&words, schema).unwrap_or_else(|f| panic!("{words:?} {schema}: {f:?}"));
    serde_json::to_value(given).unwrap()
}

// req: S-ARGS
#[test]
fn a_place_is_typed_wherever_its_type_stands() {
    for (row, texts) in rows() {
        let (a, defs) = (&row["a"], &row["$defs"]);
        let object = json!({"type": "object", "properties": {"a": a}});
        let whole = |mut schema: Value| {
            schema["$defs"] = defs.clone();
            schema["$defs"]["Object"] = object.clone();
            schema
        };
        // What says as much of the property, in each way in which a schema can.
        let wholes = [
            object.clone(),
            json!({"oneOf": [object, {"type": "object", "properties": {"z": {"type": "string"}}}]}),
            json!({"anyOf": [{"required": ["z"]}, object]}),
            json!({"properties": {"a": a}, "anyOf": [{"required": ["a"]}, {"required": ["z"]}]}),
            json!({"allOf": [{"properties": {"z": {}}}, object]}),
            json!({"patternProperties": {"^[ab]$": a}, "additionalProperties": false}),
            json!({"additionalProperties": a}),
            json!({"$ref": "#/$defs/Object"}),
            json!({"oneOf": [{"$ref": "#/$defs/Object"}]}),
            json!({"allOf": [{"$ref": "#/$defs/Object"}], "properties": {"a": {}}}),
            json!({"if": {"required": ["z"]}, "then": object, "else": object}),
        ];
        for schema in wholes {
            let schema = whole(schema);
            for (text, want) in &texts {
                let word = format!("a={text}");
                assert_eq!(
                    given(&[&word], &schema),
                    json!({"a": want}),
                    "{word} {schema}"
                );
                let deep = json!({"properties": {"deep": {"anyOf": [{"type": "null"}, schema]}}, "$defs": schema["$defs"]});
                let word = format!("deep.{word}");
                assert_eq!(
                    given(&[&word], &deep),
                    json!({"deep": {"a": want}}),
                    "{word} {deep}"
                );
            }
        }
    }
}

// req: S-ARGS
#[test]
fn elements_are_typed_by_where_they_stand() {
    let tuple = json!([{"type": "integer"}, {"type": "string"}]);
    for list in [
        json!({"prefixItems": tuple, "items": {"type": "boolean"}}),
        json!({"items": tuple, "additionalItems": {"type": "boolean"}}),
        json!({"anyOf": [{"type": "null"}, {"prefixItems": tuple, "items": {"type": "boolean"}}]}),
    ] {
        let schema = json!({"properties": {"a": list, "in": {"properties": {"a": list}}}});
        let words = [
            "a[]=1",
            "a[]=2",
            "in.a[]=3",
            "a[]=true",
            "a[]=false",
            "in.a[]=4",
        ];
        assert_eq!(
            given(&words, &schema),
            json!({"a": [1, "2", true, false], "in": {"a": [3, "4"]}}),
            "{list}"
        );
        let failure = parse(&["a[]=x".to_owned()], &schema).unwrap_err();
        assert_eq!(failure.message(), "a[]: \"x\" is no integer");
    }
}

// req: S-ARGS
#[test]
fn names_and_what_is_required_stand_in_parts_too() {
    let of =
        |name: &str, kind: &str| json!({"properties": {name: {"type": kind}}, "required": [name]});
    let schema =
        json!({"oneOf": [of("a", "integer"), of("b", "string")], "allOf": [of("c", "boolean")]});
    assert_eq!(
        missing(&parse(&[], &schema).unwrap(), &schema),
        ["c (boolean)"]
    );
    let failure = parse(&["other=1".to_owned()], &schema).unwrap_err();
    assert_eq!(failure.remedy(), Some("it has c, a, b"));
}

// req: S-ARGS
#[test]
fn values_are_counted_whatever_they_are() {
    for (schema, want, is_whole) in [
        (
            json!({"enum": [1, 2.5, true, null, "x"]}),
            "1 2.5 true null x",
            true,
        ),
        (json!({"const": 5}), "5", true),
        (
            json!({"anyOf": [{"enum": ["a"]}, {"type": "null"}]}),
            "a null",
            true,
        ),
        (
            json!({"oneOf": [{"const": 1}, {"const": "b"}, {"const": 1}]}),
            "1 b",
            true,
        ),
        (
            json!({"allOf": [{"type": "integer"}, {"enum": [1]}]}),
            "1",
            true,
        ),
        (
            json!({"anyOf": [{"enum": ["a"]}, {"type": "string"}]}),
            "a",
            false,
        ),
        (json!({"type": "integer"}), "", false),
    ] {
        let reading = Reading::of(&schema);
        let named: Vec<String> = values(&reading, &reading.whole())
            .iter()
            .map(short_value)
            .collect();
        assert_eq!(named.join(" "), want, "{schema}");
        assert_eq!(
            choice(&reading, &reading.whole()).is_some(),
            is_whole,
            "{schema}"
        );
    }
}

// req: S-ARGS
#[test]
fn schemas_without_end_are_read_to_an_end() {
    let twice = json!([{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/A"}]);
    for key in ["allOf", "anyOf", "oneOf"] {
        let a = json!({key: twice, "properties": {"a": {"$ref": "#/$defs/A"}}});
        let schema = json!({"$defs": {"A": a}, "$ref": "#/$defs/A"});
        let words = ["a.a.a=1".to_owned(), "b=1".to_owned()];
        let _ = parse(&words, &schema);
        missing(&Object::default(), &schema);
        let reading = Reading::of(&schema);
        assert_eq!(reading.names(&reading.whole()), ["a"]);
        choice(&reading, &reading.whole());
    }
}
