//! Owns the tests that hold this crate's types against the specification's examples and schemas.
//!
//! The specification's own files are read from `$MCP_SPEC_DIR` (a folder per revision with its
//! `schema.json`, and `examples/` where there are some); without that variable those tests say so
//! and pass.
#![allow(clippy::unwrap_used)]

mod examples;
mod kinds;
mod members;
mod sample;
mod spec;
