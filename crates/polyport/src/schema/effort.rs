//! How much the full validator would do for some arguments. It has no bound of its own: it follows a definition that is reached
//! in two ways twice, so that thirty definitions, or thirty levels of arguments, take a billion steps. Counts, checks nothing.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::percent::decode_broken_text;

/// What is known of a schema without any arguments.
pub(super) struct Effort {
    /// The schema, which stays where it is: its parts are known by their places.
    schema: Box<Value>,
    /// The most parts that are held against one value and what leads to it.
    most: usize,
    /// The most parts that are held against one value within each other.
    nested: usize,
    /// Parts whose reference leads back to a part around it: the validator remembers what came of these.
    backward: HashSet<usize>,
}

/// How steps are counted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Run {
    /// For a yes or no.
    Verdict,
    /// For errors: nothing is remembered.
    Errors,
}

impl Effort {
    pub(super) fn of(schema: Value) -> Self {
        let schema = Box::new(schema);
        let mut survey = Survey {
            root: &schema,
            known: HashMap::new(),
            nested: 0,
            backward: HashSet::new(),
        };
        let most = survey.visit(&schema);
        let Survey {
            nested, backward, ..
        } = survey;
        Self {
            schema,
            most,
            nested,
            backward,
        }
    }

    pub(super) fn schema(&self) -> &Value {
        &self.schema
    }

    /// May a verdict on arguments of this depth take many steps, or much stack?
    pub(super) fn is_involved(&self, depth: usize) -> bool {
        self.most > PLAIN || self.nested.saturating_mul(depth) > MAX_DEPTH
    }

    /// How often a part of the schema would be held against a part of the arguments; `usize::MAX` where that is not told.
    pub(super) fn count(&self, arguments: &Value, run: Run) -> usize {
        let mut counter = Counter {
            effort: self,
            run,
            known: HashMap::new(),
        };
        counter.count(&self.schema, arguments)
    }
}

/// To what a keyword applies schemas.
enum Applied<'s> {
    /// To the value itself.
    Here(Vec<&'s Value>),
    /// Each to the field of its name.
    Named(&'s Map<String, Value>),
    /// All to every field.
    Fields(Vec<&'s Value>),
    /// To every name of a field.
    Names(&'s Value),
    /// Each to the item at its place.
    Places(&'s [Value]),
    /// To every item.
    Items(&'s Value),
    /// A reference that is not understood.
    Unknown,
    Nothing,
}

impl<'s> Applied<'s> {
    fn by(root: &'s Value, keyword: &str, value: &'s Value) -> Self {
        match (keyword, value) {
            ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                match targets(root, reference) {
                    none if none.is_empty() => Self::Unknown,
                    found => Self::Here(found),
                }
            }
            ("not" | "if" | "then" | "else", _) => Self::Here(vec![value]),
            ("allOf" | "anyOf" | "oneOf", Value::Array(branches)) => {
                Self::Here(branches.iter().collect())
            }
            ("dependentSchemas" | "dependencies", Value::Object(named)) => {
                Self::Here(named.values().collect())
            }
            ("properties", Value::Object(named)) => Self::Named(named),
            ("patternProperties", Value::Object(named)) => Self::Fields(named.values().collect()),
            ("additionalProperties" | "unevaluatedProperties", _) => Self::Fields(vec![value]),
            ("propertyNames", _) => Self::Names(value),
            ("prefixItems" | "items", Value::Array(schemas)) => Self::Places(schemas),
            ("items" | "additionalItems" | "unevaluatedItems" | "contains", _) => {
                Self::Items(value)
            }
            _ => Self::Nothing,
        }
    }
}

/// Walks a schema once, as the validator does when it compiles.
struct Survey<'s> {
    root: &'s Value,
    /// What came of each part: those that are held against one value and what leads to it, and how many within each other.
    known: HashMap<usize, (usize, usize)>,
    nested: usize,
    backward: HashSet<usize>,
}

/// How a part counts where it is met.
#[derive(Clone, Copy)]
enum Meets {
    /// It speaks of the same value.
    Here,
    /// Beside others, of what is inside.
    Inside,
    /// The largest of its kind counts, since one value meets only one of them.
    OneOf(usize),
}

/// A part that is being walked. They stand in a list, not on the stack.
struct Visit<'s> {
    place: usize,
    met: Meets,
    rest: Vec<(&'s Value, Meets)>,
    sum: usize,
    largest: Vec<usize>,
    nested: usize,
}

impl<'s> Survey<'s> {
    fn visit(&mut self, schema: &'s Value) -> usize {
        let mut around = HashSet::new();
        let mut visits: Vec<Visit<'s>> = Vec::new();
        let mut next = Some((schema, Meets::Here));
        loop {
            let (found, met) = match next {
                Some((part, met)) => {
                    let place = place(part);
                    if let Some(known) = self.known.get(&place) {
                        (*known, met)
                    } else if around.contains(&place) {
                        self.backward.extend(visits.last().map(|visit| visit.place));
                        ((1, 0), met)
                    } else {
                        around.insert(place);
                        visits.push(self.open(part, met));
                        next = visits.last_mut().and_then(|visit| visit.rest.pop());
                        continue;
                    }
                }
                None => {
                    let Some(done) = visits.pop() else { return 0 };
                    let sum = done
                        .largest
                        .into_iter()
                        .fold(done.sum, usize::saturating_add);
                    around.remove(&done.place);
                    self.nested = self.nested.max(done.nested);
                    self.known.insert(done.place, (sum, done.nested));
                    ((sum, done.nested), done.met)
                }
            };
            let Some(visit) = visits.last_mut() else {
                return found.0;
            };
            visit.take(found, met);
            next = visit.rest.pop();
        }
    }

    fn open(&self, part: &'s Value, met: Meets) -> Visit<'s> {
        let mut visit = Visit {
            place: place(part),
            met,
            rest: Vec::new(),
            sum: 1,
            largest: Vec::new(),
            nested: 0,
        };
        for (keyword, value) in part.as_object().into_iter().flatten() {
            let kind = visit.largest.len();
            match Applied::by(self.root, keyword, value) {
                Applied::Here(parts) => visit.meet(parts, Meets::Here),
                Applied::Named(parts) => {
                    visit.largest.push(0);
                    visit.meet(parts.values(), Meets::OneOf(kind));
                }
                Applied::Places(parts) => {
                    visit.largest.push(0);
                    visit.meet(parts, Meets::OneOf(kind));
                }
                Applied::Fields(parts) => visit.meet(parts, Meets::Inside),
                Applied::Names(part) | Applied::Items(part) => visit.meet([part], Meets::Inside),
                Applied::Unknown | Applied::Nothing => {}
            }
        }
        // What is popped first is what the validator compiles first.
        visit.rest.reverse();
        visit
    }
}

impl<'s> Visit<'s> {
    fn meet(&mut self, parts: impl IntoIterator<Item = &'s Value>, how: Meets) {
        self.rest.extend(parts.into_iter().map(|part| (part, how)));
    }

    fn take(&mut self, (most, nested): (usize, usize), met: Meets) {
        match met {
            Meets::Here => {
                self.sum = self.sum.saturating_add(most);
                self.nested = self.nested.max(nested.saturating_add(1));
            }
            Meets::Inside => self.sum = self.sum.saturating_add(most),
            Meets::OneOf(kind) => self.largest[kind] = self.largest[kind].max(most),
        }
    }
}

/// A part of the schema, a part of the arguments, and how often they are held against each other in a row.
type Pair<'e, 'v> = (&'e Value, &'v Value, usize);

/// A pair that is being counted. They stand in a list, not on the stack.
struct Frame<'e, 'v> {
    places: (usize, usize),
    times: usize,
    /// What it leads to, and is not counted yet.
    rest: Vec<Pair<'e, 'v>>,
    sum: usize,
}

/// Counts the steps for some arguments.
struct Counter<'e> {
    effort: &'e Effort,
    run: Run,
    /// By the places of both; one that is being counted stands at nothing, since the validator goes round no circle.
    known: HashMap<(usize, usize), usize>,
}

impl<'e> Counter<'e> {
    fn count<'v>(&mut self, schema: &'e Value, instance: &'v Value) -> usize {
        let mut frames: Vec<Frame<'e, 'v>> = Vec::new();
        let mut next = Some((schema, instance, 1));
        loop {
            let (sum, times) = match next {
                Some((schema, instance, times)) => match self.known(schema, instance) {
                    Some(known) => (known, times),
                    None if frames.len() > MAX_DEPTH || self.known.len() > MAX_PAIRS => {
                        return usize::MAX;
                    }
                    None => {
                        frames.push(self.open(schema, instance, times));
                        next = frames.last_mut().and_then(|frame| frame.rest.pop());
                        continue;
                    }
                },
                None => {
                    let Some(done) = frames.pop() else {
                        return usize::MAX;
                    };
                    self.known.insert(done.places, done.sum);
                    (done.sum, done.times)
                }
            };
            let Some(around) = frames.last_mut() else {
                return sum;
            };
            around.sum = around.sum.saturating_add(sum.saturating_mul(times));
            if around.sum == usize::MAX {
                return usize::MAX;
            }
            next = around.rest.pop();
        }
    }

    fn known(&self, schema: &Value, instance: &Value) -> Option<usize> {
        if !schema.is_object() {
            return Some(1);
        }
        let places = (place(schema), place(instance));
        let known = *self.known.get(&places)?;
        let is_remembered = self.run == Run::Verdict
            && self.effort.backward.contains(&places.0)
            && (instance.is_object() || instance.is_array());
        Some(if is_remembered { 1 } else { known })
    }

    fn open<'v>(&mut self, schema: &'e Value, instance: &'v Value, times: usize) -> Frame<'e, 'v> {
        let places = (place(schema), place(instance));
        self.known.insert(places, 0);
        let (mut rest, mut sum) = (Vec::new(), 1);
        for (keyword, value) in schema.as_object().into_iter().flatten() {
            let applied = Applied::by(&self.effort.schema, keyword, value);
            // A reference that is not understood holds up no verdict; what it says is not worded.
            let is_told = !matches!(applied, Applied::Unknown) || self.run == Run::Verdict;
            if !is_told || !meet(applied, instance, &mut rest) {
                sum = usize::MAX;
            }
        }
        Frame {
            places,
            times,
            rest,
            sum,
        }
    }
}

/// Adds the pairs to which a keyword leads; false: there are too many.
fn meet<'e, 'v>(applied: Applied<'e>, instance: &'v Value, pairs: &mut Vec<Pair<'e, 'v>>) -> bool {
    match (applied, instance) {
        (Applied::Here(parts), _) => {
            pairs.extend(parts.into_iter().map(|part| (part, instance, 1)));
        }
        (Applied::Named(parts), Value::Object(fields)) => {
            let both = parts.iter();
            pairs.extend(both.filter_map(|(name, part)| Some((part, fields.get(name)?, 1))));
        }
        (Applied::Fields(parts), Value::Object(fields)) => {
            if parts.len().saturating_mul(fields.len()) > MAX_PAIRS {
                return false;
            }
            for part in parts {
                pairs.extend(fields.values().map(|field| (part, field, 1)));
            }
        }
        (Applied::Names(part), Value::Object(fields)) => {
            pairs.push((part, &Value::Null, fields.len()));
        }
        (Applied::Places(parts), Value::Array(items)) => {
            pairs.extend(parts.iter().zip(items).map(|(part, item)| (part, item, 1)));
        }
        (Applied::Items(part), Value::Array(items)) => {
            pairs.extend(items.iter().map(|item| (part, item, 1)));
        }
        _ => {}
    }
    true
}

/// What a reference may lead to, whatever the part is relative to in which it stands.
fn targets<'s>(root: &'s Value, reference: &str) -> Vec<&'s Value> {
    let (resource, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    let resources = match resource.rsplit('/').next() {
        None | Some("") => vec![root],
        Some(name) => named(root, &["$id", "id"], name),
    };
    if fragment.is_empty() || fragment.starts_with('/') {
        let pointer = decode_broken_text(fragment);
        let inside = resources.iter().map(|resource| resource.pointer(&pointer));
        return inside.flatten().collect();
    }
    named(root, &["$anchor", "$dynamicAnchor"], fragment)
}

/// All parts of a schema of which one of these keywords ends in a name.
fn named<'s>(schema: &'s Value, keywords: &[&str], name: &str) -> Vec<&'s Value> {
    match schema {
        Value::Object(own) => {
            let names = keywords
                .iter()
                .filter_map(|keyword| own.get(*keyword)?.as_str());
            let this = names.into_iter().any(|own| own.ends_with(name));
            let inside = own.values().flat_map(|inner| named(inner, keywords, name));
            this.then_some(schema).into_iter().chain(inside).collect()
        }
        Value::Array(items) => (items.iter())
            .flat_map(|inner| named(inner, keywords, name))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

fn place(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

/// Parts for one value below which no arguments are counted: a verdict on as many values as there may be takes seconds at worst.
const PLAIN: usize = 1_000;
/// Parts within each other, for which the validator takes stack: a thread with half a megabyte has room for more.
const MAX_DEPTH: usize = 400;
/// Pairs that are counted before it is given up.
const MAX_PAIRS: usize = 250_000;
