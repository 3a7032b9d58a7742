//! What is offered is taken, and sent as it was meant.

use serde_json::json;

use super::*;
use crate::arguments::parse;

/// What stands at the end of a path, elements being the only ones of their list.
fn at<'v>(sent: &'v Value, path: &[Step<'_>]) -> &'v Value {
    path.iter().fold(sent, |at, step| match step {
        Step::Member(name) => &at[*name],
        Step::Next => &at[0],
    })
}

fn sent(words: &[&str], schema: &Value) -> Result<Value, String> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let sent = parse(&words, schema).map_err(|failure| failure.message().to_owned())?;
    Ok(serde_json::to_value(sent).unwrap())
}

/// A schema, and all words that are offered for it.
fn rows() -> Vec<(Value, &'static str)> {
    let properties = |properties: Value| json!({"type": "object", "properties": properties});
    vec![
        (
            properties(json!({"k": {"enum": [1, 2, "3"]}})),
            "k= k=1 k=2 k=3",
        ),
        (properties(json!({"k": {"enum": [3, "3"]}})), "k= k=3"),
        (
            properties(json!({"k": {"enum": ["null", null, "true", "@file", {"a": 1}]}})),
            "k= k=null k=true k={\"a\":1}",
        ),
        (properties(json!({"k": {"const": 1.50}})), "k= k=1.5"),
        (
            properties(json!({"k": {"anyOf": [{"enum": ["7"]}, {"type": "integer"}]}})),
            "k=",
        ),
        (
            properties(json!({"k": {"type": "boolean"}})),
            "k= k=true k=false",
        ),
        // Names that mean something here.
        (
            properties(
                json!({"x.y": {}, "l[]": {}, "a=b": {}, "c:": {}, "-d": {}, "": {}, "ok": {}}),
            ),
            "ok=",
        ),
        (
            properties(
                json!({"at": properties(json!({"lat": {"enum": [1]}, "x.y": {}, "deep": properties(json!({"z": {"const": "z"}}))}))}),
            ),
            "at= at.lat= at.lat=1 at.deep= at.deep.z= at.deep.z=z",
        ),
        (
            properties(json!({"t": {"type": "array", "items": {"enum": ["a", 2]}}})),
            "t= t[]= t[]=a t[]=2",
        ),
        (
            properties(
                json!({"t": {"type": ["array", "null"], "items": properties(json!({"n": {"enum": [1]}}))}}),
            ),
            "t= t[]= t[].n= t[].n=1",
        ),
        (
            properties(json!({"t": {"prefixItems": [{"enum": [1]}, {"enum": ["a"]}]}})),
            "t= t[]=",
        ),
        // A text has no members, whatever is said of them.
        (
            properties(json!({"s": {"type": "string", "properties": {"a": {}}}})),
            "s=",
        ),
        (
            properties(json!({"disc": {"oneOf": [
                properties(json!({"kind": {"const": "a"}, "n": {"enum": [1]}})),
                properties(json!({"kind": {"const": "b"}, "n": {"enum": ["one"]}})),
            ]}})),
            "disc= disc.kind= disc.kind=a disc.kind=b disc.n= disc.n=1 disc.n=one",
        ),
    ]
}

// req: S-COMPLETION
#[test]
fn what_is_offered_is_sent_as_it_was_meant() {
    for (schema, want) in rows() {
        let reading = Reading::of(&schema);
        let offered = offered(&reading, 100);
        let mut words = Vec::new();
        for argument in &offered {
            let name = &argument.name;
            words.push(format!("{name}="));
            for value in &argument.values {
                let word = format!("{name}={value}");
                let sent = sent(&[&word], &schema).unwrap();
                let sent = at(&sent, &argument.path);
                let nothing = Piece::Members(BTreeMap::new());
                let place = place_of(&reading, &argument.path, &nothing, &nothing);
                let counted = values(&reading, &place.unwrap().unwrap());
                assert!(
                    counted.contains(sent) || sent.is_boolean(),
                    "{word}: {sent}"
                );
                words.push(word);
            }
            // A name is taken with some value behind it.
            let taken = ["0", "x", "true", "null", "{}", "[]"]
                .iter()
                .chain(
                    &argument
                        .values
                        .iter()
                        .map(String::as_str)
                        .collect::<Vec<_>>(),
                )
                .any(|value| sent(&[&format!("{name}={value}")], &schema).is_ok());
            assert!(taken, "{name}= is refused by {schema}");
        }
        words.sort();
        let mut want: Vec<&str> = want.split(' ').collect();
        want.sort_unstable();
        assert_eq!(words, want, "{schema}");
    }
}

// req: S-COMPLETION
#[test]
fn what_belongs_to_another_alternative_is_kept_apart() {
    let branch = |kind: &str, own: &str, n: Value| json!({"properties": {"kind": {"const": kind}, own: {"type": "integer"}, "n": {"enum": [n]}}});
    let union = json!({"oneOf": [branch("a", "only_a", json!(1)), branch("b", "only_b", json!("1"))], "properties": {"kind": {}}});
    for (schema, before) in [
        (union.clone(), ""),
        (json!({"properties": {"d": union, "other": {}}}), "d."),
    ] {
        let reading = Reading::of(&schema);
        let apart = apart(&reading, &offered(&reading, 100));
        let apart: Vec<String> = apart
            .iter()
            .map(|(one, other)| format!("{one} {other}").replace(before, ""))
            .collect();
        assert_eq!(apart, ["kind=a only_b=", "kind=b only_a="], "{schema}");
    }
}

// req: S-COMPLETION
#[test]
fn every_value_and_every_name_may_tell_alternatives_apart() {
    let both = |a: Value, b: Value| json!({"oneOf": [{"properties": a}, {"properties": b}]});
    let modes = both(
        json!({"mode": {"enum": ["r", "w"]}, "path": {}}),
        json!({"mode": {"enum": ["r", "x"]}, "addr": {}}),
    );
    let names = both(json!({"path": {}, "n": {}}), json!({"addr": {}, "n": {}}));
    let mut closed = names.clone();
    for nth in [0, 1] {
        closed["oneOf"][nth]["additionalProperties"] = json!(false);
    }
    for (schema, want) in [
        (modes, &["mode=w addr=", "mode=x path="][..]),
        (names, &[]),
        (closed, &["addr= path=", "path= addr="]),
    ] {
        let reading = Reading::of(&schema);
        let apart = apart(&reading, &offered(&reading, 100));
        let pairs = apart.iter().map(|(one, other)| format!("{one} {other}"));
        let mut pairs: Vec<String> = pairs.collect();
        pairs.sort();
        assert_eq!(pairs, want, "{schema}");
    }
}

// req: S-COMPLETION
#[test]
fn what_is_given_already_is_not_offered_in_another_way() {
    for (given, word, want) in [
        (&["a=1"][..], "b=", true),
        (&["a=1"], "a=", false),
        (&["a:=1"], "a=", false),
        (&["a=@file"], "a=", false),
        (&["a=1"], "a.b=", false),
        (&["a.b=1"], "a=", false),
        (&["a.b=1"], "a.c=", true),
        (&["a.b=1"], "a.b=", false),
        (&["a[]=1"], "a[]=", true),
        (&["a[]=1"], "a=", false),
        (&["a[].b=1"], "a[].b=", true),
        (&["what is no argument"], "a=", true),
    ] {
        let given: Vec<String> = given.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(goes_beside(&given, word), want, "{given:?} {word}");
    }
}

// req: S-COMPLETION
#[test]
fn what_has_no_end_is_offered_to_an_end() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let members: Value = names
        .iter()
        .map(|name| ((*name).to_owned(), json!({"$ref": "#"})))
        .collect();
    let schema = json!({"properties": members});
    let offered = offered(&Reading::of(&schema), 1_000);
    assert_eq!(offered.len(), ENOUGH);
    assert!(offered.iter().all(|one| one.path.len() <= DEPTH));
    let many: Value = (0..2_000).map(|n| (format!("m{n}"), json!({}))).collect();
    let schema = json!({"properties": many});
    assert_eq!(super::offered(&Reading::of(&schema), 1_000).len(), 1_000);
}
