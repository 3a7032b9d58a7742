//! The legacy HTTP sessions of an endpoint: a bounded table that is told the time. Not what a session holds.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Uri};

use crate::blame::Blame;
use crate::envelope::Principal;
use crate::limits::Limits;

/// 128 random bits, as 32 hexadecimal digits on the wire. Knowing one is not enough: a session also has a principal.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
pub struct SessionId([u8; 32]);

impl SessionId {
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
    max: usize,
    max_per_principal: usize,
    idle: Duration,
    life: Duration,
    opening: Duration,
}

/// A session that is idle for less than this never makes room for another.
const BUSY: Duration = Duration::from_secs(60);

impl<S: Clone + Occupied> Sessions<S> {
    /// An empty table.
    pub fn new(limits: &Limits) -> Self {
        Self {
            entries: HashMap::new(),
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
            self.note_occupied(now);
            let victim = self
                .oldest(|e| !e.initialized)
                .or_else(|| self.oldest(|e| now.saturating_sub(e.used) > BUSY));
            gone.extend(victim.and_then(|id| self.remove(&id)));
            if gone.is_empty() {
                return Err(Blame::TooManySessions);
            }
        }
        if let Some(principal) = &principal {
            let same = |e: &Entry<S>| e.principal.as_ref() == Some(principal);
            if self.entries.values().filter(|e| same(e)).count() >= self.max_per_principal {
                gone.extend(self.oldest(same).and_then(|id| self.remove(&id)));
            }
        }
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

    fn oldest(&self, which: impl Fn(&Entry<S>) -> bool) -> Option<SessionId> {
        self.entries
            .iter()
            .filter(|(_, e)| which(e))
            .min_by_key(|(_, e)| e.used)
            .map(|(id, _)| *id)
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
        if let Some(entry) = self.entries.get_mut(id) {
            entry.initialized = true;
        }
    }

    /// Takes a session out, whoever asks; [`touch`](Self::touch) it first to know that it is theirs.
    pub fn remove(&mut self, id: &SessionId) -> Option<S> {
        self.entries.remove(id).map(|e| e.session)
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
        if self.entries.capacity() > 64 && self.entries.len() < self.entries.capacity() / 8 {
            self.entries.shrink_to_fit();
        }
        gone
    }

    /// Takes out all.
    pub fn drain(&mut self) -> Vec<S> {
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
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    /// A session by its number; those above 100 have something running.
    impl Occupied for u32 {
        fn is_occupied(&self) -> bool {
            *self > 100
        }
    }

    fn table(sessions: usize) -> Sessions<u32> {
        Sessions::new(&Limits {
            sessions,
            sessions_per_principal: 2,
            ..Limits::default()
        })
    }

    fn id(n: u8) -> SessionId {
        SessionId::new([n; 16])
    }

    fn principal(subject: &str) -> Arc<Principal> {
        Arc::new(Principal {
            issuer: "i".into(),
            client: "c".into(),
            subject: subject.into(),
        })
    }

    #[test]
    fn lifetimes() {
        let mut t = table(10);
        t.open(id(1), None, 1, S(0)).unwrap();
        assert_eq!(t.touch(&id(1), None, S(59)), Some(1));
        assert_eq!(t.touch(&id(1), None, S(60)), None, "never initialized");
        t.open(id(2), None, 2, S(0)).unwrap();
        t.set_initialized(&id(2));
        assert_eq!(t.touch(&id(2), None, S(60)), Some(2));
        assert_eq!(t.touch(&id(2), None, S(60 + 30 * 60)), None, "idle");
        assert_eq!(t.expire(S(60 + 30 * 60)).len(), 2);
        t.open(id(3), None, 3, S(0)).unwrap();
        t.set_initialized(&id(3));
        for hour in 0..48 {
            let alive = t.touch(&id(3), None, S(hour * 1_799)).is_some();
            assert_eq!(alive, hour * 1_799 < 24 * 3_600, "{hour}");
        }
    }

    #[test]
    fn a_session_is_its_principals() {
        let mut t = table(10);
        let (ada, bob) = (principal("ada"), principal("bob"));
        t.open(id(1), Some(ada.clone()), 1, S(0)).unwrap();
        assert_eq!(t.touch(&id(1), Some(&bob), S(1)), None);
        assert_eq!(t.touch(&id(1), None, S(1)), None);
        assert_eq!(t.touch(&id(1), Some(&ada), S(1)), Some(1));
        t.open(id(2), Some(ada.clone()), 2, S(2)).unwrap();
        assert_eq!(
            t.open(id(3), Some(ada), 3, S(3)).unwrap(),
            [1],
            "the longest idle one of the same principal"
        );
        assert!(t.open(id(4), Some(bob), 4, S(3)).unwrap().is_empty());
    }

    #[test]
    fn a_full_table_prefers_the_busy() {
        let mut t = table(2);
        t.open(id(1), None, 1, S(0)).unwrap();
        t.open(id(2), None, 2, S(1)).unwrap();
        t.set_initialized(&id(1));
        assert_eq!(
            t.open(id(3), None, 3, S(2)).unwrap(),
            [2],
            "not initialized"
        );
        t.set_initialized(&id(3));
        assert_eq!(
            t.open(id(4), None, 4, S(3)).unwrap_err(),
            Blame::TooManySessions
        );
        assert_eq!(
            t.open(id(4), None, 4, S(62)).unwrap(),
            [1],
            "idle for a minute"
        );
        assert_eq!(t.len(), 2);
    }

    #[test]
    fn what_runs_keeps_its_session() {
        let mut t = table(2);
        t.open(id(1), None, 101, S(0)).unwrap();
        t.set_initialized(&id(1));
        assert!(t.expire(S(3_600)).is_empty());
        assert_eq!(t.touch(&id(1), None, S(7_200)), Some(101));
        t.open(id(2), None, 2, S(7_210)).unwrap();
        t.set_initialized(&id(2));
        assert_eq!(t.open(id(3), None, 3, S(7_300)).unwrap(), [2]);
        assert_eq!(
            t.expire(S(24 * 3_600)).len(),
            2,
            "its life ends all the same"
        );
    }

    #[test]
    fn an_id_in_a_target() {
        let id = "0123456789abcdef0123456789abcdef";
        for (target, want) in [
            (format!("/m?sessionId={id}"), Ok(())),
            (format!("/m?a=b&sessionId={id}&c"), Ok(())),
            ("/m".to_owned(), Err(Blame::PairMissing)),
            ("/m?".to_owned(), Err(Blame::PairMissing)),
            (format!("/m?sessionid={id}"), Err(Blame::PairMissing)),
            ("/m?sessionId=".to_owned(), Err(Blame::PairUnknown)),
            (format!("/m?sessionId={id}0"), Err(Blame::PairUnknown)),
            (
                format!("/m?sessionId={id}&sessionId={id}"),
                Err(Blame::PairUnknown),
            ),
        ] {
            let got = SessionId::in_query(&target.parse().unwrap());
            assert_eq!(
                got.map(|found| assert_eq!(found.as_str(), id)),
                want,
                "{target}"
            );
        }
    }

    #[test]
    fn debug_shows_no_id() {
        assert!(format!("{:?}", id(0xab)).len() < 24);
    }
}
