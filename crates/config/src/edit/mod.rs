//! Puts an entry into the text of a configuration, or takes it out, and changes nothing else: comments, order and indentation stay,
//! and a text that cannot be read is not touched.

mod json;
mod toml;

use std::fmt;

use serde_json::{Map, Value as Json};

use crate::node::{Format, Node, Value};

/// Where in a text an entry stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Spot {
    /// How the text is written.
    pub format: Format,
    /// The names before that of the entry.
    pub keys: Vec<String>,
    /// Its own name.
    pub name: String,
}

/// Why a text is left as it is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Refused {
    /// Where, if it is one place.
    pub line: Option<usize>,
    /// Why.
    pub why: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.why),
            None => f.write_str(&self.why),
        }
    }
}

impl std::error::Error for Refused {}

impl Spot {
    /// What stands there.
    ///
    /// # Errors
    /// The text cannot be read, or a name on the way stands there twice.
    pub fn get(&self, text: &str) -> Result<Option<Json>, Refused> {
        let root = self.read(text)?;
        let mut node = &root;
        for key in self.keys.iter().chain([&self.name]) {
            match once(node, key)? {
                Some(inner) if inner.value == Value::Null => return Ok(None),
                Some(inner) => node = inner,
                None => return Ok(None),
            }
        }
        Ok(Some(plain(node)))
    }

    /// The text with this entry, in place of one of that name.
    ///
    /// # Errors
    /// The text cannot be read, or has something else on the way.
    pub fn put(&self, text: &str, entry: &Json) -> Result<String, Refused> {
        self.get(text)?;
        let after = within(text, |text| match self.format {
            Format::Json => json::put(text, self, entry),
            Format::Toml => toml::put(text, self, entry),
        })?;
        self.held(text, &after, Some(entry))?;
        Ok(after)
    }

    /// The text without this entry.
    ///
    /// # Errors
    /// The text cannot be read.
    pub fn take(&self, text: &str) -> Result<String, Refused> {
        if self.get(text)?.is_none() {
            return Ok(text.to_owned());
        }
        let after = within(text, |text| match self.format {
            Format::Json => json::take(text, self),
            Format::Toml => toml::take(text, self),
        })?;
        self.held(text, &after, None)?;
        Ok(after)
    }

    fn read(&self, text: &str) -> Result<Node, Refused> {
        Node::parse(text, self.format).map_err(|error| Refused {
            line: Some(error.line),
            why: format!("cannot be read: {}", error.why),
        })
    }

    /// Is everything else as it was? An edit that has done more is thrown away.
    fn held(&self, before: &str, after: &str, entry: Option<&Json>) -> Result<(), Refused> {
        let was = plain(&self.read(before)?);
        let is = plain(&self.read(after)?);
        if self.without(was) != self.without(is) || self.get(after)?.as_ref() != entry {
            return Err(refused(
                "cannot be changed without changing more than the entry",
            ));
        }
        Ok(())
    }

    /// All but the entry, and the tables that are empty without it.
    pub(crate) fn without(&self, mut root: Json) -> Json {
        fn prune(node: &mut Json, keys: &[String], name: &str) {
            let Some(table) = node.as_object_mut() else {
                return;
            };
            match keys {
                [] => _ = table.shift_remove(name),
                [key, rest @ ..] => {
                    if let Some(inner) = table.get_mut(key) {
                        prune(inner, rest, name);
                        let is_empty = inner.as_object().is_some_and(Map::is_empty);
                        if is_empty || inner.is_null() {
                            table.shift_remove(key);
                        }
                    }
                }
            }
        }
        prune(&mut root, &self.keys, &self.name);
        root
    }

    /// A text of a file as a value, to be compared.
    pub(crate) fn value(&self, text: &str) -> Option<Json> {
        Node::parse(text, self.format).ok().map(|node| plain(&node))
    }
}

fn refused(why: impl Into<String>) -> Refused {
    Refused {
        line: None,
        why: why.into(),
    }
}

/// The member of this name, which may stand there once.
fn once<'n>(node: &'n Node, name: &str) -> Result<Option<&'n Node>, Refused> {
    let Some(members) = node.table() else {
        return Err(Refused {
            line: Some(node.line),
            why: format!("is {}, where a table is wanted", node.kind()),
        });
    };
    let mut found = members.iter().filter(|(known, _)| known == name);
    let first = found.next();
    if let Some((_, second)) = found.next() {
        return Err(Refused {
            line: Some(second.line),
            why: format!("{name} stands there twice"),
        });
    }
    Ok(first.map(|(_, node)| node))
}

/// Edits a text with its byte order mark, and its ends of lines, put aside.
fn within(
    text: &str,
    edit: impl FnOnce(&str) -> Result<String, Refused>,
) -> Result<String, Refused> {
    let bare = crate::node::without_mark(text);
    let mark = &text[..text.len() - bare.len()];
    let lines = bare.matches('\n').count();
    let is_windows = lines > 0 && bare.matches("\r\n").count() == lines;
    let edited = if is_windows {
        edit(&bare.replace("\r\n", "\n"))?.replace('\n', "\r\n")
    } else {
        edit(bare)?
    };
    Ok(format!("{mark}{edited}"))
}

/// A node as a value. Numbers keep their digits.
fn plain(node: &Node) -> Json {
    match &node.value {
        Value::Null => Json::Null,
        Value::Bool(truth) => Json::Bool(*truth),
        Value::Number(digits) => Json::String(format!("\0{digits}")),
        Value::Text(text) => Json::String(text.clone()),
        Value::List(list) => list.iter().map(plain).collect(),
        Value::Table(members) => {
            let members = members
                .iter()
                .map(|(name, node)| (name.clone(), plain(node)));
            Json::Object(members.collect())
        }
    }
}
