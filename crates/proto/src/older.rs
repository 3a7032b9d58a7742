//! What a revision lacks, in words that it has: for peers of an older revision than what is said to them. What is not touched stays as it
//! came. Every text given here is known to be JSON.

mod block;
mod question;
mod result;

pub use block::block;
pub use question::{Unsayable, question};
pub use result::{result, tool};
