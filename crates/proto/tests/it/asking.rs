//! What a client writes in each revision is what a server of that revision admits.

use polyport_proto::{Asking, ClientFacts, Era, Limits, Outcome, Peer, Revision, Revisions, Turn};
use polyport_wire::{Message, Raw};

fn facts() -> ClientFacts {
    ClientFacts {
        info: Some(Raw::from_static("{\"name\":\"c\",\"version\":\"1\"}")),
        capabilities: Raw::from_static("{\"roots\":{}}"),
    }
}

fn parse(text: Vec<u8>) -> Message {
    Message::parse(text.into(), &polyport_wire::Limits::default()).unwrap()
}

// req: P-ASK
#[test]
fn a_request_is_admitted_with_its_envelope() {
    for revision in Revision::ALL {
        let mut asking = Asking::new(revision, facts());
        let mut peer = Peer::<()>::new(Revisions::ALL, &Limits::default());
        let mut out = Vec::new();
        if let Some((_, opening)) = asking.opening() {
            assert_eq!(revision.profile().era, Era::Legacy);
            let Turn::Call(receipt, _) = peer.handle(Ok(parse(opening)), None, &mut out) else {
                panic!("{revision}")
            };
            peer.answer(
                &receipt,
                &Outcome::Complete(Raw::from_static("{}")),
                &mut out,
            );
            assert!(matches!(
                peer.handle(Ok(parse(asking.initialized())), None, &mut out),
                Turn::Nothing(None)
            ));
            assert!(peer.is_initialized());
        }
        let (id, request) =
            asking.request("tools/list", "{\"cursor\":\"x\"}", "\"progressToken\":7");
        let Turn::Call(receipt, admitted) = peer.handle(Ok(parse(request)), None, &mut out) else {
            panic!("{revision}")
        };
        assert_eq!((receipt.id, admitted.method), (id.clone(), "tools/list"));
        assert_eq!(admitted.params.cursor().as_deref(), Some("x"));
        let envelope = &admitted.envelope;
        assert_eq!(envelope.revision(), revision);
        assert_eq!(
            envelope.client().info().map(|i| i.name),
            Some("c".to_owned())
        );
        assert!(envelope.client().capabilities().has_roots());
        assert_eq!(envelope.progress_token().map(Raw::as_str), Some("7"));
        assert_eq!(envelope.log_level(), None);
        peer.track(
            polyport_proto::Receipt {
                id: id.clone(),
                method: "tools/list",
                revision,
                opening: false,
                alone: false,
                batch: None,
            },
            (),
        );
        // The reason goes with it, whatever it is made of.
        let why = (revision != Revision::V2024_11_05).then_some("no \"more\"\n");
        assert!(matches!(
            peer.handle(Ok(parse(asking.cancel(&id, why).unwrap())), None, &mut out),
            Turn::Cancel((), said) if said.as_deref() == why
        ));
        assert_eq!(peer.in_flight(), 0);
    }
}

#[test]
fn params_without_members_and_without_meta() {
    let mut asking = Asking::new(Revision::V2025_11_25, facts());
    let (_, request) = asking.request("tools/list", "{}", "");
    assert_eq!(
        String::from_utf8(request).unwrap(),
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#
    );
    let mut asking = Asking::new(
        Revision::V2026_07_28,
        ClientFacts {
            info: None,
            capabilities: Raw::from_static("{}"),
        },
    );
    let (_, request) = asking.request("tools/list", "{}", "");
    let want = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    assert_eq!(String::from_utf8(request).unwrap(), want);
}

#[test]
fn meta_of_the_caller_stays_beside_ours() {
    for (revision, params, meta, want) in [
        (
            Revision::V2025_11_25,
            r#"{"_meta":{"progressToken":1,"x/y":{"_meta":2}},"name":"a"}"#,
            "\"progressToken\":7",
            r#"{"_meta":{"progressToken":7,"x/y":{"_meta":2}},"name":"a"}"#,
        ),
        (
            Revision::V2025_11_25,
            r#"{"_meta":{"x\"":1}}"#,
            "",
            r#"{"_meta":{"x\"":1}}"#,
        ),
        (
            Revision::V2026_07_28,
            r#"{"name":"_meta","_meta" : {"io.modelcontextprotocol/protocolVersion":"x","io.modelcontextprotocol/logLevel":"debug"} }"#,
            "",
            r#"{"name":"_meta","_meta" : {"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"debug"} }"#,
        ),
        (
            Revision::V2025_11_25,
            r#"{"name":"_meta"}"#,
            "\"progressToken\":7",
            r#"{"_meta":{"progressToken":7},"name":"_meta"}"#,
        ),
    ] {
        let client = ClientFacts {
            info: None,
            capabilities: Raw::from_static("{}"),
        };
        let (_, request) = Asking::new(revision, client).request("tools/call", params, meta);
        let text = String::from_utf8(request).unwrap();
        let got = text.split_once("\"params\":").unwrap().1;
        assert_eq!(got, format!("{want}}}"), "{params}");
    }
}
