//! The calls that a peer has asked for and that still run. Not how they are run.

use std::borrow::Cow;
use std::collections::HashMap;

use polyport_wire::{Params, RequestId, splice};

use crate::receipt::Receipt;
use crate::text::string;

/// Calls by id.
#[derive(Debug)]
pub(super) struct Incoming<C> {
    running: HashMap<RequestId, (Receipt, C)>,
}

impl<C> Default for Incoming<C> {
    fn default() -> Self {
        Self {
            running: HashMap::new(),
        }
    }
}

impl<C> Incoming<C> {
    pub(super) fn len(&self) -> usize {
        self.running.len()
    }

    pub(super) fn contains(&self, id: &RequestId) -> bool {
        !self.running.is_empty() && self.running.contains_key(id)
    }

    pub(super) fn insert(&mut self, receipt: Receipt, tag: C) {
        self.running.insert(receipt.id.clone(), (receipt, tag));
    }

    pub(super) fn remove(&mut self, id: &RequestId) -> Option<(Receipt, C)> {
        let found = self.running.remove(id);
        if self.running.is_empty() && self.running.capacity() > 64 {
            self.running = HashMap::new();
        }
        found
    }

    /// Takes out a call that its asker no longer wants; `initialize` goes on whatever is said of it
    /// (basic/utilities/cancellation).
    pub(super) fn cancel(&mut self, id: &RequestId) -> Option<(Receipt, C)> {
        let (receipt, _) = self.running.get(id)?;
        if receipt.opening {
            None
        } else {
            self.remove(id)
        }
    }

    pub(super) fn drain(&mut self) -> Vec<C> {
        std::mem::take(&mut self.running)
            .into_values()
            .map(|(_, tag)| tag)
            .collect()
    }
}

/// The request that `notifications/cancelled` means, and why.
pub(super) fn cancelled(params: &Params) -> (Option<RequestId>, Option<String>) {
    let (mut id, mut reason) = (None, None);
    splice::members(params.text().unwrap_or("{}"), |key, value| match key {
        "requestId" => id = RequestId::parse(value),
        "reason" => reason = string(value).map(Cow::into_owned),
        _ => {}
    });
    (id, reason)
}
