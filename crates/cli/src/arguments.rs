//! Arguments of a tool as words of a command line, typed by the tool's schema. Not what that says of a place, nor how all of it is checked.
//!
//! `key=value` is what the schema says it is; `key:=json` is JSON; `key=@file` and `key:=@file` are read from a file, `@-` from
//! standard input; `a.b=1` is a member of a member, `a[]=x` one more element.

use std::collections::BTreeMap;

use polyport::Raw;
use polyport::model::Object;
use serde_json::Value;

use crate::failure::Failure;
use crate::infile;
use crate::kinds::{choice, kinds, may_hold, short_value, types};
use crate::nearest::nearest;
use crate::pieces::{self, Piece};
use crate::places::{self, Next, Reading, Said};
use crate::ui;

/// Members within members.
const MAX_DEPTH: usize = 32;

/// Reads the words.
///
/// # Errors
/// One of them is no argument, or does not fit its place in the schema.
pub(crate) fn parse(words: &[String], schema: &Value) -> Result<Object, Failure> {
    read(words, schema, true)
}

/// The same where the schema does not decide: what does not fit it, or has no place in it, is text.
///
/// # Errors
/// One of them is no argument.
pub(crate) fn parse_unchecked(words: &[String], schema: &Value) -> Result<Object, Failure> {
    read(words, schema, false)
}

fn read(words: &[String], schema: &Value, is_checked: bool) -> Result<Object, Failure> {
    let reading = Reading::of(schema);
    let mut all = Piece::Members(BTreeMap::new());
    let given = as_written(words);
    for word in words {
        let word = Word::split(word)?;
        let place = match place_of(&reading, &word.path, &all, &given) {
            Err(_) if !is_checked => None,
            place => place?,
        };
        let value = word.value(
            |name, text| match plain(name, text, &reading, place.as_ref()) {
                Err(_) if !is_checked => Ok(pieces::string(text)),
                value => value,
            },
        )?;
        insert(&mut all, &word.path, value)?;
    }
    Ok(all.members().unwrap_or_default())
}

/// What words give, each value as it is written: which alternative of a schema they mean, and beside which nothing else fits, is to be
/// known before any of them is read. What stands in files is not told.
fn as_written(words: &[String]) -> Piece {
    let mut all = Piece::Members(BTreeMap::new());
    let words = words.iter().filter_map(|word| Word::split(word).ok());
    for word in words.filter(|word| !word.text.starts_with('@')) {
        let json = pieces::json(word.text).ok().filter(|_| word.is_json);
        let value = json.unwrap_or_else(|| pieces::string(word.text));
        // What is given twice is said where it is read.
        let _ = insert(&mut all, &word.path, value);
    }
    all
}

/// What somebody has typed for one field. It is the value and nothing else: neither a file nor a member of a member.
///
/// # Errors
/// It does not fit the field's place in the schema.
pub(crate) fn parse_typed(name: &str, text: &str, schema: &Value) -> Result<Raw, Failure> {
    let reading = Reading::of(schema);
    plain(name, text, &reading, Some(&reading.member(name)))
}

/// What the schema requires and is not there, each with its type.
pub(crate) fn missing(given: &Object, schema: &Value) -> Vec<String> {
    let names = required(schema).into_iter();
    names
        .filter(|name| !given.contains(name))
        .map(|name| {
            let reading = Reading::of(schema);
            let place = reading.member(name);
            let told = reading.told(&place);
            let about = told["description"].as_str().unwrap_or_default();
            let line = format!("{name} ({})", kinds(&reading, &place).join(" or "));
            let line = match about.lines().next() {
                Some(about) if !about.is_empty() => format!("{line}: {about}"),
                _ => line,
            };
            ui::one_line(&line).into_owned()
        })
        .collect()
}

/// The names of what a schema requires.
pub(crate) fn required(schema: &Value) -> Vec<&str> {
    Reading::of(schema).required(&Said::Schema(schema))
}

/// One word, taken apart.
struct Word<'a> {
    path: Vec<Step<'a>>,
    text: &'a str,
    is_json: bool,
}

/// One step on the way to a value.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step<'a> {
    Member(&'a str),
    Next,
}

impl<'a> Word<'a> {
    fn split(word: &'a str) -> Result<Self, Failure> {
        let bad = |why: &str| {
            Failure::usage(format!("{word:?} is no argument: {why}")).hint(
                "write key=value, key:=json, key=@file, a.b=value or a[]=value; what begins with - stands before the tool",
            )
        };
        let (key, text) = word.split_once('=').ok_or_else(|| bad("there is no ="))?;
        let (key, is_json) = match key.strip_suffix(':') {
            Some(key) => (key, true),
            None => (key, false),
        };
        let mut path = Vec::new();
        for part in key.split('.') {
            let (name, next) = match part.strip_suffix("[]") {
                Some(name) => (name, true),
                None => (part, false),
            };
            if name.is_empty() {
                return Err(bad("a name is missing before ="));
            }
            path.push(Step::Member(name));
            path.extend(next.then_some(Step::Next));
        }
        if path.len() > MAX_DEPTH {
            return Err(bad("it is nested too deeply"));
        }
        Ok(Self {
            path,
            text,
            is_json,
        })
    }

    fn name(&self) -> String {
        shown(&self.path)
    }

    /// Its value; `plain` makes it of what is no JSON.
    fn value(
        &self,
        plain: impl FnOnce(&str, &str) -> Result<Raw, Failure>,
    ) -> Result<Raw, Failure> {
        let read;
        let text = match self.text.strip_prefix('@') {
            Some(file) => {
                read = infile::text(file).map_err(|error| {
                    Failure::usage(format!("{}: cannot read {file}: {error}", self.name()))
                })?;
                read.as_str()
            }
            None => self.text,
        };
        if self.is_json {
            return pieces::json(text).map_err(|error| {
                Failure::usage(format!("{}: this is no JSON: {error}", self.name()))
                    .hint("key=value takes plain text")
            });
        }
        plain(&self.name(), text)
    }
}

/// Plain text for the field of this name, as a schema says of its place; where that says nothing it stays text.
fn plain(
    name: &str,
    text: &str,
    reading: &Reading<'_>,
    place: Option<&Said<'_>>,
) -> Result<Raw, Failure> {
    let Some(place) = place else {
        return Ok(pieces::string(text));
    };
    let types = types(reading, place);
    if let Some(values) = choice(reading, place)
        && let Some(value) = values.iter().find(|value| short_value(value) == text)
    {
        return Ok(pieces::value(value));
    }
    typed(text, &types).ok_or_else(|| {
        let shown: String = text.chars().take(60).collect();
        let types = types.join(" and no ");
        Failure::usage(format!("{name}: {shown:?} is no {types}"))
    })
}

/// The text as what it is to JSON, where the types have that; else as it stands.
fn typed(text: &str, types: &[&str]) -> Option<Raw> {
    let allowed = |kind: &str| match kind {
        "string" => false,
        "integer" => types.contains(&"integer") || types.contains(&"number"),
        kind => types.contains(&kind),
    };
    let json = pieces::json(text).ok();
    json.filter(|json| allowed(pieces::kind(json)))
        .or_else(|| types.contains(&"string").then(|| pieces::string(text)))
}

/// What the schema says of the place where a path ends; nothing: any may do there. `before` is what was read, `given` what all words
/// give.
///
/// # Errors
/// The schema knows no such place.
fn place_of<'s>(
    reading: &Reading<'s>,
    path: &[Step<'_>],
    before: &Piece,
    given: &Piece,
) -> Result<Option<Said<'s>>, Failure> {
    let mut at = Said::Schema(reading.root());
    let nothing = Piece::Members(BTreeMap::new());
    let (mut before, mut given) = (Some(before), given);
    for (nth, step) in path.iter().enumerate() {
        let count = before.map_or(0, Piece::elements);
        let asked = match step {
            Step::Member(name) => Some(*name),
            Step::Next => None,
        };
        let may_hold = |part: &Said<'s>| may_hold(reading, part, given, asked);
        let next = match step {
            Step::Member(name) => reading.next_if(&at, places::Step::Member(name), &may_hold),
            Step::Next => reading.next(&at, places::Step::Element(count)),
        };
        at = match next {
            Next::Known(said) => said,
            Next::Never | Next::Open => return Ok(None),
            Next::Unknown => {
                let known = reading.names_if(&at, &may_hold);
                if let Some(name) = asked.filter(|name| reading.names(&at).contains(name)) {
                    let with = apart_from(reading, &at, name, given);
                    return Err(elsewhere(path, nth, &with, &known, given));
                }
                return Err(unknown(path, nth, &known, reading.root()));
            }
        };
        (before, given) = match step {
            Step::Member(name) => (
                before.and_then(|before| before.member(name)),
                given.member(name).unwrap_or(&nothing),
            ),
            // In one more element nothing is yet.
            Step::Next => (None, &nothing),
        };
    }
    Ok(Some(at))
}

/// What is given, as it is written, that leaves no alternative of a place which has a member of this name.
fn apart_from(reading: &Reading<'_>, at: &Said<'_>, name: &str, given: &Piece) -> Vec<String> {
    let others = given.written().filter(|(other, _)| *other != name);
    let is_apart = |(other, value): &(&str, &Raw)| {
        let alone = Piece::Written((*value).clone());
        let alone = Piece::Members(BTreeMap::from([((*other).to_owned(), alone)]));
        let may_hold = |part: &Said<'_>| may_hold(reading, part, &alone, Some(name));
        let next = reading.next_if(at, places::Step::Member(name), &may_hold);
        matches!(next, Next::Unknown)
    };
    let apart = others.filter(is_apart);
    apart
        .map(|(other, value)| format!("{other}={}", ui::cut(value.as_str(), 60)))
        .collect()
}

/// What the first steps of a path lead to belongs to another alternative than what is given beside it.
fn elsewhere(
    path: &[Step<'_>],
    nth: usize,
    with: &[String],
    known: &[&str],
    given: &Piece,
) -> Failure {
    let before = match shown(&path[..nth]) {
        before if before.is_empty() => before,
        before => before + ".",
    };
    let named = |name: &String| format!("{before}{name}");
    let with = match with {
        [] => "what else is given".to_owned(),
        with => with.iter().map(named).collect::<Vec<_>>().join(" and "),
    };
    let name = shown(&path[..=nth]);
    let failure = Failure::usage(ui::one_line(&format!("{name} does not go with {with}")));
    let others = known.iter().filter(|known| given.member(known).is_none());
    let others: Vec<_> = others.map(|name| format!("{before}{name}")).collect();
    match &others[..] {
        [] => failure.hint("leave one of them out"),
        others => failure.hint(format!("what does: {}", ui::one_line(&others.join(", ")))),
    }
}

/// There is nothing of the name with which the first `nth` steps of a path end.
fn unknown(path: &[Step<'_>], nth: usize, known: &[&str], whole: &Value) -> Failure {
    let name = shown(path);
    let failure = Failure::usage(format!("there is no argument {name}"));
    if Reading::of(whole)
        .names(&Said::Schema(whole))
        .contains(&&*name)
    {
        return failure.hint(format!(
            "its name has a sign that means something here; --args '{{\"{name}\": …}}' gives it"
        ));
    }
    let before = match shown(&path[..nth]) {
        before if before.is_empty() => before,
        before => before + ".",
    };
    let known: Vec<String> = known
        .iter()
        .map(|known| format!("{before}{known}"))
        .collect();
    match nearest(&shown(&path[..=nth]), &known) {
        Some(near) => failure.hint(format!("did you mean {}?", ui::one_line(near))),
        None if known.is_empty() => failure.hint("it takes none"),
        None => failure.hint(format!("it has {}", ui::one_line(&known.join(", ")))),
    }
}

fn shown(path: &[Step<'_>]) -> String {
    let mut out = String::new();
    for step in path {
        match step {
            Step::Member(name) if out.is_empty() => out.push_str(name),
            Step::Member(name) => {
                out.push('.');
                out.push_str(name);
            }
            Step::Next => out.push_str("[]"),
        }
    }
    out
}

fn insert(all: &mut Piece, path: &[Step<'_>], value: Raw) -> Result<(), Failure> {
    let mut at = all;
    for (i, step) in path.iter().enumerate() {
        let is_list = path.get(i + 1) == Some(&Step::Next);
        let clash = || {
            let name = shown(&path[..=i]);
            Failure::usage(format!("{name} is given twice, in different ways"))
        };
        at = match step {
            Step::Member(name) => {
                let Piece::Members(members) = at else {
                    return Err(clash());
                };
                if i + 1 == path.len() && members.contains_key(*name) {
                    return Err(Failure::usage(format!("{} is given twice", shown(path))));
                }
                members.entry((*name).to_owned()).or_insert_with(|| {
                    if is_list {
                        Piece::Elements(Vec::new())
                    } else {
                        Piece::Members(BTreeMap::new())
                    }
                })
            }
            Step::Next => {
                let Piece::Elements(elements) = at else {
                    return Err(clash());
                };
                elements.push(Piece::Members(BTreeMap::new()));
                elements.last_mut().ok_or_else(clash)?
            }
        };
    }
    *at = Piece::Written(value);
    Ok(())
}

pub(crate) mod offered;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
