//! For tests only: scripted peers over an in-memory connection in virtual time, handlers that behave as a test wants,
//! and built programs that are talked to on their pipes.

pub mod handlers;
#[cfg(unix)]
pub mod program;
pub mod script;

#[cfg(unix)]
pub use program::Program;
pub use script::Script;
