//! Tests of the wire crate from outside: tables, and properties against `serde_json` as the oracle.
#![allow(clippy::unwrap_used)]

mod batch;
mod canonical;
mod duplicates;
mod generated;
mod id;
mod limits;
mod lines;
mod message;
mod params;
mod raw;
mod skim;
mod splice;
mod sse;
mod write;

use polyport_wire::{Limits, Malformed, Message};

fn parse(frame: impl AsRef<[u8]>) -> Result<Message, Malformed> {
    Message::parse(frame.as_ref().to_vec().into(), &Limits::default())
}
