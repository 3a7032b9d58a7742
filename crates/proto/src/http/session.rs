//! The legacy HTTP sessions of an endpoint: a bounded table that is told the time. Not what a session holds.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Uri};
use subtle::ConstantTimeEq;

use crate::blame::Blame;
use crate::envelope::Principal;
use crate::limits::Limits;

/// 128 random bits, as 32 hexadecimal digits on the wire. Knowing one is not enough: a session also has a principal.
///
/// Ids are found by a keyed hash and compared in a time that says nothing of where they differ.
#[derive(Clone, Copy)]
pub struct SessionId([u8; 32]);

impl PartialEq for SessionId {
    fn eq(&self, other: &Self) -> bool {
        self.words().ct_eq(&other.words()).into()
    }
}

impl Eq for SessionId {}

impl Hash for SessionId {
    /// Half of it: its 64 bits are random, so no two of ours meet there.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let [first, second, ..] = self.words();
        state.write_u64(first);
        state.write_u64(second);
    }
}

impl SessionId {
    fn words(&self) -> [u64; 4] {
        let (words, _) = self.0.as_chunks();
        std::array::from_fn(|i| u64::from_ne_bytes(words[i]))
    }

    /// The id made of these random bits.
    pub fn new(random: [u8; 16]) -> Self {
        let mut text = [0; 32];
        for (i, byte) in random.into_iter().enumerate() {
            text[2 * i] = b"0123456789abcdef"[usize::from(byte >> 4)];
            text[2 * i + 1] = b"0123456789abcdef"[usize::from(byte & 15)];
        }
        Self(text)
    }

    /// The id in a header; none: it cannot be one of ours.
    pub fn read(value: &HeaderValue) -> Option<Self> {
        value.as_bytes().try_into().ok().map(Self)
    }

    /// The id in a target such as `/messages?sessionId=…`.
    ///
    /// # Errors
    /// There is none, or it cannot be one of ours.
    pub fn in_query(uri: &Uri) -> Result<Self, Blame> {
        let named = uri.query().unwrap_or_default().split('&');
        let mut named = named.filter_map(|pair| pair.strip_prefix("sessionId="));
        match (named.next(), named.next()) {
            (None, _) => Err(Blame::PairMissing),
            (Some(id), None) => match id.as_bytes().try_into() {
                Ok(id) => Ok(Self(id)),
                Err(_) => Err(Blame::PairUnknown),
            },
            _ => Err(Blame::PairUnknown),
        }
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// As a header.
    pub fn header(&self) -> HeaderValue {
        HeaderValue::from_bytes(&self.0).expect("hexadecimal digits are header characters")
    }
}

impl fmt::Debug for SessionId {
    /// An id is a secret: what is shown tells sessions apart and opens none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionId({}…)", String::from_utf8_lossy(&self.0[..4]))
    }
}

/// What a session table must know of a session.
pub trait Occupied {
    /// Does something of it run? Then it is in use, however long ago its last request came.
    fn is_occupied(&self) -> bool;
}

impl<S: Occupied> Occupied for Arc<S> {
    fn is_occupied(&self) -> bool {
        self.as_ref().is_occupied()
    }
}

#[derive(Debug)]
struct Entry<S> {
    session: S,
    principal: Option<Arc<Principal>>,
    opened: Duration,
    used: Duration,
    initialized: bool,
}

/// Sessions by id. All times are since the table was made.
#[derive(Debug)]
pub struct Sessions<S> {
    entries: HashMap<SessionId, Entry<S>>,
    /// Every session that is not confirmed, oldest first; others may stand between them.
    unconfirmed: VecDeque<SessionId>,
    /// Every confirmed session, by when it was known to be used when it was put here; others may stand between them.
    by_use: BTreeMap<(Duration, u64), SessionId>,
    /// Tells apart what was put there at the same time.
    next: u64,
    by_principal: HashMap<Arc<Principal>, Vec<SessionId>>,
    max: usize,
    max_per_principal: usize,
    idle: Duration,
    life: Duration,
    opening: Duration,
}

/// A session that waits for its confirmation for longer than this makes room for another before any that is idle.
const STALE: Duration = Duration::from_secs(5);
/// One that waits for less than this is in the middle of its handshake, and never makes room.
const HANDSHAKE: Duration = Duration::from_millis(200);
/// A session that is idle for less than this never makes room for another.
const BUSY: Duration = Duration::from_secs(60);

impl<S: Clone + Occupied> Sessions<S> {
    /// An empty table.
    pub fn new(limits: &Limits) -> Self {
        Self {
            entries: HashMap::new(),
            unconfirmed: VecDeque::new(),
            by_use: BTreeMap::new(),
            next: 0,
            by_principal: HashMap::new(),
            max: limits.sessions,
            max_per_principal: limits.sessions_per_principal,
            idle: limits.session_idle,
            life: limits.session_life,
            opening: limits.session_opening,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// None there?
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &S> {
        self.entries.values().map(|e| &e.session)
    }

    /// Adds a session; gives back those that had to make room for it.
    ///
    /// # Errors
    /// All sessions are in use.
    pub fn open(
        &mut self,
        id: SessionId,
        principal: Option<Arc<Principal>>,
        session: S,
        now: Duration,
    ) -> Result<Vec<S>, Blame> {
        let mut gone = Vec::new();
        if self.entries.len() >= self.max {
            let victim = self
                .oldest_unconfirmed(now, STALE)
                .or_else(|| self.longest_idle(now))
                .or_else(|| self.oldest_unconfirmed(now, HANDSHAKE));
            gone.extend(victim.and_then(|id| self.remove(&id)));
            if gone.is_empty() {
                return Err(Blame::TooManySessions);
            }
        }
        if let Some(principal) = &principal {
            gone.extend(self.make_room_for(principal));
            let own = self.by_principal.entry(principal.clone());
            own.or_default().push(id);
        }
        self.unconfirmed.push_back(id);
        self.entries.insert(
            id,
            Entry {
                session,
                principal,
                opened: now,
                used: now,
                initialized: false,
            },
        );
        self.tidy();
        Ok(gone)
    }

    /// A session of which something runs is in use now.
    fn note_occupied(&mut self, now: Duration) {
        for entry in self
            .entries
            .values_mut()
            .filter(|e| e.session.is_occupied())
        {
            entry.used = now;
        }
    }

    /// The session that waits for its confirmation for longest, if for at least so long.
    fn oldest_unconfirmed(&mut self, now: Duration, least: Duration) -> Option<SessionId> {
        loop {
            let id = *self.unconfirmed.front()?;
            match self.entries.get(&id).filter(|entry| !entry.initialized) {
                Some(entry) if now.saturating_sub(entry.opened) < least => return None,
                Some(_) => return self.unconfirmed.pop_front(),
                None => _ = self.unconfirmed.pop_front(),
            }
        }
    }

    /// The session that is idle for longest, if for longer than a moment. One that was used since it was put in order is put
    /// there again, and none is looked at twice in that moment; so what this costs is paid by the requests before it.
    fn longest_idle(&mut self, now: Duration) -> Option<SessionId> {
        while let Some(first) = self.by_use.first_entry() {
            let (known, _) = *first.key();
            if now.saturating_sub(known) <= BUSY {
                return None;
            }
            let id = first.remove();
            let Some(entry) = self.entries.get_mut(&id) else {
                continue;
            };
            if entry.session.is_occupied() {
                entry.used = now;
            }
            let used = entry.used;
            if used == known {
                return Some(id);
            }
            self.put_in_order(used, id);
        }
        None
    }

    fn put_in_order(&mut self, used: Duration, id: SessionId) {
        self.by_use.insert((used, self.next), id);
        self.next += 1;
    }

    /// Where a principal has as many sessions as it may, its longest idle one goes.
    fn make_room_for(&mut self, principal: &Arc<Principal>) -> Option<S> {
        let own = self.by_principal.get(principal)?;
        if own.len() < self.max_per_principal {
            return None;
        }
        let used = |id: &&SessionId| self.entries.get(*id).map(|entry| entry.used);
        let oldest = own.iter().min_by_key(used).copied()?;
        self.remove(&oldest)
    }

    /// Leaves out of the orders what is gone, when that is the most of them.
    fn tidy(&mut self) {
        let entries = &self.entries;
        let most = 2 * entries.len() + 64;
        if self.unconfirmed.len() > most {
            self.unconfirmed
                .retain(|id| entries.get(id).is_some_and(|entry| !entry.initialized));
        }
        if self.by_use.len() > most {
            self.by_use.retain(|_, id| entries.contains_key(id));
        }
    }

    /// The session of that id, if it is alive and the same principal asks. Keeps it alive.
    pub fn touch(
        &mut self,
        id: &SessionId,
        principal: Option<&Principal>,
        now: Duration,
    ) -> Option<S> {
        let (idle, life, opening) = (self.idle, self.life, self.opening);
        let entry = self.entries.get_mut(id)?;
        if entry.session.is_occupied() {
            entry.used = now;
        }
        if entry.principal.as_deref() != principal || entry.is_over(idle, life, opening, now) {
            return None;
        }
        entry.used = now;
        Some(entry.session.clone())
    }

    /// Notes that `notifications/initialized` has come.
    pub fn set_initialized(&mut self, id: &SessionId) {
        let Some(entry) = self.entries.get_mut(id).filter(|e| !e.initialized) else {
            return;
        };
        entry.initialized = true;
        let used = entry.used;
        self.put_in_order(used, *id);
    }

    /// Takes a session out, whoever asks; [`touch`](Self::touch) it first to know that it is theirs.
    pub fn remove(&mut self, id: &SessionId) -> Option<S> {
        let entry = self.entries.remove(id)?;
        if let Some(principal) = &entry.principal
            && let Some(own) = self.by_principal.get_mut(principal)
        {
            own.retain(|other| other != id);
            if own.is_empty() {
                self.by_principal.remove(principal);
            }
        }
        Some(entry.session)
    }

    /// Takes out those whose time is over.
    pub fn expire(&mut self, now: Duration) -> Vec<S> {
        self.note_occupied(now);
        let (idle, life, opening) = (self.idle, self.life, self.opening);
        let over: Vec<_> = self
            .entries
            .iter()
            .filter(|(_, e)| e.is_over(idle, life, opening, now))
            .map(|(id, _)| *id)
            .collect();
        let gone = over.iter().filter_map(|id| self.remove(id)).collect();
        self.tidy();
        if self.entries.capacity() > 64 && self.entries.len() < self.entries.capacity() / 8 {
            self.entries.shrink_to_fit();
            self.unconfirmed.shrink_to_fit();
            self.by_principal.shrink_to_fit();
        }
        gone
    }

    /// Takes out all.
    pub fn drain(&mut self) -> Vec<S> {
        self.unconfirmed.clear();
        self.by_use.clear();
        self.by_principal.clear();
        std::mem::take(&mut self.entries)
            .into_values()
            .map(|e| e.session)
            .collect()
    }
}

impl<S> Entry<S> {
    fn is_over(&self, idle: Duration, life: Duration, opening: Duration, now: Duration) -> bool {
        let age = now.saturating_sub(self.opened);
        now.saturating_sub(self.used) >= idle
            || age >= life
            || (!self.initialized && age >= opening)
    }
}

#[cfg(test)]
mod tests;
