//! The files back-end from outside: one module for each subject. Needs a temporary folder and nothing else.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail that way, and says when it cannot run"
)]

mod bounds;
#[cfg(unix)]
mod confinement;
mod contents;
mod editing;
#[cfg(unix)]
mod escapes;
mod faults;
mod info;
mod list_changes;
mod listing;
mod mcp;
mod media;
mod model;
mod moving;
mod paths;
mod reading;
mod resources;
mod roots;
mod schemas;
mod searching;
mod support;
#[cfg(unix)]
mod swaps;
mod trash;
mod tree;
mod watching;
mod writing;
