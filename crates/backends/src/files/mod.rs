//! The files back-end: folders that cannot be escaped, and what may be asked of them and done in them; [`serve`] shows it as MCP.
//!
//! [`Folders`] is opened once; each operation in [`ops`] takes it with typed arguments and answers with a typed result
//! that also has a text form. [`resources`] shows the same files as resources. Everything here blocks on the disk, asks
//! a `cancelled` callback on the way, and is bounded by [`Limits`].

mod args;
mod carry;
mod edit;
mod error;
mod excerpt;
mod folders;
mod fresh;
mod glob;
mod ignored;
mod lexical;
mod limits;
mod lines;
mod listing;
pub mod mime;
mod names;
pub mod ops;
mod pace;
mod place;
pub mod resources;
pub mod serve;
mod show;
mod slot;
mod spot;
mod system;
mod text;
mod trash;
mod tree;
mod turns;
pub mod uri;
mod walk;
mod watch;

pub use args::Count;
pub use error::{FilesError, FolderError};
pub use folders::{Folder, FolderSpec, Folders};
pub use limits::Limits;
pub use listing::Kind;
