//! The schemas of all tools that are served, as strict model interfaces take them.

use serde_json::{Value, json};

use crate::support::Place;

/// Keywords that one or another of them refuses.
const REFUSED: [&str; 13] = [
    "format",
    "$ref",
    "$defs",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "const",
    "patternProperties",
    "prefixItems",
    "nullable",
    "$schema",
];

fn check(place: &str, schema: &Value) {
    for keyword in REFUSED {
        assert!(schema.get(keyword).is_none(), "{place} has {keyword}");
    }
    let kind = schema["type"].as_str();
    match kind {
        Some("array") => check(&format!("{place}/items"), &schema["items"]),
        Some("object") => {
            let properties = schema["properties"].as_object();
            let properties = properties.unwrap_or_else(|| panic!("{place} has no properties"));
            for (name, property) in properties {
                check(&format!("{place}/{name}"), property);
            }
            let required = schema.get("required").and_then(Value::as_array);
            for name in required.into_iter().flatten() {
                assert!(
                    properties.contains_key(name.as_str().unwrap()),
                    "{place} {name}"
                );
            }
        }
        _ => {}
    }
    assert!(kind.is_some(), "{place} is of one type: {schema}");
    for value in schema
        .get("enum")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        assert!(value.is_string(), "{place} {value}");
    }
}

// req: BR-153
#[test]
fn br_153_every_tool_that_is_served_has_a_plain_schema() {
    let place = Place::new();
    let mut program = place.host(&["notes", "demo"]);
    let listed = program.ask("tools/list", json!({}));
    let tools = listed["tools"].as_array().unwrap();
    assert!(tools.len() > 12);
    for tool in tools {
        check(tool["name"].as_str().unwrap(), &tool["inputSchema"]);
    }
}
