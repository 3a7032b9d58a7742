//! Tools whose schema is what is tested: one that must reach the client as it was written, one with a mirrored argument.

use polyport::serde_json::{Value, json};
use polyport::{Server, Tool};

/// Adds them.
pub fn add(server: Server) -> Server {
    server
        .add_tool(Tool::raw(
            "json_schema_2020_12_tool",
            "Takes a parcel, in JSON Schema 2020-12.",
            parcel(),
            |_cx, parcel| async move { Ok(format!("Got {}", parcel.as_str())) },
        ))
        .add_tool(Tool::raw(
            "test_x_mcp_header",
            "Takes a region that is also a header.",
            region(),
            |_cx, place| async move { Ok(format!("Got {}", place.as_str())) },
        ))
}

/// A schema with every keyword that the suite looks for.
fn parcel() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "to": { "$ref": "#/$defs/address" },
            "from": { "$ref": "#sender" },
            "grams": { "type": "integer", "minimum": 1 },
            "express": { "type": "boolean" },
            "phone": { "type": "string" },
            "door_code": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["to"] }, { "required": ["from"] }] }],
        "if": { "properties": { "express": { "const": true } }, "required": ["express"] },
        "then": { "required": ["phone"] },
        "else": { "not": { "required": ["door_code"] } },
        "additionalProperties": false,
        "$defs": {
            "address": {
                "$anchor": "sender",
                "type": "object",
                "properties": { "town": { "type": "string" }, "street": { "type": "string" } },
                "required": ["town"],
            },
        },
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
