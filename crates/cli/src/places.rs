//! What a schema says of one place in a value, wherever that is said: behind references, in alternatives, in patterns. Not whether a
//! value fits.

use std::cell::Cell;
use std::collections::HashSet;

use polyport::schema::{Validator, referred};
use serde_json::Value;

use crate::references::resolve;

/// Schemas that are looked at for one question: alternatives of alternatives can be without number.
const LOOKS: usize = 2_000;
/// References that lead to references, and alternatives within alternatives.
const DEPTH: usize = 32;

/// A step on the way to a place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'a> {
    Member(&'a str),
    Element(usize),
}

impl Step<'_> {
    /// An element of a list, behind all of which something else is said.
    pub(crate) const LAST: Self = Self::Element(usize::MAX);
}

/// What is said of a place.
#[derive(Clone, Debug)]
pub(crate) enum Said<'a> {
    /// Anything may stand there.
    Nothing,
    Schema(&'a Value),
    /// All of them hold.
    All(Vec<Self>),
    /// One of them holds.
    Any(Vec<Self>),
}

/// What is said of one step from a place.
pub(crate) enum Next<'a> {
    Known(Said<'a>),
    /// What stands there has no members, or no elements.
    Never,
    /// No names are said, so that any may do.
    Open,
    /// It is none of those that are said.
    Unknown,
}

/// A schema that is read.
pub(crate) struct Reading<'a> {
    root: &'a Value,
    left: Cell<usize>,
}

impl<'a> Reading<'a> {
    pub(crate) fn of(root: &'a Value) -> Self {
        Self {
            root,
            left: Cell::new(LOOKS),
        }
    }

    /// One step from a place.
    pub(crate) fn next(&self, from: &Said<'a>, step: Step<'_>) -> Next<'a> {
        self.next_if(from, step, &|_| true)
    }

    /// The same by those alternatives that may hold; by all of them, where none may.
    pub(crate) fn next_if(
        &self,
        from: &Said<'a>,
        step: Step<'_>,
        may_hold: &dyn Fn(&Said<'a>) -> bool,
    ) -> Next<'a> {
        self.begin();
        self.next_from(from, step, may_hold)
    }

    /// One step from a place, within a question that has begun.
    pub(crate) fn next_within(&self, from: &Said<'a>, step: Step<'_>) -> Next<'a> {
        self.next_from(from, step, &|_| true)
    }

    /// What is said one step from a place, if anything is.
    pub(crate) fn at(&self, from: &Said<'a>, step: Step<'_>) -> Said<'a> {
        match self.next(from, step) {
            Next::Known(said) => said,
            Next::Never | Next::Open | Next::Unknown => Said::Nothing,
        }
    }

    fn next_from(
        &self,
        from: &Said<'a>,
        step: Step<'_>,
        may_hold: &dyn Fn(&Said<'a>) -> bool,
    ) -> Next<'a> {
        let of = |part: &Said<'a>| self.next_from(part, step, may_hold);
        match from {
            Said::Nothing => Next::Open,
            Said::Schema(schema) => self.next_of(schema, step, may_hold, 0),
            Said::All(parts) => all(parts.iter().map(of)),
            Said::Any(parts) => {
                let parts = only(parts.iter().collect(), |part| may_hold(part));
                any(parts.into_iter().map(of))
            }
        }
    }

    fn next_of(
        &self,
        schema: &'a Value,
        step: Step<'_>,
        may_hold: &dyn Fn(&Said<'a>) -> bool,
        depth: usize,
    ) -> Next<'a> {
        if depth > DEPTH || !self.may_look() {
            return Next::Open;
        }
        let parts = Parts::of(self.root, schema);
        let own = match step {
            Step::Member(_) if !may_be(schema, "object") => Next::Never,
            Step::Element(_) if !may_be(schema, "array") => Next::Never,
            Step::Member(name) => self.member_of(schema, name),
            Step::Element(nth) => element(schema, nth),
        };
        let of = |part: &'a Value| self.next_of(part, step, may_hold, depth + 1);
        let together = parts.all.into_iter().map(of);
        let unions = parts.any.into_iter();
        let unions = unions.map(|union| any(schemas_that(union, may_hold).into_iter().map(of)));
        all([own].into_iter().chain(together).chain(unions))
    }

    fn member_of(&self, schema: &'a Value, name: &str) -> Next<'a> {
        let patterns = schema["patternProperties"].as_object();
        let matching = patterns.into_iter().flatten();
        let matching = matching.filter(|(pattern, _)| self.may_look() && matches(pattern, name));
        let own = schema["properties"].get(name).into_iter();
        let mut said: Vec<Said<'_>> = own
            .chain(matching.map(|(_, own)| own))
            .map(Said::Schema)
            .collect();
        if said.len() > 1 {
            return Next::Known(Said::All(said));
        }
        if let Some(said) = said.pop() {
            return Next::Known(said);
        }
        match schema.get("additionalProperties") {
            Some(Value::Bool(true)) => Next::Known(Said::Nothing),
            Some(Value::Bool(false)) => Next::Unknown,
            Some(other) => Next::Known(Said::Schema(other)),
            None if schema["properties"].is_object() || patterns.is_some() => Next::Unknown,
            None => Next::Open,
        }
    }

    /// The names of members that are said, each once.
    pub(crate) fn names(&self, place: &Said<'a>) -> Vec<&'a str> {
        self.names_if(place, &|_| true)
    }

    /// The same of those alternatives that may hold.
    pub(crate) fn names_if(
        &self,
        place: &Said<'a>,
        may_hold: &dyn Fn(&Said<'a>) -> bool,
    ) -> Vec<&'a str> {
        let mut names = Vec::new();
        let mut known = HashSet::new();
        self.each(place, Some(may_hold), &mut |schema| {
            let properties = schema["properties"].as_object().into_iter().flatten();
            names
                .extend(properties.filter_map(|(name, _)| known.insert(name).then_some(&name[..])));
        });
        names
    }

    /// May not all of the alternatives of a place hold?
    pub(crate) fn is_told(&self, place: &Said<'a>, may_hold: &dyn Fn(&Said<'a>) -> bool) -> bool {
        let count = |may_hold| {
            let mut count = 0;
            self.each(place, Some(may_hold), &mut |_| count += 1);
            count
        };
        count(may_hold) < count(&|_: &Said<'a>| true)
    }

    /// The names of members that have to be there, each once.
    pub(crate) fn required(&self, place: &Said<'a>) -> Vec<&'a str> {
        let mut names = Vec::new();
        let mut known = HashSet::new();
        self.each(place, None, &mut |schema| {
            let required = schema["required"].as_array().into_iter().flatten();
            let required = required.filter_map(Value::as_str);
            names.extend(required.filter(|name| known.insert(*name)));
        });
        names
    }

    /// Each schema that has a say, once; within a schema with those of its alternatives that may hold, or without any.
    fn each(
        &self,
        place: &Said<'a>,
        unions: Option<&dyn Fn(&Said<'a>) -> bool>,
        visit: &mut impl FnMut(&'a Value),
    ) {
        self.begin();
        self.each_within(place, unions, visit);
    }

    /// The same within a question that has begun.
    fn each_within(
        &self,
        place: &Said<'a>,
        unions: Option<&dyn Fn(&Said<'a>) -> bool>,
        visit: &mut impl FnMut(&'a Value),
    ) {
        let mut open = Vec::new();
        schemas(place, &mut open);
        let mut seen = HashSet::new();
        let mut at = 0;
        while let Some(schema) = open.get(at).copied() {
            at += 1;
            if !seen.insert(std::ptr::from_ref(schema)) {
                continue;
            }
            if !self.may_look() {
                return;
            }
            visit(schema);
            let parts = Parts::of(self.root, schema);
            open.extend(parts.all);
            if let Some(may_hold) = unions {
                let unions = parts.any.into_iter();
                open.extend(unions.flat_map(|union| schemas_that(union, may_hold)));
            }
        }
    }

    /// Does something that holds in any case say that there is no member of this name, nor of any that it does not say? Within a question
    /// that has begun.
    pub(crate) fn shuts_out(&self, place: &Said<'a>, name: &str) -> bool {
        let mut is_shut = false;
        self.each_within(place, None, &mut |schema| {
            let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
            is_shut |= is_closed && matches!(self.member_of(schema, name), Next::Unknown);
        });
        is_shut
    }

    /// What is told of a place: the schema that has the first say, and texts and a default that others give to it.
    pub(crate) fn told(&self, place: &Said<'a>) -> Value {
        let mut told = Value::Null;
        self.each(place, None, &mut |schema| {
            if told.is_null() {
                told = resolve(self.root, schema);
            }
            for key in ["title", "description", "default"] {
                if let (None, Some(value)) = (told.get(key), schema.get(key))
                    && let Some(told) = told.as_object_mut()
                {
                    told.insert(key.to_owned(), value.clone());
                }
            }
        });
        told
    }

    /// What is said of a member of the whole.
    pub(crate) fn member(&self, name: &str) -> Said<'a> {
        self.at(&self.whole(), Step::Member(name))
    }

    /// What is said of the whole.
    pub(crate) fn whole(&self) -> Said<'a> {
        Said::Schema(self.root)
    }

    /// A question begins.
    pub(crate) fn begin(&self) {
        self.left.set(LOOKS);
    }

    /// Is there a look left for this question?
    pub(crate) fn may_look(&self) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        left > 0
    }

    pub(crate) fn root(&self) -> &'a Value {
        self.root
    }
}

/// The schemas that have a say beside what a schema says itself.
pub(crate) struct Parts<'a> {
    /// All of them hold.
    pub(crate) all: Vec<&'a Value>,
    /// Of each of these, one holds.
    pub(crate) any: Vec<Vec<&'a Value>>,
}

impl<'a> Parts<'a> {
    pub(crate) fn of(root: &'a Value, schema: &'a Value) -> Self {
        let list = |key: &str| schema[key].as_array().into_iter().flatten();
        let behind = schema["$ref"].as_str().and_then(|to| referred(root, to));
        let mut any = Vec::new();
        for key in ["anyOf", "oneOf"] {
            any.extend(Some(list(key).collect::<Vec<_>>()).filter(|parts| !parts.is_empty()));
        }
        if schema.get("if").is_some() {
            let branch = |key: &str| schema.get(key).unwrap_or(&ANYTHING);
            any.push(vec![branch("then"), branch("else")]);
        }
        Self {
            all: behind.into_iter().chain(list("allOf")).collect(),
            any,
        }
    }
}

static ANYTHING: Value = Value::Bool(true);

fn schemas<'a>(place: &Said<'a>, into: &mut Vec<&'a Value>) {
    match place {
        Said::Schema(schema) => into.push(schema),
        Said::All(parts) | Said::Any(parts) => parts.iter().for_each(|part| schemas(part, into)),
        Said::Nothing => {}
    }
}

fn all<'a>(parts: impl Iterator<Item = Next<'a>>) -> Next<'a> {
    let mut known = Vec::new();
    let mut is_unknown = false;
    for part in parts {
        match part {
            Next::Known(said) => known.push(said),
            Next::Never => return Next::Never,
            Next::Open => {}
            Next::Unknown => is_unknown = true,
        }
    }
    match known.len() {
        0 if is_unknown => Next::Unknown,
        0 => Next::Open,
        1 => Next::Known(known.swap_remove(0)),
        _ => Next::Known(Said::All(known)),
    }
}

fn any<'a>(parts: impl Iterator<Item = Next<'a>>) -> Next<'a> {
    let mut known = Vec::new();
    let (mut is_open, mut is_unknown) = (false, false);
    for part in parts {
        match part {
            Next::Known(said) => known.push(said),
            Next::Never => {}
            Next::Open => is_open = true,
            Next::Unknown => is_unknown = true,
        }
    }
    match (known.is_empty(), is_open, is_unknown) {
        (true, true, _) => return Next::Open,
        (true, false, true) => return Next::Unknown,
        (true, false, false) => return Next::Never,
        (false, ..) => {}
    }
    known.extend(is_open.then_some(Said::Nothing));
    if known.len() == 1 {
        return Next::Known(known.swap_remove(0));
    }
    Next::Known(Said::Any(known))
}

/// The alternatives that may hold; all of them, where none may.
fn schemas_that<'a>(union: Vec<&'a Value>, may_hold: &dyn Fn(&Said<'a>) -> bool) -> Vec<&'a Value> {
    only(union, |part| may_hold(&Said::Schema(part)))
}

/// Those of these that do; all of them, where none does.
fn only<T>(mut all: Vec<T>, does: impl Fn(&T) -> bool) -> Vec<T> {
    if all.iter().any(&does) {
        all.retain(does);
    }
    all
}

/// Does the type that a schema says itself let this kind stand there?
fn may_be(schema: &Value, kind: &str) -> bool {
    match &schema["type"] {
        Value::String(name) => name == kind,
        Value::Array(names) => names.iter().any(|name| name == kind),
        _ => true,
    }
}

fn element(schema: &Value, nth: usize) -> Next<'_> {
    // Before 2020-12 the first ones stood in `items`, and the others elsewhere.
    let (first, others) = match schema.get("items") {
        Some(Value::Array(first)) => (Some(first), schema.get("additionalItems")),
        others => (schema["prefixItems"].as_array(), others),
    };
    let said = first.and_then(|first| first.get(nth)).or(others);
    said.map_or(Next::Open, |said| Next::Known(Said::Schema(said)))
}

/// Does a pattern of a schema match this name? One that cannot be read matches nothing.
fn matches(pattern: &str, name: &str) -> bool {
    let names = serde_json::json!({"propertyNames": {"pattern": pattern}});
    let one = serde_json::json!({name: null}).to_string();
    Validator::new(&names).is_ok_and(|names| names.check(&one).is_ok())
}
