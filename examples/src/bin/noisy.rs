//! A server whose tool prints, as a careless library would. On stdio that would break the stream of messages; here it
//! goes to standard error. For a test; write no such tool.

use polyport::{Cx, Server, ToolError, stdio};

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let server = Server::new("noisy", "1.0").tool("shout", "Prints, and answers.", shout);
    stdio::serve(server).await?;
    Ok(())
}

#[allow(clippy::print_stdout, reason = "it is what this example is about")]
async fn shout(_cx: Cx, (): ()) -> Result<&'static str, ToolError> {
    println!("a line on standard output");
    print!("and half a line");
    Ok("said")
}
