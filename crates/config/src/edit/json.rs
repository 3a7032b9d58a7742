//! The same in JSON with comments.

use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value as Json;

use super::{Refused, Spot, refused};
use crate::node::JSONC;

pub(super) fn put(text: &str, spot: &Spot, entry: &Json) -> Result<String, Refused> {
    let root = parse(text)?;
    let mut table = root
        .object_value_or_create()
        .ok_or_else(|| refused("is no table"))?;
    for key in &spot.keys {
        // A host that writes `null` means that there is none.
        let is_null = table
            .get(key)
            .and_then(|member| member.value())
            .is_some_and(|value| value.as_null_keyword().is_some());
        table = if is_null {
            table.object_value_or_set(key)
        } else {
            table
                .object_value_or_create(key)
                .ok_or_else(|| refused(format!("{key} is no table")))?
        };
    }
    let value = input(entry);
    match table.get(&spot.name) {
        Some(member) => member.set_value(value),
        None => _ = table.append(&spot.name, value),
    }
    let mut after = root.to_string();
    if text.is_empty() {
        after.truncate(after.trim_end().len());
        after.push('\n');
    }
    Ok(after)
}

pub(super) fn take(text: &str, spot: &Spot) -> Result<String, Refused> {
    let root = parse(text)?;
    let mut table: Option<CstObject> = root.object_value();
    for key in &spot.keys {
        table = table.and_then(|table| table.object_value(key));
    }
    if let Some(member) = table.and_then(|table| table.get(&spot.name)) {
        CstNode::from(member).remove();
    }
    Ok(root.to_string())
}

fn parse(text: &str) -> Result<CstRootNode, Refused> {
    CstRootNode::parse(text, &JSONC).map_err(|error| refused(error.to_string()))
}

fn input(value: &Json) -> CstInputValue {
    match value {
        Json::Null => CstInputValue::Null,
        Json::Bool(truth) => CstInputValue::Bool(*truth),
        Json::Number(number) => CstInputValue::Number(number.to_string()),
        Json::String(text) => CstInputValue::String(text.clone()),
        Json::Array(list) => CstInputValue::Array(list.iter().map(input).collect()),
        Json::Object(members) => CstInputValue::Object(
            members
                .iter()
                .map(|(name, value)| (name.clone(), input(value)))
                .collect(),
        ),
    }
}
