//! Bounds: what is just allowed passes, one more is refused, and the refusal still knows the id.

use bytes::Bytes;
use polyport_wire::MalformedKind::{self, TooDeep, TooManyElements};
use polyport_wire::{Limits, Message, Params, Raw, RequestId};

use crate::parse;

fn raw(text: String) -> Result<Raw, MalformedKind> {
    Raw::parse(text.into(), &Limits::default()).map_err(|fault| fault.kind)
}

#[test]
fn a_hundred_and_twenty_eight_containers_may_be_open() {
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let nest = |depth: usize, inner: &str| {
            format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
        };
        for inner in ["1", r#""s""#, "null"] {
            assert!(raw(nest(128, inner)).is_ok());
            assert_eq!(raw(nest(129, inner)), Err(TooDeep));
        }
        assert!(raw(nest(127, "[]")).is_ok());
        assert_eq!(raw(nest(128, "{}")), Err(TooDeep));
        assert_eq!(raw(nest(100_000, "1")), Err(TooDeep));
        let request = |depth| {
            parse(format!(
                r#"{{"params":{{"arguments":{}}},"id":7,"jsonrpc":"2.0","method":"m"}}"#,
                nest(depth, "0")
            ))
        };
        let arguments = request(126).unwrap();
        let arguments = arguments
            .params()
            .member(polyport_wire::Member::Arguments)
            .unwrap();
        assert!(arguments.decode::<serde_json::Value>().is_ok());
        for depth in [127, 20_000] {
            let fault = request(depth).unwrap_err();
            assert_eq!(
                (fault.kind, fault.id),
                (TooDeep, Some(RequestId::Number(7)))
            );
        }
    }
}

#[test]
fn what_is_too_deep_is_still_read_to_its_end() {
    let limits = Limits {
        depth: 2,
        ..Limits::default()
    };
    let kind = |text: &str| Message::parse(text.to_owned().into(), &limits).unwrap_err();
    for deep in [
        r#"[[[{"a":[],"b":{}},1,"x"]]]"#,
        r#"{"a":{"b":{"c":[true,{"d":null}]},"e":-1.5e3}}"#,
        "[[]]",
    ] {
        let fault = kind(&format!(
            r#"{{"jsonrpc":"2.0","params":{deep},"method":"m","id":"x"}}"#
        ));
        assert_eq!(
            (fault.kind, fault.id),
            (TooDeep, Some("x".into())),
            "{deep}"
        );
        let cut = &deep[..deep.len() - 1];
        for broken in [
            cut.to_owned(),
            format!("{cut},]"),
            format!("{cut}}}]"),
            format!("{deep}]"),
        ] {
            let text = format!(r#"{{"jsonrpc":"2.0","params":{broken},"method":"m","id":"x"}}"#);
            let fault = kind(&text);
            assert_eq!(
                serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok(),
                fault.kind == TooDeep
            );
        }
    }
    let silent = kind(r#"{"jsonrpc":"2.0","params":{"a":[[]]},"method":"m"}"#);
    assert!(silent.notification && silent.kind == TooDeep);
}

#[test]
fn the_depth_has_a_ceiling() {
    let limits = Limits {
        depth: u32::MAX,
        ..Limits::default()
    };
    let nest = |depth: usize| Bytes::from(format!("{}{}", "[".repeat(depth), "]".repeat(depth)));
    assert!(Raw::parse(nest(512), &limits).is_ok());
    assert_eq!(Raw::parse(nest(513), &limits).unwrap_err().kind, TooDeep);
    assert_eq!(
        Raw::parse(nest(4_000_000), &limits).unwrap_err().kind,
        TooDeep
    );
}

/// The params and `_meta` are read by their own code, which counts like the rest.
#[test]
fn known_members_count_like_others() {
    for (depth, params) in [
        (2, r#"{"_meta":1,"arguments":1}"#),
        (3, r#"{"_meta":{"progressToken":1}}"#),
        (3, r#"{"arguments":{"_meta":1}}"#),
        (
            4,
            r#"{"_meta":{"progressToken":[],"io.modelcontextprotocol/clientInfo":{}}}"#,
        ),
        (4, r#"{"x":{"_meta":{}}}"#),
    ] {
        let frame = format!(r#"{{"jsonrpc":"2.0","method":"m","params":{params}}}"#);
        let within = |depth| {
            let limits = Limits {
                depth,
                ..Limits::default()
            };
            Message::parse(frame.clone().into(), &limits).map_err(|fault| fault.kind)
        };
        assert!(within(depth).is_ok(), "{frame}");
        assert_eq!(within(depth - 1).unwrap_err(), TooDeep, "{frame}");
        let limits = Limits {
            depth: depth - 1,
            ..Limits::default()
        };
        assert!(Params::parse(params.into(), &limits).is_ok(), "{params}");
    }
}

#[test]
fn no_depth_means_scalars_only() {
    let limits = Limits {
        depth: 0,
        ..Limits::default()
    };
    assert!(Raw::parse("1".into(), &limits).is_ok());
    assert_eq!(Raw::parse("[]".into(), &limits).unwrap_err().kind, TooDeep);
    let fault =
        Message::parse(r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#.into(), &limits).unwrap_err();
    assert_eq!(fault.kind, TooDeep);
}

#[test]
fn a_hundred_thousand_elements_may_stand_in_one_place() {
    let array = |count: usize| format!("[{}]", vec!["0"; count].join(","));
    let object = |count: usize| {
        let members: Vec<_> = (0..count).map(|n| format!(r#""{n}":0"#)).collect();
        format!("{{{}}}", members.join(","))
    };
    assert!(raw(array(100_000)).is_ok());
    assert_eq!(raw(array(100_001)), Err(TooManyElements));
    assert!(raw(object(100_000)).is_ok());
    assert_eq!(raw(object(100_001)), Err(TooManyElements));
    assert!(raw(format!("[{},{}]", array(60_000), array(60_000))).is_ok());
    let request = |params: String| {
        parse(format!(
            r#"{{"jsonrpc":"2.0","params":{params},"method":"m","id":1}}"#
        ))
    };
    assert!(request(object(100_000)).is_ok());
    let fault = request(object(100_001)).unwrap_err();
    assert_eq!((fault.kind, fault.id), (TooManyElements, Some(1.into())));
    let fault = request(format!(r#"{{"a":{}}}"#, array(100_001))).unwrap_err();
    assert_eq!((fault.kind, fault.id), (TooManyElements, Some(1.into())));
}

// req: V-403
#[test]
fn v_403_a_million_values_may_stand_in_one_text() {
    assert_eq!(Limits::default().values, 1_000_000);
    let within = |values| Limits {
        values,
        ..Limits::default()
    };
    for (text, values) in [
        ("[1,2,3]", 3),
        ("[[1],[2]]", 4),
        (r#"{"a":{"b":[]}}"#, 2),
        (r#"{"a":[{},{"b":[null]}]}"#, 5),
    ] {
        assert!(Raw::parse(text.into(), &within(values)).is_ok(), "{text}");
        let fault = Raw::parse(text.into(), &within(values - 1)).unwrap_err();
        assert_eq!(fault.kind, TooManyElements, "{text}");
        // What is read by its own code counts like the rest.
        for (params, more) in [("arguments", 6), ("_meta", 6)] {
            let frame = format!(
                r#"{{"jsonrpc":"2.0","id":1,"params":{{"{params}":{{"x":{text}}}}},"method":"m"}}"#
            );
            let told = |values| Message::parse(frame.clone().into(), &within(values));
            assert!(told(values + more).is_ok(), "{frame}");
            let fault = told(values + more - 1).unwrap_err();
            assert_eq!((fault.kind, fault.id), (TooManyElements, Some(1.into())));
        }
    }
}
