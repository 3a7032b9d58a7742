//! Owns the check that every example survives being read and written: the specification's, and our
//! own of legacy revisions.

use std::path::Path;

use serde_json::Value;

use crate::{kinds, spec};

#[test]
fn the_specifications_examples_survive() {
    let Some(folder) = spec::folder() else { return };
    let mut count = 0;
    for schema in spec::SCHEMAS {
        let examples = folder.join(schema).join("examples");
        if examples.is_dir() {
            count += check_files(schema, &examples);
        }
    }
    assert!(
        count >= 100,
        "only {count} examples under {}",
        folder.display()
    );
}

#[test]
fn our_own_examples_survive() {
    for schema in spec::entries(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")) {
        let name = schema.file_name().unwrap().to_str().unwrap().to_owned();
        assert!(check_files(&name, &schema) > 0, "{name} is empty");
    }
}

fn check_files(schema: &str, folder: &Path) -> usize {
    let files = spec::files_by_kind(folder);
    for (kind, file) in &files {
        let value = spec::read(file);
        match round_trip(schema, kind, &value) {
            Ok(again) => assert_eq!(again, value, "{}", file.display()),
            Err(why) => panic!("{}: {why}", file.display()),
        }
    }
    files.len()
}

/// Reads a value as what the schema calls `kind`, and writes it again.
fn round_trip(schema: &str, kind: &str, value: &Value) -> Result<Value, String> {
    let through = |round_trip: kinds::RoundTrip, part: &Value| {
        round_trip(&part.to_string()).map_err(|error| error.to_string())
    };
    let mut again = value.clone();
    if let Some(object) = kinds::object(schema, kind) {
        return through(object, value);
    }
    if let Some((method, params)) = kinds::message(schema, kind) {
        if value["method"] != method {
            return Err(format!(
                "the method is {}, expected {method}",
                value["method"]
            ));
        }
        if let Some(slot) = again.get_mut("params") {
            *slot = through(params, slot)?;
        }
        return Ok(again);
    }
    if let Some(object) = kind
        .strip_suffix("Response")
        .and_then(|kind| kinds::object(schema, kind))
    {
        again["result"] = through(object, &value["result"])?;
        return Ok(again);
    }
    if let Some((code, data)) = kinds::failure(kind) {
        let error = &value["error"];
        if error["code"] != code {
            return Err(format!("the code is {}, expected {code}", error["code"]));
        }
        again["error"] = through(kinds::object(schema, "Error").expect("listed"), error)?;
        if let Some(slot) = again["error"].get_mut("data") {
            *slot = through(data, slot)?;
        }
        return Ok(again);
    }
    Err(format!("no type stands for {kind}: add it to kinds.rs"))
}
