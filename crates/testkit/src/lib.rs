//! For tests only: scripted peers over an in-memory connection in virtual time, handlers that behave as a test wants,
//! built programs that are talked to on their pipes, servers that are scripts, and those that fail at a step, a web server that does as it is told, and an ear for our
//! own log.

pub mod asked;
pub mod child;
mod failing;
pub mod handlers;
pub mod log;
mod many;
#[cfg(unix)]
pub mod program;
pub mod script;
#[cfg(unix)]
mod sockets;
pub mod web;

pub use failing::{Fails, failing};
pub use log::Log;
pub use many::side_by_side;
#[cfg(unix)]
pub use program::Program;
pub use script::Script;
pub use web::Web;
