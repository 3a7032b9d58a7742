//! The same files as resources: lists by page, contents, templates with completion. Not the protocol's own types.

mod complete;
mod cursor;
mod list;
mod read;

pub use complete::{Completion, Template, complete, templates};
pub use list::{Page, Resource, list};
pub use read::{Body, Contents, check, read};

pub(super) use complete::complete_seen;
pub(super) use read::contents;
