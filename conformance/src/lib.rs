//! The server that the official conformance suite tests: its fixtures, made with the public SDK only.
//!
//! Names, and what they must answer, are the suite's own.
//!
//! # Layout
//! - [`content`]: tools that answer with each kind of content. [`calls`]: tools that speak while they run, and that fail.
//! - [`questions`]: tools and a prompt that ask the client. [`changes`]: what changes while the server runs. [`tasks`]: tools that run
//!   as tasks.
//! - [`schemas`]: tools whose schema is what is tested. [`prompts`], [`resources`]: those. [`media`]: a picture and a sound.

use polyport::Server;

pub mod calls;
pub mod changes;
pub mod content;
pub mod media;
pub mod prompts;
pub mod questions;
pub mod resources;
pub mod schemas;
pub mod tasks;

/// The server with all fixtures. The suite calls the first tool of the list without arguments, so that one takes none.
pub fn server() -> Server {
    let server = Server::new("polyport-conformance", env!("CARGO_PKG_VERSION"));
    [
        content::add,
        calls::add,
        questions::add,
        schemas::add,
        prompts::add,
        resources::add,
        changes::add,
        tasks::add,
    ]
    .into_iter()
    .fold(server, |server, add| add(server))
}

#[cfg(test)]
mod tests {
    use polyport::serde_json::json;
    use polyport::{Revision, testing};

    #[tokio::test]
    async fn every_revision_calls_the_first_tool_without_arguments()
    -> Result<(), Box<dyn std::error::Error>> {
        for revision in Revision::ALL {
            let peer = testing::connect(super::server(), revision).await?;
            let list = peer.request("tools/list", &json!({})).await?;
            let first = list["tools"][0]["name"].as_str().unwrap_or_default();
            let result = peer.call(first, &json!({})).await?;
            assert_eq!(result["content"][0]["type"], "text", "{revision}: {result}");
            assert_ne!(result["isError"], true, "{revision}: {result}");
        }
        Ok(())
    }
}
