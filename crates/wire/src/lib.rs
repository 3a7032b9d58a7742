//! JSON-RPC text, and nothing above it: one pass from a frame to a kind and spans, framing by lines and
//! by server-sent events, and writing. It knows no method, no revision, no clock and no runtime.
//!
//! A message is its frame (a [`bytes::Bytes`]) plus the places in it that a router needs. Nothing is
//! decoded until somebody asks, and what is only passed on is never decoded at all.
//!
//! ```
//! use polyport_wire::{Kind, Limits, Message};
//!
//! let frame = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add","arguments":{"a":1}}}"#;
//! let message = Message::parse(frame.into(), &Limits::default())?;
//! assert_eq!(message.kind(), Kind::Request);
//! assert_eq!(message.params().name().as_deref(), Some("add"));
//! assert_eq!(message.params().arguments(), Some(r#"{"a":1}"#));
//! # Ok::<(), polyport_wire::Malformed>(())
//! ```

pub mod batch;
pub mod code;
pub mod splice;
pub mod sse;
pub mod write;

mod canonical;
mod id;
mod keys;
mod limits;
mod lines;
mod malformed;
mod message;
mod params;
mod raw;
mod scalar;
mod scan;
mod span;
mod text;

pub use canonical::canonical;
pub use id::RequestId;
pub use limits::Limits;
pub use lines::{Line, Lines};
pub use malformed::{Malformed, MalformedKind};
pub use message::{Kind, Message};
pub use params::{Member, Params};
pub use raw::Raw;
