//! The program `polyport` as people and hosts start it: one module for each subject.
//!
//! Text for people is compared with files in `golden/`; `UPDATE_GOLDEN=1` writes them anew.
#![allow(clippy::unwrap_used, reason = "a test may fail that way")]
#![allow(clippy::print_stdout, reason = "a test says why it is skipped")]
#![allow(
    clippy::needless_pass_by_value,
    reason = "tests write json!(…) where they call"
)]

mod answering;
mod asking;
mod bounds;
mod completion;
mod configured;
mod demo;
mod doctoring;
mod editing;
mod ends;
mod eras;
mod exact;
mod folder;
mod fronting;
mod hostile;
mod in_all;
mod installing;
mod known;
mod listening;
mod log;
mod memory;
mod odd_schemas;
mod partial;
mod patience;
mod reading;
mod readme;
mod reloading;
mod replicas;
mod results;
mod ruled;
mod schemas;
mod screen;
mod start_up;
mod stopped;
mod stream;
mod support;
mod tasks;
mod through;
mod topics;
mod unreached;
mod usage;
mod verbs;
mod visiting;
mod voice;
mod watching;
mod web;
mod writing;
