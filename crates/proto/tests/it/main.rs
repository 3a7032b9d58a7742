//! The protocol core from outside: every blame with its words, and the asking end.
#![allow(clippy::unwrap_used)]

mod asking;
mod blame;
