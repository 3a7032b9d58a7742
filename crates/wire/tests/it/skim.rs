//! The scanner accepts what `serde_json` accepts, and what it notes reads as the same values. What the
//! parts of a message mean is in `message.rs`.

use bytes::Bytes;
use polyport_wire::{Limits, MalformedKind, Message, Raw, RequestId};
use proptest::prelude::*;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{generated, parse};

const FRAMES: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":"é-\u00e9\n","method":"tools\/call","params":{"name":"a","arguments":{"x":[1,-2.5e+3,true]},"_meta":{"progressToken":0,"io.modelcontextprotocol/logLevel":"info"}}}"#,
    " {\r\n\t\"jsonrpc\" : \"2.0\" , \"id\" : -12 , \"result\" : { \"a\" : [ null , false , [ ] , { } ] } }\n",
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"\ud83d\ude00 😀 \ud800","data":0.5E-7}}"#,
    r#"[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"b","params":{}}]"#,
];

/// Accepted as JSON here exactly when accepted there; and if a message, one that says the same.
fn check(text: &[u8]) {
    let oracle = serde_json::from_slice::<&RawValue>(text);
    let message = parse(text);
    let raw = Raw::parse(Bytes::copy_from_slice(text), &Limits::default());
    let unreadable = |kind| matches!(kind, MalformedKind::NotJson | MalformedKind::NotUtf8);
    let readable = match &message {
        Ok(_) => true,
        Err(fault) => !unreadable(fault.kind),
    };
    let shown = String::from_utf8_lossy(text);
    assert_eq!(readable, oracle.is_ok(), "message of {shown}");
    assert_eq!(raw.is_ok(), oracle.is_ok(), "raw of {shown}");
    if let (Ok(raw), Ok(oracle)) = (&raw, &oracle) {
        assert_eq!(raw.as_str(), oracle.get());
    }
    if let (Ok(message), Ok(value)) = (&message, serde_json::from_slice::<Value>(text)) {
        agree(message, &value);
    }
}

/// Every span reads as the member of that name.
fn agree(message: &Message, value: &Value) {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let id = value.get("id").filter(|id| !id.is_null());
    assert_eq!(
        message
            .id()
            .map(|id| serde_json::to_value(id).unwrap())
            .as_ref(),
        id
    );
    match value.get("method") {
        Some(method) => assert_eq!(message.method(), method.as_str().unwrap()),
        None => {
            let (result, error) = (value.get("result"), value.get("error"));
            let told = message
                .result()
                .or_else(|| message.error())
                .unwrap()
                .decode::<Value>()
                .unwrap();
            assert!(Some(&told) == result || Some(&told) == error);
            assert_eq!(message.method(), "");
            assert!(!message.params().is_present());
            return;
        }
    }
    let params = message.params();
    let members = value.get("params").filter(|params| !params.is_null());
    assert_eq!(params.text().map(read).as_ref(), members);
    let member = |name: &str| members.and_then(|members| members.get(name));
    let text = |name: &str| member(name).and_then(Value::as_str);
    assert_eq!(params.name().as_deref(), text("name"));
    assert_eq!(params.uri().as_deref(), text("uri"));
    assert_eq!(params.cursor().as_deref(), text("cursor"));
    assert_eq!(params.arguments().map(read).as_ref(), member("arguments"));
    assert_eq!(
        params.input_responses().map(read).as_ref(),
        member("inputResponses")
    );
    assert_eq!(
        params.request_state().map(read).as_ref(),
        member("requestState")
    );
    assert_eq!(params.meta().map(read).as_ref(), member("_meta"));
    let meta = |name: &str| member("_meta").and_then(|meta| meta.get(name));
    let reserved = |name: &str| meta(&format!("io.modelcontextprotocol/{name}"));
    assert_eq!(
        params.progress_token().map(read).as_ref(),
        meta("progressToken")
    );
    assert_eq!(
        params.protocol_version().map(read).as_ref(),
        reserved("protocolVersion")
    );
    assert_eq!(
        params.client_info().map(read).as_ref(),
        reserved("clientInfo")
    );
    assert_eq!(
        params.client_capabilities().map(read).as_ref(),
        reserved("clientCapabilities")
    );
    assert_eq!(params.log_level().map(read).as_ref(), reserved("logLevel"));
}

#[test]
fn every_truncation_is_judged_as_serde_json_does() {
    for frame in FRAMES {
        for end in 0..=frame.len() {
            check(&frame.as_bytes()[..end]);
        }
    }
}

#[test]
fn every_mutation_of_one_byte_is_judged_as_serde_json_does() {
    let telling = b"\0\x08\t\n\x0b\x0c\r\x1b\x1f \"\\/{}[]:,+-.019eEuntfa~\x7f\x80\xa9\xbf\xc0\xc3\xe2\xed\xf0\xf5\xff";
    for (n, frame) in FRAMES.iter().enumerate() {
        let all: Vec<u8> = (0..=255).collect();
        let bytes = if n == 0 { &all[..] } else { &telling[..] };
        for at in 0..frame.len() {
            for &byte in bytes {
                let mut mutant = frame.as_bytes().to_vec();
                mutant[at] = byte;
                check(&mutant);
            }
        }
    }
}

#[test]
fn every_removal_and_doubling_of_one_byte_is_judged_as_serde_json_does() {
    for frame in FRAMES {
        for at in 0..frame.len() {
            let mut mutant = frame.as_bytes().to_vec();
            let byte = mutant.remove(at);
            check(&mutant);
            mutant.splice(at..at, [byte, byte]);
            check(&mutant);
        }
    }
}

#[test]
fn odd_texts_are_judged_as_serde_json_does() {
    let odd = [
        "",
        " ",
        "\u{feff}{}",
        "{}x",
        "{},",
        "01",
        "-",
        "-0",
        "-01",
        "1.",
        ".5",
        "1e",
        "1e+",
        "1E400",
        "+1",
        "nul",
        "nulll",
        "truefalse",
        "tru",
        "\"",
        "\"\\",
        "\"\\u12",
        "\"\\u12g4\"",
        "\"\\x\"",
        "\"\t\"",
        "\"\u{7f}\"",
        "'a'",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\":1,}",
        "{\"a\"}",
        "{a:1}",
        "{\"a\":}",
        "{:1}",
        "[}",
        "{]",
        "//\n1",
        "NaN",
        "Infinity",
        "\u{a0}1",
        "1\u{2028}",
        "\u{b}1",
        "\"\\ud800\"",
        "\"\\udc00\\ud800\"",
        "{\"\\ud800\":1}",
        "99999999999999999999999999",
        "\0",
        "1\0",
        "[[[[[[[[]]]]]]]]",
    ];
    for text in odd {
        check(text.as_bytes());
    }
    let not_utf8: &[&[u8]] = &[
        b"\xff",
        b"\"\xff\"",
        b"\"\xc3\"",
        b"\"\xc3\\n\xa9\"",
        b"\"\xed\xa0\x80\"",
        b"\"\xf4\x90\x80\x80\"",
        b"\"\xc0\x80\"",
        b"\"\xe2\x80\"",
        b"\"aaaaaaaaaaaaaaaaaaaaaaa\xff\"",
    ];
    for text in not_utf8 {
        check(text);
        assert_eq!(parse(text).unwrap_err().kind, MalformedKind::NotUtf8);
    }
}

/// Clean runs are found in words, blocks and single bytes; each border has its turn.
#[test]
fn a_special_byte_is_seen_wherever_it_stands() {
    for length in (0..40).chain(50..80).chain(120..140).chain(190..200) {
        for at in 0..length {
            for special in [b'"', b'\\', 0x1f, 0, 0x80, 0xe9, 0x7f, b' '] {
                let mut text = vec![b'a'; length];
                text[at] = special;
                check(&[b"\"", &text[..], b"\""].concat());
            }
            let mut text = "a".repeat(length);
            text.insert(at, 'é');
            check(format!("\"{text}\"").as_bytes());
        }
    }
}

proptest! {
    #[test]
    fn generated_values_are_judged_as_serde_json_does(text in generated::value()) {
        check(text.as_bytes());
    }

    #[test]
    fn generated_envelopes_are_judged_as_serde_json_does(text in generated::envelope()) {
        check(text.as_bytes());
    }

    #[test]
    fn damaged_envelopes_are_judged_as_serde_json_does(
        text in generated::envelope(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>(),
    ) {
        let mut text = text.into_bytes();
        let at = at.index(text.len());
        if cut { text.truncate(at) } else { text[at] = byte }
        check(&text);
    }

    #[test]
    fn any_bytes_are_judged_as_serde_json_does(text in prop::collection::vec(any::<u8>(), 0..40)) {
        check(&text);
    }

    #[test]
    fn any_integer_is_the_id_it_is(number in any::<i64>()) {
        let message = parse(format!(r#"{{"jsonrpc":"2.0","id":{number},"method":"m"}}"#)).unwrap();
        prop_assert_eq!(message.id(), Some(&RequestId::Number(number)));
    }

    #[test]
    fn params_alone_read_like_params_in_a_message(text in generated::params()) {
        let alone = polyport_wire::Params::parse(text.clone().into(), &Limits::default());
        let within = parse(format!(r#"{{"jsonrpc":"2.0","method":"m","params":{text}}}"#));
        match (alone, within) {
            (Ok(alone), Ok(within)) => {
                let within = within.params();
                prop_assert_eq!(alone.text(), within.text());
                prop_assert_eq!(alone.name(), within.name());
                prop_assert_eq!(alone.arguments(), within.arguments());
                prop_assert_eq!(alone.meta(), within.meta());
                prop_assert_eq!(alone.log_level(), within.log_level());
            }
            (Err(alone), Err(within)) => prop_assert_eq!(alone.kind, within.kind),
            (alone, within) => prop_assert!(false, "{:?} but {:?}", alone, within),
        }
    }
}
