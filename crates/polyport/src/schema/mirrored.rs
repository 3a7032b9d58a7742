//! The arguments of a tool that are marked with `x-mcp-header` (2026-07-28, basic/transports/streamable-http, Custom Headers).

use polyport_proto::http::{HeaderParam, ParamKind};
use serde_json::Value;

const MARK: &str = "x-mcp-header";
/// Keywords whose value is no schema.
const PLAIN: &[&str] = &["const", "default", "enum", "examples"];
/// Keywords whose members are schemas under names.
const NAMED: &[&str] = &[
    "$defs",
    "definitions",
    "dependentSchemas",
    "patternProperties",
    "properties",
];
/// How deep marks are looked for.
const DEPTH: usize = 64;

/// Those of a tool with this schema.
///
/// # Errors
/// A mark that makes the tool unusable: no unique header name, not on a string, an integer or a boolean, or not reached by properties
/// alone.
pub(crate) fn header_params(schema: &Value) -> Result<Vec<HeaderParam>, String> {
    let mut found = Vec::new();
    collect(schema, &mut Vec::new(), &mut found)?;
    let marks = marks(schema, DEPTH);
    if marks == found.len() {
        Ok(found)
    } else {
        Err(format!(
            "{MARK} stands {marks} times, but only {} of them are on properties that are reached by properties alone",
            found.len()
        ))
    }
}

fn collect(
    schema: &Value,
    path: &mut Vec<String>,
    found: &mut Vec<HeaderParam>,
) -> Result<(), String> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Ok(());
    };
    if path.len() >= DEPTH {
        return Ok(());
    }
    for (key, property) in properties {
        path.push(key.clone());
        if let Some(name) = property.get(MARK) {
            let kind = match property.get("type").and_then(Value::as_str) {
                Some("string") => Some(ParamKind::String),
                Some("integer") => Some(ParamKind::Integer),
                Some("boolean") => Some(ParamKind::Boolean),
                _ => None,
            };
            let text = name.as_str().filter(|text| !text.is_empty());
            let header = text.and_then(|text| {
                let text = format!("mcp-param-{text}").to_ascii_lowercase();
                http::HeaderName::from_bytes(text.as_bytes()).ok()
            });
            match (kind, header) {
                (Some(kind), Some(header)) if !found.iter().any(|p| p.header == header) => {
                    found.push(HeaderParam {
                        header,
                        path: path.clone(),
                        kind,
                    });
                }
                _ => {
                    return Err(format!(
                        "{MARK} {name} at {path:?}: a unique header name on a string, integer or boolean"
                    ));
                }
            }
        }
        collect(property, path, found)?;
        path.pop();
    }
    Ok(())
}

/// How many schemas in this one are marked.
fn marks(schema: &Value, depth: usize) -> usize {
    let Some(deeper) = depth.checked_sub(1) else {
        return 0;
    };
    match schema {
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| match key.as_str() {
                MARK => 1,
                key if PLAIN.contains(&key) => 0,
                key if NAMED.contains(&key) => value
                    .as_object()
                    .map_or(0, |named| named.values().map(|v| marks(v, deeper)).sum()),
                _ => marks(value, deeper),
            })
            .sum(),
        Value::Array(all) => all.iter().map(|value| marks(value, deeper)).sum(),
        _ => 0,
    }
}
