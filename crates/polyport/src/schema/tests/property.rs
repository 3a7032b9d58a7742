//! The rule that everything rests on: what the subset accepts, the full validator accepts. Random schemas from the subset,
//! random arguments, half of them made to fit.

use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{reference_validator, reference_verdict};
use crate::schema::compile::compile;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_subset_accepts_nothing_that_the_full_validator_refuses(schema in schemas(), seed in any::<u64>()) {
        let compiled = compile(&schema);
        let full = reference_validator(&schema);
        prop_assert!(full.is_ok() || !compiled.covers, "covered, yet not a schema: {full:?}");
        let (Ok(full), Some(program)) = (full, compiled.program) else { return Ok(()) };
        let mut dice = Dice(seed | 1);
        for _ in 0..24 {
            let mut text = String::new();
            write_value(&mut text, Some(&schema), &schema, &mut dice, 0);
            let (fast, slow) = (program.accepts(&text), reference_verdict(&full, &text));
            prop_assert!(slow || !fast, "accepted wrongly: {text}");
            // Of a key that comes twice the full validator sees the last value only.
            let equal = compiled.covers && !has_twin_keys(&text);
            prop_assert!(fast || !slow || !equal, "covered, yet not accepted: {text}");
        }
    }

    #[test]
    fn numbers_compare_as_in_the_full_validator(
        keyword in prop::sample::select(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "const"][..]),
        limit in numbers(),
        value in numbers(),
    ) {
        let Ok(limit) = serde_json::from_str::<Value>(&limit) else { return Ok(()) };
        let schema = json!({ "type": ["integer", "number"], keyword: limit });
        let full = reference_validator(&schema).unwrap();
        let program = compile(&schema).program.unwrap();
        prop_assert_eq!(program.accepts(&value), reference_verdict(&full, &value));
    }

    #[test]
    fn text_that_is_no_json_is_never_accepted(text in "[\\[\\]{}\",:0-9a\\\\eEu.+-]{0,12}") {
        let program = compile(&json!(true)).program.unwrap();
        prop_assert_eq!(program.accepts(&text), serde_json::from_str::<Value>(&text).is_ok());
    }
}

fn has_twin_keys(text: &str) -> bool {
    let colons = |text: &str| text.matches("\":").count();
    serde_json::from_str::<Value>(text)
        .is_ok_and(|value| colons(text) != colons(&value.to_string()))
}

/// Guards the property above against testing nothing.
#[test]
fn random_arguments_fit_often_enough() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut dice = Dice(9);
    let (mut accepted, mut covered) = (0, 0);
    for _ in 0..300 {
        let schema =
            proptest::strategy::ValueTree::current(&schemas().new_tree(&mut runner).unwrap());
        let compiled = compile(&schema);
        covered += usize::from(compiled.covers);
        let Some(program) = compiled.program else {
            continue;
        };
        for _ in 0..10 {
            let mut text = String::new();
            write_value(&mut text, Some(&schema), &schema, &mut dice, 0);
            accepted += usize::from(program.accepts(&text));
        }
    }
    assert!(
        accepted > 600 && covered > 150,
        "{accepted} accepted, {covered} covered"
    );
}

const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "-0.0",
    "1",
    "1.0",
    "1e0",
    "10E-1",
    "-1",
    "2",
    "3",
    "5",
    "1.5",
    "-1.5",
    "0.1",
    "1e2",
    "255",
    "256",
    "9007199254740991",
    "9007199254740992",
    "9007199254740993",
    "9007199254740993.0",
    "-9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "9223372036854775807.5",
    "18446744073709551615",
    "18446744073709551616",
    "18446744073709549568.0",
    "1e19",
    "-1e19",
    "1e40",
    "1e308",
    "1.7976931348623157e308",
    "1e400",
    "-1e400",
    "5e-324",
    "1e-400",
];

const STRINGS: &[&str] = &[
    r#""""#,
    r#""a""#,
    r#""b""#,
    r#""null""#,
    r#""é""#,
    r#""\u00e9""#,
    r#""😀""#,
    r#""\ud83d\ude00""#,
    r#""😀😀😀""#,
    r#""\ud800""#,
    r#""a\nb""#,
    r#""abcdefgh""#,
];

const KEYS: &[&str] = &[
    r#""a""#,
    r#""b""#,
    r#""c""#,
    r#""\u0061""#,
    r#""$ref""#,
    r#""type""#,
    r#""é""#,
];

fn numbers() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => prop::sample::select(NUMBERS).prop_map(str::to_owned),
        1 => any::<i64>().prop_map(|value| value.to_string()),
        1 => any::<u64>().prop_map(|value| value.to_string()),
        1 => any::<f64>().prop_filter("finite", |value| value.is_finite()).prop_map(|value| format!("{value:e}")),
        1 => any::<i64>().prop_map(|value| format!("{:e}", value as f64)),
    ]
}

fn limit() -> impl Strategy<Value = Value> {
    numbers().prop_filter_map("in range", |text| serde_json::from_str(&text).ok())
}

fn scalars() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        limit(),
        prop::sample::select(STRINGS)
            .prop_filter_map("text", |text| serde_json::from_str(text).ok()),
    ]
}

fn type_names() -> impl Strategy<Value = Value> {
    let all = vec![
        "null", "boolean", "integer", "number", "string", "array", "object",
    ];
    prop_oneof![
        prop::sample::select(all.clone()).prop_map(|name| json!(name)),
        prop::sample::subsequence(all, 1..4).prop_map(|names| json!(names)),
    ]
}

fn schemas() -> impl Strategy<Value = Value> {
    let one = || subschemas().boxed();
    (objects(one()), one(), one(), prop::bool::weighted(0.3)).prop_map(
        |(mut root, a, b, legacy)| {
            root["$defs"] = json!({ "A": a });
            root["definitions"] = json!({ "B": b });
            if legacy {
                root["$schema"] = json!("http://json-schema.org/draft-07/schema#");
            }
            root
        },
    )
}

fn subschemas() -> impl Strategy<Value = Value> {
    leaves().prop_recursive(3, 16, 4, |inner| {
        let inner = inner.boxed();
        prop_oneof![
            4 => objects(inner.clone()),
            2 => arrays(inner.clone()),
            2 => (inner, prop::sample::select(&["anyOf", "oneOf"][..]), any::<bool>()).prop_map(|(one, keyword, first)| {
                let null = json!({ "type": "null" });
                json!({ keyword: if first { [null, one] } else { [one, null] }, "description": "an option" })
            }),
        ]
    })
}

fn leaves() -> impl Strategy<Value = Value> {
    prop_oneof![
        2 => Just(json!(true)),
        1 => Just(json!(false)),
        1 => Just(json!({ "title": "anything", "default": 1, "examples": [], "x-mark": {} })),
        4 => type_names().prop_map(|names| json!({ "type": names })),
        4 => (type_names(), limit(), limit(), 0..4).prop_map(|(names, low, high, which)| match which {
            0 => json!({ "type": "integer", "minimum": low }),
            1 => json!({ "type": names, "minimum": low, "maximum": high }),
            2 => json!({ "exclusiveMinimum": low, "format": "double" }),
            _ => json!({ "type": ["number", "null"], "exclusiveMaximum": high, "minimum": low }),
        }),
        3 => (0..3_u64, 0..5_u64).prop_map(|(min, max)| json!({ "type": "string", "minLength": min, "maxLength": max })),
        2 => prop::collection::vec(scalars(), 0..4).prop_map(|options| json!({ "enum": options })),
        2 => (type_names(), scalars()).prop_map(|(names, value)| json!({ "type": names, "const": value })),
        2 => prop::collection::vec(scalars(), 1..4).prop_map(|options| {
            json!({ "oneOf": options.iter().map(|value| json!({ "const": value })).collect::<Vec<_>>() })
        }),
        4 => prop::sample::select(&["#/$defs/A", "#/definitions/B", "#"][..]).prop_map(|it| json!({ "$ref": it, "title": "t" })),
        1 => prop::sample::select(vec![
            json!({ "multipleOf": 2 }), json!({ "pattern": "^a" }), json!({ "not": { "type": "string" } }),
            json!({ "uniqueItems": true }), json!({ "type": "strin" }), json!({ "minLength": 2.0 }), json!({ "title": 1 }),
            json!({ "enum": [[1], {}] }), json!({ "enum": ["a", "b"], "const": "b" }), json!({ "required": ["a", "a"] }), json!({ "type": [] }),
        ]),
    ]
}

fn objects(inner: BoxedStrategy<Value>) -> impl Strategy<Value = Value> {
    let names = vec!["a", "b", "c", "$ref", "type", "é"];
    let properties =
        prop::collection::hash_map(prop::sample::select(names.clone()), inner.clone(), 0..4);
    let additional = prop_oneof![
        2 => Just(None), 2 => Just(Some(json!(false))), 1 => Just(Some(json!(true))), 1 => inner.prop_map(Some),
    ];
    let required = prop::sample::subsequence(names, 0..3);
    (properties, additional, required, prop::bool::weighted(0.8)).prop_map(
        |(properties, additional, required, typed)| {
            let mut schema = json!({ "properties": properties });
            if typed {
                schema["type"] = json!("object");
            }
            if let Some(additional) = additional {
                schema["additionalProperties"] = additional;
            }
            if !required.is_empty() {
                schema["required"] = json!(required);
            }
            schema
        },
    )
}

fn arrays(inner: BoxedStrategy<Value>) -> impl Strategy<Value = Value> {
    let prefix = prop::option::weighted(0.3, prop::collection::vec(inner.clone(), 1..3));
    (
        inner,
        prefix,
        prop::option::of(0..3_u64),
        prop::option::of(0..4_u64),
    )
        .prop_map(|(items, prefix, min, max)| {
            let mut schema = json!({ "type": "array", "items": items });
            for (keyword, value) in [
                ("prefixItems", json!(prefix)),
                ("minItems", json!(min)),
                ("maxItems", json!(max)),
            ] {
                if !value.is_null() {
                    schema[keyword] = value;
                }
            }
            schema
        })
}

/// Marsaglia's xorshift: enough to choose with, and the same on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }

    fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.roll(of.len())]
    }
}

/// Writes JSON that mostly fits `schema`, or anything for `None`.
fn write_value(
    out: &mut String,
    schema: Option<&Value>,
    root: &Value,
    dice: &mut Dice,
    depth: usize,
) {
    let schema = schema.filter(|_| dice.roll(12) > 0);
    let Some(schema) = schema.and_then(Value::as_object) else {
        return write_any(out, root, dice, depth);
    };
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let target = root.pointer(&reference[1..]).filter(|_| depth < 6);
        return write_value(out, target, root, dice, depth + 1);
    }
    if let Some(branches) = schema
        .get("anyOf")
        .or_else(|| schema.get("oneOf"))
        .and_then(Value::as_array)
    {
        let branch = &branches[dice.roll(branches.len())];
        return write_value(out, Some(branch), root, dice, depth + 1);
    }
    if let Some(value) = schema.get("const") {
        return out.push_str(&value.to_string());
    }
    if let Some(options) = schema
        .get("enum")
        .and_then(Value::as_array)
        .filter(|options| !options.is_empty())
    {
        return out.push_str(&options[dice.roll(options.len())].to_string());
    }
    let name = match schema.get("type") {
        Some(Value::String(name)) => name.as_str(),
        Some(Value::Array(names)) if !names.is_empty() => {
            names[dice.roll(names.len())].as_str().unwrap_or_default()
        }
        _ if schema.contains_key("properties") => "object",
        _ => "",
    };
    match name {
        "null" => out.push_str("null"),
        "boolean" => out.push_str(dice.pick(&["true", "false"])),
        "integer" | "number" => out.push_str(dice.pick(NUMBERS)),
        "string" => out.push_str(dice.pick(STRINGS)),
        "array" => {
            let count = dice.roll(4);
            write_list(out, ['[', ']'], count, |out, nth| {
                let prefix = schema.get("prefixItems").and_then(|prefix| prefix.get(nth));
                write_value(
                    out,
                    prefix.or_else(|| schema.get("items")),
                    root,
                    dice,
                    depth + 1,
                );
            });
        }
        "object" if depth < 6 => write_object(out, schema, root, dice, depth),
        _ => write_any(out, root, dice, depth),
    }
}

fn write_object(
    out: &mut String,
    schema: &serde_json::Map<String, Value>,
    root: &Value,
    dice: &mut Dice,
    depth: usize,
) {
    let empty = serde_json::Map::new();
    let properties = schema
        .get("properties")
        .and_then(Value::as_object)
        .unwrap_or(&empty);
    let required = schema
        .get("required")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    let mut members: Vec<(String, Option<&Value>)> = Vec::new();
    for (name, inner) in properties {
        if required.contains(&json!(name)) || dice.roll(2) == 0 {
            members.push((json!(name).to_string(), Some(inner)));
        }
    }
    for name in required
        .iter()
        .filter(|name| !properties.contains_key(name.as_str().unwrap_or_default()))
    {
        members.push((name.to_string(), schema.get("additionalProperties")));
    }
    if dice.roll(6) == 0 {
        members.push((dice.pick(KEYS).to_owned(), None));
    }
    write_list(out, ['{', '}'], members.len(), |out, nth| {
        _ = write!(out, "{}: ", members[nth].0);
        write_value(out, members[nth].1, root, dice, depth + 1);
    });
}

fn write_any(out: &mut String, root: &Value, dice: &mut Dice, depth: usize) {
    match dice.roll(if depth < 6 { 7 } else { 5 }) {
        0 => out.push_str("null"),
        1 => out.push_str(dice.pick(&["true", "false"])),
        2 | 3 => out.push_str(dice.pick(NUMBERS)),
        4 => out.push_str(dice.pick(STRINGS)),
        5 => {
            let count = dice.roll(3);
            write_list(out, ['[', ']'], count, |out, _| {
                write_value(out, None, root, dice, depth + 1)
            });
        }
        _ => {
            let count = dice.roll(3);
            write_list(out, ['{', '}'], count, |out, _| {
                _ = write!(out, "{}: ", dice.pick(KEYS));
                write_value(out, None, root, dice, depth + 1);
            });
        }
    }
}

fn write_list(
    out: &mut String,
    ends: [char; 2],
    count: usize,
    mut write_one: impl FnMut(&mut String, usize),
) {
    out.push(ends[0]);
    for nth in 0..count {
        if nth > 0 {
            out.push_str(", ");
        }
        write_one(out, nth);
    }
    out.push(ends[1]);
}
