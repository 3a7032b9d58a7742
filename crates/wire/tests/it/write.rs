//! What is written reads back as the same, and looks as `serde_json` would write it.

use polyport_wire::{Kind, Limits, Params, RequestId, write};
use proptest::prelude::*;

use crate::{generated, parse};

fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn messages_look_as_they_should() {
    let id = RequestId::from(7);
    assert_eq!(
        written(|out| write::request(out, &id, "m", Some("{}"))),
        r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{}}"#
    );
    assert_eq!(
        written(|out| write::request(out, &id, "m", None)),
        r#"{"jsonrpc":"2.0","id":7,"method":"m"}"#
    );
    assert_eq!(
        written(|out| write::notification(out, "a\"b", Some("{}"))),
        r#"{"jsonrpc":"2.0","method":"a\"b","params":{}}"#
    );
    assert_eq!(
        written(|out| write::notification(out, "m", None)),
        r#"{"jsonrpc":"2.0","method":"m"}"#
    );
    assert_eq!(
        written(|out| write::response_head(out, &"x".into())),
        r#"{"jsonrpc":"2.0","id":"x","result":"#
    );
    assert_eq!(
        written(|out| write::failure(out, Some(&id), -32603, "a\nb", Some("[1]"))),
        r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"a\nb","data":[1]}}"#
    );
    assert_eq!(
        written(|out| write::failure(out, None, i32::MIN, "", None)),
        r#"{"jsonrpc":"2.0","error":{"code":-2147483648,"message":""}}"#
    );
}

#[test]
fn integers_are_written_whole() {
    for number in [
        0,
        1,
        -1,
        9,
        10,
        -10,
        99,
        100,
        1_234_567_890,
        i64::MAX,
        i64::MIN,
    ] {
        assert_eq!(
            written(|out| write::integer(out, number)),
            number.to_string()
        );
    }
}

#[test]
fn every_character_is_escaped_as_serde_json_does() {
    for c in ('\0'..='\u{2100}').chain(['\u{fffd}', '\u{feff}', '😀', '\u{10ffff}']) {
        for text in [
            c.to_string(),
            format!("some text {c}"),
            format!("{c}{c} text {c} that goes on for a while {c}"),
        ] {
            assert_eq!(
                written(|out| write::string(out, &text)),
                serde_json::to_string(&text).unwrap()
            );
        }
    }
}

#[test]
fn long_texts_are_written_whole() {
    for length in [
        0,
        1,
        7,
        8,
        9,
        63,
        64,
        65,
        127,
        128,
        129,
        1000,
        65_536,
        1 << 20,
    ] {
        let text = "a".repeat(length);
        assert_eq!(
            written(|out| write::string(out, &text)),
            format!("\"{text}\"")
        );
        let text = format!("{text}\n{text}");
        assert_eq!(
            written(|out| write::string(out, &text)),
            serde_json::to_string(&text).unwrap()
        );
    }
}

fn id() -> impl Strategy<Value = RequestId> {
    prop_oneof![
        any::<i64>().prop_map(RequestId::from),
        any::<String>().prop_map(RequestId::from)
    ]
}

proptest! {
    #[test]
    fn any_text_is_written_as_serde_json_does(text in any::<String>(), ascii in "[ -~\n\t]{0,300}") {
        prop_assert_eq!(written(|out| write::string(out, &text)), serde_json::to_string(&text).unwrap());
        prop_assert_eq!(written(|out| write::string(out, &ascii)), serde_json::to_string(&ascii).unwrap());
    }

    #[test]
    fn calls_read_back(id in prop::option::of(id()), method in any::<String>(), params in prop::option::of(generated::params())) {
        let params = params.filter(|params| {
            Params::parse(params.clone().into(), &Limits::default()).is_ok_and(|params| params.is_present())
        });
        let frame = written(|out| match &id {
            Some(id) => write::request(out, id, &method, params.as_deref()),
            None => write::notification(out, &method, params.as_deref()),
        });
        let message = parse(&frame).unwrap();
        prop_assert_eq!(message.kind(), if id.is_some() { Kind::Request } else { Kind::Notification });
        prop_assert_eq!(message.id(), id.as_ref());
        prop_assert_eq!(message.method(), &*method);
        prop_assert_eq!(message.params().text(), params.as_deref());
    }

    #[test]
    fn answers_read_back(id in id(), value in generated::value(), code in any::<i32>(), text in any::<String>()) {
        let frame = written(|out| write::response_head(out, &id)) + &value + "}";
        let message = parse(&frame).unwrap();
        prop_assert_eq!((message.kind(), message.id()), (Kind::Response, Some(&id)));
        let result = message.result().unwrap();
        prop_assert_eq!(result.as_str(), &value);

        let frame = written(|out| write::failure(out, Some(&id), code, &text, Some(&value)));
        let message = parse(&frame).unwrap();
        prop_assert_eq!((message.kind(), message.id()), (Kind::Failure, Some(&id)));
        let error: serde_json::Value = message.error().unwrap().decode().unwrap();
        prop_assert_eq!(error["code"].as_i64(), Some(code.into()));
        prop_assert_eq!(error["message"].as_str(), Some(&*text));
        prop_assert_eq!(&error["data"], &serde_json::from_str::<serde_json::Value>(&value).unwrap());
    }
}
