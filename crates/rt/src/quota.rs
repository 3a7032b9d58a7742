//! How many of something each principal has: streams of changes, open questions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use polyport_proto::Principal;

type Held = Arc<Mutex<HashMap<Option<Arc<Principal>>, usize>>>;

/// How many each principal has. All who are not known count as one. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct Quota(Held);

impl Quota {
    /// One more; none: there are as many as there may be.
    pub fn enter(&self, principal: Option<&Arc<Principal>>, max: usize) -> Option<Place> {
        let principal = principal.cloned();
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = held.get(&principal).copied().unwrap_or(0);
        if before >= max {
            return None;
        }
        held.insert(principal.clone(), before + 1);
        Some(Place {
            held: self.0.clone(),
            principal,
        })
    }
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub struct Place {
    held: Held,
    principal: Option<Arc<Principal>>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = held.get_mut(&self.principal) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.principal);
            }
        }
    }
}
