//! Parts that share a value, put on a server by hand; and results whose error is the author's own.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use polyport::{Fault, Json, Parts, Revision, Server, ToolError};
use serde_json::json;

use crate::{peer, refused};

/// Counts its calls.
#[derive(Default)]
struct Counter(AtomicU32);

impl Parts for Counter {
    fn add_to(self: Arc<Self>, server: Server) -> Server {
        let seen = Arc::clone(&self);
        server
            .tool("next", "", move |_cx, (): ()| {
                let next = self.0.fetch_add(1, Ordering::Relaxed) + 1;
                async move { Ok(next.to_string()) }
            })
            .resource("counter://now", "now", move |_cx| {
                let now = seen.0.load(Ordering::Relaxed);
                async move { Ok(now.to_string()) }
            })
    }
}

#[tokio::test]
async fn a_value_is_shared_whether_it_comes_in_an_arc_or_not() {
    let kept = Arc::new(Counter::default());
    for server in [
        Server::new("s", "1").with(Counter::default()),
        Server::new("s", "1").with(kept.clone()),
    ] {
        let peer = peer(server, Revision::V2025_11_25).await;
        for want in ["1", "2"] {
            let next = peer.call("next", &json!({})).await.unwrap();
            assert_eq!(next["content"][0]["text"], want);
        }
        let now = peer
            .request("resources/read", &json!({"uri": "counter://now"}))
            .await
            .unwrap();
        assert_eq!(now["contents"][0]["text"], "2");
    }
    assert_eq!(kept.0.load(Ordering::Relaxed), 2);
}

#[derive(Debug)]
struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("closed; come back at nine")
    }
}

impl std::error::Error for Closed {}

// req: S-FAIL
#[tokio::test]
async fn results_with_an_error_of_the_authors_own() {
    let server = Server::new("s", "1")
        .tool("fine", "", |_cx, (): ()| async {
            Ok(Ok::<_, Closed>(Json(json!({"n": 1}))))
        })
        .tool("told", "", |_cx, (): ()| async { Ok(Err::<(), _>(Closed)) })
        .tool("refused", "", |_cx, (): ()| async {
            Ok(Err::<(), _>(Fault::new(7, "no")))
        })
        .tool("either", "", |_cx, (): ()| async {
            Ok(Err::<(), _>(ToolError::new("try again")))
        });
    let peer = peer(server, Revision::V2026_07_28).await;
    let fine = peer.call("fine", &json!({})).await.unwrap();
    assert_eq!(fine["structuredContent"], json!({"n": 1}));
    for (tool, text) in [
        ("told", "closed; come back at nine"),
        ("either", "try again"),
    ] {
        let told = peer.call(tool, &json!({})).await.unwrap();
        assert_eq!(
            (
                told["isError"].as_bool(),
                told["content"][0]["text"].as_str()
            ),
            (Some(true), Some(text))
        );
    }
    let refused = refused(&peer, "tools/call", json!({"name": "refused"})).await;
    assert_eq!(refused["code"], 7);
}
