//! What a client offers a server when it opens the conversation, and what it knows of the server from before.

use polyport_proto::{Era, Revision, Revisions};

/// The revisions that a client speaks, and the one that it knows the server to speak.
///
/// ```
/// use polyport_proto::{Revision, Revisions};
/// use polyport_rt::Offer;
///
/// let anything = Offer::from(Revisions::ALL);
/// let as_before = anything.knowing(Some(Revision::V2025_06_18));
/// assert_eq!(as_before.known(), Some(Revision::V2025_06_18));
/// assert_eq!(anything.known(), None);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    ours: Revisions,
    known: Option<Revision>,
}

impl From<Revisions> for Offer {
    fn from(ours: Revisions) -> Self {
        Self { ours, known: None }
    }
}

impl Offer {
    /// With the revision that the server has spoken before, which saves the question about its era. It is a guess: a server that
    /// contradicts it is asked as if nothing were known. Where one era alone is offered there is nothing to guess.
    #[must_use]
    pub fn knowing(mut self, spoken: Option<Revision>) -> Self {
        self.known = spoken.filter(|spoken| self.is_both() && self.ours.contains(*spoken));
        self
    }

    /// The revisions that are spoken.
    pub fn ours(self) -> Revisions {
        self.ours
    }

    /// The revision that the server has spoken before.
    pub fn known(self) -> Option<Revision> {
        self.known
    }

    /// Are both eras offered?
    pub fn is_both(self) -> bool {
        let offers = |era| self.ours.only(era) != Revisions::NONE;
        offers(Era::Modern) && offers(Era::Legacy)
    }
}
