//! Texts that mean the same have one canonical spelling, and only those.

use polyport_wire::canonical;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::generated;

fn of(value: &str) -> Vec<u8> {
    let mut out = Vec::new();
    canonical(&format!("{{\"a\":{value}}}"), &[], &mut out);
    out
}

#[test]
fn what_json_does_not_tell_apart_is_the_same() {
    for (a, b, same) in [
        (
            r#"{"a":1,"b":[true,null]}"#,
            r#"{ "b": [true, null], "a": 1.0 }"#,
            true,
        ),
        (r#""\u0041\/""#, r#""A/""#, true),
        (r#"{"\u0061":1}"#, r#"{"a":1}"#, true),
        ("1", "10e-1", true),
        ("100", "1E+2", true),
        ("0", "-0.00e9", true),
        ("1e9223372036854775807", "0.1e9223372036854775807", false),
        ("1", "2", false),
        ("1", "-1", false),
        ("1", "\"1\"", false),
        ("12", "1.2", false),
        ("null", "\"null\"", false),
        ("[1,2]", "[2,1]", false),
        ("[[1],2]", "[[1,2]]", false),
        ("[12]", "[1,2]", false),
        ("{}", "[]", false),
        (r#"{"a":"x,\"b\":1"}"#, r#"{"a":"x","b":1}"#, false),
        // What no float, no text and no reader of the standard library can hold is told apart all the same.
        ("1e400", "1e401", false),
        ("1e400", "null", false),
        ("1e-400", "0", false),
        ("9007199254740993.0", "9007199254740992.0", false),
        ("0.12345678901234567", "0.12345678901234568", false),
        ("18446744073709551616", "18446744073709551617", false),
        ("0.1", "0.10000000000000000001", false),
        (r#""\ud800""#, r#""\ud801""#, false),
        (r#"{"x":"\ud800","n":1}"#, r#"{"x":"\ud800","n":2}"#, false),
        (
            r#"{"\ud800":1,"\ud801":2}"#,
            r#"{"\ud800":2,"\ud801":1}"#,
            false,
        ),
        (r#""\ud83d\ude00""#, r#""😀""#, true),
    ] {
        assert_eq!(of(a) == of(b), same, "{a} {b}");
    }
    let deep = |inner: &str| format!("{}{inner}{}", "[".repeat(300), "]".repeat(300));
    assert_ne!(of(&deep("1")), of(&deep("2")));
}

#[test]
fn members_are_left_out_at_the_outermost_object_only() {
    let of = |text: &str| {
        let mut out = Vec::new();
        canonical(text, &["x", "y"], &mut out);
        out
    };
    assert_eq!(of(r#"{"a":1,"x":2,"\u0079":[]}"#), of(r#"{"a":1}"#));
    assert_ne!(of(r#"{"a":{"x":1}}"#), of(r#"{"a":{}}"#));
}

/// Members backwards, white space everywhere, every character an escape, numbers with a power of ten.
fn respell(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(respell).collect();
            format!("[ {} ]", items.join(" ,\n"))
        }
        Value::Object(members) => {
            let members = members.iter().rev();
            let members: Vec<_> = members
                .map(|(key, value)| format!("{} : {}", respell(&json!(key)), respell(value)))
                .collect();
            format!("{{\t{} }}", members.join("\r\n, "))
        }
        Value::String(text) => {
            let units = text.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
            format!("\"{}\"", units.collect::<String>())
        }
        Value::Number(number) if !number.is_f64() => format!("{number}.000E+00"),
        other => other.to_string(),
    }
}

proptest! {
    #[test]
    fn another_spelling_is_the_same(text in generated::value()) {
        // Numbers that a float does not hold are the table's.
        let Ok(value) = serde_json::from_str::<Value>(&text) else { return Ok(()) };
        let plain = value.to_string();
        prop_assert_eq!(of(&plain), of(&respell(&value)), "{}", text);
    }

    #[test]
    fn another_value_is_another(a in generated::value(), b in generated::value()) {
        let read = |text: &str| serde_json::from_str::<Value>(text);
        if let (Ok(x), Ok(y)) = (read(&a), read(&b)) {
            prop_assert!(x == y || of(&a) != of(&b), "{} {}", a, b);
        }
    }
}
