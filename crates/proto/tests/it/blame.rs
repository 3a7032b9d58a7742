//! Each way of being wrong: its code, its status, and a sentence that says what to do.

use polyport_proto::{Blame, Revisions};
use polyport_wire::MalformedKind as M;

// req: P-BLAME
#[test]
fn each_blame_has_its_code_and_status() {
    let text = String::from;
    let table: &[(Blame, i32, u16)] = &[
        (Blame::Malformed(M::NotJson), -32700, 400),
        (Blame::Malformed(M::NotUtf8), -32700, 400),
        (Blame::Malformed(M::TooDeep), -32600, 400),
        (Blame::Malformed(M::TooManyElements), -32600, 400),
        (Blame::Malformed(M::NotObject), -32600, 400),
        (Blame::Malformed(M::Batch), -32600, 400),
        (Blame::Malformed(M::NoVersion), -32600, 400),
        (Blame::Malformed(M::BadId), -32600, 400),
        (Blame::Malformed(M::BadMethod), -32600, 400),
        (Blame::Malformed(M::Ambiguous), -32600, 400),
        (Blame::Malformed(M::DuplicateKey), -32600, 400),
        (Blame::Malformed(M::ParamsArray), -32602, 400),
        (Blame::Malformed(M::ParamsPrimitive), -32600, 400),
        (Blame::Malformed(M::Empty), -32600, 400),
        (Blame::TooLong { limit: 5 }, -32600, 413),
        (Blame::NotInitialized, -32600, 400),
        (Blame::AlreadyInitialized, -32600, 400),
        (Blame::BadInitialize { member: "x" }, -32602, 400),
        (Blame::ClientFactsTooLong { limit: 5 }, -32602, 400),
        (Blame::TooManyBytes, -32600, 503),
        (Blame::ModernInBatch, -32600, 400),
        (Blame::BatchNotSpoken, -32600, 400),
        (Blame::InitializeInBatch, -32600, 400),
        (Blame::DuplicateId, -32600, 400),
        (Blame::TooManyCalls { limit: 5 }, -32600, 503),
        (Blame::UnknownMethod(text("x")), -32601, 404),
        (Blame::BadLevel(text("x")), -32602, 400),
        (Blame::MetaMissing("x"), -32602, 400),
        (Blame::MetaInvalid("x"), -32602, 400),
        (
            Blame::UnsupportedVersion {
                requested: text("x"),
                supported: Revisions::ALL,
            },
            -32022,
            400,
        ),
        (Blame::HeaderMissing("x"), -32020, 400),
        (Blame::HeaderMalformed(text("x")), -32020, 400),
        (Blame::HeaderMismatch(text("x")), -32020, 400),
        (Blame::UnexpectedResponse, -32600, 400),
        (Blame::UnknownVersionHeader(text("x")), -32600, 400),
        (Blame::SessionMissing, -32600, 400),
        (Blame::SessionUnknown, -32600, 404),
        (Blame::TooManySessions, -32600, 503),
        (Blame::TooManyStreams, -32600, 409),
        (Blame::EventUnknown, -32600, 400),
        (Blame::EventsLost, -32600, 410),
        (Blame::PairMissing, -32600, 400),
        (Blame::PairUnknown, -32600, 404),
        (Blame::TooMuchUnread, -32600, 503),
        (Blame::HostForbidden, -32600, 403),
        (Blame::OriginForbidden, -32600, 403),
        (Blame::MethodNotAllowed, -32600, 405),
        (Blame::MediaType, -32600, 415),
        (Blame::ContentCoding, -32600, 415),
        (Blame::NotAcceptable, -32600, 406),
        (Blame::StreamNotAcceptable, -32600, 406),
        (Blame::HeadTooLong { limit: 5 }, -32600, 431),
        (Blame::Closing, -32600, 503),
    ];
    for (blame, code, status) in table {
        let error = blame.error();
        assert_eq!(
            (error.code.number(), blame.status()),
            (*code, *status),
            "{blame:?}"
        );
        assert!(
            error.message.len() > 15 && error.message.len() < 160,
            "{blame:?} says too little or too much: {}",
            error.message
        );
        assert!(
            !error.message.contains("--"),
            "{blame:?} names a flag, which a program made with the SDK does not have"
        );
    }
}

#[test]
fn a_peers_text_is_shortened_and_cleaned() {
    let long = "m".repeat(10_000);
    assert!(Blame::UnknownMethod(long).to_string().len() < 120);
    assert_eq!(
        Blame::UnknownMethod("a\u{1b}[31m\nb".to_owned()).to_string(),
        "Method not found: a[31mb"
    );
}
