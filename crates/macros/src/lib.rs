//! The attribute macros of `polyport`, which hands them on: a function becomes a tool, a prompt or a resource. They write what
//! an author would write with the builder, and nothing that the builder cannot say. Own no behaviour.
//!
//! Use them as `polyport::tool` and so on. The documents of the four are compiled with that crate.
//!
//! # Layout
//! - `free`, `parts`: where a marked function stands: by itself, or in an `impl` block.
//! - `mark`, then `tool`, `prompt`, `resource`: what it becomes, as an expression.
//! - `function`, `fields`, `types`, `template`, `docs`: what its signature says.
//! - `options`, `nearest`, `errors`: what is written in an attribute, and what is wrong with it.

mod docs;
mod errors;
mod fields;
mod free;
mod function;
mod mark;
mod nearest;
mod options;
mod part;
mod parts;
mod prompt;
mod resource;
mod template;
mod tool;
mod types;

use proc_macro::TokenStream;

use mark::Mark;

#[doc = include_str!("../docs/tool.md")]
#[proc_macro_attribute]
pub fn tool(keys: TokenStream, item: TokenStream) -> TokenStream {
    free::expand(Mark::Tool, keys.into(), item.into()).into()
}

#[doc = include_str!("../docs/prompt.md")]
#[proc_macro_attribute]
pub fn prompt(keys: TokenStream, item: TokenStream) -> TokenStream {
    free::expand(Mark::Prompt, keys.into(), item.into()).into()
}

#[doc = include_str!("../docs/resource.md")]
#[proc_macro_attribute]
pub fn resource(keys: TokenStream, item: TokenStream) -> TokenStream {
    free::expand(Mark::Resource, keys.into(), item.into()).into()
}

#[doc = include_str!("../docs/parts.md")]
#[proc_macro_attribute]
pub fn parts(keys: TokenStream, item: TokenStream) -> TokenStream {
    parts::expand(keys.into(), item.into()).into()
}
