//! Requests that a client gives up, and questions that a server takes back: nobody hears of them again.

use std::sync::Arc;
use std::time::Duration;

use polyport_proto::{Era, Revisions};
use polyport_rt::{Caller, Patience};
use polyport_testkit::Log;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::time::timeout;

use crate::opening::facts;

/// Nothing in these tests takes so long.
const LONG: Duration = Duration::from_secs(20);

/// The end of a server, which a test speaks for.
struct Server {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

impl Server {
    async fn hears(&mut self) -> Value {
        let line = timeout(LONG, self.lines.next_line()).await;
        serde_json::from_str(&line.unwrap().unwrap().unwrap()).unwrap()
    }

    async fn says(&mut self, messages: &[Value]) {
        let text: String = messages
            .iter()
            .map(|message| format!("{message}\n"))
            .collect();
        self.writer.write_all(text.as_bytes()).await.unwrap();
    }
}

async fn connected(era: Era) -> (Caller, Server) {
    let (near, far): (DuplexStream, DuplexStream) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(far);
    let lines = BufReader::new(reader).lines();
    let mut server = Server { lines, writer };
    let opening = async {
        let asked = server.hears().await;
        let result = match era {
            Era::Legacy => {
                json!({"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}})
            }
            Era::Modern => {
                json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {}})
            }
        };
        server
            .says(&[json!({"jsonrpc": "2.0", "id": asked["id"], "result": result})])
            .await;
        if era == Era::Legacy {
            server.hears().await;
        }
    };
    let (reader, writer) = tokio::io::split(near);
    let opened = Caller::open(
        reader,
        writer,
        facts(),
        Revisions::of(era),
        Patience::default(),
    );
    let (opened, ()) = tokio::join!(opened, opening);
    (opened.unwrap().0, server)
}

/// The server did not hear of it in time, or answers all the same.
// req: BR-059
#[tokio::test(start_paused = true)]
async fn br_059_what_comes_for_a_request_that_was_given_up_is_passed_over() {
    for era in [Era::Legacy, Era::Modern] {
        let log = Log::at(tracing::Level::WARN);
        let (caller, mut server) = connected(era).await;
        let soon = Duration::from_millis(1);
        let given_up = timeout(soon, caller.request("tools/call", "{\"name\":\"a\"}")).await;
        assert!(given_up.is_err());
        let id = server.hears().await["id"].clone();
        let cancelled = server.hears().await;
        assert_eq!(cancelled["method"], "notifications/cancelled");
        assert_eq!(cancelled["params"]["requestId"], id);
        let next = caller.request("tools/list", "{}");
        let serving = async {
            let asked = server.hears().await["id"].clone();
            assert_ne!(asked, id);
            server
                .says(&[
                    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": "cancelled"}}),
                    json!({"jsonrpc": "2.0", "id": id, "result": {"late": true}}),
                    json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": id, "progress": 1}}),
                    json!({"jsonrpc": "2.0", "id": asked, "result": {"own": true}}),
                ])
                .await;
        };
        let (answer, ()) = tokio::join!(next, serving);
        assert_eq!(answer.unwrap().as_str(), "{\"own\":true}", "{era:?}");
        assert!(!caller.is_closed());
        assert_eq!(log.text(), "", "{era:?}");
    }
}

/// Whatever its id is: what has been taken back is given up here, and not answered.
// req: BR-027
#[tokio::test(start_paused = true)]
async fn br_027_a_question_that_is_taken_back_is_not_answered() {
    for id in [json!(0), json!(""), json!(7), json!("7")] {
        let (caller, mut server) = connected(Era::Legacy).await;
        let held = Arc::new(());
        let holds = held.clone();
        caller.set_answerer(Arc::new(move |method, _| {
            let (holds, waits) = (holds.clone(), method == "elicitation/create");
            Box::pin(async move {
                if waits {
                    std::future::pending::<()>().await;
                }
                drop(holds);
                Ok(polyport_wire::Raw::from_static("{}"))
            })
        }));
        let asks = |id: &Value, method| json!({"jsonrpc": "2.0", "id": id, "method": method});
        // One of the other kind of id is another.
        let other = if id.is_string() { json!(7) } else { json!("0") };
        let other = if other == id { json!(8) } else { other };
        server
            .says(&[asks(&id, "elicitation/create"), asks(&other, "ping")])
            .await;
        assert_eq!(server.hears().await["id"], other);
        assert_eq!(Arc::strong_count(&held), 3, "it is being answered");
        let taken_back = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
        server
            .says(&[taken_back, asks(&json!("next"), "ping")])
            .await;
        assert_eq!(server.hears().await["id"], "next", "{id}");
        assert_eq!(Arc::strong_count(&held), 2, "{id}");
        drop(caller);
        assert!(
            timeout(LONG, server.lines.next_line())
                .await
                .unwrap()
                .unwrap()
                .is_none()
        );
    }
}
