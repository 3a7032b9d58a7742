//! Owns the flat schema of an elicitation form and its fields (`client/elicitation` §Requested
//! Schema). Does not show or check them.

use polyport_wire::Raw;
use serde_core::de::{Deserialize, Deserializer, Error};
use serde_core::ser::{Serialize, Serializer};
use serde_json::Number;

use crate::shape::object;
use crate::word::word;
use crate::{Object, peek};

/// The fields of a form.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FormSchema {
    /// The schema's dialect.
    pub dialect: Option<String>,
    /// The fields, in the order in which to show them.
    pub properties: Object<Field>,
    /// Those that must be filled in.
    pub required: Option<Vec<String>>,
    /// Members unknown here.
    pub extra: Object,
}

object!(FormSchema: "type" = "object" {
    optional dialect "$schema",
    required properties "properties",
    optional required "required",
});

impl FormSchema {
    /// Whether this field must be filled in.
    pub fn requires(&self, field: &str) -> bool {
        self.required.iter().flatten().any(|name| name == field)
    }
}

/// One field of a form.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    /// Text.
    Text(TextField),
    /// A number.
    Number(NumberField),
    /// Yes or no.
    Boolean(BooleanField),
    /// One of several choices.
    Select(SelectField),
    /// Any of several choices.
    MultiSelect(MultiSelectField),
    /// A field of a kind unknown here.
    Unknown(Raw),
}

impl Serialize for Field {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(field) => field.serialize(serializer),
            Self::Number(field) => field.serialize(serializer),
            Self::Boolean(field) => field.serialize(serializer),
            Self::Select(field) => field.serialize(serializer),
            Self::MultiSelect(field) => field.serialize(serializer),
            Self::Unknown(raw) => raw.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Raw::deserialize(deserializer)?;
        let field = match peek::word(&raw, "type").as_deref() {
            Some("string") if peek::has(&raw, "enum") || peek::has(&raw, "oneOf") => {
                raw.decode().map(Self::Select)
            }
            Some("string") => raw.decode().map(Self::Text),
            Some("number" | "integer") => raw.decode().map(Self::Number),
            Some("boolean") => raw.decode().map(Self::Boolean),
            Some("array") => raw.decode().map(Self::MultiSelect),
            _ => Ok(Self::Unknown(raw)),
        };
        field.map_err(D::Error::custom)
    }
}

/// A field for text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextField {
    /// Its name for people.
    pub title: Option<String>,
    /// What to fill in.
    pub description: Option<String>,
    /// The fewest characters.
    pub min_length: Option<i64>,
    /// The most characters.
    pub max_length: Option<i64>,
    /// What kind of text.
    pub format: Option<TextFormat>,
    /// What is filled in from the start.
    pub default: Option<String>,
    /// Members unknown here.
    pub extra: Object,
}

object!(TextField: "type" = "string" {
    optional title "title",
    optional description "description",
    optional min_length "minLength",
    optional max_length "maxLength",
    optional format "format",
    optional default "default",
});

/// What kind of text a field takes.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum TextFormat {
    /// An e-mail address.
    Email,
    /// A URI.
    Uri,
    /// A date.
    Date,
    /// A date and time.
    DateTime,
    /// A kind unknown here.
    Other(Box<str>),
}

word!(TextFormat {
    Email = "email",
    Uri = "uri",
    Date = "date",
    DateTime = "date-time",
} else Other);

/// A field for a number.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberField {
    /// Any number, or a whole one.
    pub kind: NumberKind,
    /// Its name for people.
    pub title: Option<String>,
    /// What to fill in.
    pub description: Option<String>,
    /// The least.
    pub minimum: Option<Number>,
    /// The greatest.
    pub maximum: Option<Number>,
    /// What is filled in from the start.
    pub default: Option<Number>,
    /// Members unknown here.
    pub extra: Object,
}

object!(NumberField {
    required kind "type",
    optional title "title",
    optional description "description",
    optional minimum "minimum",
    optional maximum "maximum",
    optional default "default",
});

/// Which numbers a field takes.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum NumberKind {
    /// Any.
    Number,
    /// Whole ones.
    Integer,
}

word!(NumberKind { Number = "number", Integer = "integer" });

/// A field for yes or no.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BooleanField {
    /// Its name for people.
    pub title: Option<String>,
    /// What to decide.
    pub description: Option<String>,
    /// What is chosen from the start.
    pub default: Option<bool>,
    /// Members unknown here.
    pub extra: Object,
}

object!(BooleanField: "type" = "boolean" {
    optional title "title",
    optional description "description",
    optional default "default",
});

/// A field for one of several choices: plain (`enum`), with labels (`oneOf`), or with labels the
/// old way (`enumNames`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SelectField {
    /// Its name for people.
    pub title: Option<String>,
    /// What to choose.
    pub description: Option<String>,
    /// The choices without labels.
    pub values: Option<Vec<String>>,
    /// Labels for `values`, in the same order.
    pub names: Option<Vec<String>>,
    /// The choices with labels.
    pub titled: Option<Vec<Choice>>,
    /// What is chosen from the start.
    pub default: Option<String>,
    /// Members unknown here.
    pub extra: Object,
}

object!(SelectField: "type" = "string" {
    optional title "title",
    optional description "description",
    optional values "enum",
    optional names "enumNames",
    optional titled "oneOf",
    optional default "default",
});

impl SelectField {
    /// The choices as value and label, however they are written.
    pub fn choices(&self) -> Vec<(&str, &str)> {
        let label = |place: usize| self.names.as_ref().and_then(|names| names.get(place));
        let plain = self.values.iter().flatten().enumerate();
        let plain =
            plain.map(|(place, value)| (&**value, label(place).map_or(&**value, |name| &**name)));
        plain.chain(labelled(self.titled.as_deref())).collect()
    }
}

/// A field for any of several choices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MultiSelectField {
    /// Its name for people.
    pub title: Option<String>,
    /// What to choose.
    pub description: Option<String>,
    /// The fewest choices.
    pub min_items: Option<i64>,
    /// The most choices.
    pub max_items: Option<i64>,
    /// The choices.
    pub items: Choices,
    /// What is chosen from the start.
    pub default: Option<Vec<String>>,
    /// Members unknown here.
    pub extra: Object,
}

object!(MultiSelectField: "type" = "array" {
    optional title "title",
    optional description "description",
    optional min_items "minItems",
    optional max_items "maxItems",
    required items "items",
    optional default "default",
});

/// The choices of a [`MultiSelectField`]: plain (`enum`, with `"type": "string"`) or with labels
/// (`anyOf`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choices {
    /// The type of a plain choice: `string`.
    pub kind: Option<String>,
    /// The choices without labels.
    pub values: Option<Vec<String>>,
    /// The choices with labels.
    pub titled: Option<Vec<Choice>>,
    /// Members unknown here.
    pub extra: Object,
}

object!(Choices {
    optional kind "type",
    optional values "enum",
    optional titled "anyOf",
});

impl Choices {
    /// The choices as value and label, however they are written.
    pub fn choices(&self) -> Vec<(&str, &str)> {
        let plain = self
            .values
            .iter()
            .flatten()
            .map(|value| (&**value, &**value));
        plain.chain(labelled(self.titled.as_deref())).collect()
    }
}

/// One choice with a label.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice {
    /// What is sent when it is chosen.
    pub value: String,
    /// What is shown.
    pub title: String,
    /// Members unknown here.
    pub extra: Object,
}

object!(Choice {
    required value "const",
    required title "title",
});

fn labelled(titled: Option<&[Choice]>) -> impl Iterator<Item = (&str, &str)> {
    titled
        .into_iter()
        .flatten()
        .map(|choice| (&*choice.value, &*choice.title))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn field(text: &str) -> Field {
        let field: Field = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&field).unwrap(), text);
        field
    }

    #[test]
    fn choices_are_read_from_all_the_ways_to_write_them() {
        for (text, choices) in [
            (
                r#"{"type":"string","enum":["a","b"]}"#,
                [("a", "a"), ("b", "b")],
            ),
            (
                r#"{"type":"string","enum":["a","b"],"enumNames":["A"]}"#,
                [("a", "A"), ("b", "b")],
            ),
            (
                r#"{"type":"string","oneOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}"#,
                [("a", "A"), ("b", "B")],
            ),
        ] {
            let Field::Select(select) = field(text) else {
                panic!("{text}")
            };
            assert_eq!(select.choices(), choices, "{text}");
        }
        for (text, choices) in [
            (
                r#"{"type":"array","items":{"type":"string","enum":["a"]}}"#,
                [("a", "a")],
            ),
            (
                r#"{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}"#,
                [("a", "A")],
            ),
        ] {
            let Field::MultiSelect(select) = field(text) else {
                panic!("{text}")
            };
            assert_eq!(select.items.choices(), choices, "{text}");
        }
    }

    #[test]
    fn fields_keep_their_kind_and_what_is_unknown() {
        assert!(matches!(
            field(r#"{"type":"string","format":"phone","pattern":"x"}"#),
            Field::Text(_)
        ));
        assert!(matches!(
            field(r#"{"type":"integer","minimum":1,"default":2.5}"#),
            Field::Number(_)
        ));
        assert!(matches!(
            field(r#"{"type":"boolean","default":false}"#),
            Field::Boolean(_)
        ));
        assert!(matches!(
            field(r#"{"type":"object","properties":{}}"#),
            Field::Unknown(_)
        ));
        assert!(matches!(field("true"), Field::Unknown(_)));
    }

    #[test]
    fn a_form_keeps_the_order_of_its_fields() {
        let text = r#"{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"boolean"}},"required":["z"]}"#;
        let form: FormSchema = serde_json::from_str(text).unwrap();
        assert_eq!(form.properties.names().collect::<Vec<_>>(), ["z", "a"]);
        assert!(form.requires("z") && !form.requires("a"));
        assert_eq!(serde_json::to_string(&form).unwrap(), text);
    }
}
