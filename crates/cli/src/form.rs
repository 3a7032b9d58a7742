//! The schema of a tool's arguments as a form that people read, and words that fit it.

use serde_json::{Map, Value, json};

use crate::kinds::{choice, kinds, types};
use crate::places::{Reading, Said, Step};
use crate::references::resolve;
use crate::table::Table;
use crate::ui;
use crate::written::{Written, shown};

/// Members within members that are shown.
const DEPTH: usize = 4;
/// Rows of one form.
const ROWS: usize = 200;
/// Characters of a schema in short.
const SHORT: usize = 300;
/// What a schema says of the room that it leaves, and how it is shown.
const BOUNDS: [(&str, &str); 10] = [
    ("minimum", ">= "),
    ("exclusiveMinimum", "> "),
    ("maximum", "<= "),
    ("exclusiveMaximum", "< "),
    ("multipleOf", "multiple of "),
    ("minLength", "at least "),
    ("maxLength", "at most "),
    ("minItems", "at least "),
    ("maxItems", "at most "),
    ("pattern", "like "),
];

/// The arguments: a row for each, members of members by their dotted names.
pub(crate) fn table(schema: &Value, written: &Written) -> Table {
    let mut table = Table::new([
        "argument",
        "type",
        "required",
        "default",
        "one of",
        "description",
    ]);
    let reading = Reading::of(schema);
    let whole = (reading.whole(), written.clone());
    rows(&reading, &whole, "", 0, &mut table);
    table
}

/// A place, and how what a schema says of it is written.
type Place<'a> = (Said<'a>, Written);

fn rows(
    reading: &Reading<'_>,
    (at, written): &Place<'_>,
    before: &str,
    depth: usize,
    table: &mut Table,
) {
    let required = reading.required(at);
    for member in reading.names(at) {
        if table.len() >= ROWS {
            return;
        }
        let place = reading.at(at, Step::Member(member));
        let property = reading.told(&place);
        let written = written.property(member);
        let name = format!("{before}{member}");
        let is_required = required.contains(&member);
        let values = match choice(reading, &place) {
            Some(_) => kinds(reading, &place).join(", "),
            None => String::new(),
        };
        let default = property.get("default");
        let default = default.map(|read| shown(&written.text("default", read)));
        table.row([
            name.clone(),
            kind(reading, &place, &property, &written),
            if is_required { "yes" } else { "" }.to_owned(),
            default.unwrap_or_default(),
            values,
            text(&property["description"])
                .or_else(|| text(&property["title"]))
                .unwrap_or_default()
                .to_owned(),
        ]);
        if depth < DEPTH {
            let items = (reading.at(&place, Step::LAST), written.items());
            let place = (place, written);
            rows(reading, &place, &format!("{name}."), depth + 1, table);
            rows(reading, &items, &format!("{name}[]."), depth + 1, table);
        }
    }
}

/// What a value is, in words: `integer, >= 1`.
fn kind(reading: &Reading<'_>, place: &Said<'_>, schema: &Value, written: &Written) -> String {
    let mut names: Vec<String> = Vec::new();
    for name in types(reading, place) {
        let of = match name {
            "array" => reading.at(place, Step::LAST),
            "object" if schema["additionalProperties"].is_object() => {
                Said::Schema(&schema["additionalProperties"])
            }
            _ => Said::Nothing,
        };
        names.push(match of {
            Said::Nothing => name.to_owned(),
            of => format!("{name} of {}", types(reading, &of).join(" or ")),
        });
    }
    let mut kind = names.join(" or ");
    if let Some(format) = text(&schema["format"]) {
        kind += &format!(", {format}");
    }
    for (keyword, word) in BOUNDS {
        if let Some(bound) = schema.get(keyword) {
            kind += &format!(", {word}{}", shown(&written.text(keyword, bound)));
        }
    }
    kind
}

/// A schema on one line: `{sum: number, note?: string}`.
pub(crate) fn short(schema: &Value) -> String {
    let mut out = String::new();
    let reading = Reading::of(schema);
    shortened(&reading, &reading.whole(), 0, &mut out);
    if out.chars().count() > SHORT {
        out = out.chars().take(SHORT).collect();
        out.push('…');
    }
    out
}

fn shortened(reading: &Reading<'_>, place: &Said<'_>, depth: usize, out: &mut String) {
    if out.len() > SHORT * 4 {
        return;
    }
    let types = types(reading, place);
    let is = |name: &str| depth < DEPTH && types.contains(&name);
    let names = Some(reading.names(place)).filter(|names| is("object") && !names.is_empty());
    let items = Some(reading.at(place, Step::LAST)).filter(|_| is("array"));
    if let Some(names) = names {
        let required = reading.required(place);
        out.push('{');
        for (nth, name) in names.into_iter().enumerate() {
            let comma = if nth > 0 { ", " } else { "" };
            let optional = if required.contains(&name) { "" } else { "?" };
            out.push_str(&format!("{comma}{name}{optional}: "));
            let member = reading.at(place, Step::Member(name));
            shortened(reading, &member, depth + 1, out);
        }
        out.push('}');
    } else if let Some(items) = items.filter(|items| !matches!(items, Said::Nothing)) {
        out.push('[');
        shortened(reading, &items, depth + 1, out);
        out.push(']');
    } else {
        out.push_str(&kinds(reading, place).join("|"));
    }
}

/// Arguments that fit, as far as the schema says what does: those that are required.
pub(crate) fn example(schema: &Value) -> Map<String, Value> {
    match example_of(schema, &resolve(schema, schema), "", 0) {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

fn example_of(root: &Value, schema: &Value, name: &str, depth: usize) -> Value {
    let given = ["const", "default"].iter().find_map(|key| schema.get(*key));
    let listed = ["examples", "enum"]
        .iter()
        .find_map(|key| schema[*key].as_array()?.first());
    if let Some(value) = given.or(listed) {
        return value.clone();
    }
    for union in ["oneOf", "anyOf"] {
        if let Some(part) = schema[union].as_array().and_then(|parts| parts.first())
            && depth < DEPTH
        {
            return example_of(root, &resolve(root, part), name, depth + 1);
        }
    }
    let types = types(&Reading::of(root), &Said::Schema(schema));
    match types.first().copied().unwrap_or("string") {
        "object" => {
            let mut members = Map::new();
            for name in required(schema).filter(|_| depth < DEPTH) {
                let property = resolve(root, &schema["properties"][name]);
                let value = example_of(root, &property, name, depth + 1);
                members.insert(name.to_owned(), value);
            }
            Value::Object(members)
        }
        "array" => {
            let least = schema["minItems"].as_u64().unwrap_or(1).clamp(1, 8);
            let items = resolve(root, &schema["items"]);
            let one = |_| example_of(root, &items, "text", depth + 1);
            Value::Array((0..least).map(one).collect())
        }
        "boolean" => json!(false),
        "null" => Value::Null,
        "integer" | "number" => number(schema),
        _ => json!(string(schema, name)),
    }
}

fn number(schema: &Value) -> Value {
    let bound = |key: &str| schema[key].as_f64();
    let least = bound("minimum").or_else(|| bound("exclusiveMinimum").map(|least| least + 1.0));
    let most = bound("maximum").or_else(|| bound("exclusiveMaximum").map(|most| most - 1.0));
    let mut value = bound("multipleOf").unwrap_or(1.0);
    value = value.max(least.unwrap_or(value));
    value = value.min(most.unwrap_or(value));
    #[allow(
        clippy::cast_possible_truncation,
        reason = "an example; it is checked as a whole"
    )]
    if value.fract() == 0.0 {
        json!(value as i64)
    } else {
        json!(value)
    }
}

fn string(schema: &Value, name: &str) -> String {
    let text = match schema["format"].as_str() {
        Some("date-time") => "2026-01-31T12:00:00Z",
        Some("date") => "2026-01-31",
        Some("time") => "12:00:00Z",
        Some("email") => "ada@example.com",
        Some("uri" | "url" | "iri") => "https://example.com/",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        _ if name.is_empty() => "text",
        _ => name,
    };
    let least = schema["minLength"].as_u64().unwrap_or(0).min(1_000);
    let most = schema["maxLength"].as_u64().unwrap_or(u64::MAX);
    let mut text = text.to_owned();
    while (text.chars().count() as u64) < least {
        text.push('x');
    }
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    text.chars().take(most).collect()
}

/// The words of a command line that mean these arguments, quoted for a shell.
pub(crate) fn words(arguments: &Map<String, Value>, schema: &Value) -> Vec<String> {
    let mut out = Vec::new();
    if flat(arguments, "", &mut out).is_some() {
        let means = crate::arguments::parse(&out, schema);
        let means = means
            .ok()
            .and_then(|means| serde_json::to_value(means).ok());
        if means.is_some_and(|means| means.as_object() == Some(arguments)) {
            return out.iter().map(|word| ui::word(word)).collect();
        }
    }
    let all = Value::Object(arguments.clone()).to_string();
    vec!["--args".to_owned(), ui::word(&all)]
}

/// None: names that are no path.
fn flat(members: &Map<String, Value>, before: &str, out: &mut Vec<String>) -> Option<()> {
    for (name, value) in members {
        if name.is_empty() || name.contains(['.', '=', '[']) || name.ends_with(':') {
            return None;
        }
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                flat(inner, &format!("{before}{name}."), out)?;
            }
            Value::String(text) if !text.starts_with('@') => {
                out.push(format!("{before}{name}={text}"));
            }
            Value::Number(_) | Value::Bool(_) => out.push(format!("{before}{name}={value}")),
            _ => out.push(format!("{before}{name}:={value}")),
        }
    }
    Some(())
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    let names = schema["required"].as_array().into_iter().flatten();
    names.filter_map(Value::as_str)
}

fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use polyport::schema::Validator;

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "Who."},
                "cups": {"type": "integer", "minimum": 2, "maximum": 12, "default": 2},
                "drink": {"enum": ["tea", "coffee"]},
                "at": {"$ref": "#/$defs/Place"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "stops": {"type": "array", "items": {"$ref": "#/$defs/Place"}},
            },
            "required": ["name", "drink", "at", "tags"],
            "$defs": {"Place": {
                "type": "object", "required": ["lat"],
                "properties": {"lat": {"type": "number", "minimum": -90}, "near": {"$ref": "#/$defs/Place"}},
            }},
        })
    }

    // req: S-SHOW
    #[test]
    fn a_form_has_a_row_for_each_place() {
        let written = Written::new(&crate::pieces::value(&schema()));
        let form = table(&schema(), &written).without_empty().wrapped(None, "");
        let first: Vec<&str> = form.lines().take(6).collect();
        assert_eq!(
            first,
            [
                "argument                     type                  required  default  one of       description",
                "name                         string                yes                             Who.",
                "cups                         integer, >= 2, <= 12            2",
                "drink                        string                yes                tea, coffee",
                "at                           object                yes",
                "at.lat                       number, >= -90        yes",
            ]
        );
        // A form of itself ends.
        assert!(
            form.contains("\nat.near.near.near.near ")
                && !form.contains("near.near.near.near.near")
        );
        assert!(form.contains("\nstops[].lat "), "{form}");
    }

    // req: S-SHOW
    #[test]
    fn examples_fit() {
        let rows = [
            (schema(), "name=name drink=tea at.lat=1 'tags:=[\"text\"]'"),
            (
                json!({"properties": {"a.b": {"type": "string"}}, "required": ["a.b"]}),
                "--args '{\"a.b\":\"a.b\"}'",
            ),
            (
                json!({"properties": {"n": {"type": "integer", "exclusiveMinimum": 5}, "s": {"type": "string", "minLength": 3}},
                    "required": ["n", "s"]}),
                "n=6 s=sxx",
            ),
            (
                json!({"properties": {"v": {"anyOf": [{"type": "null"}, {"type": "string"}]}}, "required": ["v"]}),
                "v:=null",
            ),
            (
                json!({"properties": {"u": {"type": "string", "format": "uri"}}, "required": ["u"]}),
                "u=https://example.com/",
            ),
            (json!({"type": "object"}), ""),
        ];
        for (schema, want) in rows {
            let arguments = example(&schema);
            let text = Value::Object(arguments.clone()).to_string();
            let verdict = Validator::new(&schema).unwrap().check(&text);
            assert!(verdict.is_ok(), "{text}: {verdict:?}");
            assert_eq!(words(&arguments, &schema).join(" "), want);
        }
    }

    #[test]
    fn in_short() {
        assert_eq!(
            short(
                &json!({"type": "object", "required": ["sum"], "properties": {
                    "sum": {"type": "number"}, "of": {"type": "array", "items": {"type": "integer"}},
                    "how": {"enum": ["a", "b"]},
                }})
            ),
            "{sum: number, of?: [integer], how?: a|b}"
        );
    }
}
