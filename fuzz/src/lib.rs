//! What must hold of any bytes that arrive: a check per entrance, each with a folder of seeds under
//! `corpus/`. A fuzzer calls the checks with what it invents, and the tests call them with the seeds.
//! Nothing here runs or invents anything.
//!
//! Every check panics when an invariant is broken, and says which.

pub mod lines;
pub mod message;
pub mod sse;

mod oracle;

/// A check of one entrance; it panics when an invariant is broken.
pub type Check = fn(&[u8]);

/// Every check, by the name of its folder of seeds.
pub const TARGETS: &[(&str, Check)] = &[
    ("message", message::check),
    ("lines", lines::check),
    ("sse", sse::check),
];
