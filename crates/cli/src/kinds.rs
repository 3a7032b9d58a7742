//! The kinds of values that a schema lets stand in a place, and the values themselves where it counts them.

use polyport::Raw;
use serde_json::Value;

use crate::pieces::{self, Piece};
use crate::places::{Next, Parts, Reading, Said, Step};

/// Alternatives within alternatives.
const DEPTH: usize = 32;

/// The types that may stand in a place, by name; what says nothing is taken as text.
pub(crate) fn types(reading: &Reading<'_>, place: &Said<'_>) -> Vec<&'static str> {
    reading.begin();
    let mut kinds = kinds_at(reading, place, 0).hinted();
    // Alternatives that say nothing are text, too, beside what the others say.
    if kinds.named.is_empty() || (kinds.may_be & STRING != 0 && !kinds.named.contains(&"string")) {
        kinds.named.push("string");
    }
    kinds.named
}

/// What may stand in a place, for people: its values, where they are counted, else their types.
pub(crate) fn kinds(reading: &Reading<'_>, place: &Said<'_>) -> Vec<String> {
    match choice(reading, place) {
        Some(values) => values.iter().map(short_value).collect(),
        None => {
            let types = types(reading, place).into_iter();
            types.map(str::to_owned).collect()
        }
    }
}

/// The values of which one stands in a place; nothing: something else may stand there, too.
pub(crate) fn choice(reading: &Reading<'_>, place: &Said<'_>) -> Option<Vec<Value>> {
    reading.begin();
    let counted = counted(reading, place, 0);
    (counted.is_whole && !counted.values.is_empty()).then_some(counted.values)
}

/// The values that are named for a place, whether or not others may stand there.
pub(crate) fn values(reading: &Reading<'_>, place: &Said<'_>) -> Vec<Value> {
    reading.begin();
    counted(reading, place, 0).values
}

/// May an alternative of a place hold beside what is given of that place? Not one that counts the values of a member, and not the one
/// that is given; nor one that has no room for a member. Whether there is room for the one that is `asked` for is left open.
pub(crate) fn may_hold(
    reading: &Reading<'_>,
    alternative: &Said<'_>,
    given: &Piece,
    asked: Option<&str>,
) -> bool {
    let has_room = |name: &str| asked == Some(name) || !reading.shuts_out(alternative, name);
    let means = |name: &str, given: &Raw| match reading.next_within(alternative, Step::Member(name))
    {
        Next::Known(place) => may_mean(&counted(reading, &place, 0), given),
        Next::Never | Next::Open | Next::Unknown => true,
    };
    let may_be = given.written().all(|(name, given)| means(name, given));
    may_be && given.names().all(has_room)
}

/// May a text that is given mean one of these values?
fn may_mean(counted: &Counted, given: &Raw) -> bool {
    let means = |value: &Value| match value {
        Value::String(text) => pieces::string(text).as_str() == given.as_str(),
        other => {
            let text = other.to_string();
            [pieces::string(&text).as_str(), &text].contains(&given.as_str())
        }
    };
    !counted.is_whole || counted.values.is_empty() || counted.values.iter().any(means)
}

/// A value as people write it.
pub(crate) fn short_value(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

const NULL: u8 = 1;
const BOOLEAN: u8 = 1 << 1;
const OBJECT: u8 = 1 << 2;
const ARRAY: u8 = 1 << 3;
const INTEGER: u8 = 1 << 4;
const FRACTION: u8 = 1 << 5;
const STRING: u8 = 1 << 6;
const ALL: u8 = (1 << 7) - 1;

/// The types by their names.
const NAMES: &[(&str, u8)] = &[
    ("null", NULL),
    ("boolean", BOOLEAN),
    ("object", OBJECT),
    ("array", ARRAY),
    ("integer", INTEGER),
    ("number", INTEGER | FRACTION),
    ("string", STRING),
];

/// What may stand somewhere, and which of it is named.
#[derive(Clone)]
struct Kinds {
    may_be: u8,
    /// In the order of the schema, each once.
    named: Vec<&'static str>,
    /// What it is if nothing is named: only that has members, or elements.
    hint: Option<&'static str>,
}

impl Kinds {
    fn unsaid() -> Self {
        Self {
            may_be: ALL,
            named: Vec::new(),
            hint: None,
        }
    }

    fn of<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let mut kinds = Self {
            may_be: 0,
            ..Self::unsaid()
        };
        for name in names {
            if let Some((name, mask)) = NAMES.iter().find(|(known, _)| *known == name) {
                kinds.name(name);
                kinds.may_be |= mask;
            }
        }
        kinds
    }

    fn name(&mut self, name: &'static str) {
        if !self.named.contains(&name) {
            self.named.push(name);
        }
    }

    fn hinted(mut self) -> Self {
        match self.hint.filter(|_| self.named.is_empty()) {
            Some(hint) => Self::of([hint].into_iter()),
            None => {
                self.hint = None;
                self
            }
        }
    }

    /// Both hold.
    fn and(self, other: Self) -> Self {
        let may_be = self.may_be & other.may_be;
        let mut both = Self {
            may_be,
            named: Vec::new(),
            hint: self.hint.or(other.hint),
        };
        for name in self.named.into_iter().chain(other.named) {
            match may_be & mask(name) {
                0 => {}
                INTEGER => both.name("integer"),
                _ => both.name(name),
            }
        }
        both
    }

    /// One of the two holds.
    fn or(mut self, other: Self) -> Self {
        for name in other.named {
            self.name(name);
        }
        self.may_be |= other.may_be;
        self
    }
}

fn mask(name: &str) -> u8 {
    let known = NAMES.iter().find(|(known, _)| *known == name);
    known.map_or(0, |(_, mask)| *mask)
}

fn kinds_at(reading: &Reading<'_>, place: &Said<'_>, depth: usize) -> Kinds {
    let of = |part: &Said<'_>| kinds_at(reading, part, depth + 1);
    match place {
        _ if depth > DEPTH => Kinds::unsaid(),
        Said::Nothing => Kinds::unsaid(),
        Said::Schema(schema) => kinds_of(reading, schema, depth),
        Said::All(parts) => parts.iter().map(of).fold(Kinds::unsaid(), Kinds::and),
        Said::Any(parts) => union(parts.iter().map(of)),
    }
}

fn union(parts: impl Iterator<Item = Kinds>) -> Kinds {
    let parts = parts.map(Kinds::hinted);
    parts.reduce(Kinds::or).unwrap_or_else(Kinds::unsaid)
}

fn kinds_of(reading: &Reading<'_>, schema: &Value, depth: usize) -> Kinds {
    if depth > DEPTH || !reading.may_look() {
        return Kinds::unsaid();
    }
    let mut kinds = match &schema["type"] {
        Value::String(name) => Kinds::of([name.as_str()].into_iter()),
        Value::Array(names) => Kinds::of(names.iter().filter_map(Value::as_str)),
        _ => Kinds::unsaid(),
    };
    if let Some(values) = schema["enum"].as_array() {
        kinds = kinds.and(Kinds::of(values.iter().map(kind)));
    }
    if let Some(value) = schema.get("const") {
        kinds = kinds.and(Kinds::of([kind(value)].into_iter()));
    }
    let hints = [
        ("properties", "object"),
        ("items", "array"),
        ("prefixItems", "array"),
    ];
    let hint = hints.iter().find(|(key, _)| schema.get(key).is_some());
    kinds.hint = hint.map(|(_, kind)| *kind);
    let parts = Parts::of(reading.root(), schema);
    let of = |part: &Value| kinds_of(reading, part, depth + 1);
    for part in parts.all {
        kinds = kinds.and(of(part));
    }
    for parts in parts.any {
        kinds = kinds.and(union(parts.into_iter().map(of)));
    }
    kinds
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => pieces::kind(&pieces::value(value)),
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Values that are named.
#[derive(Default)]
struct Counted {
    values: Vec<Value>,
    /// There are no others.
    is_whole: bool,
}

impl Counted {
    fn of(values: impl IntoIterator<Item = Value>) -> Self {
        Self {
            values: values.into_iter().collect(),
            is_whole: true,
        }
    }

    /// Both hold: whoever counts all of them knows.
    fn and(self, other: Self) -> Self {
        match (self.is_whole, other.is_whole) {
            (true, _) => self,
            (false, true) => other,
            (false, false) if self.values.is_empty() => other,
            (false, false) => self,
        }
    }

    fn or(mut self, other: Self) -> Self {
        for value in other.values {
            if !self.values.contains(&value) {
                self.values.push(value);
            }
        }
        self.is_whole &= other.is_whole;
        self
    }
}

fn counted(reading: &Reading<'_>, place: &Said<'_>, depth: usize) -> Counted {
    let of = |part: &Said<'_>| counted(reading, part, depth + 1);
    match place {
        _ if depth > DEPTH => Counted::default(),
        Said::Nothing => Counted::default(),
        Said::Schema(schema) => counted_of(reading, schema, depth),
        Said::All(parts) => parts.iter().map(of).fold(Counted::default(), Counted::and),
        Said::Any(parts) => parts.iter().map(of).reduce(Counted::or).unwrap_or_default(),
    }
}

fn counted_of(reading: &Reading<'_>, schema: &Value, depth: usize) -> Counted {
    if depth > DEPTH || !reading.may_look() {
        return Counted::default();
    }
    let listed = schema["enum"].as_array();
    let mut counted = match (schema.get("const"), listed) {
        (Some(value), _) => Counted::of([value.clone()]),
        (None, Some(values)) => Counted::of(values.iter().cloned()),
        // Null beside values that are counted is counted as well.
        (None, None) if depth > 0 && schema["type"] == "null" => Counted::of([Value::Null]),
        (None, None) => Counted::default(),
    };
    let parts = Parts::of(reading.root(), schema);
    let of = |part: &Value| counted_of(reading, part, depth + 1);
    for part in parts.all {
        counted = counted.and(of(part));
    }
    for parts in parts.any {
        let parts = parts.into_iter().map(of);
        counted = counted.and(parts.reduce(Counted::or).unwrap_or_default());
    }
    counted
}

#[cfg(test)]
mod tests;
