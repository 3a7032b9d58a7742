//! Tools that block their thread or take their time: they hold nothing up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use polyport::{Cx, Revision, Tool};
use serde_json::json;

use crate::{adder, peer};

// req: S-BLOCK
#[tokio::test]
async fn a_blocking_or_slow_tool_holds_nothing_up() {
    let go = Arc::new(AtomicBool::new(false));
    let seen = go.clone();
    let server = adder()
        .add_tool(Tool::blocking("block", "", move |_cx, (): ()| {
            while !seen.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            Ok("done")
        }))
        .tool("slow", "", |cx: Cx, (): ()| async move {
            cx.cancelled().await;
            Ok("")
        });
    let peer = Arc::new(peer(server, Revision::V2026_07_28).await);
    let (blocked, slow) = (peer.clone(), peer.clone());
    let nothing = json!({});
    let blocked = tokio::spawn(async move { blocked.call("block", &json!({})).await });
    let slow = tokio::spawn(async move { slow.call("slow", &nothing).await });
    for _ in 0..20 {
        tokio::time::timeout(
            Duration::from_secs(20),
            peer.call("add", &json!({"a": 1, "b": 1})),
        )
        .await
        .unwrap()
        .unwrap();
    }
    assert!(!blocked.is_finished());
    go.store(true, Ordering::SeqCst);
    assert_eq!(
        blocked.await.unwrap().unwrap()["content"][0]["text"],
        "done"
    );
    slow.abort();
}
