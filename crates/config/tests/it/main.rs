//! Files as hosts write them, read and changed from outside: one module for each subject.
#![allow(clippy::unwrap_used, reason = "a test may fail that way")]

mod changing;
mod installing;
mod reading;
mod schema;
mod settings;
