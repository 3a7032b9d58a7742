//! How many streams of changes each principal has open.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use polyport_proto::Principal;

/// How many streams each principal has open.
#[derive(Debug, Default)]
pub(crate) struct Listens(Arc<Mutex<HashMap<Arc<Principal>, usize>>>);

impl Listens {
    /// One more; none: there are as many as there may be. Who is not known is bounded as all calls are.
    pub(crate) fn enter(&self, principal: Option<&Arc<Principal>>, max: usize) -> Option<Place> {
        if let Some(principal) = principal {
            let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let count = open.entry(principal.clone()).or_default();
            if *count >= max {
                return None;
            }
            *count += 1;
        }
        Some(Place {
            open: self.0.clone(),
            principal: principal.cloned(),
        })
    }
}

/// One stream's place, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    open: Arc<Mutex<HashMap<Arc<Principal>, usize>>>,
    principal: Option<Arc<Principal>>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(principal) = &self.principal else {
            return;
        };
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(principal) {
            *count -= 1;
            if *count == 0 {
                open.remove(principal);
            }
        }
    }
}
