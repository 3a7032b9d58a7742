//! The text of a configuration file as values that know their lines, the same for JSON with comments and for TOML.

use std::fmt;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use toml_edit::{Document, Item, TableLike, Value as TomlValue};

/// How a file is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Format {
    /// JSON; comments and commas before a closing bracket are taken.
    Json,
    /// TOML.
    Toml,
}

impl Format {
    /// By the end of a file's name.
    pub fn of(file: &std::path::Path) -> Self {
        match file.extension() {
            Some(end) if end.eq_ignore_ascii_case("toml") => Self::Toml,
            _ => Self::Json,
        }
    }
}

/// A value, and where it stands.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its line, from 1.
    pub line: usize,
    /// What it is.
    pub value: Value,
}

/// Lines are where a value stands, not what it is.
impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing; JSON alone has it.
    Null,
    /// True or false.
    Bool(bool),
    /// A number, as it is written.
    Number(String),
    /// A text; a date of TOML, too.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// Members in their order.
    Table(Vec<(String, Node)>),
}

/// Why a text cannot be read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unreadable {
    /// Where.
    pub line: usize,
    /// What is wrong there.
    pub why: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl std::error::Error for Unreadable {}

impl Node {
    /// Reads a text. An empty one is an empty table.
    ///
    /// # Errors
    /// It is not what it should be, and where.
    pub fn parse(text: &str, format: Format) -> Result<Self, Unreadable> {
        let text = without_mark(text);
        match format {
            Format::Json => json(text),
            Format::Toml => toml(text),
        }
    }

    /// The member of this name; the last one, if there are several.
    pub fn get(&self, name: &str) -> Option<&Self> {
        let members = self.table()?;
        let found = members.iter().rev().find(|(known, _)| known == name);
        found.map(|(_, node)| node)
    }

    /// The member at the end of these names.
    pub fn at<S: AsRef<str>>(&self, names: &[S]) -> Option<&Self> {
        names
            .iter()
            .try_fold(self, |node, name| node.get(name.as_ref()))
    }

    /// Its members, if it is a table.
    pub fn table(&self) -> Option<&[(String, Self)]> {
        match &self.value {
            Value::Table(members) => Some(members),
            _ => None,
        }
    }

    /// Its elements, if it is a list.
    pub fn list(&self) -> Option<&[Self]> {
        match &self.value {
            Value::List(elements) => Some(elements),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What kind of thing it is, for people.
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "null",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }
}

/// Some editors of Windows begin a file with a byte order mark.
pub(crate) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// JSON as hosts read it: comments and last commas, nothing else of JSON5.
pub(crate) const JSONC: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Where the lines of a text begin.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        let after = text
            .bytes()
            .enumerate()
            .filter(|(_, byte)| *byte == b'\n')
            .map(|(at, _)| at + 1);
        Self(std::iter::once(0).chain(after).collect())
    }

    fn at(&self, byte: usize) -> usize {
        self.0.partition_point(|begin| *begin <= byte)
    }
}

fn json(text: &str) -> Result<Node, Unreadable> {
    let lines = Lines::of(text);
    let parsed =
        parse_to_ast(text, &CollectOptions::default(), &JSONC).map_err(|error| Unreadable {
            line: lines.at(error.range().start),
            why: error.kind().to_string().to_lowercase(),
        })?;
    let empty = Node {
        line: 1,
        value: Value::Table(Vec::new()),
    };
    Ok(parsed
        .value
        .map_or(empty, |value| from_json(&value, &lines)))
}

fn from_json(value: &ast::Value<'_>, lines: &Lines) -> Node {
    let line = lines.at(value.range().start);
    let value = match value {
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::BooleanLit(literal) => Value::Bool(literal.value),
        ast::Value::NumberLit(literal) => Value::Number(literal.value.to_owned()),
        ast::Value::StringLit(literal) => Value::Text(literal.value.clone().into_owned()),
        ast::Value::Array(array) => Value::List(
            array
                .elements
                .iter()
                .map(|element| from_json(element, lines))
                .collect(),
        ),
        ast::Value::Object(object) => Value::Table(
            object
                .properties
                .iter()
                .map(|property| {
                    let name = property.name.clone().into_string();
                    let mut node = from_json(&property.value, lines);
                    node.line = lines.at(property.range.start);
                    (name, node)
                })
                .collect(),
        ),
    };
    Node { line, value }
}

fn toml(text: &str) -> Result<Node, Unreadable> {
    let lines = Lines::of(text);
    let document = Document::parse(text).map_err(|error| Unreadable {
        line: lines.at(error.span().map_or(0, |span| span.start)),
        why: error.message().trim().replace('\n', ", "),
    })?;
    Ok(Node {
        line: 1,
        value: from_table(document.as_table(), &lines),
    })
}

fn from_table(table: &dyn TableLike, lines: &Lines) -> Value {
    let members = table.iter().filter_map(|(name, item)| {
        let mut node = from_item(item, lines)?;
        if let Some(span) = table.key(name).and_then(|key| key.span()) {
            node.line = lines.at(span.start);
        }
        Some((name.to_owned(), node))
    });
    Value::Table(members.collect())
}

fn from_item(item: &Item, lines: &Lines) -> Option<Node> {
    let line = lines.at(item.span().map_or(0, |span| span.start));
    let value = match item {
        Item::None => return None,
        Item::Value(value) => from_value(value, lines),
        Item::Table(table) => from_table(table, lines),
        Item::ArrayOfTables(tables) => Value::List(
            tables
                .iter()
                .map(|table| Node {
                    line: lines.at(table.span().map_or(0, |span| span.start)),
                    value: from_table(table, lines),
                })
                .collect(),
        ),
    };
    Some(Node { line, value })
}

fn from_value(value: &TomlValue, lines: &Lines) -> Value {
    match value {
        TomlValue::String(text) => Value::Text(text.value().clone()),
        TomlValue::Integer(number) => Value::Number(number.value().to_string()),
        TomlValue::Float(number) => Value::Number(number.value().to_string()),
        TomlValue::Boolean(truth) => Value::Bool(*truth.value()),
        TomlValue::Datetime(date) => Value::Text(date.value().to_string()),
        TomlValue::Array(array) => Value::List(
            array
                .iter()
                .map(|element| Node {
                    line: lines.at(element.span().map_or(0, |span| span.start)),
                    value: from_value(element, lines),
                })
                .collect(),
        ),
        TomlValue::InlineTable(table) => from_table(table, lines),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn both_formats_say_the_same_and_where() {
        let json = "// a comment\n{\n  \"a\": {\n    \"b\": [\"x\", 1, true,],\n  },\n}";
        let toml = "# a comment\n[a]\n\nb = [\"x\", 1, true]\n";
        let (json, toml) = (
            Node::parse(json, Format::Json).unwrap(),
            Node::parse(toml, Format::Toml).unwrap(),
        );
        assert_eq!(json, toml);
        assert_eq!(json.at(&["a", "b"]).unwrap().line, 4);
        assert_eq!(toml.at(&["a", "b"]).unwrap().line, 4);
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_line() {
        let (json, toml) = (Format::Json, Format::Toml);
        for (text, format, line) in [
            ("{\n \"a\": \n}", json, Some(3)),
            ("{\n 'a': 1\n}", json, Some(2)),
            ("{\"a\": 1 \"b\": 2}", json, Some(1)),
            ("{} {}", json, Some(1)),
            ("a = 1\n\na = 2\n", toml, Some(3)),
            ("[a\nb = 1", toml, Some(1)),
            ("", json, None),
            ("\u{feff}{}", json, None),
            ("// nothing yet\n", json, None),
            ("", toml, None),
        ] {
            let read = Node::parse(text, format);
            assert_eq!(read.err().map(|error| error.line), line, "{text:?}");
        }
        let deep = "[".repeat(100_000);
        assert!(Node::parse(&deep, json).is_err());
        assert!(Node::parse(&format!("a = {deep}"), toml).is_err());
    }
}
