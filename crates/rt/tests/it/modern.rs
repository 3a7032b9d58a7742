//! Requests that stand alone, and both eras on one connection.

use crate::{META, check};

async fn modern(script: &str) {
    check(&script.replace("META", META)).await;
}

// req: M-DISCOVER
#[tokio::test(start_paused = true)]
async fn discovery_needs_no_handshake() {
    modern(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{META}}
        < {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"puppet","version":"1"}}}}
        > {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{META}}
        < {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}}
        > {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"a":1},META}}
        < {"jsonrpc":"2.0","id":3,"result":{"resultType":"complete","a":1}}
        $
    "#,
    )
    .await;
}

// req: M-REMOVED
#[tokio::test(start_paused = true)]
async fn what_the_revision_lacks_is_not_found() {
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "unknown/method",
    ] {
        modern(
            &r#"
            > {"jsonrpc":"2.0","id":1,"method":"METHOD","params":{META}}
            ~ {"id":1,"error":{"code":-32601}}
            $
        "#
            .replace("METHOD", method),
        )
        .await;
    }
}

// req: M-META
#[tokio::test(start_paused = true)]
async fn an_incomplete_envelope_is_refused() {
    modern(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}
        ~ {"id":1,"error":{"code":-32602}}
        > {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":7,"io.modelcontextprotocol/clientCapabilities":{}}}}
        ~ {"id":2,"error":{"code":-32602}}
        > {"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":[]}}}
        ~ {"id":3,"error":{"code":-32602}}
        > {"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"v999.0.0","io.modelcontextprotocol/clientCapabilities":{}}}}
        < {"jsonrpc":"2.0","id":4,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"v999.0.0"}}}
        > {"jsonrpc":"2.0","id":6,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25","io.modelcontextprotocol/clientCapabilities":{}}}}
        < {"jsonrpc":"2.0","id":6,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}}
        > {"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"loud"}}}
        ~ {"id":5,"error":{"code":-32602}}
        $
    "#,
    )
    .await;
}

// req: M-LOG
#[tokio::test(start_paused = true)]
async fn the_level_is_that_of_the_request() {
    modern(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"logs",META}}
        < {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}
        > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"logs","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"info"}}}
        ~ {"method":"notifications/message","params":{"level":"info"}}
        < {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete"}}
        $
    "#,
    )
    .await;
}

// req: M-BOTH
#[tokio::test(start_paused = true)]
async fn both_eras_on_one_connection() {
    modern(
        r#"
        > {"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x://y",META}}
        < {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Resource not found","data":{"uri":"x://y"}}}
        > {"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}
        ~ {"id":2,"result":{"protocolVersion":"2025-11-25"}}
        > {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo"}}
        < {"jsonrpc":"2.0","id":3,"result":{}}
        > {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"echo",META}}
        < {"jsonrpc":"2.0","id":4,"result":{"resultType":"complete"}}
        > {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"never",META}}
        > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}
        .
        $
    "#,
    )
    .await;
}
