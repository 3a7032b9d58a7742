//! What a correct MCP peer does, without doing it: no I/O, no clock, no tasks.
//!
//! # Layout
//! - [`revision`]: one table per protocol revision and the two codecs (legacy, modern).
//! - [`peer`]: one end of a conversation as a state machine over parsed messages.
//! - [`http`]: which HTTP request is what, as pure functions; legacy sessions as a table that is told the time.
//! - [`envelope`], [`outcome`]: what a request carries and how it ends, the same in every revision; [`question`]: what it may ask meanwhile.
//! - [`era`]: what the answer to a probe tells of a server; [`kept`]: what a session keeps.
//! - [`older`]: what a revision lacks, in words that it has; [`addresses`]: those of resources in results.
//! - [`limits`], [`blame`]: every bound, and every way a peer can be wrong.

pub mod addresses;
pub mod blame;
pub mod envelope;
pub mod era;
pub mod http;
pub mod kept;
pub mod limits;
pub mod older;
pub mod outcome;
pub mod peer;
pub mod question;
mod receipt;
pub mod revision;
mod text;
pub mod throttle;

pub use blame::Blame;
pub use envelope::{ClientFacts, Envelope, Principal, Remembered};
pub use limits::Limits;
pub use outcome::task::{Task, TaskEnd};
pub use outcome::{Code, NeedInput, Outcome, Question, RpcError};
pub use peer::{Admitted, Answer, Asking, Notice, Peer, Turn, Written};
pub use polyport_model::Level;
pub use receipt::Receipt;
pub use revision::{Era, Profile, Revision, Revisions, TaskForm};
