//! Where a value lies in its frame. Four-byte offsets keep a message small.

use std::ops::Range;

/// A half-open range of a frame; no JSON value is empty, so the empty range means "absent".
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// The scanner refuses frames beyond four gigabytes, so the offsets fit.
    pub(crate) fn new(start: usize, end: usize) -> Self {
        debug_assert!(u32::try_from(end).is_ok());
        Self {
            start: start as u32,
            end: end as u32,
        }
    }

    pub(crate) fn is_present(self) -> bool {
        self.start < self.end
    }

    pub(crate) fn start(self) -> usize {
        self.start as usize
    }

    pub(crate) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The span without its first and last byte: a string without its quotes.
    pub(crate) fn inner(self) -> Range<usize> {
        self.start as usize + 1..self.end as usize - 1
    }
}
