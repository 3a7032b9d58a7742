//! What a model reads about the operations: schemas that every host can use, and few words.

use polyport_backends::files::ops::{
    CopyFile, CreateDirectory, DeleteFile, DirectoryTree, DirectoryTreeResult, EditFile,
    GetFileInfo, GetFileInfoResult, ListAllowedDirectories, ListAllowedDirectoriesResult,
    ListDirectory, ListDirectoryResult, MoveFile, ReadMediaFile, ReadMediaFileResult,
    ReadMultipleFiles, ReadMultipleFilesResult, ReadTextFile, ReadTextFileResult, SearchContents,
    SearchContentsResult, SearchFiles, SearchFilesResult, WriteFile,
};
use schemars::{JsonSchema, Schema, generate::SchemaSettings, schema_for};
use serde_json::{Value, json};

use crate::support::fixture;

fn schemas() -> [(&'static str, Schema, &'static [&'static str]); 15] {
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
        // The known server has no such tools; this is what they need.
        (
            "copy_file",
            schema_for!(CopyFile),
            &["source", "destination"],
        ),
        ("delete_file", schema_for!(DeleteFile), &["path"]),
        ("create_directory", schema_for!(CreateDirectory), &["path"]),
        (
            "edit_file",
            schema_for!(EditFile),
            &["path", "edits", "dryRun"],
        ),
        (
            "move_file",
            schema_for!(MoveFile),
            &["source", "destination"],
        ),
        ("write_file", schema_for!(WriteFile), &["path", "content"]),
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

/// The edits of `edit_file` are those of the known server too.
#[test]
fn d_37_edits_have_an_old_and_a_new_text() {
    let schema = schema_for!(EditFile);
    let edit = schema.pointer("/properties/edits/items").unwrap();
    assert_eq!(edit["required"], json!(["oldText", "newText"]));
    assert_eq!(edit["additionalProperties"], false);
}

#[test]
fn all_definitions_stay_short() {
    let bytes: usize = schemas()
        .iter()
        .map(|(name, schema, _)| name.len() + schema.as_value().to_string().len())
        .sum();
    assert!(bytes < 8_500, "{bytes} bytes, ~{} tokens", bytes / 4);
}

/// What a result's schema requires is in the result, whichever side of serialization the schema is made for.
fn check_required<R: JsonSchema>(result: &Value) {
    for settings in [
        SchemaSettings::default(),
        SchemaSettings::default().for_serialize(),
    ] {
        let schema = settings.into_generator().into_root_schema_for::<R>();
        let required = schema
            .get("required")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        for property in required {
            assert!(
                result.get(property.as_str().unwrap()).is_some(),
                "{property} in {result}"
            );
        }
        let properties = schema
            .get("properties")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        for property in result.as_object().unwrap().keys() {
            assert!(
                properties.contains_key(property),
                "{property} is not in the schema"
            );
        }
    }
}

#[test]
fn results_have_what_their_schemas_require() {
    let notes = fixture(&[("a.txt", "x"), ("b/c.bin", "\0")]);
    let json = |name: &str, args: Value| notes.json(name, args);
    check_required::<DirectoryTreeResult>(&json("directory_tree", json!({})));
    check_required::<GetFileInfoResult>(&json("get_file_info", json!({ "path": "b" })));
    check_required::<ListAllowedDirectoriesResult>(&json("list_allowed_directories", json!({})));
    check_required::<ListDirectoryResult>(&json("list_directory", json!({})));
    check_required::<ReadMediaFileResult>(&json("read_media_file", json!({ "path": "b/c.bin" })));
    check_required::<ReadMultipleFilesResult>(&json(
        "read_multiple_files",
        json!({ "paths": ["a.txt"] }),
    ));
    check_required::<ReadTextFileResult>(&json("read_text_file", json!({ "path": "a.txt" })));
    check_required::<SearchContentsResult>(&json(
        "search_contents",
        json!({ "pattern": "x", "path": "a.txt" }),
    ));
    check_required::<SearchFilesResult>(&json("search_files", json!({ "pattern": "a.txt" })));
}
