//! The messages that clients of the soaks have in common.

/// Opens a session.
pub const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"soak","version":"1"}}}"#;
/// The same in the revision that has batches.
pub const INITIALIZE_BATCHES: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"soak","version":"1"}}}"#;
/// Opens a session of a client whose user can be asked.
pub const INITIALIZE_ABLE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"soak","version":"1"}}}"#;
/// Ends the opening.
pub const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
/// What modern requests carry.
pub const META: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"soak","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}"#;
/// What ordinary clients' secrets begin with.
pub const OURS: &str = "ours-";
/// What hostile clients' texts begin with: no ordinary client may ever see it.
pub const THEIRS: &str = "theirs-";

/// A legacy tools/call; `id` and `arguments` are JSON.
pub fn call(id: &str, tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    )
}

/// The same with a progress token, which is JSON.
pub fn call_with_progress(id: &str, tool: &str, arguments: &str, token: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{{"progressToken":{token}}}}}}}"#
    )
}

/// A modern tools/call; `meta` is more members of `_meta`, each with a comma before it.
pub fn modern_call(id: &str, tool: &str, arguments: &str, meta: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{{{META}{meta}}}}}}}"#
    )
}

/// A modern tools/call of a client whose user can be asked; `more` is more members of its params, each with a comma before it.
pub fn able_call(id: &str, tool: &str, arguments: &str, more: &str) -> String {
    let meta = META.replace(
        "\"io.modelcontextprotocol/clientCapabilities\":{}",
        "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}}",
    );
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{{{meta}}}{more}}}}}"#
    )
}

/// `subscriptions/listen` to the resource that changes.
pub fn listen(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{"notifications":{{"resourceSubscriptions":["{CLOCK}"]}},"_meta":{{{META}}}}}}}"#
    )
}

/// The headers of `subscriptions/listen`.
pub const LISTEN: [(&str, &str); 2] = [
    ("MCP-Protocol-Version", "2026-07-28"),
    ("Mcp-Method", "subscriptions/listen"),
];
/// A resource that changes all the time.
pub const CLOCK: &str = "soak://clock";

/// The headers of a modern tools/call.
pub fn modern_headers(tool: &str) -> [(&'static str, &str); 3] {
    [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", tool),
    ]
}
