//! Our own log of calls: what stands there (D-24), and what never does.

use std::sync::Arc;

use polyport_proto::{ClientFacts, Envelope, Remembered, Revision};
use polyport_rt::{Call, Service};
use polyport_testkit::asked::{call, principal};
use polyport_testkit::handlers::Puppet;
use polyport_testkit::log::Line;
use polyport_testkit::{Log, Script};
use polyport_wire::Raw;
use tracing::Level;

use crate::{META, OPEN};

/// What no log may hold.
const CANARIES: [&str; 3] = ["s3cret-argument", "s3cret-result", "s3cret-text"];

const CALLS: &str = r#"
    > {"jsonrpc":"2.0","id":"x\u001b[2J","method":"tools/call","params":{"name":"echo","arguments":{"path":"shown.txt","token":"s3cret-argument"}}}
    ~ {"result":{}}
    > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"path":"shown.txt","token":"s3cret-argument"},META}}
    ~ {"result":{}}
    > {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"refuses"}}
    ~ {"error":{}}
    > {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"slow then panics","arguments":{"a":"s3cret-argument"}}}
    ~ {"error":{}}
    > {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"never"}}
    > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}
    > {"jsonrpc":"2.0","id":6,"method":"resources/read","params":{"uri":"x://s3cret-argument"}}
    ~ {"error":{}}
    @ 3s
"#;

async fn played(service: Service, level: Level) -> (Log, Vec<Line>) {
    let log = Log::at(level);
    let mut peer = Script::connect(service);
    peer.play(OPEN).await;
    peer.play(&CALLS.replace("META", META)).await;
    peer.end().await;
    let ended = log.events("call ended");
    (log, ended)
}

// req: D-24
#[tokio::test(start_paused = true)]
async fn d_24_each_call_has_a_beginning_and_an_end() {
    let (log, ended) = played(Service::new(Puppet::default()), Level::DEBUG).await;
    let begun = log.events("call begins");
    assert_eq!((begun.len(), ended.len()), (7, 7));
    for (id, name, outcome, head) in [
        ("0", "", "ok", "INFO polyport::calls"),
        ("\"x\\u001b[2J\"", "echo", "ok", "INFO polyport::calls"),
        ("2", "echo", "ok", "INFO polyport::calls"),
        ("3", "refuses", "refused", "INFO polyport::calls"),
        ("4", "slow then panics", "failed", "ERROR polyport::calls"),
        ("5", "never", "cancelled", "INFO polyport::calls"),
        ("6", "", "refused", "INFO polyport::calls"),
    ] {
        let end = ended.iter().find(|line| line.get("id") == id).unwrap();
        let begin = begun.iter().find(|line| line.get("id") == id).unwrap();
        assert_eq!(
            (end.get("name"), end.get("outcome"), end.head.as_str()),
            (name, outcome, head)
        );
        for same in [
            "call",
            "client",
            "revision",
            "transport",
            "method",
            "bytes_in",
        ] {
            assert_eq!(begin.get(same), end.get(same), "{same}");
        }
        assert_eq!(begin.head, "DEBUG polyport::calls");
    }
    assert!(ended.iter().all(|line| !line.get("ms").is_empty()));
    let of = |id: &str| ended.iter().find(|line| line.get("id") == id).unwrap();
    assert_eq!((of("3").get("client"), of("2").get("client")), ("t/1", ""));
    assert_eq!(of("2").get("revision"), "2026-07-28");
    assert_eq!(of("5").get("reason"), "client");
    assert_eq!(of("3").get("code"), "-32602");
    assert_eq!(of("0").get("method"), "initialize");
    assert_eq!(of("6").get("code"), "-32002");
    // The cause stands under the same id.
    let cause = log.events("call failed").pop().unwrap();
    assert_eq!(cause.get("error_id"), of("4").get("error_id"));
    assert!(cause.get("cause").contains("as it was told"));
    // Equal arguments have equal hashes, of the arguments alone.
    let echo = of("\"x\\u001b[2J\"");
    assert_eq!(echo.get("arguments"), of("2").get("arguments"));
    assert_eq!(echo.get("arguments").len(), 16);
    assert_eq!(echo.get("result").len(), 16);
    assert_eq!(echo.get("bytes_out"), "46");
}

// req: D-24
#[tokio::test(start_paused = true)]
async fn d_24_what_stands_there_was_on_the_wire() {
    const SCRIPT: &str = r#"
        > {"jsonrpc":"2.0","id":"a","method":"server/discover","params":{META}}
        ~ {"result":{}}
        > {"jsonrpc":"2.0","id":"b","method":"resources/read","params":{"uri":"x://y",META}}
        ~ {"error":{"code":-32602}}
        > {"jsonrpc":"2.0","id":"c","method":"resources/read","params":{"uri":"x://y"}}
        ~ {"error":{"code":-32002}}
        > {"jsonrpc":"2.0","id":"d","method":"tools/call","params":{"name":"asks who"}}
        ~ {"result":{"isError":true}}
        > {"jsonrpc":"2.0","id":"e","method":"tools/call","params":{"name":"asks who",META}}
        ~ {"error":{"code":-32021}}
    "#;
    let log = Log::at(Level::INFO);
    let mut peer = Script::connect(Service::new(Puppet::default()));
    peer.play(OPEN).await;
    peer.play(&SCRIPT.replace("META", META)).await;
    peer.end().await;
    let ended = log.events("call ended");
    for (id, method, outcome, code) in [
        ("0", "initialize", "ok", ""),
        ("\"a\"", "server/discover", "ok", ""),
        ("\"b\"", "resources/read", "refused", "-32602"),
        ("\"c\"", "resources/read", "refused", "-32002"),
        ("\"d\"", "tools/call", "tool error", ""),
        ("\"e\"", "tools/call", "refused", "-32021"),
    ] {
        let line = ended.iter().find(|line| line.get("id") == id).unwrap();
        let logged = (line.get("method"), line.get("outcome"), line.get("code"));
        assert_eq!(logged, (method, outcome, code), "{id}");
    }
}

// req: D-24
#[tokio::test(start_paused = true)]
async fn d_24_no_value_is_in_the_log_but_those_that_were_named() {
    for level in [Level::TRACE, Level::INFO, Level::WARN] {
        let (log, ended) = played(Service::new(Puppet::default()), level).await;
        for canary in CANARIES.iter().chain(&["shown.txt"]) {
            assert!(!log.text().contains(canary), "{level} {}", log.text());
        }
        // At the default level there is nothing but what failed on our side.
        assert_eq!(ended.len(), if level == Level::WARN { 1 } else { 7 });
    }
    let service = Service::new(Puppet::default()).log_params(["echo.path", "nothing"]);
    let (log, ended) = played(service, Level::INFO).await;
    let shown: Vec<_> = ended.iter().map(|line| line.get("params")).collect();
    let path = "{\"path\":\"shown.txt\"}";
    assert_eq!(shown, ["", path, path, "", "", "", ""]);
    assert!(!log.text().contains("s3cret"), "{}", log.text());
}

// req: D-24
#[test]
fn d_24_debug_shows_no_value_either() {
    let asked: Call = call(
        "tools/call",
        r#"{"name":"n","arguments":{"a":"s3cret-argument"},"_meta":{"t":"s3cret-text"}}"#,
        Some("ada"),
    );
    let client = ClientFacts {
        info: Some(Raw::from_static("{\"name\":\"s3cret-text\"}")),
        capabilities: Raw::from_static("{\"experimental\":{\"key\":\"s3cret-text\"}}"),
    };
    let session = Arc::new(Remembered::new(Revision::LATEST_LEGACY, client.clone()));
    session.set_tag(7);
    session.kept.keep("s3cret-text", drop);
    let token = Raw::from_static("\"s3cret-text\"");
    let envelope = Envelope::remembered(session.clone(), Some(token.clone()));
    let stated = Envelope::stated(Revision::LATEST, client.clone(), None, Some(token));
    let shown = format!(
        "{asked:?} {:?} {:?} {client:?} {session:?} {envelope:?} {stated:?} {:?} {:?}",
        asked.params,
        asked.context,
        principal("ada"),
        Service::new(Puppet::default()).layer(polyport_rt::layer::Trace::new()),
    );
    for canary in CANARIES {
        assert!(!shown.contains(canary), "{shown}");
    }
    // Who asked and what for may be read.
    assert!(shown.contains("tools/call") && shown.contains("ada"));
}
