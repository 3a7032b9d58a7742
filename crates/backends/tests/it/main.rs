//! The files back-end from outside: one module for each subject. Needs a temporary folder and nothing else.
#![allow(clippy::unwrap_used, reason = "a test may fail that way")]

mod bounds;
#[cfg(unix)]
mod confinement;
mod contents;
mod info;
mod listing;
mod mcp;
mod media;
mod paths;
mod reading;
mod resources;
mod schemas;
mod searching;
mod support;
mod tree;
