//! What a frame is taken for, and what a refusal still tells about it.

use bytes::Bytes;
use polyport_wire::MalformedKind::{DuplicateKey, NotJson, NotUtf8, ParamsArray, ParamsPrimitive};
use polyport_wire::{Kind, Limits, Message, RequestId, code};

use crate::parse;

/// What it is, the JSON text of its id, the frame.
const ACCEPTED: &str = r#"
Request      1    {"jsonrpc":"2.0","id":1,"method":"m"}
Request      0    {"jsonrpc":"2.0","id":0,"method":"m"}
Request      ""   {"jsonrpc":"2.0","id":"","method":"m"}
Request      "1"  {"jsonrpc":"2.0","id":"1","method":"m"}
Request      "1"  {"jsonrpc":"2.0","id":"\u0031","method":""}
Request      -9223372036854775808 {"jsonrpc":"2.0","id":-9223372036854775808,"method":"m"}
Request      1    {"\u006aso\u006erpc":"2\u002e0","\u0069d":1,"meth\u006fd":"m"}
Notification -    {"jsonrpc":"2.0","method":"m"}
Notification -    {"jsonrpc":"2.0","method":"m","params":null}
Response     1    {"jsonrpc":"2.0","id":1,"result":{}}
Response     1    {"jsonrpc":"2.0","id":1,"result":null}
Response     1    {"jsonrpc":"2.0","id":1,"result":{},"error":null}
Response     1    {"jsonrpc":"2.0","id":1,"result":{},"params":[1],"x":{"a":1,"a":2}}
Failure      1    {"jsonrpc":"2.0","id":1,"result":null,"error":{}}
Failure      1    {"jsonrpc":"2.0","id":1,"error":{}}
Failure      -    {"jsonrpc":"2.0","id":null,"error":{}}
Failure      -    {"jsonrpc":"2.0","error":"odd"}
"#;

/// What is wrong, the id an answer would carry, whether there must be none, the frame.
const REFUSED: &str = r#"
NotJson         - answer {
NotJson         - answer {"jsonrpc":"2.0","id":1,"method":"m"}{}
NotJson         - answer [{"jsonrpc":"2.0"
NotObject       - answer 7
NotObject       - answer null
NotObject       - answer "{}"
Batch           - answer []
Batch           - answer [{"jsonrpc":"2.0","id":1,"method":"m"}]
NoVersion       - answer {}
NoVersion       1 answer {"id":1,"method":"m"}
NoVersion       - silent {"method":"m"}
NoVersion       1 answer {"jsonrpc":2.0,"id":1,"method":"m"}
NoVersion       1 answer {"jsonrpc":"1.0","id":1,"method":"m"}
NoVersion       1 silent {"id":1,"result":{}}
BadId           - answer {"jsonrpc":"2.0","id":null,"method":"m"}
BadId           - answer {"jsonrpc":"2.0","id":1.0,"method":"m"}
BadId           - answer {"jsonrpc":"2.0","id":1e3,"method":"m"}
BadId           - answer {"jsonrpc":"2.0","id":9223372036854775808,"method":"m"}
BadId           - answer {"jsonrpc":"2.0","id":true,"method":"m"}
BadId           - answer {"jsonrpc":"2.0","id":[1],"method":"m"}
BadId           - answer {"jsonrpc":"2.0","id":"\ud800","method":"m"}
BadId           - silent {"jsonrpc":"2.0","result":{}}
BadId           - silent {"jsonrpc":"2.0","id":null,"result":{}}
BadId           - silent {"jsonrpc":"2.0","id":1.5,"error":{}}
BadMethod       1 answer {"jsonrpc":"2.0","id":1}
BadMethod       - answer {"jsonrpc":"2.0"}
BadMethod       1 answer {"jsonrpc":"2.0","id":1,"method":7}
BadMethod       1 answer {"jsonrpc":"2.0","id":1,"method":null}
BadMethod       1 answer {"jsonrpc":"2.0","id":1,"method":"\ud800"}
BadMethod       - answer {"jsonrpc":"2.0","method":1,"params":"bar"}
BadMethod       1 answer {"jsonrpc":"2.0","id":1,"METHOD":"m"}
BadMethod       1 answer {"jsonrpc":"2.0","id":1,"method\u0000":"m"}
Ambiguous       1 answer {"jsonrpc":"2.0","id":1,"method":"m","result":1}
Ambiguous       1 answer {"jsonrpc":"2.0","id":1,"method":"m","error":null}
Ambiguous       1 silent {"jsonrpc":"2.0","id":1,"result":1,"error":{}}
ParamsArray     1 answer {"jsonrpc":"2.0","id":1,"method":"m","params":[1]}
ParamsArray     - silent {"jsonrpc":"2.0","method":"m","params":[]}
ParamsPrimitive 1 answer {"jsonrpc":"2.0","id":1,"method":"m","params":"x"}
ParamsPrimitive 1 answer {"jsonrpc":"2.0","id":1,"method":"m","params":0}
ParamsPrimitive - silent {"jsonrpc":"2.0","method":"m","params":false}
DuplicateKey    - answer {"jsonrpc":"2.0","id":1,"id":1,"method":"m"}
DuplicateKey    1 answer {"jsonrpc":"2.0","id":1,"method":"m","method":"m"}
DuplicateKey    - silent {"jsonrpc":"2.0","method":"m","params":{"a":{"b":1,"b":2}}}
"#;

/// The rows of a table: so many words, then the frame.
fn rows<const WORDS: usize>(table: &str) -> impl Iterator<Item = ([&str; WORDS], &str)> {
    table.trim().lines().map(|row| {
        let mut rest = row;
        let words = std::array::from_fn(|_| {
            let (word, tail) = rest.split_once(' ').unwrap();
            rest = tail.trim_start();
            word
        });
        (words, rest)
    })
}

fn id_text(id: Option<&RequestId>) -> String {
    id.map_or_else(|| "-".into(), RequestId::to_string)
}

#[test]
fn kinds_and_ids() {
    for ([kind, id], frame) in rows(ACCEPTED) {
        let message = parse(frame).unwrap_or_else(|fault| panic!("{frame}: {fault}"));
        assert_eq!(format!("{:?}", message.kind()), kind, "{frame}");
        assert_eq!(id_text(message.id()), id, "{frame}");
        assert_eq!(message.frame(), frame.as_bytes());
    }
}

#[test]
fn refusals_name_the_fault_and_the_id() {
    for ([kind, id, reply], frame) in rows(REFUSED) {
        let fault = parse(frame).expect_err(frame);
        assert_eq!(format!("{:?}", fault.kind), kind, "{frame}");
        assert_eq!(id_text(fault.id.as_ref()), id, "{frame}");
        assert_eq!(fault.notification, reply == "silent", "{frame}");
        assert!(fault.offset <= frame.len());
        assert!(
            fault.to_string().starts_with("the sender's message "),
            "{fault}"
        );
    }
}

#[test]
fn nothing_and_byte_order_marks_are_no_json() {
    for frame in ["", "  ", "\u{feff}{\"jsonrpc\":\"2.0\",\"method\":\"m\"}"] {
        let fault = parse(frame).unwrap_err();
        assert_eq!(
            (fault.kind, fault.id, fault.notification),
            (NotJson, None, false)
        );
    }
}

#[test]
fn codes_follow_the_fault() {
    assert_eq!(NotJson.code(), code::PARSE);
    assert_eq!(NotUtf8.code(), code::PARSE);
    assert_eq!(ParamsArray.code(), code::INVALID_PARAMS);
    assert_eq!(ParamsPrimitive.code(), code::INVALID_REQUEST);
    assert_eq!(DuplicateKey.code(), code::INVALID_REQUEST);
}

#[test]
fn escaped_methods_are_decoded() {
    let message = parse(r#"{"jsonrpc":"2.0","id":1,"method":"tools\/call"}"#).unwrap();
    assert_eq!(message.method(), "tools/call");
    assert_eq!(message.method_text(), Some(r"tools\/call"));
}

#[test]
fn results_and_errors_share_the_frame() {
    let frame = Bytes::from_static(br#"{"jsonrpc":"2.0","id":1,"result": {"a":[1]} }"#);
    let message = Message::parse(frame.clone(), &Limits::default()).unwrap();
    let result = message.result().unwrap().into_bytes();
    assert_eq!(result, br#"{"a":[1]}"#[..]);
    assert_eq!(result.as_ptr(), frame[34..].as_ptr());
    assert_eq!(message.error(), None);
    let failure = parse(r#"{"jsonrpc":"2.0","id":1,"error":{"code":1}}"#).unwrap();
    assert_eq!(failure.error().unwrap().as_str(), r#"{"code":1}"#);
    assert_eq!(failure.result(), None);
    assert_eq!(failure.method_text(), None);
}

#[test]
fn the_id_can_be_taken() {
    let mut message = parse(r#"{"jsonrpc":"2.0","id":"a","method":"m"}"#).unwrap();
    assert_eq!(message.take_id(), Some("a".into()));
    assert_eq!(message.take_id(), None);
    assert_eq!(message.kind(), Kind::Request);
}

#[test]
fn long_ids_are_kept_whole() {
    for length in [64 * 1024, 1024 * 1024] {
        let id = "i".repeat(length);
        let message = parse(format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"m"}}"#)).unwrap();
        assert_eq!(message.id(), Some(&RequestId::from(id.clone())));
        let mut out = Vec::new();
        polyport_wire::write::response_head(&mut out, message.id().unwrap());
        out.extend_from_slice(b"{}}");
        assert_eq!(parse(&out).unwrap().id(), Some(&RequestId::from(id)));
    }
}
