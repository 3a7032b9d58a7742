//! Forms: the flat schemas that a user may be asked to fill in (client/elicitation, Requested Schema), from Rust types or by hand, in
//! the words of a revision; and the check of what was filled in.

use polyport_model::Field;
use polyport_proto::revision::Profile;
use polyport_wire::Raw;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::AskError;
use crate::decode::decode;
use crate::schema::Validator;

/// Keywords that a field of a form may have, by its type.
const TEXT: [&str; 6] = [
    "title",
    "description",
    "minLength",
    "maxLength",
    "format",
    "default",
];
const NUMBER: [&str; 5] = ["title", "description", "minimum", "maximum", "default"];
const BOOLEAN: [&str; 3] = ["title", "description", "default"];
const CHOICES: [&str; 5] = ["title", "description", "minItems", "maxItems", "default"];
/// The formats of texts that clients know.
const FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];

/// The form of a struct.
pub(crate) fn of_type<T: JsonSchema>(profile: &Profile) -> Result<Value, AskError> {
    let schema = schemars::SchemaGenerator::default().into_root_schema_for::<T>();
    of_schema(schema.to_value(), profile)
}

/// The form of a schema. Public for the fuzzer alone, which holds every form to the specification's.
pub fn of_schema(mut schema: Value, profile: &Profile) -> Result<Value, AskError> {
    let definitions = schema.get_mut("$defs").map(Value::take).unwrap_or_default();
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Err(AskError::internal("a form is a struct with named fields"));
    };
    let mut fields = Map::new();
    let mut optional = Vec::new();
    for (name, property) in properties {
        let (field, may_be_absent) = resolve(property, &definitions);
        let field = write_field(&field, &definitions, profile)
            .and_then(check_field)
            .map_err(|why| AskError::internal(format!("field {name:?} of a form: {why}")))?;
        if may_be_absent {
            optional.push(name.clone());
        }
        fields.insert(name.clone(), field);
    }
    let required: Vec<_> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|name| name.as_str().is_some_and(|name| fields.contains_key(name)))
        .filter(|name| !optional.iter().any(|o| *name == o))
        .cloned()
        .collect();
    let mut form = json!({"type": "object", "properties": fields});
    if !required.is_empty() {
        form["required"] = Value::Array(required);
    }
    Ok(form)
}

/// A property with its references followed and `null` taken out; true: it may be absent.
fn resolve(property: &Value, definitions: &Value) -> (Map<String, Value>, bool) {
    let mut field = property.as_object().cloned().unwrap_or_default();
    let mut absent = false;
    // A chain of references is as deep as the type is; a circle is no form.
    for _ in 0..16 {
        let inner = if let Some(target) = field.get("$ref").and_then(Value::as_str) {
            let name = target.trim_start_matches("#/$defs/");
            definitions.get(name).cloned()
        } else if let Some(parts) = field
            .get("anyOf")
            .and_then(Value::as_array)
            .filter(|parts| parts.len() == 2)
        {
            absent = true;
            parts
                .iter()
                .find(|part| part.get("type").is_none_or(|t| *t != "null"))
                .cloned()
        } else {
            break;
        };
        let (Some(Value::Object(mut inner)), _) = (inner, ()) else {
            break;
        };
        // What is said where it is used wins over what is said where it is defined.
        for (key, value) in field {
            if key != "$ref" && key != "anyOf" {
                inner.insert(key, value);
            }
        }
        field = inner;
    }
    if let Some(Value::Array(types)) = field.get("type") {
        absent |= types.iter().any(|t| t == "null");
        if let Some(one) = types.iter().find(|t| *t != "null").cloned() {
            field.insert("type".to_owned(), one);
        }
    }
    if field.get("default").is_some_and(Value::is_null) {
        field.remove("default");
    }
    (field, absent)
}

fn write_field(
    field: &Map<String, Value>,
    definitions: &Value,
    profile: &Profile,
) -> Result<Value, String> {
    if let Some(choices) = choices(field) {
        let mut out = kept(field, "string", &BOOLEAN);
        write_choices(&mut out, &choices, profile);
        if let (Some(names), false) = (field.get("enumNames"), out.contains_key("oneOf")) {
            out.insert("enumNames".to_owned(), names.clone());
        }
        return Ok(Value::Object(out));
    }
    match field.get("type").and_then(Value::as_str) {
        Some("string") => {
            let mut out = kept(field, "string", &TEXT);
            let known = |format: &Value| FORMATS.iter().any(|known| format == known);
            if out.get("format").is_some_and(|format| !known(format)) {
                out.remove("format");
            }
            Ok(Value::Object(out))
        }
        Some(kind @ ("number" | "integer")) => Ok(Value::Object(kept(field, kind, &NUMBER))),
        Some("boolean") => Ok(Value::Object(kept(field, "boolean", &BOOLEAN))),
        Some("array") => {
            let (items, _) = resolve(field.get("items").unwrap_or(&Value::Null), definitions);
            let choices = choices(&items).ok_or("a list must be one of choices (an enum)")?;
            if !profile.titled_choices {
                return Err("this client's revision has no lists of choices".to_owned());
            }
            let mut out = kept(field, "array", &CHOICES);
            let mut items = Map::new();
            if choices.iter().any(|choice| choice.1.is_some()) {
                items.insert("anyOf".to_owned(), titled(&choices));
            } else {
                items.insert("type".to_owned(), "string".into());
                items.insert("enum".to_owned(), plain(&choices));
            }
            out.insert("items".to_owned(), Value::Object(items));
            Ok(Value::Object(out))
        }
        _ => Err("only texts, numbers, booleans, choices (enums) and lists of choices".to_owned()),
    }
}

/// A schema may say of a field what no form can: a length that is no whole number, a default of another type.
fn check_field(field: Value) -> Result<Value, String> {
    match serde_json::from_value::<Field>(field.clone()) {
        Ok(_) => Ok(field),
        Err(error) => Err(error.to_string()),
    }
}

/// A word and what it is called.
type Choice = (String, Option<String>);

/// The words of an enum: `enum`, or a `oneOf` or `anyOf` of constants.
fn choices(field: &Map<String, Value>) -> Option<Vec<Choice>> {
    if let Some(Value::Array(words)) = field.get("enum") {
        return words
            .iter()
            .map(|word| Some((word.as_str()?.to_owned(), None)))
            .collect();
    }
    let parts = field.get("oneOf").or_else(|| field.get("anyOf"))?;
    let mut choices = Vec::new();
    for part in parts.as_array()? {
        let title = part.get("title").or_else(|| part.get("description"));
        let title = title.and_then(Value::as_str).map(str::to_owned);
        if let Some(word) = part.get("const").and_then(Value::as_str) {
            choices.push((word.to_owned(), title));
        } else {
            let words = part.get("enum")?.as_array()?;
            for word in words {
                choices.push((word.as_str()?.to_owned(), None));
            }
        }
    }
    Some(choices)
}

fn write_choices(out: &mut Map<String, Value>, choices: &[Choice], profile: &Profile) {
    let has_titles = choices.iter().any(|choice| choice.1.is_some());
    if has_titles && profile.titled_choices {
        out.insert("oneOf".to_owned(), titled(choices));
        return;
    }
    out.insert("enum".to_owned(), plain(choices));
    if has_titles {
        let names = choices
            .iter()
            .map(|(word, title)| title.as_ref().unwrap_or(word));
        out.insert("enumNames".to_owned(), names.cloned().collect());
    }
}

fn plain(choices: &[Choice]) -> Value {
    choices.iter().map(|(word, _)| word.clone()).collect()
}

fn titled(choices: &[Choice]) -> Value {
    choices
        .iter()
        .map(|(word, title)| json!({"const": word, "title": title.as_ref().unwrap_or(word)}))
        .collect()
}

fn kept(field: &Map<String, Value>, kind: &str, keys: &[&str]) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("type".to_owned(), kind.into());
    for key in keys {
        if let Some(value) = field.get(*key) {
            out.insert((*key).to_owned(), value.clone());
        }
    }
    out
}

/// Reads what was filled in, checked against the form.
pub(crate) fn read<T: DeserializeOwned>(form: &Value, content: &Raw) -> Result<T, AskError> {
    let validator = Validator::new(form).map_err(AskError::internal)?;
    validator
        .check(content.as_str())
        .map_err(AskError::unreadable)?;
    decode(content.as_str()).map_err(AskError::unreadable)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use polyport_proto::Revision;
    use serde::Deserialize;

    use super::*;

    /// Which way.
    #[derive(Debug, Deserialize, JsonSchema, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Way {
        North,
        South,
    }

    #[derive(Debug, Deserialize, JsonSchema, PartialEq)]
    enum Titled {
        /// The first one
        A,
        /// The second one
        B,
    }

    fn thirty() -> u8 {
        30
    }

    #[derive(Debug, Deserialize, JsonSchema, PartialEq)]
    struct Every {
        /// Your name
        #[schemars(length(min = 1, max = 20))]
        name: String,
        #[schemars(email)]
        mail: Option<String>,
        #[serde(default = "thirty")]
        age: u8,
        ratio: f64,
        sure: bool,
        way: Way,
        maybe: Option<Way>,
        titled: Titled,
    }

    #[test]
    fn a_struct_is_a_form_in_each_revision() {
        let new = of_type::<Every>(Revision::LATEST.profile()).unwrap();
        assert_eq!(
            new,
            json!({
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "Your name", "minLength": 1, "maxLength": 20},
                    "mail": {"type": "string", "format": "email"},
                    "age": {"type": "integer", "minimum": 0, "maximum": 255, "default": 30},
                    "ratio": {"type": "number"},
                    "sure": {"type": "boolean"},
                    "way": {"type": "string", "description": "Which way.", "enum": ["north", "south"]},
                    "maybe": {"type": "string", "description": "Which way.", "enum": ["north", "south"]},
                    "titled": {"type": "string", "oneOf": [
                        {"const": "A", "title": "The first one"}, {"const": "B", "title": "The second one"}]},
                },
                "required": ["name", "ratio", "sure", "way", "titled"],
            })
        );
        let old = of_type::<Every>(Revision::V2025_06_18.profile()).unwrap();
        assert_eq!(
            old["properties"]["titled"],
            json!({"type": "string", "enum": ["A", "B"], "enumNames": ["The first one", "The second one"]})
        );
        // Each is a form as the specification knows it.
        for form in [new, old] {
            serde_json::from_value::<polyport_model::FormSchema>(form).unwrap();
        }
    }

    #[test]
    fn what_no_form_may_say_is_left_out() {
        let schema = json!({"$schema": "x", "title": "T", "additionalProperties": false, "properties": {
            "a": {"type": "string", "pattern": "^a", "examples": ["a"], "writeOnly": true},
            "b": {"type": "integer", "multipleOf": 2, "exclusiveMinimum": 0, "minimum": 0},
        }});
        for revision in [Revision::V2025_06_18, Revision::LATEST] {
            let form = of_schema(schema.clone(), revision.profile()).unwrap();
            let want = json!({"type": "object", "properties": {
                "a": {"type": "string"}, "b": {"type": "integer", "minimum": 0}}});
            assert_eq!(form, want);
        }
    }

    #[test]
    fn lists_of_choices_are_for_revisions_that_have_them() {
        #[derive(Deserialize, JsonSchema)]
        struct Ways {
            #[expect(dead_code, reason = "only its schema is looked at")]
            ways: Vec<Way>,
        }
        let form = of_type::<Ways>(Revision::LATEST.profile()).unwrap();
        assert_eq!(
            form["properties"]["ways"],
            json!({"type": "array", "items": {"type": "string", "enum": ["north", "south"]}})
        );
        let error = of_type::<Ways>(Revision::V2025_06_18.profile()).unwrap_err();
        assert!(error.to_string().contains("\"ways\""), "{error}");
    }

    #[test]
    fn what_is_no_form_is_named() {
        for (schema, words) in [
            (json!({"type": "string"}), "named fields"),
            (json!({"properties": {"a": {"type": "object"}}}), "\"a\""),
            (
                json!({"properties": {"a": {"type": "array", "items": {"type": "string"}}}}),
                "choices",
            ),
            (
                json!({"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/A"}}}),
                "\"a\"",
            ),
            (json!({"properties": {"a": true}}), "\"a\""),
            (
                json!({"properties": {"a": {"type": "string", "minLength": 1.5}}}),
                "\"a\"",
            ),
            (
                json!({"properties": {"a": {"type": "boolean", "default": "yes"}}}),
                "\"a\"",
            ),
            (
                json!({"properties": {"a": {"enum": ["x"], "enumNames": 7}}}),
                "\"a\"",
            ),
        ] {
            let error = of_schema(schema.clone(), Revision::LATEST.profile()).unwrap_err();
            assert!(error.to_string().contains(words), "{schema}: {error}");
        }
    }

    #[test]
    fn what_is_required_is_a_field() {
        let schema = json!({"properties": {"a": {"type": "string"}}, "required": ["b", 1, "a"]});
        let form = of_schema(schema, Revision::LATEST.profile()).unwrap();
        assert_eq!(form["required"], json!(["a"]));
    }

    #[test]
    fn what_was_filled_in_is_checked() {
        let form = of_type::<Every>(Revision::LATEST.profile()).unwrap();
        let good =
            json!({"name": "Ada", "ratio": 0.5, "sure": true, "way": "north", "titled": "B"});
        let read = |value: &Value| read::<Every>(&form, &Raw::encode(value).unwrap());
        let every = read(&good).unwrap();
        assert_eq!(
            (every.age, every.maybe, every.titled),
            (30, None, Titled::B)
        );
        for (key, value) in [
            ("name", json!("")),
            ("name", json!(7)),
            ("age", json!(300)),
            ("way", json!("up")),
            ("ratio", json!("1")),
            ("sure", Value::Null),
        ] {
            let mut bad = good.clone();
            bad[key] = value;
            let error = read(&bad).unwrap_err();
            assert!(error.to_string().contains("does not fit"), "{bad}: {error}");
        }
    }
}
