//! Entries by id and what becomes of them as time passes: which are over, and which make room. It is told the time; it runs no
//! hook.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use polyport_proto::Principal;

use super::limits::{AtLimit, HandleLimits};
use super::{CloseReason, HandleError};

/// Entries by id.
pub(super) struct Table<T>(pub(super) HashMap<[u8; 16], Entry<T>>);

/// A value and whose it is.
pub(super) struct Entry<T> {
    pub(super) value: Arc<T>,
    pub(super) principal: Option<Arc<Principal>>,
    pub(super) opened: Duration,
    pub(super) used: Duration,
}

impl<T> Table<T> {
    /// When the next one is to be looked at.
    pub(super) fn next_due(&self, limits: &HandleLimits) -> Option<Duration> {
        self.0.values().map(|entry| entry.due(limits)).min()
    }

    /// Takes out those whose time is over. What a call holds is in use now.
    pub(super) fn expire(
        &mut self,
        limits: &HandleLimits,
        now: Duration,
    ) -> Vec<(Entry<T>, CloseReason)> {
        let mut over = Vec::new();
        for (id, entry) in &mut self.0 {
            if entry.is_held() {
                entry.used = now;
            }
            if let Some(why) = entry.over(limits, now) {
                over.push((*id, why));
            }
        }
        let remove = |(id, why)| Some((self.0.remove(&id)?, why));
        over.into_iter().filter_map(remove).collect()
    }

    /// Makes room for one more of this principal; gives back what had to go.
    pub(super) fn make_room(
        &mut self,
        limits: &HandleLimits,
        principal: Option<&Arc<Principal>>,
    ) -> Result<Option<(Entry<T>, CloseReason)>, HandleError> {
        let theirs = |entry: &Entry<T>| entry.principal.as_ref() == principal;
        let of_theirs =
            |entries: &HashMap<_, Entry<T>>| entries.values().filter(|e| theirs(e)).count();
        let full = if principal.is_some() && of_theirs(&self.0) >= limits.per_principal {
            HandleError::TooManyOfYours(limits.per_principal)
        } else if self.0.len() >= limits.in_all {
            HandleError::TooMany(limits.in_all)
        } else {
            return Ok(None);
        };
        if limits.at_limit == AtLimit::Refuse {
            return Err(full);
        }
        let idlest = self
            .0
            .iter()
            .filter(|(_, entry)| theirs(entry) && !entry.is_held())
            .min_by_key(|(_, entry)| entry.used)
            .map(|(id, _)| *id);
        let gone = idlest.and_then(|id| self.0.remove(&id));
        gone.map(|entry| Some((entry, CloseReason::Room)))
            .ok_or(full)
    }
}

impl<T> Entry<T> {
    fn is_held(&self) -> bool {
        Arc::strong_count(&self.value) > 1
    }

    /// When it is to be looked at next.
    fn due(&self, limits: &HandleLimits) -> Duration {
        (self.used.saturating_add(limits.idle)).min(self.opened.saturating_add(limits.life))
    }

    /// Is its time over, and which?
    pub(super) fn over(&self, limits: &HandleLimits, now: Duration) -> Option<CloseReason> {
        if now.saturating_sub(self.opened) >= limits.life {
            Some(CloseReason::Life)
        } else if now.saturating_sub(self.used) >= limits.idle && !self.is_held() {
            Some(CloseReason::Idle)
        } else {
            None
        }
    }
}
