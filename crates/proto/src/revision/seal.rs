//! Which codec writes an answer.

use super::{Era, Revisions, legacy, modern};
use crate::outcome::Outcome;
use crate::receipt::Receipt;

/// Writes the answer to a request in the words of its revision.
pub fn seal(receipt: &Receipt, outcome: &Outcome, speaks: Revisions, out: &mut Vec<u8>) {
    match receipt.revision.profile().era {
        Era::Legacy => legacy::seal(receipt, outcome, out),
        Era::Modern => modern::seal(receipt, outcome, speaks, out),
    }
}
