//! Keys that come twice (D-28): in requests at every depth, in answers in the outermost object.

use std::collections::HashSet;
use std::fmt;

use polyport_wire::MalformedKind::DuplicateKey;
use polyport_wire::{Limits, Params};
use proptest::prelude::*;
use serde_core::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::{generated, parse};

/// An oracle: whether any object in a JSON text has a key twice.
struct Repeats(bool);

impl<'de> Deserialize<'de> for Repeats {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Walk;
        impl<'de> Visitor<'de> for Walk {
            type Value = bool;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }
            fn visit_bool<E>(self, _: bool) -> Result<bool, E> {
                Ok(false)
            }
            fn visit_i64<E>(self, _: i64) -> Result<bool, E> {
                Ok(false)
            }
            fn visit_u64<E>(self, _: u64) -> Result<bool, E> {
                Ok(false)
            }
            fn visit_f64<E>(self, _: f64) -> Result<bool, E> {
                Ok(false)
            }
            fn visit_str<E>(self, _: &str) -> Result<bool, E> {
                Ok(false)
            }
            fn visit_unit<E>(self) -> Result<bool, E> {
                Ok(false)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<bool, A::Error> {
                let mut any = false;
                while let Some(Repeats(inner)) = seq.next_element()? {
                    any |= inner;
                }
                Ok(any)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
                let (mut any, mut seen) = (false, HashSet::new());
                while let Some((key, Repeats(inner))) = map.next_entry::<String, Repeats>()? {
                    any |= inner | !seen.insert(key);
                }
                Ok(any)
            }
        }
        deserializer.deserialize_any(Walk).map(Repeats)
    }
}

fn is_duplicate(frame: &str) -> bool {
    match parse(frame) {
        Ok(_) => false,
        Err(fault) => {
            assert_eq!(fault.kind, DuplicateKey, "{frame}");
            true
        }
    }
}

#[test]
fn repeated_keys_are_found_at_every_depth() {
    for depth in [0, 1, 2, 10, 100] {
        let nest = |inner: &str| {
            format!(
                "{}{inner}{}",
                r#"{"a":["#.repeat(depth / 2),
                "]}".repeat(depth / 2)
            )
        };
        for (members, repeated) in [
            (r#"{"a":1,"b":2}"#, false),
            (r#"{"a":1,"A":2}"#, false),
            (r#"{"a":1,"a ":2,"":3}"#, false),
            (r#"{"a":1,"b":2,"a":3}"#, true),
            (r#"{"":1,"":2}"#, true),
            (r#"{"a":1,"\u0061":3}"#, true),
            (r#"{"\u0061":1,"a":3}"#, true),
            (r#"{"\u00e9":1,"é":3}"#, true),
            (r#"{"\/":1,"/":3}"#, true),
            (r#"{"\ud83d\ude00":1,"😀":3}"#, true),
            (r#"{"\ud800":1,"\ud801":3}"#, false),
            (r#"{"\ud800":1,"\uD800":3}"#, true),
            (r#"{"\ud800":1,"\ufffd":3}"#, false),
            (r#"{"\u0000":1,"\u00000":3}"#, false),
            (r#"{"\\u0061":1,"a":3}"#, false),
            (r#"{"a":{"a":{"a":1}}}"#, false),
            (r#"{"a":{"x":1},"b":{"x":1}}"#, false),
        ] {
            let arguments = nest(members);
            let request = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"arguments":{arguments}}}}}"#
            );
            assert_eq!(is_duplicate(&request), repeated, "{request}");
            let late = format!(r#"{{"x":{arguments},"method":"m","jsonrpc":"2.0"}}"#);
            assert_eq!(is_duplicate(&late), repeated, "{late}");
            let answer =
                format!(r#"{{"jsonrpc":"2.0","id":1,"result":{arguments},"x":{arguments}}}"#);
            assert!(!is_duplicate(&answer), "{answer}");
        }
    }
}

#[test]
fn each_member_of_the_envelope_and_of_meta_may_come_once() {
    for frame in [
        r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"m"}"#,
        r#"{"jsonrpc":"2.0","id":1,"i\u0064":2,"method":"m"}"#,
        r#"{"id":1,"id":1,"jsonrpc":"2.0","method":"m"}"#,
        r#"{"":1,"jsonrpc":"2.0","method":"m","":1}"#,
        r#"{"a":1,"jsonrpc":"2.0","method":"m","a":1}"#,
        r#"{"abcdef":1,"jsonrpc":"2.0","method":"m","abcdef":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{},"params":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"a","name":"b"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"a","n\u0061me":"b"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{},"_meta":{}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"progressToken":1,"progressToken":2}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":1,"result":2}"#,
        r#"{"jsonrpc":"2.0","id":1,"id":1,"error":{}}"#,
    ] {
        assert!(is_duplicate(frame), "{frame}");
    }
}

#[test]
fn the_second_key_is_where_the_fault_is() {
    let frame = r#"{"jsonrpc":"2.0","method":"m","params":{"a":1,"b":{"a":1},"a":2}}"#;
    let fault = parse(frame).unwrap_err();
    assert_eq!(&frame[fault.offset..=fault.offset], "a");
    assert_eq!(fault.offset, frame.rfind(r#"a":2"#).unwrap());
}

/// Few keys are compared in pairs, more by hashing; the table of keys moves to the heap on the way, and
/// back again.
#[test]
fn any_number_of_keys_is_compared() {
    for count in [2, 3, 15, 16, 17, 18, 30, 31, 32, 33, 40, 1000] {
        for again in [0, count / 2, count - 1] {
            let keys: Vec<_> = (0..count)
                .map(|n| format!(r#""k{n}":{{"a":1,"b":{{"a":2}}}}"#))
                .collect();
            let body = keys.join(",");
            let frame =
                |body: &str| format!(r#"{{"jsonrpc":"2.0","method":"m","params":{{{body}}}}}"#);
            assert!(!is_duplicate(&frame(&body)));
            assert!(is_duplicate(&frame(&format!(r#"{body},"k{again}":0"#))));
            assert!(is_duplicate(&frame(&format!(
                r#"{body},"\u006b{again}":0"#
            ))));
            assert!(is_duplicate(&frame(&format!(
                r#"{body},"z":{{"y":1,"y":1}}"#
            ))));
            let twice = format!(r#""p":{{{body}}},"q":{{{body}}},"r":{{{body}}}"#);
            assert!(!is_duplicate(&frame(&twice)));
        }
    }
}

proptest! {
    #[test]
    fn repeated_keys_are_found_where_a_walk_finds_them(
        text in generated::object(
            prop::sample::select(vec![r#""a""#, r#""b""#, r#""\u0061""#, r#""c""#]).prop_map(str::to_owned).boxed(),
            generated::value().boxed(),
        ),
    ) {
        let Repeats(repeats) = serde_json::from_str(&text).unwrap();
        let frame = format!(r#"{{"jsonrpc":"2.0","method":"m","params":{text}}}"#);
        prop_assert_eq!(is_duplicate(&frame), repeats, "{}", frame);
        let alone = Params::parse(text.clone().into(), &Limits::default());
        prop_assert_eq!(alone.is_err(), repeats, "{}", text);
    }
}
