//! Owns the nouns and methods of the Model Context Protocol, of all its revisions at once, one file
//! per page of the specification. Does not know which revision has what, how messages travel, or
//! what anything does.
//!
//! Everything is re-exported here, so `polyport_model::Tool` is all there is to write.
//!
//! ```
//! use polyport_model::{CallToolResult, Content};
//!
//! let text = r#"{"content":[{"type":"text","text":"12 °C"}],"station":"Bergen"}"#;
//! let mut result: CallToolResult = serde_json::from_str(text)?;
//! assert_eq!(result.content[0].as_text(), Some("12 °C"));
//!
//! result.content.push(Content::text("light rain"));
//! let text = serde_json::to_string(&result)?;
//! assert!(text.ends_with(r#"{"type":"text","text":"light rain"}],"station":"Bergen"}"#));
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! The conventions:
//!
//! * Structs are plain, with public fields named as on the wire but in snake case, and end in
//!   `extra`: members that no revision known here defines, kept in their order as they came. So
//!   what a peer sends survives being read and written again.
//! * An optional member is an `Option`, never written as null, and null is read as absent. Only
//!   where null is a value of its own (`structuredContent`, an error's `data`) does it read as
//!   `Some`.
//! * A member that some revision requires and another lacks is an `Option`: whether it must be
//!   there is for the revision's codec to say.
//! * Arguments, schemas and other people's JSON are [`polyport_wire::Raw`]: text that was checked
//!   once and is cheap to clone. Such types decode from JSON text and from `serde_json::Value`, but
//!   not through serde's buffers (`flatten`, untagged enums).
//! * Variants are chosen by the member that names them (`type`, `mode`, `method`), never by trying
//!   shapes; what has a name unknown here is kept as `Unknown` or `Other`.
//! * JSON's numbers are [`Number`], which tells `1` from `1.0`; integers are `i64`.

mod annotations;
mod cache;
mod completion;
mod content;
mod core_tasks;
mod elicitation;
pub mod envelope;
mod error;
mod form;
mod icons;
mod input;
mod lifecycle;
mod logging;
pub mod method;
mod object;
mod page;
mod peek;
mod peer;
mod progress;
mod prompts;
mod resources;
mod roots;
mod sampling;
mod schema;
mod shape;
mod signatures;
mod subscriptions;
mod tasks;
mod tools;
mod word;

pub use annotations::*;
pub use cache::*;
pub use completion::*;
pub use content::*;
pub use core_tasks::*;
pub use elicitation::*;
pub use envelope::*;
pub use error::*;
pub use form::*;
pub use icons::*;
pub use input::*;
pub use lifecycle::*;
pub use logging::*;
pub use method::*;
pub use object::*;
pub use page::*;
pub use peer::*;
pub use progress::*;
pub use prompts::*;
pub use resources::*;
pub use roots::*;
pub use sampling::*;
pub use schema::*;
pub use serde_json::Number;
pub use signatures::*;
pub use subscriptions::*;
pub use tasks::*;
pub use tools::*;
pub use word::UnknownWord;
