//! Request ids (D-27): strings, and integers of 64 bits.

use std::collections::HashSet;

use polyport_wire::RequestId;
use proptest::prelude::*;

#[test]
fn what_is_an_id() {
    let ids: &[(&str, RequestId)] = &[
        ("0", 0.into()),
        ("-1", (-1).into()),
        ("9223372036854775807", i64::MAX.into()),
        ("-9223372036854775808", i64::MIN.into()),
        (r#""""#, "".into()),
        (r#""1""#, "1".into()),
        (r#""\u0031\/\ud83d\ude00""#, "1/😀".into()),
    ];
    for (json, id) in ids {
        assert_eq!(RequestId::parse(json).as_ref(), Some(id), "{json}");
        assert_eq!(
            serde_json::from_str::<RequestId>(json).unwrap(),
            *id,
            "{json}"
        );
    }
}

#[test]
fn what_is_none() {
    let none = [
        "1.0",
        "1e3",
        "-0",
        "9223372036854775808",
        "-9223372036854775809",
        "1e400",
        "null",
        "true",
        "[]",
        "{}",
        r#""\ud800""#,
        r#""\udc00\ud800""#,
    ];
    for json in none {
        assert_eq!(RequestId::parse(json), None, "{json}");
        assert!(serde_json::from_str::<RequestId>(json).is_err(), "{json}");
    }
    for odd in ["", "-", "+1", "01", "\"", "1 "] {
        assert_eq!(RequestId::parse(odd), None, "{odd}");
    }
}

#[test]
fn numbers_and_texts_differ() {
    assert_ne!(RequestId::from(1), RequestId::from("1"));
    let both = HashSet::from([RequestId::from(1), RequestId::from("1")]);
    assert_eq!(both.len(), 2);
    assert_eq!(RequestId::from(1).to_string(), "1");
    assert_eq!(RequestId::from("1").to_string(), r#""1""#);
    assert_eq!(RequestId::from("a\n\u{1b}").to_string(), r#""a\n\u001b""#);
}

proptest! {
    #[test]
    fn ids_read_back(number in any::<i64>(), text in any::<String>()) {
        for id in [RequestId::from(number), RequestId::from(text)] {
            let mut out = Vec::new();
            id.write(&mut out);
            let json = String::from_utf8(out).unwrap();
            prop_assert_eq!(&json, &serde_json::to_string(&id).unwrap());
            prop_assert_eq!(&json, &id.to_string());
            prop_assert_eq!(RequestId::parse(&json), Some(id));
        }
    }
}
