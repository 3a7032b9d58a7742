//! Whether what a call has said may still be sent. Not whether the call goes on: see `context`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Outlives its call and holds nothing of it, so that whoever keeps what a call has said need not keep the call.
#[derive(Clone, Debug, Default)]
pub struct Revocation(Arc<AtomicBool>);

impl Revocation {
    /// Was the call cancelled?
    pub fn is_revoked(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    pub(crate) fn revoke(&self) {
        self.0.store(true, Ordering::Release);
    }
}
