//! Makes the schemas of tools from the schemas of Rust types: their shape, and the closing of the objects of arguments. Checks
//! nothing.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

/// Turns the schema of a Rust type into the input schema of a tool.
///
/// MCP wants `type: "object"` at the root, and some hosts read nothing but a plain object there. So a root that is a
/// reference or an `Option` becomes what it stands for, and a type without fields (`()` too) becomes a closed object without
/// properties. A root `title`, which only repeats the name of the type, a `$schema` that names the default dialect, and the
/// formats of Rust's numbers are left out. `$defs` and the order of properties are kept.
///
/// A root that can never be an object, such as that of `String`, keeps its `type`: such a type cannot be the arguments of
/// a tool, and registration has to refuse it.
#[must_use]
pub fn tool_schema(root: schemars::Schema) -> Value {
    let mut schema = bare(root);
    for _ in 0..MAX_HOPS {
        let Some(inner) = stands_for(&schema) else {
            break;
        };
        schema = inner;
    }
    let object = match schema.get("type") {
        None => true,
        Some(Value::String(name)) => name == "object",
        Some(names) => names
            .as_array()
            .is_some_and(|names| names.contains(&json!("object"))),
    };
    let empty = schema.get("type").is_some_and(|name| name == "null")
        || (object
            && schema.contains_key("type")
            && !OPENING.iter().any(|keyword| schema.contains_key(*keyword)));
    if empty {
        schema.insert("properties".to_owned(), json!({}));
        schema.insert("additionalProperties".to_owned(), json!(false));
    }
    if !object && !empty {
        return Value::Object(schema);
    }
    schema.shift_remove("type");
    if schema.get("additionalProperties") == Some(&json!(false)) {
        // Some hosts take no object that lists no properties.
        schema.entry("properties").or_insert_with(|| json!({}));
    }
    let mut tool = Map::from_iter([("type".to_owned(), json!("object"))]);
    tool.extend(schema);
    Value::Object(tool)
}

/// Turns the schema of a Rust type into the output schema of a tool.
///
/// It says what it said: a result may be of any type. Only a root that is a reference becomes what it refers to, and one whose
/// forms are all objects says so, since most revisions list no schema but that of an object. What is left out of an input schema is
/// left out here, too.
#[must_use]
pub fn output_schema(root: schemars::Schema) -> Value {
    let mut schema = bare(root);
    for _ in 0..MAX_HOPS {
        if schema.contains_key("anyOf") {
            break;
        }
        let Some(inner) = stands_for(&schema) else {
            break;
        };
        schema = inner;
    }
    let schema = Value::Object(schema);
    if schema.get("type").is_some() || !is_object(&schema, &schema, 0) {
        return schema;
    }
    let mut object = Map::from_iter([("type".to_owned(), json!("object"))]);
    object.extend(schema.as_object().cloned().unwrap_or_default());
    Value::Object(object)
}

/// Does the schema take nothing but objects, as far as can be told?
fn is_object(schema: &Value, root: &Value, hops: usize) -> bool {
    if let Some(kind) = schema.get("type") {
        return kind == "object";
    }
    let target = || {
        let pointer = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
        root.pointer(pointer)
    };
    if let Some(target) = target().filter(|_| hops < MAX_HOPS) {
        return is_object(target, root, hops + 1);
    }
    let forms = schema.get("oneOf").or_else(|| schema.get("anyOf"));
    forms.and_then(Value::as_array).is_some_and(|forms| {
        hops < MAX_HOPS && forms.iter().all(|form| is_object(form, root, hops + 1))
    })
}

/// The schema as an object, without what only repeats the name of the type or the default dialect.
fn bare(root: schemars::Schema) -> Map<String, Value> {
    // Not `to_value`, which skips the order in which a schema reads well: description, type, properties, …, $defs.
    let root = serde_json::to_value(root).expect("a schema is made of JSON");
    let mut schema = match root {
        Value::Object(schema) => schema,
        Value::Bool(false) => Map::from_iter([("not".to_owned(), json!({}))]),
        _ => Map::new(),
    };
    if schema
        .get("$schema")
        .is_some_and(|dialect| dialect == DEFAULT_DIALECT)
    {
        schema.shift_remove("$schema");
    }
    schema.shift_remove("title");
    let mut schema = Value::Object(schema);
    drop_number_formats(&mut schema);
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

/// Leaves out what Rust calls its numbers (`uint32`, `double`): no dialect of JSON Schema knows it, some hosts refuse it, and the
/// bounds stand beside it.
fn drop_number_formats(schema: &mut Value) {
    let Some(keywords) = schema.as_object_mut() else {
        return;
    };
    let is_ours = keywords
        .get("format")
        .and_then(Value::as_str)
        .is_some_and(|format| {
            let bits = format.trim_start_matches('u').strip_prefix("int");
            bits.is_some_and(|bits| bits.bytes().all(|byte| byte.is_ascii_digit()))
                || matches!(format, "float" | "double")
        });
    if is_ours {
        keywords.shift_remove("format");
    }
    for (_, path) in subschemas(keywords) {
        if let Some(inner) = schema.pointer_mut(&path) {
            drop_number_formats(inner);
        }
    }
}

/// The schema behind a root that is nothing but a reference or an `Option`, with what stands beside it.
fn stands_for(schema: &Map<String, Value>) -> Option<Map<String, Value>> {
    let (keyword, inner) = if let Some(branches) = schema.get("anyOf") {
        let [a, b] = branches.as_array()?.as_slice() else {
            return None;
        };
        let null = json!({ "type": "null" });
        (
            "anyOf",
            if *b == null {
                a
            } else if *a == null {
                b
            } else {
                return None;
            },
        )
    } else {
        let name = schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?;
        ("$ref", schema.get("$defs")?.get(name)?)
    };
    let beside = |key: &String| {
        matches!(
            key.as_str(),
            "description" | "default" | "examples" | "$defs" | "$schema"
        )
    };
    if !schema.keys().all(|key| key == keyword || beside(key)) {
        return None;
    }
    let mut whole = inner.as_object()?.clone();
    whole.shift_remove("title");
    for (key, value) in schema {
        if key != keyword {
            whole.insert(key.clone(), value.clone());
        }
    }
    if keyword == "$ref" {
        drop_unused(&mut whole, schema.get("$ref")?.as_str()?);
    }
    Some(whole)
}

fn drop_unused(schema: &mut Map<String, Value>, reference: &str) {
    if schema.values().any(|value| refers_to(value, reference)) {
        return;
    }
    let Some(Value::Object(definitions)) = schema.get_mut("$defs") else {
        return;
    };
    definitions.shift_remove(reference.trim_start_matches("#/$defs/"));
    if definitions.is_empty() {
        schema.shift_remove("$defs");
    }
}

fn refers_to(value: &Value, reference: &str) -> bool {
    match value {
        Value::Object(fields) => fields.iter().any(|(key, value)| {
            (key == "$ref" && value == reference) || refers_to(value, reference)
        }),
        Value::Array(items) => items.iter().any(|item| refers_to(item, reference)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Closes the objects of a schema made from Rust types: `additionalProperties: false` wherever a schema lists `properties`
/// and does not itself say what else there may be. A model that misspells an optional argument then hears of it.
///
/// Left open are objects whose properties are listed in several places, as with `#[serde(flatten)]` of an enum and with
/// newtype variants of internally tagged enums, where closing one place would shut out the properties of the other;
/// maps; and whatever stands under `not`, `if`, `contains` or `propertyNames`.
///
/// The schema does not show a `#[serde(alias)]`, so a closed object refuses it.
pub fn close(schema: &mut Value) {
    let mut survey = Survey {
        root: schema,
        open: HashSet::new(),
        seen: HashSet::new(),
    };
    survey.visit(schema, "", Place::Alone);
    let Survey { open, .. } = survey;
    close_at(schema, "", &open);
}

/// How the properties of a schema relate to those of others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Place {
    Alone,
    /// Applied to the same object as a schema with properties of its own.
    Joined,
    /// Closing anything here could turn a yes into a no, or a no into a yes.
    Frozen,
}

/// Finds the schemas that have to stay open, by pointer: a definition may be open for the sake of one of its users.
struct Survey<'s> {
    root: &'s Value,
    open: HashSet<String>,
    seen: HashSet<(String, Place)>,
}

impl<'s> Survey<'s> {
    fn visit(&mut self, schema: &'s Value, pointer: &str, place: Place) {
        let Some(keywords) = schema.as_object() else {
            return;
        };
        if !self.seen.insert((pointer.to_owned(), place)) {
            return;
        }
        let applied = keywords
            .keys()
            .filter(|keyword| is_joining(keyword))
            .count();
        if applied > 0 || place != Place::Alone {
            self.open.insert(pointer.to_owned());
        }
        let several = applied > 1 || OWN.iter().any(|keyword| keywords.contains_key(*keyword));
        let applied_place = if several {
            place.max(Place::Joined)
        } else {
            place
        };
        for (keyword, path) in subschemas(keywords) {
            let Some(inner) = schema.pointer(&path) else {
                continue;
            };
            let inner_place = match keyword {
                "not" | "if" | "contains" | "propertyNames" => Place::Frozen,
                "then" | "else" | "dependentSchemas" => place.max(Place::Joined),
                "allOf"
                    if keywords["allOf"]
                        .as_array()
                        .is_some_and(|all| all.len() > 1) =>
                {
                    place.max(Place::Joined)
                }
                _ if is_joining(keyword) => applied_place,
                _ if place == Place::Frozen => Place::Frozen,
                _ => Place::Alone,
            };
            self.visit(inner, &format!("{pointer}{path}"), inner_place);
        }
        if let Some(target) = keywords
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|it| it.strip_prefix('#'))
            && let Some(inner) = self.root.pointer(target)
        {
            self.visit(inner, target, applied_place);
        }
    }
}

fn close_at(schema: &mut Value, pointer: &str, open: &HashSet<String>) {
    let Some(keywords) = schema.as_object_mut() else {
        return;
    };
    let stated = ["additionalProperties", "unevaluatedProperties"]
        .iter()
        .any(|keyword| keywords.contains_key(*keyword));
    if keywords.get("properties").is_some_and(Value::is_object)
        && !stated
        && !open.contains(pointer)
    {
        keywords.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    for (_, path) in subschemas(keywords) {
        if let Some(inner) = schema.pointer_mut(&path) {
            close_at(inner, &format!("{pointer}{path}"), open);
        }
    }
}

/// The keyword and the pointer of every schema directly inside. Values that merely look like schemas (`default`, `enum`,
/// a property called `items`) are not among them.
fn subschemas(keywords: &Map<String, Value>) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for (keyword, shape) in APPLICATORS {
        match (shape, keywords.get(*keyword)) {
            (Shape::One, Some(Value::Object(_))) => found.push((*keyword, format!("/{keyword}"))),
            (Shape::One | Shape::List, Some(Value::Array(items))) => {
                found.extend(
                    (0..items.len()).map(|index| (*keyword, format!("/{keyword}/{index}"))),
                );
            }
            (Shape::Named, Some(Value::Object(fields))) => {
                let escaped = fields
                    .keys()
                    .map(|name| name.replace('~', "~0").replace('/', "~1"));
                found.extend(escaped.map(|name| (*keyword, format!("/{keyword}/{name}"))));
            }
            _ => {}
        }
    }
    found
}

/// Whether a keyword applies a schema, with its properties, to the same object.
fn is_joining(keyword: &str) -> bool {
    let applicators = [
        "allOf",
        "anyOf",
        "oneOf",
        "then",
        "else",
        "dependentSchemas",
        "$ref",
        "$dynamicRef",
    ];
    applicators.contains(&keyword)
}

enum Shape {
    /// A schema; for `items` of older dialects also a list.
    One,
    List,
    Named,
}

const APPLICATORS: &[(&str, Shape)] = &[
    ("$defs", Shape::Named),
    ("additionalItems", Shape::One),
    ("additionalProperties", Shape::One),
    ("allOf", Shape::List),
    ("anyOf", Shape::List),
    ("contains", Shape::One),
    ("definitions", Shape::Named),
    ("dependentSchemas", Shape::Named),
    ("else", Shape::One),
    ("if", Shape::One),
    ("items", Shape::One),
    ("not", Shape::One),
    ("oneOf", Shape::List),
    ("patternProperties", Shape::Named),
    ("prefixItems", Shape::List),
    ("properties", Shape::Named),
    ("propertyNames", Shape::One),
    ("then", Shape::One),
    ("unevaluatedItems", Shape::One),
    ("unevaluatedProperties", Shape::One),
];

/// Keywords by which a schema speaks of the properties of its object itself.
const OWN: [&str; 4] = [
    "properties",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
];

/// Keywords that give an object something to say, without which a type has no fields.
const OPENING: [&str; 15] = [
    "$dynamicRef",
    "$ref",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "dependentSchemas",
    "enum",
    "if",
    "maxProperties",
    "oneOf",
    "patternProperties",
    "properties",
    "propertyNames",
    "unevaluatedProperties",
];

const DEFAULT_DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// How many references and options deep a root may hide.
const MAX_HOPS: usize = 8;
