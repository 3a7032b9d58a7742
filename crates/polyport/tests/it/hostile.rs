//! Schemas, arguments and URIs that are made to take long, to nest, or to fetch: each ends soon, whatever it ends in.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use polyport::schema::Validator;
use polyport::serde_json::{Map, Value, json};
use polyport::uri_template::UriTemplate;

/// What is linear or bounded is done long before; what is not would take hours.
const SOON: Duration = Duration::from_secs(10);
/// Stack of a small thread: a quarter of what threads have.
const SMALL: usize = 512 << 10;

/// Does it on a thread with little stack, and soon.
fn soon<T: Send + 'static>(
    what: impl fmt::Display,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let begun = Instant::now();
    let worker = thread::Builder::new().stack_size(SMALL).spawn(work);
    let done = worker.unwrap().join();
    let took = begun.elapsed();
    assert!(took < SOON, "{what}: {took:?}");
    done.unwrap_or_else(|_| panic!("{what}: it panicked"))
}

/// Compiles, and checks some texts; whether each fits. None: the schema is refused.
fn check(what: impl fmt::Display, schema: Value, texts: Vec<String>) -> Option<Vec<bool>> {
    soon(what, move || {
        let validator = Validator::new(&schema).ok()?;
        let verdicts = texts.iter().map(|text| validator.check(text).is_ok());
        Some(verdicts.collect())
    })
}

/// Definitions `d0` to `d{length}`, each made of the next; the last is this one.
fn chain(length: usize, last: Value, each: impl Fn(Value) -> Value) -> Value {
    let mut definitions = Map::new();
    for n in 0..length {
        let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
        definitions.insert(format!("d{n}"), each(next));
    }
    definitions.insert(format!("d{length}"), last);
    json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": definitions})
}

fn texts<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}

// req: V-411
#[test]
fn v_411_definitions_that_double_end_soon() {
    let string = || json!({"type": "string"});
    for keyword in ["anyOf", "allOf", "oneOf"] {
        for length in [8, 30, 95] {
            let schema = chain(length, string(), |next| json!({keyword: [next, next]}));
            let verdicts = check(
                format!("{keyword} {length}"),
                schema,
                texts([r#"{"x":"a"}"#, r#"{"x":1}"#]),
            );
            let [good, bad] = verdicts.unwrap()[..] else {
                panic!()
            };
            // Where it is too much to tell, the answer is no. Two branches of oneOf never fit alone.
            assert!(
                !bad && (good || keyword == "oneOf" || length > 8),
                "{keyword} {length}"
            );
        }
        // The same where each level of the arguments doubles.
        let schema = chain(100, string(), |next| {
            let part = json!({"properties": {"a": next}});
            json!({keyword: [part, part]})
        });
        let bad = format!("{{\"x\":{}1{}}}", "{\"a\":".repeat(100), "}".repeat(100));
        let verdicts = check(format!("{keyword} by level"), schema, vec![bad]);
        assert!(verdicts.unwrap() == [false] || keyword == "oneOf");
    }
}

// req: V-411
#[test]
fn v_411_a_type_that_holds_itself_in_two_variants_is_told_soon() {
    // As serde's untagged enums are described; whoever calls needs but a kilobyte to make it double sixty times.
    for keyword in ["anyOf", "oneOf"] {
        let variant = |name: &str| {
            let inner = json!({"$ref": "#/$defs/e"});
            json!({
                "type": "object",
                "properties": {"l": inner, "r": inner, "op": {"const": name}},
                "required": ["l", "op"],
            })
        };
        let schema = json!({
            "type": "object",
            "properties": {"x": {"$ref": "#/$defs/e"}},
            "$defs": {"e": {keyword: [variant("a"), variant("b"), {"type": "integer"}]}},
        });
        for depth in [2, 6, 60] {
            let nested = |leaf: &str| {
                let (open, close) = (r#"{"op":"b","l":"#.repeat(depth), "}".repeat(depth));
                format!("{{\"x\":{open}{leaf}{close}}}")
            };
            let verdicts = check(depth, schema.clone(), vec![nested("1"), nested("\"x\"")]);
            assert_eq!(verdicts.unwrap(), [true, false], "{keyword} {depth}");
        }
        // What is not too deep is still told in words.
        let told = Validator::new(&schema)
            .unwrap()
            .check(r#"{"x":{"op":"b","l":"x"}}"#);
        let told = told.unwrap_err().to_string();
        assert!(told.contains("/x/l"), "{told}");
    }
}

// req: V-411
#[test]
fn v_411_circles_and_chains_of_references_end() {
    let string = json!({"type": "string"});
    let circle = |a: Value| json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": {"a": a, "b": {"$ref": "#/$defs/a"}}});
    for (what, schema) in [
        ("itself", json!({"type": "object", "$ref": "#"})),
        ("one", circle(json!({"$ref": "#/$defs/a"}))),
        ("two", circle(json!({"$ref": "#/$defs/b"}))),
        (
            "a branch",
            circle(json!({"anyOf": [{"$ref": "#/$defs/b"}, {"type": "string"}]})),
        ),
        ("a negation", circle(json!({"not": {"$ref": "#/$defs/b"}}))),
        ("a chain", chain(4_000, string.clone(), |next| next)),
        (
            "negations",
            chain(2_000, string.clone(), |next| json!({"not": next})),
        ),
        (
            "nested types",
            chain(
                2_000,
                string.clone(),
                |next| json!({"type": "object", "properties": {"a": next}}),
            ),
        ),
        ("too many", chain(20_000, string, |next| next)),
    ] {
        // Any verdict will do: it is the end that counts.
        let _verdicts = check(what, schema, texts([r#"{"x":"a"}"#, r#"{"x":1}"#, "{}"]));
    }
}

// req: V-411
#[test]
fn v_411_nothing_is_ever_fetched() {
    // Whoever connects here would be seen.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    // A schema that would do, were it read.
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fetched-by-nobody.json");
    fs::write(&file, r#"{"type":"integer"}"#).unwrap();
    let file = file.display();
    for reference in [
        format!("http://{address}/s.json"),
        format!("http://{address}/s.json#/$defs/a"),
        format!("file://{file}"),
        file.to_string(),
        "s.json".to_owned(),
        "urn:example:s".to_owned(),
    ] {
        for schema in [
            json!({"type": "object", "properties": {"x": {"$ref": reference}}}),
            json!({"type": "object", "properties": {"x": {"$dynamicRef": reference}}}),
            json!({"type": "object", "$id": format!("http://{address}/"), "properties": {"x": {"$ref": reference}}}),
            json!({"type": "object", "$id": format!("file://{file}/../x"), "properties": {"x": {"$ref": reference}}}),
            json!({"type": "object", "$schema": reference}),
        ] {
            let shown = schema.to_string();
            let verdicts = check(&shown, schema, texts([r#"{"x":1}"#]));
            assert_eq!(verdicts, None, "{shown}");
        }
    }
    assert!(listener.accept().is_err(), "somebody came");
}

// req: V-410
#[test]
fn v_410_patterns_of_schemas_take_linear_time() {
    let long = "a".repeat(100_000);
    for pattern in [
        "^(a+)+$",
        "^(a|a)*$",
        "^(a|aa)+$",
        "^(.*a){20}$",
        r"^(\w+\s?)*$",
        "^(a*)*b",
    ] {
        let schema = json!({
            "type": "object",
            "properties": {"x": {"type": "string", "pattern": pattern}},
            "patternProperties": {pattern: {"type": "integer"}},
        });
        let bad = vec![
            format!("{{\"x\":\"{long}!\"}}"),
            format!("{{\"{long}\":\"\"}}"),
        ];
        let verdicts = check(pattern, schema, bad).unwrap();
        assert!(!verdicts[0], "{pattern}");
    }
    // What compiles to megabytes is refused, as is what takes more than linear time.
    for pattern in [
        "((a{100}){100}){100}",
        r"\p{L}{1000}{1000}",
        r"(a)\1",
        "(?=a)b",
    ] {
        let schema = json!({"type": "object", "properties": {"x": {"pattern": pattern}}});
        assert_eq!(check(pattern, schema, Vec::new()), None, "{pattern}");
    }
}

// req: V-416
// req: V-404
#[test]
fn v_416_large_and_deep_schemas_need_little_stack() {
    // One that the subset covers, and one that is compiled at once.
    let leaves = [
        json!({"type": "integer"}),
        json!({"type": "integer", "not": {"const": 7}}),
    ];
    type Kind<'k> = (&'k str, &'k dyn Fn(Value) -> Value, usize);
    let kinds: [Kind<'_>; 4] = [
        (
            "properties",
            &|s| json!({"type": "object", "properties": {"a": s}}),
            48,
        ),
        ("items", &|s| json!({"type": "array", "items": s}), 60),
        ("negations", &|s| json!({"not": s}), 60),
        ("branches", &|s| json!({"anyOf": [s, {"type": "null"}]}), 48),
    ];
    for (what, each, most) in kinds {
        for (leaf, depth) in leaves
            .iter()
            .flat_map(|leaf| [10, most, 110].map(|n| (leaf, n)))
        {
            let nested = (0..depth).fold(leaf.clone(), |inner, _| each(inner));
            let schema = json!({"type": "object", "properties": {"x": nested}});
            let (open, close) = match what {
                "properties" => ("{\"a\":", "}"),
                "items" => ("[", "]"),
                _ => ("", ""),
            };
            let deep = |n: usize| format!("{{\"x\":{}1{}}}", open.repeat(n), close.repeat(n));
            let verdicts = check(what, schema, vec![deep(depth), deep(126)]);
            assert_eq!(verdicts.is_some(), depth <= most, "{what} {depth}");
        }
    }
    // A type that holds itself takes arguments as deep as any may be.
    let tree = json!({
        "type": "object",
        "properties": {"a": {"$ref": "#"}, "b": {"pattern": "x"}},
        "additionalProperties": false,
    });
    for (leaf, fits) in [("{}", true), (r#"{"z":1}"#, false)] {
        for depth in [64, 124, 125, 126, 127, 1_000, 100_000] {
            let text = format!("{}{leaf}{}", "{\"a\":".repeat(depth), "}".repeat(depth));
            let verdicts = check(depth, tree.clone(), vec![text]).unwrap();
            assert_eq!(verdicts, [fits && depth < 127], "{depth}");
        }
    }
    // A wide one.
    let names = (0..4_000).map(|n| (format!("p{n}"), json!({"type": "string"})));
    let wide = json!({"type": "object", "properties": names.collect::<Map<_, _>>()});
    let verdicts = check("wide", wide, texts([r#"{"p3999":"a"}"#, r#"{"p3999":1}"#]));
    assert_eq!(verdicts.unwrap(), [true, false]);
    let too_wide = (0..5_001).map(|n| json!({"const": n})).collect::<Vec<_>>();
    assert_eq!(
        check(
            "too wide",
            json!({"type": "object", "anyOf": too_wide}),
            Vec::new()
        ),
        None
    );
}

// req: V-409
#[test]
fn v_409_templates_match_in_linear_time() {
    // Operators that would need a search are none of ours.
    for operator in ["#", ".", "/", ";", "?", "&", "|", "!", "@", "="] {
        for template in [format!("x:{{{operator}a}}"), format!("x:{{{operator}a*}}")] {
            assert!(UriTemplate::parse(&template).is_err(), "{template}");
        }
    }
    for template in [
        "x:{a}{b}",
        "x:{a}{+b}",
        "x:{+a}{+b}",
        "x:{a*}",
        "x:{a,b}",
        "x:{a:3}",
        "x:{+a*}",
    ] {
        assert!(UriTemplate::parse(template).is_err(), "{template}");
    }
    let many = |separator: &str| {
        let variables = (0..32).map(|n| format!("{{+v{n}}}"));
        format!("x:{}", variables.collect::<Vec<_>>().join(separator))
    };
    let templates = [
        "x:{a}".to_owned(),
        "x:{+a}".to_owned(),
        "x:{a}/{+b}".to_owned(),
        "x:{+a}%2F{+b}".to_owned(),
        "x:{+a},{+b}aaaab".to_owned(),
        many("a"),
        many(","),
        many("/"),
        many("%25"),
        many("aab"),
    ];
    for template in templates {
        let parsed = UriTemplate::parse(&template).unwrap();
        for piece in ["a", ",", "/", "%", "%2", "%25", "%2f", "aab", "\u{e4}"] {
            let uri = format!("x:{}", piece.repeat((128 << 10) / piece.len()));
            let parsed = parsed.clone();
            let values: Option<BTreeMap<String, String>> =
                soon(format!("{template} {piece}"), move || parsed.matches(&uri));
            // As much as was given, however it was encoded.
            assert!(values.is_none_or(|v| v.values().map(String::len).sum::<usize>() <= 1 << 20));
        }
    }
}
