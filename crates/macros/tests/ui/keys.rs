//! Keys that are not there, twice there, or without what they take.
#![allow(unused_variables)]

use polyport_macros::{prompt, resource, tool};

#[tool(readonly, titel = "A", colour = "red", desc = "B")]
async fn misspelt(#[arg(defualt = 1)] a: u32, #[arg(min(3))] b: u32) {}

#[tool(title = "A", title = "B")]
async fn twice(#[arg(name = "a", name = "b")] a: u32) {}

#[tool(read_only = true)]
async fn alone() {}

#[tool(title)]
async fn without() {}

#[tool(destructive(true))]
async fn not_a_list() {}

#[tool(name = NAME)]
async fn not_a_text(#[arg(range = 1)] a: u32) {}

#[tool("add")]
async fn no_key() {}

#[tool(task = "sometimes")]
async fn neither() {}

#[prompt(read_only, mime_type = "text/plain")]
async fn of_a_tool() {}

#[resource("a://b", mime = "text/plain", range(1))]
async fn of_a_resource() {}

#[prompt]
async fn completes(#[arg(complete)] a: String) {}

#[tool]
async fn completes_nothing(#[arg(complete = other)] a: String) {}

fn main() {}
