//! The corpus, on which the subset, the full validator and the public door must agree, and the bounds.
#![allow(clippy::unwrap_used)]

mod property;

use serde_json::{Value, json};

use super::compile::compile;
use super::*;

/// Built here by hand, so that a slip in the options of [`slow`] shows.
fn reference_validator(
    schema: &Value,
) -> Result<jsonschema::Validator, jsonschema::ValidationError<'static>> {
    jsonschema::options()
        .offline()
        .should_validate_formats(false)
        .with_pattern_options(jsonschema::PatternOptions::regex())
        .build(schema)
}

fn reference_verdict(validator: &jsonschema::Validator, text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|value| validator.is_valid(&value))
}
