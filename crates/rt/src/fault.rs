//! Our own failures: the peer gets an id, the log holds the cause under it (D-06).

use std::panic::{AssertUnwindSafe, catch_unwind};

use polyport_proto::{Outcome, RpcError};

use crate::handler::BoxFuture;
use crate::random;

/// Ends a call with an internal error.
pub fn internal(method: &str, cause: &str) -> Outcome {
    Outcome::Failed(failure(method, cause))
}

/// An internal error.
pub fn failure(method: &str, cause: &str) -> RpcError {
    let id = error_id();
    tracing::error!(error_id = %id, method, cause, "call failed");
    RpcError::internal(&id)
}

/// An internal error of which the peer may know more: a sentence without anything of our inside.
pub(crate) fn failure_saying(method: &str, sentence: String, cause: &str) -> RpcError {
    let mut error = failure(method, cause);
    error.message = sentence.into();
    error
}

/// Drops a call, whatever its parts do then.
pub(crate) fn let_go(future: Option<BoxFuture<Outcome>>, method: &'static str) {
    if catch_unwind(AssertUnwindSafe(|| drop(future))).is_err() {
        tracing::error!(method, "a call panicked while it was dropped");
    }
}

fn error_id() -> String {
    let mut bytes = [0; 6];
    // Without randomness the error is still reported, only its id tells nothing apart.
    let _ = random::fill(&mut bytes);
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
