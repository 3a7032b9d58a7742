//! Our own failures: the peer gets an id, the log holds the cause under it (D-06).

use polyport_proto::{Outcome, RpcError};

use crate::random;

/// Ends a call with an internal error.
pub fn internal(method: &str, cause: &str) -> Outcome {
    Outcome::Failed(failure(method, cause))
}

/// An internal error.
pub fn failure(method: &str, cause: &str) -> RpcError {
    let mut random = [0; 6];
    // Without randomness the error is still reported, only its id tells nothing apart.
    let _ = random::fill(&mut random);
    let id: String = random.iter().map(|b| format!("{b:02x}")).collect();
    tracing::error!(error_id = %id, method, cause, "call failed");
    RpcError::internal(&id)
}
