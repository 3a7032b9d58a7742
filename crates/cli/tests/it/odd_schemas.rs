//! Schemas of tools that are no schemas, or hardly any: every verb says something all the same.

use polyport_testkit::child::scripted;
use serde_json::{Value, json};

use crate::asking::run;
use crate::support::{Place, with_script};

/// A server that has the tools that it was told.
const TOLD: &str = r#"listed() { answer "{\"tools\":$TOOLS}"; return 1; }"#;

/// A tool for each place in a schema in which any value may stand, which is a schema itself there.
fn tools() -> Vec<Value> {
    let mut tools = Vec::new();
    for odd in [
        json!(true),
        json!(false),
        json!(null),
        json!(5),
        json!("x"),
        json!([1]),
    ] {
        for (keyword, said) in [
            ("properties", json!({"a": odd})),
            (
                "properties",
                json!({"a": {"$ref": "#/properties/b"}, "b": odd}),
            ),
            ("properties", json!({"a": {"type": "array", "items": odd}})),
            (
                "properties",
                json!({"a": {"type": odd, "description": odd, "enum": odd, "default": odd, "$ref": odd}}),
            ),
            ("properties", odd.clone()),
            ("oneOf", json!([odd, {"properties": {"a": odd}}])),
            ("additionalProperties", odd.clone()),
        ] {
            let schema = json!({"type": "object", keyword: said, "required": odd, "allOf": [odd], "if": odd});
            tools.push(json!({"name": format!("t{}", tools.len()), "inputSchema": schema}));
        }
    }
    tools
}

// req: V-508
#[test]
fn v_508_any_value_may_stand_where_a_schema_does() {
    let place = Place::new();
    let script = scripted(TOLD);
    let says = |before: &[&str], tools: &Value, more: &[&str]| {
        let tools = format!("TOOLS={tools}");
        let verb = [before, &["--era", "legacy", "-e", &tools]].concat();
        let words = with_script(&verb, &script, more);
        let (code, out, err) = run(&place, &words);
        assert!(
            code != 101 && !err.contains("panicked"),
            "{before:?} {tools}: {err}"
        );
        (code, out + &err)
    };
    let tools = tools();
    let all = json!(tools);
    let (code, listed) = says(&["ls"], &all, &[]);
    assert_eq!(code, 0, "{listed}");
    assert_eq!(listed.matches("\n  t").count(), tools.len(), "{listed}");
    says(&["ls", "--long"], &all, &[]);
    let (_, proposed) = says(&["__complete", "zsh", "call"], &all, &["t0", ""]);
    assert!(proposed.contains("a="), "{proposed}");
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        let (code, shown) = says(&["show"], &json!([tool]), &[name]);
        assert_eq!(code, 0, "{tool}: {shown}");
        says(&["call"], &json!([tool]), &[name, "a=1"]);
    }
}
