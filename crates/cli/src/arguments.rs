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
use crate::kinds::{kinds, types};
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
    let reading = Reading::of(schema);
    let mut all = Piece::Members(BTreeMap::new());
    for word in words {
        let word = Word::split(word)?;
        let place = place_of(&reading, &word.path, &all)?;
        let value = word.value(&reading, place.as_ref())?;
        insert(&mut all, &word.path, value)?;
    }
    Ok(all.members().unwrap_or_default())
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

    fn value(&self, reading: &Reading<'_>, place: Option<&Said<'_>>) -> Result<Raw, Failure> {
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
        plain(&self.name(), text, reading, place)
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

/// What the schema says of the place where a path ends; nothing: any may do there.
///
/// # Errors
/// The schema knows no such place.
fn place_of<'s>(
    reading: &Reading<'s>,
    path: &[Step<'_>],
    before: &Piece,
) -> Result<Option<Said<'s>>, Failure> {
    let mut at = Said::Schema(reading.root());
    let mut before = Some(before);
    for (nth, step) in path.iter().enumerate() {
        let (next, there) = match step {
            Step::Member(name) => (
                reading.next(&at, places::Step::Member(name)),
                before.and_then(|before| before.member(name)),
            ),
            // One more element, in which nothing is yet.
            Step::Next => {
                let count = before.map_or(0, Piece::elements);
                (reading.next(&at, places::Step::Element(count)), None)
            }
        };
        at = match next {
            Next::Known(said) => said,
            Next::Never | Next::Open => return Ok(None),
            Next::Unknown => return Err(unknown(path, nth, &reading.names(&at), reading.root())),
        };
        before = there;
    }
    Ok(Some(at))
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "n": {"type": "integer"}, "x": {"type": "number"}, "on": {"type": "boolean"},
                "name": {"type": "string"}, "zip": {"type": "string"}, "maybe": {"type": ["integer", "null"]},
                "either": {"anyOf": [{"type": "boolean"}, {"type": "string"}]},
                "tags": {"type": "array", "items": {"type": "string"}},
                "sizes": {"type": "array", "items": {"type": "integer"}},
                "at": {"$ref": "#/$defs/Place"},
                "mode": {"enum": ["fast", "slow"]}, "free": {}, "dot.ted": {"type": "string"}, "list[]": {"type": "string"},
            },
            "required": ["n", "name"],
            "$defs": {"Place": {"type": "object", "properties": {"lat": {"type": "number"}}}},
        })
    }

    // req: S-ARGS, BR-044
    #[test]
    fn words_become_what_the_schema_says() {
        let rows: &[(&[&str], Value)] = &[
            (&["n=7", "name=012"], json!({"n": 7, "name": "012"})),
            (&["x=1e3", "on=true"], json!({"x": 1000.0, "on": true})),
            (&["maybe=null"], json!({"maybe": null})),
            (&["maybe=3"], json!({"maybe": 3})),
            (&["either=true"], json!({"either": true})),
            (&["either=yes"], json!({"either": "yes"})),
            (&["tags[]=1", "tags[]=b"], json!({"tags": ["1", "b"]})),
            (&["sizes[]=1", "sizes[]=2"], json!({"sizes": [1, 2]})),
            (&["sizes=[1,2]"], json!({"sizes": [1, 2]})),
            (&["at.lat=47.5"], json!({"at": {"lat": 47.5}})),
            (&["at:={\"lat\":1}"], json!({"at": {"lat": 1}})),
            (&["mode=fast"], json!({"mode": "fast"})),
            (&["free=7"], json!({"free": "7"})),
            (&["free:=7"], json!({"free": 7})),
            (&["name=a=b"], json!({"name": "a=b"})),
            (&["name="], json!({"name": ""})),
            (
                &["name=null", "zip=1e5"],
                json!({"name": "null", "zip": "1e5"}),
            ),
            (
                &["name=[1]", "zip=true"],
                json!({"name": "[1]", "zip": "true"}),
            ),
            (&["zip={\"a\":1}"], json!({"zip": "{\"a\":1}"})),
            (&["maybe:=null"], json!({"maybe": null})),
        ];
        for (words, want) in rows {
            let words: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
            let got = parse(&words, &schema()).unwrap();
            let got = serde_json::to_value(got).unwrap();
            assert_eq!(got, *want, "{words:?}");
        }
    }

    // req: S-EXACT
    #[test]
    fn numbers_stay_as_they_are_written() {
        let long = "123456789012345678901234567890";
        for (word, want) in [
            ("n=LONG", r#"{"n":LONG}"#),
            ("n:=-LONG", r#"{"n":-LONG}"#),
            ("n=1.0", r#"{"n":1.0}"#),
            ("n=1e2", r#"{"n":1e2}"#),
            ("n=-0", r#"{"n":-0}"#),
            ("maybe=LONG", r#"{"maybe":LONG}"#),
            (
                "x=0.1234567890123456789012345",
                r#"{"x":0.1234567890123456789012345}"#,
            ),
            ("x=1e400", r#"{"x":1e400}"#),
            ("sizes[]=LONG", r#"{"sizes":[LONG]}"#),
            ("sizes=[LONG, 1.50]", r#"{"sizes":[LONG, 1.50]}"#),
            ("at.lat:=LONG", r#"{"at":{"lat":LONG}}"#),
            ("free:={\"a\":[LONG]}", r#"{"free":{"a":[LONG]}}"#),
        ] {
            let given = parse(&[word.replace("LONG", long)], &schema()).unwrap();
            let text = serde_json::to_string(&given).unwrap();
            assert_eq!(text, want.replace("LONG", long), "{word}");
        }
    }

    // req: S-ARGS
    #[test]
    fn what_does_not_fit_names_its_field() {
        let rows: &[(&[&str], &str)] = &[
            (&["n=x"], "n: \"x\" is no integer"),
            (&["n=1.5"], "n: \"1.5\" is no integer"),
            (&["n=1e-2"], "n: \"1e-2\" is no integer"),
            (&["on=yes"], "on: \"yes\" is no boolean"),
            (&["sizes[]=a"], "sizes[]: \"a\" is no integer"),
            (&["at.lat=north"], "at.lat: \"north\" is no number"),
            (&["nam=x"], "there is no argument nam"),
            (&["dot.ted=x"], "there is no argument dot.ted"),
            (&["list[]=x"], "there is no argument list[]"),
            (&["at.lon=1"], "there is no argument at.lon"),
            (&["name"], "\"name\" is no argument: there is no ="),
            (&["=x"], "\"=x\" is no argument: a name is missing before ="),
            (&["n:=x"], "n: this is no JSON"),
            (&["n=1", "n=2"], "n is given twice"),
            (&["tags[]=a", "tags=[]"], "tags is given twice"),
            (
                &["at.lat=1", "at[]=2"],
                "at[] is given twice, in different ways",
            ),
            (
                &["name=@/nowhere/at/all"],
                "name: cannot read /nowhere/at/all",
            ),
        ];
        for (words, want) in rows {
            let words: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
            let failure = parse(&words, &schema()).unwrap_err();
            assert!(
                failure.message().starts_with(want),
                "{words:?}: {}",
                failure.message()
            );
        }
        // A name that cannot be written that way can be given in another.
        for word in ["dot.ted=x", "list[]=x"] {
            let failure = parse(&[word.to_owned()], &schema()).unwrap_err();
            assert!(failure.remedy().unwrap().contains("--args"), "{word}");
        }
    }

    // req: BR-151
    #[test]
    fn br_151_no_arguments_are_none_whatever_the_schema_says() {
        for schema in [
            json!({}),
            json!(true),
            json!({"type": "object"}),
            json!({"type": "object", "properties": null}),
            json!({"properties": {}, "required": null}),
        ] {
            let given = parse(&[], &schema).unwrap();
            assert_eq!(serde_json::to_value(&given).unwrap(), json!({}), "{schema}");
            assert!(missing(&given, &schema).is_empty(), "{schema}");
        }
    }

    // req: S-ARGS
    #[test]
    fn what_is_missing_is_said_with_its_type() {
        let mut schema = schema();
        schema["required"] = json!(["n", "name", "mode", "either", "which"]);
        schema["properties"]["which"] =
            json!({"oneOf": [{"const": "a"}, {"const": "b"}], "description": "One.\nOr not."});
        let given = parse(&["n=1".to_owned()], &schema).unwrap();
        assert_eq!(
            missing(&given, &schema),
            [
                "name (string)",
                "mode (fast or slow)",
                "either (boolean or string)",
                "which (a or b): One.",
            ]
        );
    }
}
