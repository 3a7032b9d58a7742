//! How much structure one frame may have. How long a frame may be is the framer's business
//! ([`Lines::new`](crate::Lines::new), [`sse::Events::new`](crate::sse::Events::new)).

/// Bounds on the structure of one JSON text.
///
/// A text beyond a bound is still read to its end, so that the refusal can name the request it refuses.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Containers (arrays and objects) that may be open at once; scalars do not count. Defaults to 128, so
    /// `[[…]]` with 128 brackets passes and with 129 is refused ([`TooDeep`]). Values above
    /// [`Self::DEPTH_MAX`] count as that. `serde_json` decodes one level less of a whole text, and a
    /// member of a message always lies at least one level deeper, so whatever passes as a member with
    /// the default can also be decoded.
    ///
    /// [`TooDeep`]: crate::MalformedKind::TooDeep
    pub depth: u32,
    /// Elements of one array or members of one object. Defaults to 100,000; one more is refused
    /// ([`TooManyElements`](crate::MalformedKind::TooManyElements)).
    pub elements: usize,
    /// Elements and members in one text, in all. Defaults to 1,000,000; one more is refused
    /// ([`TooManyElements`](crate::MalformedKind::TooManyElements)). A value that is decoded without a type takes 70 bytes and
    /// more where its text may take two.
    pub values: usize,
    /// Messages in one batch. Defaults to 100; one more is refused
    /// ([`TooManyElements`](crate::MalformedKind::TooManyElements)).
    pub batch: usize,
}

impl Limits {
    /// The reader descends by recursion, so its depth has a ceiling of its own.
    pub const DEPTH_MAX: u32 = 512;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth: 128,
            elements: 100_000,
            values: 1_000_000,
            batch: 100,
        }
    }
}
