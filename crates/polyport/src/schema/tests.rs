//! The corpus, on which the subset, the full validator and the public door have to agree, and the bounds.
#![allow(clippy::unwrap_used)]

mod property;
mod tool;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::compile::compile;
use super::*;

#[derive(Deserialize)]
struct Case {
    what: String,
    schema: Value,
    /// Whether the subset knows the whole schema.
    #[serde(default = "yes")]
    covered: bool,
    #[serde(default)]
    fits: Vec<Box<RawValue>>,
    /// With what is said of each.
    #[serde(default)]
    refused: Vec<(Box<RawValue>, String)>,
    /// For schemas that are refused, and then nothing else.
    error: Option<String>,
}

fn yes() -> bool {
    true
}

#[test]
fn the_corpus_holds_on_both_checkers() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schema-corpus");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let cases: Vec<Case> = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        for case in cases {
            let what = format!("{}: {}", path.file_name().unwrap().display(), case.what);
            count += 1 + case.fits.len() + case.refused.len();
            check_case(&case, &what);
        }
    }
    assert!(count > 400, "only {count} checks");
}

fn check_case(case: &Case, what: &str) {
    let validator = match (Validator::new(&case.schema), &case.error) {
        (Err(error), Some(says)) => return assert_eq!(error.to_string(), *says, "{what}"),
        (Err(error), None) => panic!("{what}: {error}"),
        (Ok(_), Some(_)) => panic!("{what}: accepted"),
        (Ok(validator), None) => validator,
    };
    let compiled = compile(&case.schema);
    assert_eq!(compiled.covers, case.covered, "{what}: covered");
    let fast = |text: &str| {
        compiled
            .program
            .as_ref()
            .is_some_and(|program| program.accepts(text))
    };
    let slow = reference_validator(&case.schema).unwrap();
    for text in case.fits.iter().map(|text| text.get()) {
        assert_eq!(validator.check(text), Ok(()), "{what}: {text}");
        assert!(
            reference_verdict(&slow, text),
            "{what}: the full validator on {text}"
        );
        assert!(fast(text) || !case.covered, "{what}: the subset on {text}");
    }
    assert_eq!(
        validator.0.slow.get().is_none(),
        case.covered,
        "{what}: built on first need"
    );
    for (text, says) in case.refused.iter().map(|(text, says)| (text.get(), says)) {
        assert_eq!(
            validator.check(text).unwrap_err().to_string(),
            *says,
            "{what}: {text}"
        );
        assert!(
            !reference_verdict(&slow, text),
            "{what}: the full validator on {text}"
        );
        assert!(!fast(text), "{what}: the subset on {text}");
    }
}

/// Built by hand, so that a slip in the options of `slow` shows.
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

fn says(schema: &Value, text: &str) -> String {
    Validator::new(schema)
        .unwrap()
        .check(text)
        .unwrap_err()
        .to_string()
}

#[test]
fn text_that_is_no_json_is_refused_with_its_place() {
    let any = json!(true);
    for text in [
        "",
        "{",
        "[1,]",
        "{\"a\":1,}",
        "1 2",
        "nul",
        "{'a':1}",
        "\u{feff}{}",
        "\"a\nb\"",
        "01",
        "NaN",
        "{a:1}",
    ] {
        assert!(
            says(&any, text).starts_with("arguments: cannot be read as JSON: "),
            "{text}"
        );
    }
    assert_eq!(
        says(&any, "{} {}"),
        "arguments: cannot be read as JSON: trailing characters at line 1 column 4"
    );
}

/// Such text is refused before it comes here; were it not, the last value would count.
#[test]
fn twin_keys_never_make_the_subset_accept_more() {
    let schema = json!({
        "type": "object",
        "properties": { "a": { "type": "integer" }, "b": { "type": "object", "required": ["c"] } },
        "required": ["a"],
        "additionalProperties": false,
    });
    let (program, full) = (
        compile(&schema).program.unwrap(),
        reference_validator(&schema).unwrap(),
    );
    for text in [
        r#"{"a":1,"a":2}"#,
        r#"{"a":"x","a":1}"#,
        r#"{"a":1,"a":"x"}"#,
        r#"{"a":1,"\u0061":"x"}"#,
        r#"{"a":1,"b":{"c":1},"b":{}}"#,
        r#"{"a":1,"b":{},"b":{"c":1}}"#,
    ] {
        assert!(
            !program.accepts(text) || reference_verdict(&full, text),
            "{text}"
        );
    }
}

#[test]
fn many_wrong_values_are_refused_without_gathering_every_error() {
    let plain = json!({ "type": "object", "properties": { "a": { "type": "array", "items": { "type": "string" } } } });
    let choice = json!({ "type": "object", "properties": { "a": { "anyOf": [
        { "type": "array", "items": { "type": "string" } }, { "type": "null" },
    ] } } });
    let wrong = |count: usize| format!(r#"{{"a":[{}0]}}"#, "0,".repeat(count - 1));

    let few = Validator::new(&choice)
        .unwrap()
        .check(&wrong(100))
        .unwrap_err();
    assert_eq!((few.violations.len(), few.more), (5, true));
    let many = Validator::new(&plain)
        .unwrap()
        .check(&wrong(50_000))
        .unwrap_err();
    assert_eq!((many.violations.len(), many.more), (1, true));
    assert_eq!(
        many.violations[0].to_string(),
        "arguments/a/0: expected string, got number 0"
    );
    let unclear = "arguments/a: does not fit the input schema, and is too large to say where";
    assert_eq!(says(&choice, &wrong(50_000)), unclear);
    let unclear = "arguments: do not fit the input schema, and are too large to say where";
    let list = json!({ "type": "array", "items": { "anyOf": [{ "type": "null" }, { "type": "string" }] } });
    assert_eq!(says(&list, &format!("[{}0]", "0,".repeat(50_000))), unclear);
    let too_many = "arguments: do not fit the input schema, or hold too many values to tell (more than 200000); send fewer";
    assert_eq!(says(&plain, &wrong(300_000)), too_many);

    // What fits is taken however large it is, where the subset covers the schema.
    let right = wrong(300_000).replace('0', "\"\"");
    assert_eq!(Validator::new(&choice).unwrap().check(&right), Ok(()));
    let beyond = json!({ "type": "object", "minProperties": 1 });
    assert_eq!(says(&beyond, &right), too_many);
}

/// An error of a branch holds a copy of what it speaks of, once for each branch above it.
#[test]
fn deep_branches_around_a_long_value_are_not_copied_at_every_depth() {
    let list = json!({ "anyOf": [
        { "type": "object", "properties": { "next": { "$ref": "#" }, "text": { "type": "string" } }, "required": ["next"] },
        { "type": "null" },
    ] });
    let nested = |text: &str| format!("{}{text}{}", "{\"next\":".repeat(100), "}".repeat(100));
    let short = nested(r#"{"next":1}"#);
    let pointer = "/next".repeat(101);
    let shown: String = pointer.chars().take(200).collect();
    assert_eq!(
        says(&list, &short),
        format!("arguments{shown}…: expected object or null, got number 1")
    );
    let long = nested(&format!(r#"{{"next":1,"text":"{}"}}"#, "x".repeat(1 << 20)));
    assert_eq!(
        says(&list, &long),
        "arguments/next: does not fit the input schema, and is too large to say where"
    );
}

/// A large part does not keep a model from hearing what is wrong with the rest.
#[test]
fn a_slip_beside_a_large_value_is_named() {
    let schema = json!({
        "type": "object",
        "properties": {
            "edits": { "type": "array", "items": { "type": "string" } },
            "mode": { "anyOf": [{ "enum": ["fast", "safe"] }, { "type": "null" }] },
            "path": { "type": "string" },
        },
        "required": ["edits", "path"],
        "additionalProperties": false,
    });
    let edits = format!(r#""edits":[{}""]"#, r#""","#.repeat(30_000));
    for (rest, message) in [
        (
            r#""path":"p","mode":"quick""#,
            r#"arguments/mode: expected one of "fast", "safe", got "quick""#,
        ),
        (
            r#""path":"p","mod":"fast""#,
            r#"arguments: unknown property "mod"; did you mean "mode"?"#,
        ),
        (
            r#""mode":null"#,
            r#"arguments: missing required property "path" (string)"#,
        ),
    ] {
        let said = says(&schema, &format!("{{{edits},{rest}}}"));
        assert_eq!(
            said,
            format!("{message}\nand more, told once these are mended")
        );
    }
}

#[test]
fn messages_stay_short_whatever_comes() {
    let long = "é".repeat(100_000);
    let closed = json!({ "type": "object", "properties": { "a": { "enum": ["x", "y"] }, "b": { "pattern": "^x$" } },
        "additionalProperties": false });
    let map = json!({ "type": "object", "additionalProperties": { "type": "integer" } });
    let options: Vec<String> = (0..5_000).map(|nth| format!("option {nth}")).collect();
    let listed = json!({ "enum": options });
    let wide: serde_json::Map<String, Value> = (0..500)
        .map(|nth| (format!("property_{nth}"), json!({})))
        .collect();
    let wide = json!({ "type": "object", "properties": wide, "additionalProperties": false });
    for (schema, text) in [
        (&closed, format!(r#"{{"a":"{long}"}}"#)),
        (&closed, format!(r#"{{"b":"{long}"}}"#)),
        (
            &closed,
            format!(r#"{{"{long}":1,"{long}2":2,"{long}3":3,"{long}4":4,"a":1}}"#),
        ),
        (
            &map,
            format!(r#"{{"{long}":"{long}","{long}2":["{long}"]}}"#),
        ),
        (&listed, format!(r#""{long}""#)),
        (&wide, r#"{"unheard_of":1}"#.to_owned()),
    ] {
        let message = says(schema, &text);
        assert!(
            message.chars().count() < 900,
            "{} characters: {message}",
            message.chars().count()
        );
        assert!(!message.contains(&"é".repeat(201)), "{message}");
    }
}

/// Security: schemas and arguments of the greatest depth on a small stack.
#[test]
fn depth_does_not_overflow_a_small_stack() {
    let run = || {
        let deep = (0..48).fold(
            json!({ "type": "string", "pattern": "^a" }),
            |inner, _| json!({ "type": "object", "properties": { "a": inner } }),
        );
        let mut copy = deep.clone();
        close(&mut copy);
        assert_eq!(
            Validator::new(&deep).unwrap().check(&format!(
                "{}\"a\"{}",
                "{\"a\":".repeat(48),
                "}".repeat(48)
            )),
            Ok(())
        );

        let chain: serde_json::Map<String, Value> = (0..2_000)
            .map(|nth| {
                (
                    format!("D{nth}"),
                    json!({ "$ref": format!("#/$defs/D{}", nth + 1) }),
                )
            })
            .collect();
        let mut chain = json!({ "$ref": "#/$defs/D0", "$defs": chain });
        chain["$defs"]["D2000"] = json!({ "type": "integer" });
        assert_eq!(Validator::new(&chain).unwrap().check("1"), Ok(()));

        for schema in [
            json!({ "items": { "$ref": "#" }, "type": "array" }),
            json!({ "items": { "$ref": "#" }, "not": { "type": "string" } }),
        ] {
            let validator = Validator::new(&schema).unwrap();
            assert_eq!(
                validator.check(&format!("{}{}", "[".repeat(126), "]".repeat(126))),
                Ok(())
            );
            assert!(
                validator
                    .check(&format!("{}\"\"{}", "[".repeat(126), "]".repeat(126)))
                    .is_err()
            );
            assert!(validator.check(&"[".repeat(100_000)).is_err());
        }
    };
    std::thread::Builder::new()
        .stack_size(512 << 10)
        .spawn(run)
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn a_pattern_runs_in_linear_time() {
    let validator = Validator::new(&json!({ "type": "string", "pattern": "^(a+)+$" })).unwrap();
    let start = Instant::now();
    assert!(
        validator
            .check(&format!("\"{}b\"", "a".repeat(100_000)))
            .is_err()
    );
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn clones_share_one_full_validator_between_threads() {
    let validator = Validator::new(&json!({ "type": "integer" })).unwrap();
    let clones: Vec<Validator> = (0..8).map(|_| validator.clone()).collect();
    std::thread::scope(|scope| {
        for clone in &clones {
            scope.spawn(|| assert!(clone.check("\"x\"").is_err()));
        }
    });
    assert!(
        clones
            .iter()
            .all(|clone| Arc::ptr_eq(&clone.0, &validator.0))
    );
    assert!(format!("{validator:?}").contains("slow: true"));
}
