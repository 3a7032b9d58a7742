//! What must hold of any bytes that arrive: a check per entrance, each with a folder of seeds under
//! `corpus/`. A fuzzer calls the checks with what it invents, and the tests call them with the seeds.
//! Nothing here runs or invents anything.
//!
//! Every check panics when an invariant is broken, and says which.

pub mod answer;
pub mod arguments;
pub mod bus;
pub mod challenge;
pub mod classify;
pub mod coding;
pub mod cursor;
pub mod driver;
pub mod form;
pub mod headers;
pub mod host_file;
pub mod lines;
pub mod message;
pub mod names;
pub mod peer;
pub mod replay;
pub mod shown;
pub mod socket;
pub mod sse;
pub mod state;
pub mod target;
pub mod uri_template;
pub mod word;

mod head;
mod meaning;
mod oracle;

/// A check of one entrance; it panics when an invariant is broken.
pub type Check = fn(&[u8]);

/// Every check, by the name of its folder of seeds.
pub const TARGETS: &[(&str, Check)] = &[
    ("message", message::check),
    ("lines", lines::check),
    ("sse", sse::check),
    ("headers", headers::check),
    ("classify", classify::check),
    ("uri_template", uri_template::check),
    ("challenge", challenge::check),
    ("cursor", cursor::check),
    ("peer", peer::check),
    ("driver", driver::check),
    ("bus", bus::check),
    ("state", state::check),
    ("form", form::check),
    ("answer", answer::check),
    ("replay", replay::check),
    ("word", word::check),
    ("host_file", host_file::check),
    ("target", target::check),
    ("coding", coding::check),
    ("socket", socket::check),
    ("names", names::check),
    ("arguments", arguments::check),
    ("shown", shown::check),
];
