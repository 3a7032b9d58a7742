//! Tools whose schema is what is tested: one that must reach the client as it was written, one with a mirrored argument.

use polyport::serde_json::{Value, json};
use polyport::{Server, Tool};

/// Adds them.
pub fn add(server: Server) -> Server {
    server
        .add(Tool::raw(
            "json_schema_2020_12_tool",
            "Takes a person, in JSON Schema 2020-12.",
            person(),
            |_cx, person| async move { Ok(format!("Got {}", person.as_str())) },
        ))
        .add(Tool::raw(
            "test_x_mcp_header",
            "Takes a region that is also a header.",
            region(),
            |_cx, place| async move { Ok(format!("Got {}", place.as_str())) },
        ))
}

/// A schema with every keyword that the suite looks for.
fn person() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            },
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}

fn region() -> Value {
    json!({
        "type": "object",
        "properties": {
            "region": { "type": "string", "description": "Where it happens.", "x-mcp-header": "Region" },
        },
        "additionalProperties": false,
    })
}
