//! What becomes of words, by the schema and without it.

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

// req: D-25
#[test]
fn d_25_what_does_not_fit_is_text_where_nothing_is_checked() {
    let rows: &[(&[&str], Value)] = &[
        // What fits is what it is all the same.
        (&["n=7", "on=true"], json!({"n": 7, "on": true})),
        (&["n=x"], json!({"n": "x"})),
        (&["n=1.5"], json!({"n": "1.5"})),
        (&["on=yes", "x="], json!({"on": "yes", "x": ""})),
        (&["sizes[]=a", "sizes[]=2"], json!({"sizes": ["a", 2]})),
        (&["at.lat=north"], json!({"at": {"lat": "north"}})),
        (&["at=here"], json!({"at": "here"})),
        (&["nam=x"], json!({"nam": "x"})),
        (&["at.lon=1"], json!({"at": {"lon": "1"}})),
        (&["name.first=x"], json!({"name": {"first": "x"}})),
        (&["dot.ted=x"], json!({"dot": {"ted": "x"}})),
    ];
    let mut closed = schema();
    closed["additionalProperties"] = json!(false);
    for (words, want) in rows {
        let words: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
        let got = parse_unchecked(&words, &closed).unwrap();
        assert_eq!(serde_json::to_value(got).unwrap(), *want, "{words:?}");
    }
    // What cannot be sent is refused.
    for words in [
        &["name"][..],
        &["n:=x"],
        &["n=1", "n=2"],
        &["name=@/nowhere"],
    ] {
        let words: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
        assert!(parse_unchecked(&words, &closed).is_err(), "{words:?}");
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

// req: S-ARGS
#[test]
fn the_alternative_that_is_meant_types_the_others() {
    let branch = |kind: Value, n: &str, own: &str| json!({"type": "object", "properties": {"kind": kind, "n": {"type": n}, own: {"type": n}}});
    let two = |a: Value, b: Value| json!([branch(a, "integer", "a"), branch(b, "string", "b")]);
    let defs = json!({"A": branch(json!({"const": "a"}), "integer", "a"), "B": branch(json!({"const": "b"}), "string", "b")});
    let unions = [
        json!({"oneOf": two(json!({"const": "a"}), json!({"const": "b"}))}),
        json!({"anyOf": two(json!({"enum": ["a", "c"]}), json!({"enum": ["b", "d"]}))}),
        json!({"oneOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}]}),
        json!({"oneOf": [{"allOf": [{"$ref": "#/$defs/A"}]}, {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/B"}]}]}),
        json!({"properties": {"kind": {"type": "string"}}, "oneOf": two(json!({"const": "a"}), json!({"const": "b"}))}),
    ];
    let rows: &[(&[&str], Result<Value, &str>)] = &[
        (&["kind=a", "n=7"], Ok(json!({"kind": "a", "n": 7}))),
        (&["kind=b", "n=7"], Ok(json!({"kind": "b", "n": "7"}))),
        // In whatever order they stand, and however it is written.
        (&["n=7", "kind=b"], Ok(json!({"kind": "b", "n": "7"}))),
        (&["n=7", "kind:=\"b\""], Ok(json!({"kind": "b", "n": "7"}))),
        (&["kind=a", "n=x"], Err("n: \"x\" is no integer")),
        (&["kind=b", "a=1"], Err("a does not go with kind=\"b\"")),
        (&["kind=b", "c=1"], Err("there is no argument c")),
        (&["kind=b", "b=1"], Ok(json!({"kind": "b", "b": "1"}))),
        // What fits none of them tells nothing, nor does what is not given.
        (&["kind=z", "n=7"], Ok(json!({"kind": "z", "n": 7}))),
        (&["n=x"], Ok(json!({"n": "x"}))),
    ];
    for union in unions {
        let mut whole = union.clone();
        whole["$defs"] = defs.clone();
        let deep = json!({"properties": {"deep": union}, "$defs": defs});
        for (words, want) in rows {
            for (schema, before) in [(&whole, ""), (&deep, "deep.")] {
                let words: Vec<String> = words.iter().map(|w| format!("{before}{w}")).collect();
                let got = parse(&words, schema).map_err(|failure| failure.message().to_owned());
                match want {
                    Ok(want) => {
                        let got = serde_json::to_value(got.unwrap()).unwrap();
                        let got = if before.is_empty() {
                            &got
                        } else {
                            &got["deep"]
                        };
                        assert_eq!(got, want, "{words:?} {schema}");
                    }
                    Err(want) => {
                        let got = got.unwrap_err().replace(before, "");
                        assert_eq!(got, *want, "{words:?} {schema}");
                    }
                }
            }
        }
    }
}

// req: S-ARGS
#[test]
fn an_alternative_without_room_for_what_is_given_is_not_meant() {
    let (text, number) = (json!({"type": "string"}), json!({"type": "integer"}));
    let closed = |properties: Value| json!({"type": "object", "properties": properties, "additionalProperties": false});
    let names = [
        closed(json!({"path": text, "n": number})),
        closed(json!({"addr": text, "n": text})),
    ];
    let open = json!({"properties": {"addr": text, "n": text}});
    let modes = [
        closed(json!({"mode": {"enum": ["r", "w"]}, "n": number, "path": text})),
        closed(json!({"mode": {"enum": ["r", "x"]}, "n": text, "addr": text})),
    ];
    for (union, words, want) in [
        (json!(names), "path=p n=7", r#"{"n":7,"path":"p"}"#),
        (json!(names), "n=7 addr=p", r#"{"addr":"p","n":"7"}"#),
        // One that has room for others may be meant all the same.
        (
            json!([names[0], open]),
            "addr=p n=7",
            r#"{"addr":"p","n":"7"}"#,
        ),
        (
            json!(names),
            "path=p addr=q",
            "path does not go with addr=\"q\"; what does: n",
        ),
        (json!(modes), "mode=w n=7", r#"{"mode":"w","n":7}"#),
        (json!(modes), "mode=x n=7", r#"{"mode":"x","n":"7"}"#),
        (json!(modes), "mode=r n=7", r#"{"mode":"r","n":7}"#),
        (
            json!(modes),
            "mode=r addr=q n=7",
            r#"{"addr":"q","mode":"r","n":"7"}"#,
        ),
        (
            json!(modes),
            "mode=x path=p",
            "path does not go with mode=\"x\"; what does: n, addr",
        ),
        (
            json!(modes),
            "path=p mode=x n=7",
            "path does not go with mode=\"x\"; what does: addr",
        ),
    ] {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let deep: Vec<String> = words.iter().map(|word| format!("deep.{word}")).collect();
        let union = json!({"oneOf": union});
        let whole = json!({"properties": {"deep": union}});
        let got = |words: &[String], schema: &Value| match parse(words, schema) {
            Ok(sent) => serde_json::to_string(&sent).unwrap(),
            Err(failure) => format!("{}; {}", failure.message(), failure.remedy().unwrap()),
        };
        assert_eq!(got(&words, &union), want, "{words:?} {union}");
        let nested = got(&deep, &whole).replace("deep.", "");
        let nested = nested
            .strip_prefix("{\"deep\":")
            .map_or(&*nested, |it| &it[..it.len() - 1]);
        assert_eq!(nested, want, "{deep:?} {whole}");
    }
}

// req: S-ARGS
#[test]
fn numbers_and_truths_tell_alternatives_apart_too() {
    let schema = json!({"oneOf": [
        {"properties": {"v": {"const": 1}, "x": {"type": "integer"}}},
        {"properties": {"v": {"const": "two"}, "x": {"type": "boolean"}}},
        {"properties": {"v": {"enum": [true, null]}, "x": {"type": "string"}}},
    ]});
    for (words, want) in [
        (["v=1", "x=5"], json!({"v": 1, "x": 5})),
        (["v=two", "x=true"], json!({"v": "two", "x": true})),
        (["v=true", "x=5"], json!({"v": true, "x": "5"})),
        (["v:=null", "x=true"], json!({"v": null, "x": "true"})),
    ] {
        let got = parse(&words.map(str::to_owned), &schema).unwrap();
        assert_eq!(serde_json::to_value(got).unwrap(), want, "{words:?}");
    }
}
