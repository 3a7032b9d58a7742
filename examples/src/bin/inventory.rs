//! A tool with a schema written by hand, and the two ways to fail: so that the model is told, or so that the client is.

use polyport::{Cx, Fault, Raw, Server, Tool, ToolError, ToolResult, stdio};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let arguments = json!({
        "type": "object",
        "properties": {
            "item": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3}$", "description": "Such as AB-123."},
            "amount": {"type": "integer", "minimum": 1, "maximum": 100},
        },
        "required": ["item", "amount"],
        "additionalProperties": false,
    });
    let result = json!({
        "type": "object",
        "properties": {"item": {"type": "string"}, "left": {"type": "integer"}},
        "required": ["item", "left"],
    });
    let take = Tool::raw("take", "Takes items off the shelf.", arguments, take)
        .output_schema(result)
        .destructive(true);
    stdio::serve(Server::new("inventory", "1.0").add_tool(take)).await?;
    Ok(())
}

/// The arguments come as JSON text that fits the schema.
async fn take(_cx: Cx, arguments: Raw) -> Result<ToolResult, ToolError> {
    let arguments: Value = arguments.decode()?;
    let (item, amount) = (
        &arguments["item"],
        arguments["amount"].as_i64().unwrap_or(0),
    );
    let shelf = match item.as_str() {
        Some("AB-123") => 7,
        // The client is told, with a code of this server's own: the model cannot help it.
        Some("ZZ-999") => return Err(Fault::new(1001, "the cellar is locked").into()),
        // The model is told, and can do better.
        Some(other) => return Err(ToolError::new(format!("there is no {other}; try AB-123"))),
        // The client gets an error with an id, and our log the cause under that id.
        None => return Err(Fault::internal("the schema let something through").into()),
    };
    if amount > shelf {
        let why = format!("only {shelf} of AB-123 are left; take fewer");
        return Err(ToolError::new(why));
    }
    Ok(ToolResult::structured(
        &json!({"item": item, "left": shelf - amount}),
    )?)
}
