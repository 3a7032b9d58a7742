//! Text surgery, against the same done on decoded values.

use polyport_wire::splice;
use proptest::prelude::*;
use serde_json::{Map, Value};

use crate::generated;

fn stamp(object: &str, members: &str) -> String {
    let mut out = Vec::new();
    splice::stamp(object, members, &mut out);
    String::from_utf8(out).unwrap()
}

fn squeeze(text: &str) -> String {
    let mut out = b"before \n".to_vec();
    splice::squeeze(text, &mut out);
    String::from_utf8(out)
        .unwrap()
        .strip_prefix("before \n")
        .unwrap()
        .to_owned()
}

#[test]
fn stamps_go_to_the_head() {
    assert_eq!(stamp("{}", r#""a":1"#), r#"{"a":1}"#);
    assert_eq!(stamp("{ \n }", r#""a":1"#), "{\"a\":1 \n }");
    assert_eq!(
        stamp(r#"{"b":{}}"#, r#""a":1,"c":2"#),
        r#"{"a":1,"c":2,"b":{}}"#
    );
    assert_eq!(stamp(r#"{ "b":2}"#, ""), r#"{ "b":2}"#);
    assert_eq!(stamp("{}", ""), "{}");
}

#[test]
fn edits_are_made_in_order() {
    let mut out = b"> ".to_vec();
    splice::replace(
        b"0123456789",
        &[(0..1, b"zero"), (2..4, b""), (4..4, b"-"), (9..10, b"nine")],
        &mut out,
    );
    assert_eq!(out, b"> zero1-45678nine");
    out.clear();
    splice::replace(b"0123", &[], &mut out);
    assert_eq!(out, b"0123");
}

#[test]
fn squeezing_leaves_one_line() {
    assert_eq!(
        squeeze("{\n  \"a\" : [1,\r\n  2 , 3\n]\t\n}\n"),
        "{\"a\" : [1,2 , 3]}"
    );
    assert_eq!(squeeze(r#"{"a": "x \n y"}"#), r#"{"a": "x \n y"}"#);
    assert_eq!(
        squeeze("{\"a  \"\n:\"  \u{2028} \"\r}"),
        "{\"a  \":\"  \u{2028} \"}"
    );
    assert_eq!(squeeze("\n\n1\n\n"), "1");
    assert_eq!(squeeze(""), "");
}

#[test]
fn members_are_walked_in_order() {
    let mut seen = Vec::new();
    splice::members(
        r#" { "a" : 1 , "b\u0062" : { "c" : [ ] } , "\ud800" : "\"" , "a":null } "#,
        |key, value| {
            seen.push((key.to_owned(), value));
        },
    );
    let expected = [
        ("a", "1"),
        ("bb", r#"{ "c" : [ ] }"#),
        ("\u{fffd}\u{fffd}\u{fffd}", r#""\"""#),
        ("a", "null"),
    ];
    assert_eq!(seen, expected.map(|(key, value)| (key.to_owned(), value)));
    for none in ["{}", "[1]", "7", "{ }"] {
        splice::members(none, |_, _| panic!("{none} has no members"));
        assert_eq!(splice::member(none, "a"), None, "{none}");
    }
}

proptest! {
    #[test]
    fn stamping_adds_a_member(text in generated::object(generated::string().boxed(), generated::value().boxed()), value in generated::value()) {
        let mut expected: Map<String, Value> = serde_json::from_str(&text).unwrap();
        let stamped: Map<String, Value> = serde_json::from_str(&stamp(&text, &format!(r#""stamp-":{value}"#))).unwrap();
        expected.insert("stamp-".into(), serde_json::from_str(&value).unwrap());
        prop_assert_eq!(stamped, expected);
    }

    #[test]
    fn squeezing_keeps_the_value(text in generated::value(), before in generated::space(), after in generated::space()) {
        let squeezed = squeeze(&format!("{before}{text}{after}"));
        prop_assert!(!squeezed.contains(['\n', '\r']));
        prop_assert_eq!(serde_json::from_str::<Value>(&squeezed).unwrap(), serde_json::from_str::<Value>(&text).unwrap());
    }

    #[test]
    fn members_are_those_of_the_decoded_object(text in generated::object(generated::string().boxed(), generated::value().boxed())) {
        let mut walked = Map::new();
        splice::members(&text, |key, value| {
            walked.insert(key.to_owned(), serde_json::from_str(value).unwrap());
        });
        prop_assert_eq!(walked, serde_json::from_str::<Map<String, Value>>(&text).unwrap());
    }

    #[test]
    fn a_member_is_the_first_of_its_key(text in generated::object(generated::string().boxed(), generated::value().boxed())) {
        let mut walked: Vec<(String, &str)> = Vec::new();
        splice::members(&text, |key, value| walked.push((key.to_owned(), value)));
        for (key, _) in &walked {
            let first = walked.iter().find(|(other, _)| other == key).map(|(_, value)| *value);
            prop_assert_eq!(splice::member(&text, key), first);
        }
    }

    #[test]
    fn replacing_a_value_replaces_it(text in generated::object(generated::string().boxed(), generated::value().boxed()), new in generated::value()) {
        let mut edits = Vec::new();
        splice::members(&text, |_, value| {
            let start = value.as_ptr() as usize - text.as_ptr() as usize;
            edits.push((start..start + value.len(), new.as_bytes()));
        });
        let mut out = Vec::new();
        splice::replace(text.as_bytes(), &edits, &mut out);
        let new: Value = serde_json::from_str(&new).unwrap();
        let replaced: Map<String, Value> = serde_json::from_slice(&out).unwrap();
        prop_assert!(replaced.values().all(|value| *value == new));
        prop_assert_eq!(replaced.len(), serde_json::from_str::<Map<String, Value>>(&text).unwrap().len());
    }
}
