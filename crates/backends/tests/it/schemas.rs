//! What a model reads about the operations: schemas that every host can use, and few words.

use polyport_backends::files::ops::{
    DirectoryTree, GetFileInfo, ListAllowedDirectories, ListDirectory, ReadMediaFile,
    ReadMultipleFiles, ReadTextFile, SearchContents, SearchFiles,
};
use schemars::{Schema, schema_for};
use serde_json::{Value, json};

fn schemas() -> [(&'static str, Schema, &'static [&'static str]); 9] {
    [
        (
            "directory_tree",
            schema_for!(DirectoryTree),
            &["path", "excludePatterns"],
        ),
        ("get_file_info", schema_for!(GetFileInfo), &["path"]),
        (
            "list_allowed_directories",
            schema_for!(ListAllowedDirectories),
            &[],
        ),
        ("list_directory", schema_for!(ListDirectory), &["path"]),
        ("read_media_file", schema_for!(ReadMediaFile), &["path"]),
        (
            "read_multiple_files",
            schema_for!(ReadMultipleFiles),
            &["paths"],
        ),
        (
            "read_text_file",
            schema_for!(ReadTextFile),
            &["path", "head", "tail"],
        ),
        (
            "search_contents",
            schema_for!(SearchContents),
            &["path", "pattern"],
        ),
        (
            "search_files",
            schema_for!(SearchFiles),
            &["path", "pattern", "excludePatterns"],
        ),
    ]
}

#[test]
fn d_37_arguments_of_the_known_server_are_taken() {
    for (name, schema, known) in schemas() {
        let properties = schema
            .get("properties")
            .cloned()
            .unwrap_or_else(|| json!({}));
        for argument in known {
            assert!(
                properties.get(argument).is_some(),
                "{name} has no {argument}"
            );
        }
        let required = schema
            .get("required")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        for argument in required {
            assert!(
                known.contains(&argument.as_str().unwrap()),
                "{name} requires {argument}"
            );
        }
    }
}

#[test]
fn br_153_schemas_are_plain() {
    for (name, schema, _) in schemas() {
        assert_eq!(
            schema.get("additionalProperties"),
            Some(&json!(false)),
            "{name}"
        );
        assert!(
            schema
                .get("description")
                .is_some_and(|text| text.as_str().unwrap().len() < 160),
            "{name}"
        );
        let text = schema.as_value().to_string();
        for word in ["null", "$ref", "anyOf", "oneOf", "\"format\""] {
            assert!(!text.contains(word), "{name} has {word}: {text}");
        }
        let properties = schema
            .get("properties")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        for (property, schema) in properties {
            assert!(schema["type"].is_string(), "{name}.{property}: {schema}");
            assert!(
                schema["description"].is_string(),
                "{name}.{property}: {schema}"
            );
        }
    }
}

#[test]
fn all_definitions_stay_short() {
    let bytes: usize = schemas()
        .iter()
        .map(|(name, schema, _)| name.len() + schema.as_value().to_string().len())
        .sum();
    assert!(bytes < 6_500, "{bytes} bytes, ~{} tokens", bytes / 4);
}
