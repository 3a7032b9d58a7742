//! Notifications that nobody has taken yet: the newest, bounded in number and in bytes.

use std::collections::VecDeque;

use bytes::Bytes;

/// How many are kept; older ones make room.
const MAX: usize = 1_024;
/// Bytes of all together, likewise.
const MAX_BYTES: usize = 8 << 20;

/// Notifications as they came, oldest first.
#[derive(Debug, Default)]
pub(super) struct Noted {
    waiting: VecDeque<Bytes>,
    bytes: usize,
}

impl Noted {
    /// Keeps one. One that is longer than all may be together is left out.
    pub(super) fn push(&mut self, note: &Bytes) {
        if note.len() > MAX_BYTES {
            tracing::warn!(bytes = note.len(), "a notification is too long to be kept");
            return;
        }
        while self.waiting.len() >= MAX || self.bytes + note.len() > MAX_BYTES {
            self.pop();
        }
        self.bytes += note.len();
        // A copy of its own: a short one would keep all alive that was read with it.
        self.waiting.push_back(Bytes::copy_from_slice(note));
    }

    pub(super) fn pop(&mut self) -> Option<Bytes> {
        let note = self.waiting.pop_front()?;
        self.bytes -= note.len();
        Some(note)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    // req: S-NOTED
    #[test]
    fn the_newest_are_kept_within_both_bounds() {
        let mut noted = Noted::default();
        for n in 0..2_000_u32 {
            noted.push(&Bytes::copy_from_slice(&n.to_le_bytes()));
        }
        assert_eq!(noted.waiting.len(), MAX);
        assert_eq!(noted.pop().unwrap()[..], 976_u32.to_le_bytes());
        let large = Bytes::from(vec![b'x'; MAX_BYTES - 8]);
        noted.push(&large);
        assert_eq!((noted.waiting.len(), noted.bytes), (3, MAX_BYTES));
        noted.push(&Bytes::from(vec![0; MAX_BYTES + 1]));
        assert_eq!(noted.pop().unwrap()[..], 1_998_u32.to_le_bytes());
        noted.push(&large);
        assert_eq!(noted.waiting.len(), 1);
        assert_eq!(noted.pop().unwrap(), large);
        assert_eq!((noted.pop(), noted.bytes), (None, 0));
    }
}
