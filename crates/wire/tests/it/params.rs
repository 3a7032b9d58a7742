//! What is read from params: present, absent, or of the wrong type.

use polyport_wire::{Limits, MalformedKind, Member, Params};

use crate::parse;

fn params(text: &str) -> Params {
    Params::parse(text.to_owned().into(), &Limits::default())
        .unwrap_or_else(|fault| panic!("{text}: {fault}"))
}

#[test]
fn members_are_told_from_absent_and_from_wrong_ones() {
    let params =
        params(r#" { "name" : "a\/b" , "uri" : 7 , "cursor" : "\ud800" , "arguments" : [ 1 ] } "#);
    assert_eq!(params.name().as_deref(), Some("a/b"));
    assert_eq!((params.uri(), params.has(Member::Uri)), (None, true));
    assert_eq!((params.cursor(), params.has(Member::Cursor)), (None, true));
    assert_eq!((params.meta(), params.has(Member::Meta)), (None, false));
    assert_eq!(params.arguments(), Some("[ 1 ]"));
    assert_eq!(params.member(Member::Arguments).unwrap().as_str(), "[ 1 ]");
    assert!(params.text().unwrap().starts_with("{ ") && params.text().unwrap().ends_with(" }"));
    assert_eq!(params.raw().unwrap().as_str(), params.text().unwrap());
}

#[test]
fn absent_params_have_no_members() {
    let null = parse(r#"{"jsonrpc":"2.0","method":"m","params":null}"#)
        .unwrap()
        .into_params();
    let absent = parse(r#"{"jsonrpc":"2.0","method":"m"}"#)
        .unwrap()
        .into_params();
    for params in [
        null,
        absent,
        params("null"),
        Params::empty(),
        Params::default(),
    ] {
        assert!(!params.is_present());
        assert_eq!((params.text(), params.raw()), (None, None));
        assert_eq!(
            (params.name(), params.arguments(), params.log_level()),
            (None, None, None)
        );
        assert!(!params.has(Member::Name));
    }
    assert!(params("{}").is_present());
}

#[test]
fn meta_is_looked_into_only_when_it_is_an_object() {
    let all = params(
        r#"{"_meta":{"progressToken":"t","io.modelcontextprotocol/protocolVersion":"v","io.modelcontextprotocol\/clientInfo":{"name":"c"},
            "io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"info","io.modelcontextprotocol/progressToken":1}}"#,
    );
    assert_eq!(all.progress_token(), Some(r#""t""#));
    assert_eq!(all.protocol_version(), Some(r#""v""#));
    assert_eq!(all.client_info(), Some(r#"{"name":"c"}"#));
    assert_eq!(all.client_capabilities(), Some("{}"));
    assert_eq!(all.log_level(), Some(r#""info""#));
    let odd = params(
        r#"{"_meta":[{"progressToken":1}],"progressToken":1,"arguments":{"_meta":{"progressToken":2}}}"#,
    );
    assert_eq!(odd.meta(), Some(r#"[{"progressToken":1}]"#));
    assert_eq!(odd.progress_token(), None);
}

#[test]
fn wrong_types_are_refused() {
    let refused = [
        ("[]", MalformedKind::ParamsArray),
        ("7", MalformedKind::ParamsPrimitive),
        (r#""x""#, MalformedKind::ParamsPrimitive),
        ("", MalformedKind::NotJson),
        ("{} {}", MalformedKind::NotJson),
        (r#"{"a":1,"a":1}"#, MalformedKind::DuplicateKey),
        (r#"{"a":{"b":1,"\u0062":1}}"#, MalformedKind::DuplicateKey),
    ];
    for (text, kind) in refused {
        assert_eq!(
            Params::parse(text.into(), &Limits::default())
                .unwrap_err()
                .kind,
            kind,
            "{text}"
        );
    }
}

#[test]
fn slices_share_the_frame() {
    let params = params(r#"{"arguments":{"a":[1,2]}}"#);
    let arguments = params.arguments().unwrap();
    let inner = params.slice(&arguments[5..10]);
    assert_eq!(inner.as_str(), "[1,2]");
    assert_eq!(inner.as_bytes().as_ptr(), arguments[5..].as_ptr());
}
