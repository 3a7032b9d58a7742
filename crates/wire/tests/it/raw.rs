//! `Raw`: text in, the same text out, through `serde_json` as well.

use std::collections::BTreeMap;

use polyport_wire::{Limits, Raw};
use proptest::prelude::*;

use crate::generated;

#[test]
fn white_space_around_is_dropped() {
    let raw = Raw::parse(" \n{ \"a\" : 1 } \t".into(), &Limits::default()).unwrap();
    assert_eq!(raw.as_str(), r#"{ "a" : 1 }"#);
    assert_eq!(format!("{raw:?}"), r#"{ "a" : 1 }"#);
    assert_eq!(raw.clone().into_bytes(), raw.as_bytes());
    assert!(raw.is_object() && !raw.is_null());
    assert!(Raw::from_static("null").is_null());
}

#[test]
fn encode_and_decode() {
    let map = BTreeMap::from([("a", 1), ("b", 2)]);
    let raw = Raw::encode(&map).unwrap();
    assert_eq!(raw.as_str(), r#"{"a":1,"b":2}"#);
    assert_eq!(raw.decode::<BTreeMap<&str, i32>>().unwrap(), map);
    assert!(raw.decode::<i32>().is_err());
    assert!(Raw::from_static(r#""\ud800""#).decode::<String>().is_err());
    assert_eq!(Raw::encode("text").unwrap().as_str(), r#""text""#);
}

/// Also holds the name that `serde_json` gives its raw values: were it another one, an object would come
/// out here.
#[test]
fn it_serialises_as_it_is() {
    let raw = Raw::from_static("{ \"a\":1.0e0,\n\"a\":[ ] }");
    assert_eq!(serde_json::to_string(&raw).unwrap(), raw.as_str());
    assert_eq!(
        serde_json::to_vec(&[&raw, &raw]).unwrap(),
        format!("[{0},{0}]", raw.as_str()).into_bytes()
    );
    let same: Vec<Raw> = serde_json::from_str("[ {\"a\": 1} ,null]").unwrap();
    assert_eq!(same[0].as_str(), r#"{"a": 1}"#);
    assert_eq!(same[1], Raw::from_static("null"));
    let value: serde_json::Value = serde_json::to_value(Raw::from_static("[1]")).unwrap();
    assert_eq!(value, serde_json::json!([1]));
}

#[test]
#[should_panic(expected = "not one JSON value")]
#[cfg(debug_assertions)]
fn trusted_text_is_checked_while_testing() {
    Raw::trusted("{} ");
}

proptest! {
    #[test]
    fn any_value_goes_through_unchanged(text in generated::value()) {
        let raw = Raw::parse(text.clone().into(), &Limits::default()).unwrap();
        prop_assert_eq!(raw.as_str(), &text);
        let written = serde_json::to_string(&raw).unwrap();
        prop_assert_eq!(&written, &text);
        let read = serde_json::from_str::<Raw>(&text).unwrap();
        prop_assert_eq!(&read, &raw);
        prop_assert_eq!(raw.decode::<serde_json::Value>().unwrap(), serde_json::from_str::<serde_json::Value>(&text).unwrap());
    }
}
