//! Owns finding and reading the specification's files and our own golden ones.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// The folders that hold a `schema.json`: the revisions, and the tasks extension.
pub(crate) const SCHEMAS: &[&str] = &[
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    "2025-11-25",
    "2026-07-28",
    "ext-tasks",
];

/// Where the specification's files are, unless they are not at hand.
#[allow(clippy::print_stdout)]
pub(crate) fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("MCP_SPEC_DIR").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: MCP_SPEC_DIR is not set");
    }
    folder
}

/// The definitions of a schema, by name, each `allOf` merged into one object schema.
pub(crate) fn definitions(folder: &Path, schema: &str) -> Value {
    let mut schema = read(&folder.join(schema).join("schema.json"));
    let key = if schema.get("$defs").is_some() {
        "$defs"
    } else {
        "definitions"
    };
    let definitions = schema[key].take();
    merge_all_of(&definitions, &definitions)
}

fn merge_all_of(schema: &Value, definitions: &Value) -> Value {
    match schema {
        Value::Object(members) => match members.get("allOf") {
            Some(parts) => {
                let mut merged = json!({ "type": "object", "properties": {}, "required": [] });
                parts
                    .as_array()
                    .unwrap()
                    .iter()
                    .for_each(|part| add_part(&mut merged, part, definitions));
                merged
            }
            None => {
                let merge = |(name, member): (&String, &Value)| {
                    (name.clone(), merge_all_of(member, definitions))
                };
                members.iter().map(merge).collect()
            }
        },
        Value::Array(items) => items
            .iter()
            .map(|item| merge_all_of(item, definitions))
            .collect(),
        other => other.clone(),
    }
}

/// Adds the members of a part of an `allOf`: of what it refers to, of its own parts, of its first
/// alternative.
fn add_part(merged: &mut Value, part: &Value, definitions: &Value) {
    if let Some(target) = part.get("$ref").and_then(Value::as_str) {
        return add_part(
            merged,
            &definitions[target.rsplit('/').next().unwrap()],
            definitions,
        );
    }
    let parts = part
        .get("allOf")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let alternative = part.get("anyOf").map(|schemas| &schemas[0]);
    parts
        .chain(alternative)
        .for_each(|part| add_part(merged, part, definitions));
    for (name, member) in part
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        merged["properties"][name] = merge_all_of(member, definitions);
    }
    let required = part
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    merged["required"]
        .as_array_mut()
        .unwrap()
        .extend(required.cloned());
}

/// Every JSON file in the folders of `folder`, with the name of its folder.
pub(crate) fn files_by_kind(folder: &Path) -> Vec<(String, PathBuf)> {
    let kinds = entries(folder).into_iter().filter(|path| path.is_dir());
    let files = kinds.flat_map(|kind| {
        let name = kind.file_name().unwrap().to_str().unwrap().to_owned();
        entries(&kind)
            .into_iter()
            .map(move |file| (name.clone(), file))
    });
    files
        .filter(|(_, file)| file.extension().is_some_and(|ending| ending == "json"))
        .collect()
}

pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
    let listing =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut entries: Vec<_> = listing.map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries
}

pub(crate) fn read(file: &Path) -> Value {
    let text =
        fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}
