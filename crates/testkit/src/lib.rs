//! For tests only: scripted peers over an in-memory connection in virtual time, and handlers that behave as a test wants.

pub mod handlers;
pub mod script;

pub use script::Script;
