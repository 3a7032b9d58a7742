//! Lists and contents of a modern server while they are fresh (2026-07-28, server/utilities/caching). One client is one principal, so
//! what is private may be kept as well as what is public; nothing is shared between clients.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use polyport_model::{CacheScope, ResourceParams, Ttl};
use polyport_wire::Raw;
use tokio::time::Instant;

use super::calls::List;

/// Lists and resources that are kept at once; those that were kept first make room.
const MAX_ENTRIES: usize = 256;
/// Bytes of all together, likewise; what is longer by itself is not kept.
const MAX_BYTES: usize = 8 << 20;
/// For how long something is taken for fresh at most, whatever the server says.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// What was asked for. A list is kept whole, so that no two of its pages are of different times.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Asked {
    List(List),
    Contents(String),
}

/// What one notification may change.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Tools,
    Prompts,
    Resources,
    Contents,
}

/// What a client keeps.
pub(super) struct Fresh {
    is_on: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The oldest first.
    kept: VecDeque<Kept>,
    bytes: usize,
    /// How often each kind has changed.
    changes: [u64; 4],
}

struct Kept {
    asked: Asked,
    known: Known,
    bytes: usize,
}

/// What has come of something, in its parts, and what its server says of keeping it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Known {
    pub(super) parts: Vec<Raw>,
    pub(super) until: Instant,
    pub(super) scope: CacheScope,
}

/// Something that is being asked for: it may be kept unless it changes meanwhile.
#[derive(Debug)]
pub(super) struct Ticket {
    asked: Asked,
    changes: u64,
}

impl Asked {
    fn kind(&self) -> Kind {
        match self {
            Self::List(List::Tools) => Kind::Tools,
            Self::List(List::Prompts) => Kind::Prompts,
            Self::List(List::Resources | List::Templates) => Kind::Resources,
            Self::Contents(_) => Kind::Contents,
        }
    }
}

impl Fresh {
    /// Off, nothing is ever kept.
    pub(super) fn new(is_on: bool) -> Self {
        Self {
            is_on,
            state: Mutex::default(),
        }
    }

    /// What is known of it, if that is fresh.
    pub(super) fn get(&self, asked: &Asked) -> Option<Known> {
        let state = self.lock();
        let kept = state.kept.iter().find(|kept| kept.asked == *asked)?;
        (Instant::now() < kept.known.until).then(|| kept.known.clone())
    }

    /// It is asked for now.
    pub(super) fn begin(&self, asked: Asked) -> Ticket {
        let changes = self.lock().changes[asked.kind() as usize];
        Ticket { asked, changes }
    }

    /// Keeps what has come of it, unless it has changed since it was asked for.
    pub(super) fn keep(&self, ticket: Ticket, known: &Known) {
        let bytes = known.parts.iter().map(|part| part.as_bytes().len()).sum();
        let mut state = self.lock();
        let is_stale = state.changes[ticket.asked.kind() as usize] != ticket.changes;
        state.drop_if(|kept| kept.asked == ticket.asked);
        if !self.is_on || is_stale || bytes > MAX_BYTES || known.until <= Instant::now() {
            return;
        }
        while state.kept.len() >= MAX_ENTRIES || state.bytes + bytes > MAX_BYTES {
            match state.kept.pop_front() {
                Some(oldest) => state.bytes -= oldest.bytes,
                None => break,
            }
        }
        // Copies of their own: a short part would keep all alive that was read with it.
        let copy = |part: &Raw| Raw::trusted(part.as_bytes().to_vec());
        state.bytes += bytes;
        state.kept.push_back(Kept {
            asked: ticket.asked,
            known: Known {
                parts: known.parts.iter().map(copy).collect(),
                ..*known
            },
            bytes,
        });
    }

    /// Takes what a notification changes for stale.
    pub(super) fn hear(&self, method: &str, params: Option<&Raw>) {
        match method {
            "notifications/tools/list_changed" => self.changed(Kind::Tools),
            "notifications/prompts/list_changed" => self.changed(Kind::Prompts),
            "notifications/resources/list_changed" => {
                self.changed(Kind::Resources);
                // One of them may be gone.
                self.changed(Kind::Contents);
            }
            "notifications/resources/updated" => {
                match params.and_then(|params| params.decode::<ResourceParams>().ok()) {
                    Some(params) => self.changed_at(&params.uri),
                    None => self.changed(Kind::Contents),
                }
            }
            _ => {}
        }
    }

    /// Takes for stale what a refused request casts doubt on: it named something that its list may no longer have.
    pub(super) fn doubt(&self, method: &str) {
        match method {
            "tools/call" => self.changed(Kind::Tools),
            "prompts/get" => self.changed(Kind::Prompts),
            "resources/read" => self.changed(Kind::Resources),
            _ => {}
        }
    }

    /// Takes everything for stale.
    pub(super) fn clear(&self) {
        for kind in [Kind::Tools, Kind::Prompts, Kind::Resources, Kind::Contents] {
            self.changed(kind);
        }
    }

    fn changed(&self, kind: Kind) {
        let mut state = self.lock();
        state.changes[kind as usize] += 1;
        state.drop_if(|kept| kept.asked.kind() == kind);
    }

    fn changed_at(&self, uri: &str) {
        let mut state = self.lock();
        // Whatever is being read may be this one.
        state.changes[Kind::Contents as usize] += 1;
        state.drop_if(|kept| matches!(&kept.asked, Asked::Contents(read) if read == uri));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that is done under the lock leaves it half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn drop_if(&mut self, is_it: impl Fn(&Kept) -> bool) {
        let bytes = &mut self.bytes;
        self.kept.retain(|kept| {
            let stays = !is_it(kept);
            if !stays {
                *bytes -= kept.bytes;
            }
            stays
        });
    }
}

/// Until when something is fresh that has come now. A server that says nothing has said: not at all.
pub(super) fn until(ttl: Option<Ttl>) -> Instant {
    Instant::now() + ttl.map_or(Duration::ZERO, Duration::from).min(LONGEST)
}

impl fmt::Debug for Fresh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("Fresh")
            .field("is_on", &self.is_on)
            .field("kept", &state.kept.len())
            .field("bytes", &state.bytes)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn for_a_minute(parts: &[Raw]) -> Known {
        Known {
            parts: parts.to_vec(),
            until: until(Some(Ttl::from_millis(60_000))),
            scope: CacheScope::Private,
        }
    }

    fn keep(fresh: &Fresh, uri: &str, bytes: usize) {
        let part = Raw::trusted(format!("\"{}\"", "x".repeat(bytes - 2)));
        let ticket = fresh.begin(Asked::Contents(uri.to_owned()));
        fresh.keep(ticket, &for_a_minute(&[part]));
    }

    fn has(fresh: &Fresh, uri: &str) -> bool {
        fresh.get(&Asked::Contents(uri.to_owned())).is_some()
    }

    // req: S-FRESH
    #[tokio::test(start_paused = true)]
    async fn what_is_kept_has_bounds() {
        let fresh = Fresh::new(true);
        for n in 0..=MAX_ENTRIES {
            keep(&fresh, &n.to_string(), 10);
        }
        assert!(!has(&fresh, "0") && has(&fresh, "1"));
        let state = |fresh: &Fresh| {
            let state = fresh.lock();
            (state.kept.len(), state.bytes)
        };
        assert_eq!(state(&fresh), (MAX_ENTRIES, MAX_ENTRIES * 10));
        keep(&fresh, "large", MAX_BYTES - 10);
        assert_eq!(state(&fresh), (2, MAX_BYTES));
        keep(&fresh, "too large", MAX_BYTES + 1);
        assert!(!has(&fresh, "too large") && has(&fresh, "large"));
        keep(&fresh, "large", 10);
        assert_eq!(state(&fresh), (2, 20));
        fresh.clear();
        assert_eq!(state(&fresh), (0, 0));
        // Nothing is fresh for ever.
        let ever = until(Some(Ttl::MAX));
        assert_eq!(ever, Instant::now() + LONGEST);
        let off = Fresh::new(false);
        keep(&off, "a", 10);
        assert!(!has(&off, "a"));
    }

    // req: S-FRESH
    #[tokio::test(start_paused = true)]
    async fn what_changes_while_it_is_asked_for_is_not_kept() {
        let updated = |uri: &str| Some(Raw::trusted(format!("{{\"uri\":\"{uri}\"}}")));
        let list = |name: &str| format!("notifications/{name}/list_changed");
        let rows = [
            (Asked::List(List::Tools), list("tools"), None),
            (Asked::List(List::Prompts), list("prompts"), None),
            (Asked::List(List::Resources), list("resources"), None),
            (Asked::List(List::Templates), list("resources"), None),
            (Asked::Contents("a".to_owned()), list("resources"), None),
            (
                Asked::Contents("a".to_owned()),
                "notifications/resources/updated".to_owned(),
                updated("a"),
            ),
            (
                Asked::Contents("a".to_owned()),
                "notifications/resources/updated".to_owned(),
                Some(Raw::from_static("7")),
            ),
        ];
        let part = [Raw::from_static("[]")];
        for (asked, method, params) in rows {
            let fresh = Fresh::new(true);
            let ticket = fresh.begin(asked.clone());
            fresh.hear(&method, params.as_ref());
            fresh.keep(ticket, &for_a_minute(&part));
            assert_eq!(fresh.get(&asked), None, "{asked:?} {method}");
            fresh.keep(fresh.begin(asked.clone()), &for_a_minute(&part));
            assert!(fresh.get(&asked).is_some(), "{asked:?}");
            // What concerns others leaves it.
            fresh.hear("notifications/message", None);
            fresh.hear("notifications/resources/updated", updated("b").as_ref());
            assert!(fresh.get(&asked).is_some(), "{asked:?}");
            fresh.hear(&method, params.as_ref());
            assert_eq!(fresh.get(&asked), None, "{asked:?} {method}");
        }
    }
}
