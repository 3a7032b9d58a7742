//! The messages that ordinary and hostile clients have in common.

/// Opens a session.
pub(crate) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"soak","version":"1"}}}"#;
/// The same in the revision that has batches.
pub(crate) const INITIALIZE_BATCHES: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"soak","version":"1"}}}"#;
/// Opens a session of a client whose user can be asked.
pub(crate) const INITIALIZE_ABLE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"soak","version":"1"}}}"#;
/// Ends the opening.
pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
/// What modern requests carry.
pub(crate) const META: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"soak","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}"#;
/// What ordinary clients' secrets begin with.
pub(crate) const OURS: &str = "ours-";
/// What hostile clients' texts begin with: no ordinary client may ever see it.
pub(crate) const THEIRS: &str = "theirs-";

/// A legacy tools/call; `id` and `arguments` are JSON.
pub(crate) fn call(id: &str, tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    )
}

/// The same with a progress token, which is JSON.
pub(crate) fn call_with_progress(id: &str, tool: &str, arguments: &str, token: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{{"progressToken":{token}}}}}}}"#
    )
}

/// A modern tools/call; `meta` is more members of `_meta`, each with a comma before it.
pub(crate) fn modern_call(id: &str, tool: &str, arguments: &str, meta: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{{{META}{meta}}}}}}}"#
    )
}

/// A modern tools/call of a client whose user can be asked; `more` is more members of its params, each with a comma before it.
pub(crate) fn able_call(id: &str, tool: &str, arguments: &str, more: &str) -> String {
    let meta = META.replace(
        "\"io.modelcontextprotocol/clientCapabilities\":{}",
        "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}}",
    );
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{{{meta}}}{more}}}}}"#
    )
}

/// `subscriptions/listen` to the resource that changes.
pub(crate) fn listen(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{"notifications":{{"resourceSubscriptions":["{CLOCK}"]}},"_meta":{{{META}}}}}}}"#
    )
}

/// The headers of `subscriptions/listen`.
pub(crate) const LISTEN: [(&str, &str); 2] = [
    ("MCP-Protocol-Version", "2026-07-28"),
    ("Mcp-Method", "subscriptions/listen"),
];
/// A resource that changes all the time.
pub(crate) const CLOCK: &str = "soak://clock";

/// The headers of a modern tools/call.
pub(crate) fn modern_headers(tool: &str) -> [(&'static str, &str); 3] {
    [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", tool),
    ]
}
