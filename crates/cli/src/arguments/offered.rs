//! The words that give arguments of a tool, for whoever completes a command line: each is taken as it stands, and sends that very value.
//! Not what was seen of which server, nor how a shell takes them.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use super::{Step, Word, as_written, insert, place_of, plain, shown};
use crate::kinds::{choice, may_hold, short_value, types, values};
use crate::pieces::{self, Piece};
use crate::places::{self, Next, Reading, Said};

/// Steps to the members of members that are offered.
const DEPTH: usize = 4;
/// Arguments after which no members of members are offered.
const ENOUGH: usize = 200;
/// Pairs of words that are looked at for whether they go together.
const PAIRS: usize = 2_000;

/// One argument, or a member of one.
#[derive(Debug)]
pub(crate) struct Offered<'s> {
    /// What stands before the `=`.
    pub(crate) name: String,
    pub(crate) about: Option<String>,
    /// What may stand behind it, where that is counted.
    pub(crate) values: Vec<String>,
    path: Vec<Step<'s>>,
}

/// At most so many arguments of a tool, those of the whole before members of members.
pub(crate) fn offered<'s>(reading: &Reading<'s>, most: usize) -> Vec<Offered<'s>> {
    let mut all = Vec::new();
    let mut open = VecDeque::from([(Vec::new(), reading.whole())]);
    while let Some((path, at)) = open.pop_front() {
        for (step, place) in steps(reading, &path, &at) {
            let enough = if path.is_empty() { most } else { ENOUGH };
            if all.len() >= enough {
                return all;
            }
            let path = [&path[..], &[step]].concat();
            let Some(name) = said(&path) else { continue };
            all.push(Offered {
                values: sayable(&name, reading, &place),
                about: reading.told(&place)["description"]
                    .as_str()
                    .map(str::to_owned),
                path: path.clone(),
                name,
            });
            if path.len() < DEPTH {
                open.push_back((path, place));
            }
        }
    }
    all
}

/// Pairs of a word that is given and one that does not go with it, because they belong to different alternatives of the schema. The
/// second ends at its `=` where no value goes.
pub(crate) fn apart(reading: &Reading<'_>, all: &[Offered<'_>]) -> Vec<(String, String)> {
    let mut apart = Vec::new();
    let mut left = PAIRS;
    for one in all.iter().take(ENOUGH).filter(|one| tells(reading, one)) {
        // Only what stands beside it can belong to another alternative.
        let parent = &one.path[..one.path.len() - 1];
        let beside = |other: &&Offered<'_>| {
            other.path.starts_with(parent) && !other.path.starts_with(&one.path)
        };
        for word in words(one) {
            let given = as_written(std::slice::from_ref(&word));
            for other in all.iter().filter(beside) {
                if left == 0 {
                    return apart;
                }
                left -= 1;
                let gone = gone(reading, other, &given);
                apart.extend(gone.into_iter().map(|gone| (word.clone(), gone)));
            }
        }
    }
    apart
}

/// The words of an argument that do not go with what is given.
fn gone(reading: &Reading<'_>, other: &Offered<'_>, given: &Piece) -> Vec<String> {
    let nothing = Piece::Members(BTreeMap::new());
    match place_of(reading, &other.path, &nothing, given) {
        Err(_) => vec![format!("{}=", other.name)],
        Ok(Some(place)) if !other.values.is_empty() => {
            let still = sayable(&other.name, reading, &place);
            let gone = other.values.iter().filter(|value| !still.contains(value));
            gone.map(|value| format!("{}={value}", other.name))
                .collect()
        }
        Ok(_) => Vec::new(),
    }
}

/// May a word stand beside these? Not whether the schema knows any of them.
pub(crate) fn goes_beside(given: &[String], word: &str) -> bool {
    let mut all = Piece::Members(BTreeMap::new());
    let mut put = |word: &str| {
        let word = Word::split(word).ok()?;
        insert(&mut all, &word.path, pieces::string("")).ok()
    };
    for word in given {
        put(word);
    }
    put(word).is_some()
}

/// Can an argument of this name be given as a word?
pub(crate) fn can_be_said(name: &str) -> bool {
    said(&[Step::Member(name)]).is_some()
}

/// The words that give an argument: one for each value, where these are counted.
fn words(one: &Offered<'_>) -> Vec<String> {
    let word = |value: &str| format!("{}={value}", one.name);
    match &one.values[..] {
        [] => vec![word("")],
        values => values.iter().map(|value| word(value)).collect(),
    }
}

/// Is there an alternative that does not fit a value of this argument, or has no room for it, where another does?
fn tells(reading: &Reading<'_>, one: &Offered<'_>) -> bool {
    let mut at = reading.whole();
    let Some((Step::Member(name), before)) = one.path.split_last() else {
        return false;
    };
    for step in before {
        match step {
            Step::Member(name) => at = reading.at(&at, places::Step::Member(name)),
            // Each of its words begins another element.
            Step::Next => return false,
        }
    }
    let tells = |value: &str| {
        let given = as_written(&[format!("{name}={value}")]);
        reading.is_told(&at, &|part| may_hold(reading, part, &given, None))
    };
    match &one.values[..] {
        [] => tells(""),
        values => values.iter().take(ENOUGH).any(|value| tells(value)),
    }
}

/// The steps that may be taken from a place.
fn steps<'s>(reading: &Reading<'s>, path: &[Step<'s>], at: &Said<'s>) -> Vec<(Step<'s>, Said<'s>)> {
    let names = reading.names(at).into_iter();
    let members = names.filter_map(|name| match reading.next(at, places::Step::Member(name)) {
        Next::Known(place) => Some((Step::Member(name), place)),
        Next::Never | Next::Open | Next::Unknown => None,
    });
    let mut steps: Vec<_> = members.collect();
    if !path.is_empty() && types(reading, at).contains(&"array") {
        let of = |step| reading.at(at, step);
        // What the first is need not be what the second is.
        let is_one = matches!(
            (of(places::Step::Element(0)), of(places::Step::LAST)),
            (Said::Schema(first), Said::Schema(last)) if std::ptr::eq(first, last)
        );
        let place = is_one.then(|| of(places::Step::LAST));
        steps.push((Step::Next, place.unwrap_or(Said::Nothing)));
    }
    steps
}

/// What stands before the `=` of a word that leads there, if any word does.
fn said(path: &[Step<'_>]) -> Option<String> {
    let name = shown(path);
    let word = format!("{name}=");
    let is_said = Word::split(&word).is_ok_and(|word| word.path == path && !word.is_json);
    // What begins with - is an option.
    (is_said && !name.starts_with('-')).then_some(name)
}

/// The values of a place that can stand behind `=`: some can only be given as JSON, or would name a file.
fn sayable(name: &str, reading: &Reading<'_>, place: &Said<'_>) -> Vec<String> {
    let mut counted = choice(reading, place).unwrap_or_else(|| values(reading, place));
    if counted.is_empty() && types(reading, place).contains(&"boolean") {
        counted = vec![Value::Bool(true), Value::Bool(false)];
    }
    let is_said = |value: &Value| {
        let text = short_value(value);
        let meant = pieces::value(value);
        let sent = plain(name, &text, reading, Some(place)).ok();
        !text.starts_with('@') && sent.is_some_and(|sent| sent.as_str() == meant.as_str())
    };
    counted.retain(is_said);
    counted.iter().map(short_value).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
