//! The check of the message reader, and of what is done with the texts it found. Framing is elsewhere.

use bytes::Bytes;
use polyport_wire::{
    Kind, Limits, Malformed, MalformedKind, Member, Message, Params, Raw, RequestId, batch, splice,
    write,
};
use serde_json::Value;

use crate::oracle;

/// Reads `data` as one message.
///
/// - It is taken for JSON exactly when `serde_json` takes it for JSON.
/// - Every part reads as the member of that name reads.
/// - No accepted call has a key twice; a call is refused for it only if it has.
/// - Written anew from its parts, it is the same message.
/// - Squeezing, stamping and replacing change what they should and nothing else.
/// - Tighter limits change no verdict but to "too much", and lose no id.
pub fn check(data: &[u8]) {
    let frame = Bytes::copy_from_slice(data);
    let read = Message::parse(frame.clone(), &Limits::default());
    let readable = !read.as_ref().is_err_and(is_unreadable);
    assert_eq!(readable, oracle::is_json(data), "it is JSON, or it is not");
    check_raw(&frame, readable);
    check_batch(&frame, readable);
    check_limits(&frame, &read);
    match read {
        Ok(message) => {
            check_parts(&message);
            check_rewritten(&message);
        }
        Err(fault) => check_refusal(data, &fault),
    }
}

fn is_unreadable(fault: &Malformed) -> bool {
    matches!(fault.kind, MalformedKind::NotJson | MalformedKind::NotUtf8)
}

fn value(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

fn check_raw(frame: &Bytes, readable: bool) {
    let raw = match Raw::parse(frame.clone(), &Limits::default()) {
        Ok(raw) => raw,
        Err(fault) => {
            assert_eq!(is_unreadable(&fault), !readable);
            return;
        }
    };
    assert!(readable);
    let mut line = Vec::new();
    splice::squeeze(raw.as_str(), &mut line);
    assert!(
        !line.contains(&b'\n') && !line.contains(&b'\r'),
        "squeezed into one line"
    );
    assert!(oracle::is_json(&line), "squeezed into JSON");
    let decoded = value(raw.as_str());
    assert_eq!(
        serde_json::from_slice::<Value>(&line).ok(),
        decoded,
        "squeezed without a change"
    );
    if !raw.is_object() {
        return;
    }
    let mut stamped = Vec::new();
    splice::stamp(raw.as_str(), r#""stamped":true"#, &mut stamped);
    assert!(oracle::is_json(&stamped), "stamped into JSON");
    let mut walked = serde_json::Map::new();
    let mut edits: Vec<(_, &[u8])> = Vec::new();
    splice::members(raw.as_str(), |key, text| {
        let start = text.as_ptr().addr() - raw.as_str().as_ptr().addr();
        edits.push((start..start + text.len(), b"7"));
        if decoded.is_some() {
            walked.insert(
                key.to_owned(),
                value(text).expect("a part of what can be decoded"),
            );
        }
    });
    if let Some(decoded) = &decoded {
        assert_eq!(
            *decoded,
            Value::Object(walked),
            "the members are those of the object"
        );
    }
    let mut replaced = Vec::new();
    splice::replace(raw.as_bytes(), &edits, &mut replaced);
    assert!(oracle::is_json(&replaced), "replaced values leave JSON");
}

fn check_batch(frame: &Bytes, readable: bool) {
    match batch::split(frame, &Limits::default()) {
        Ok(elements) => {
            assert!(readable && !elements.is_empty());
            assert!(elements.iter().all(|element| oracle::is_json(element)));
            if batch::is_batch(frame) {
                let whole = serde_json::from_slice::<Vec<Value>>(frame).ok();
                let parts = elements
                    .iter()
                    .map(|part| serde_json::from_slice::<Value>(part).ok());
                let same = whole.is_none_or(|whole| parts.eq(whole.into_iter().map(Some)));
                assert!(same, "the elements are those of the array");
            }
        }
        Err(fault) => assert_eq!(is_unreadable(&fault), !readable),
    }
}

fn check_limits(frame: &Bytes, read: &Result<Message, Malformed>) {
    for limits in [
        Limits {
            depth: 2,
            ..Limits::default()
        },
        Limits {
            elements: 3,
            ..Limits::default()
        },
        Limits {
            values: 5,
            ..Limits::default()
        },
        Limits {
            depth: 0,
            elements: 0,
            values: 0,
            batch: 0,
        },
    ] {
        match (Message::parse(frame.clone(), &limits), read) {
            (Ok(tight), Ok(loose)) => {
                assert_eq!((tight.kind(), tight.id()), (loose.kind(), loose.id()));
            }
            (Ok(_), Err(_)) => panic!("tighter limits accept nothing more"),
            (Err(tight), read) => {
                let too_much = matches!(
                    tight.kind,
                    MalformedKind::TooDeep | MalformedKind::TooManyElements
                );
                let same = read.as_ref().is_err_and(|loose| loose.kind == tight.kind);
                assert!(too_much || same, "limits refuse for being too much only");
                let id = read
                    .as_ref()
                    .map_or_else(|loose| loose.id.as_ref(), Message::id);
                // With no depth at all not even the envelope is opened.
                assert!(
                    limits.depth == 0 || tight.id.as_ref() == id,
                    "the id survives"
                );
            }
        }
    }
}

fn check_parts(message: &Message) {
    let whole = std::str::from_utf8(message.frame()).expect("an accepted frame is UTF-8");
    let Some(whole) = value(whole) else { return };
    let id = whole.get("id").filter(|id| !id.is_null());
    assert_eq!(message.id().map(|id| serde_json::json!(id)).as_ref(), id);
    let result = message.result().and_then(|raw| value(raw.as_str()));
    let error = message.error().and_then(|raw| value(raw.as_str()));
    match message.kind() {
        Kind::Response => assert_eq!(result.as_ref(), whole.get("result")),
        Kind::Failure => assert_eq!(error.as_ref(), whole.get("error")),
        Kind::Request | Kind::Notification => {
            assert_eq!((&result, &error), (&None, &None));
            assert_eq!(
                whole.get("method").and_then(Value::as_str),
                Some(&*message.method())
            );
            assert_eq!(message.kind() == Kind::Request, id.is_some());
            check_params(
                message.params(),
                whole.get("params").unwrap_or(&Value::Null),
            );
            assert_ne!(oracle::repeats(&whole.to_string()), Some(true));
        }
    }
}

fn check_params(params: &Params, whole: &Value) {
    assert_eq!(params.is_present(), !whole.is_null());
    let read =
        |text: Option<&str>| text.map(|text| value(text).expect("a part of what can be decoded"));
    for (name, member, text) in [
        ("name", Member::Name, params.member(Member::Name)),
        ("uri", Member::Uri, params.member(Member::Uri)),
        ("cursor", Member::Cursor, params.member(Member::Cursor)),
        (
            "arguments",
            Member::Arguments,
            params.arguments().map(|text| params.slice(text)),
        ),
        (
            "_meta",
            Member::Meta,
            params.meta().map(|text| params.slice(text)),
        ),
        (
            "inputResponses",
            Member::InputResponses,
            params.input_responses().map(|text| params.slice(text)),
        ),
        (
            "requestState",
            Member::RequestState,
            params.request_state().map(|text| params.slice(text)),
        ),
    ] {
        assert_eq!(params.has(member), text.is_some());
        assert_eq!(
            read(text.as_ref().map(Raw::as_str)).as_ref(),
            whole.get(name),
            "{name}"
        );
    }
    for (name, text) in [
        ("name", params.name()),
        ("uri", params.uri()),
        ("cursor", params.cursor()),
    ] {
        assert_eq!(
            text.as_deref(),
            whole.get(name).and_then(Value::as_str),
            "{name}"
        );
    }
    let meta = |name: &str| whole.get("_meta").and_then(|meta| meta.get(name));
    assert_eq!(
        read(params.progress_token()).as_ref(),
        meta("progressToken")
    );
    for (name, text) in [
        ("protocolVersion", params.protocol_version()),
        ("clientInfo", params.client_info()),
        ("clientCapabilities", params.client_capabilities()),
        ("logLevel", params.log_level()),
    ] {
        assert_eq!(
            read(text).as_ref(),
            meta(&format!("io.modelcontextprotocol/{name}")),
            "{name}"
        );
    }
}

fn check_rewritten(message: &Message) {
    let mut out = Vec::new();
    match (message.kind(), message.id()) {
        (Kind::Request, Some(id)) => {
            write::request(&mut out, id, &message.method(), message.params().text())
        }
        (Kind::Notification, None) => {
            write::notification(&mut out, &message.method(), message.params().text())
        }
        (Kind::Response, Some(id)) => {
            write::response_head(&mut out, id);
            out.extend_from_slice(
                message
                    .result()
                    .expect("a response has a result")
                    .as_bytes(),
            );
            out.push(b'}');
        }
        (Kind::Failure, id) => {
            let error = message.error().expect("a failure has an error");
            write::failure(&mut out, id, -32603, error.as_str(), Some(error.as_str()));
        }
        (kind, id) => panic!("{kind:?} with the id {id:?}"),
    }
    let again =
        Message::parse(out.into(), &Limits::default()).expect("what was written can be read");
    assert_eq!(again.kind(), message.kind());
    assert_eq!(again.id(), message.id());
    assert_eq!(again.method(), message.method());
    assert_eq!(again.params().text(), message.params().text());
    assert_eq!(again.result(), message.result());
    if let (Some(again), Some(before)) = (again.error(), message.error()) {
        let again: Value = again.decode().unwrap_or_default();
        assert!(
            again.is_null() || again["message"] == *before.as_str(),
            "the text of a failure survives"
        );
    }
}

fn check_refusal(data: &[u8], fault: &Malformed) {
    assert!(fault.offset <= data.len());
    assert!(!fault.to_string().is_empty());
    if is_unreadable(fault) {
        let utf8 = std::str::from_utf8(data).is_ok();
        assert_eq!(fault.kind == MalformedKind::NotJson, utf8);
        assert_eq!((&fault.id, fault.notification), (&None, false));
        return;
    }
    let text = std::str::from_utf8(data).expect("what can be read is UTF-8");
    if fault.kind == MalformedKind::DuplicateKey {
        assert_ne!(oracle::repeats(text), Some(false), "a key comes twice");
    }
    let Some(whole) = value(text) else { return };
    let silent = match whole.get("method") {
        Some(method) => method.is_string() && whole.get("id").is_none(),
        None => whole.get("result").or_else(|| whole.get("error")).is_some(),
    };
    if fault.kind != MalformedKind::DuplicateKey {
        assert_eq!(fault.notification, silent, "whether there may be an answer");
        let id = whole
            .get("id")
            .and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
        assert_eq!(fault.id, id, "a legal id is told");
    }
}
