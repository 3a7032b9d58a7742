//! Which codec writes an answer, and what a call was on the wire.

use super::{Era, Revision, Revisions, legacy, modern};
use crate::outcome::task::Task;
use crate::outcome::{Code, Outcome};
use crate::receipt::Receipt;

/// Writes the answer to a request in the words of its revision.
pub fn seal(receipt: &Receipt, outcome: &Outcome, speaks: Revisions, out: &mut Vec<u8>) {
    match receipt.revision.profile().era {
        Era::Legacy => legacy::seal(receipt, outcome, out),
        Era::Modern => modern::seal(receipt, outcome, speaks, out),
    }
}

/// Appends the members of a task, without braces. `whole`: with what it asks and how it ended, where the form has that.
pub fn task(task: &Task, revision: Revision, whole: bool, out: &mut Vec<u8>) {
    match revision.profile().era {
        Era::Legacy => legacy::task(task, out),
        Era::Modern => modern::task(task, revision, whole, out),
    }
}

/// The code with which a call that failed is answered; none: as the result of a tool.
pub fn code(code: Code, method: &str, revision: Revision) -> Option<i32> {
    match revision.profile().era {
        Era::Legacy => legacy::code(code, method, revision),
        Era::Modern => Some(modern::code(code, revision)),
    }
}

/// How the client named the method.
pub fn method(method: &'static str, revision: Revision) -> &'static str {
    match (method, revision.profile().era) {
        ("server/discover", Era::Legacy) => "initialize",
        _ => method,
    }
}
