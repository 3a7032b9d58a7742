//! Servers that have as many sessions as they may have: who has one that could be another's, and what is said to who gets none.

use std::time::Duration;

use super::Peer;

/// For how long a client has done nothing whose connections are ended for another.
const SPARE: Duration = Duration::from_secs(60);

impl Peer {
    /// Could what it has be another's? It has a session where there is none left, has done nothing for a while, and nothing of it will go
    /// on.
    pub(crate) fn is_spare(&self) -> bool {
        let has_of_full = self.of_full(true).next().is_some();
        has_of_full
            && self.is_idle()
            && self.used().elapsed() >= SPARE
            && self.asked.until().is_none()
    }

    /// Has it no session where there is none left?
    pub(crate) fn lacks_room(&self) -> bool {
        self.shared.is_full() && self.of_full(false).next().is_some()
    }

    /// Of which servers others have all the sessions, a sentence each.
    pub(crate) fn full(&self) -> impl Iterator<Item = String> {
        self.of_full(false).map(full)
    }

    /// The servers without room with which it has a session, or has none.
    fn of_full(&self, has: bool) -> impl Iterator<Item = &str> {
        let links = self.links.iter().zip(&self.shared.upstreams);
        let full = links.filter(move |(link, upstream)| {
            upstream.connect.is_full() && link.current().is_some() == has
        });
        full.map(|(_, upstream)| &*upstream.name)
    }
}

/// What is said to one client more.
pub(super) fn full(name: &str) -> String {
    format!(
        "The server {name:?} behind this gateway has as many sessions as it may have (max_sessions): try again when one has ended."
    )
}
