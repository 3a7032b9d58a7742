//! The keys of the objects that are open, and whether one of them comes twice. Two spellings of one key
//! (`"id"`, `"\u0069d"`) are one key.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use crate::text;

/// The inside of a string in the frame: a key, or what looks like one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Key {
    start: u32,
    end: u32,
    escaped: bool,
}

impl Key {
    pub(crate) fn new(start: usize, end: usize, escaped: bool) -> Self {
        Self {
            start: start as u32,
            end: end as u32,
            escaped,
        }
    }

    pub(crate) fn start(self) -> usize {
        self.start as usize
    }

    /// The key as it is meant, whatever its spelling.
    pub(crate) fn name(self, frame: &[u8]) -> Cow<'_, [u8]> {
        let text = self.spelling(frame);
        if self.escaped {
            text::decode_bytes(text)
        } else {
            Cow::Borrowed(text)
        }
    }

    pub(crate) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// A number below 64, equal for equal spellings: the length and the last bytes, mixed.
    fn mark(self, frame: &[u8]) -> u64 {
        let before = &frame[..self.end as usize];
        let tail = match before.last_chunk() {
            Some(tail) => u64::from_be_bytes(*tail),
            None => before
                .iter()
                .fold(0, |tail, byte| tail << 8 | u64::from(*byte)),
        };
        let len = u64::from(self.end - self.start);
        let own = if len < 8 {
            tail & ((1 << (8 * len)) - 1)
        } else {
            tail
        };
        own.wrapping_add(len).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58
    }

    fn spelling(self, frame: &[u8]) -> &[u8] {
        &frame[self.range()]
    }
}

/// A stack: the keys of an object lie above those of the object it is in.
///
/// The first few live in place, so an ordinary message allocates nothing. It never holds more keys than
/// the frame has, twelve bytes each.
pub(crate) struct Keys {
    few: [Key; FEW],
    count: usize,
    many: Vec<Key>,
}

impl Keys {
    pub(crate) fn new() -> Self {
        Self {
            few: [Key::default(); FEW],
            count: 0,
            many: Vec::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn push(&mut self, key: Key) {
        if let Some(slot) = self.few.get_mut(self.count) {
            *slot = key;
        } else {
            if self.count == FEW {
                self.many.clear();
                self.many.extend_from_slice(&self.few);
            }
            self.many.truncate(self.count);
            self.many.push(key);
        }
        self.count += 1;
    }

    /// Closes an object whose keys began at `base`: where its first repeated key is, if it has one.
    pub(crate) fn close(&mut self, base: usize, frame: &[u8]) -> Option<usize> {
        let all = if self.count <= FEW {
            &self.few[..self.count]
        } else {
            &self.many[..self.count]
        };
        let own = &all[base..];
        self.count = base;
        match own.len() {
            0 | 1 => None,
            2..=FEW if !own.iter().any(|key| key.escaped) => repeated_of_few(own, frame),
            _ => repeated_of_many(own, frame),
        }
    }
}

/// Compares a key with those before it when one of them has the same mark; most have not.
fn repeated_of_few(keys: &[Key], frame: &[u8]) -> Option<usize> {
    let mut marks = 0;
    for (n, key) in keys.iter().enumerate() {
        let mark = 1_u64 << key.mark(frame);
        let same = |before: &Key| before.spelling(frame) == key.spelling(frame);
        if marks & mark != 0 && keys[..n].iter().any(same) {
            return Some(key.start());
        }
        marks |= mark;
    }
    None
}

/// The standard hasher has random keys, so a sender cannot choose keys that collide.
fn repeated_of_many(keys: &[Key], frame: &[u8]) -> Option<usize> {
    let mut seen = HashSet::with_capacity(keys.len());
    keys.iter()
        .find(|key| !seen.insert(key.name(frame)))
        .map(|key| key.start())
}

/// Keys kept in place; an envelope with its params, `_meta` and arguments has about 15. Up to here pairs
/// are compared, above keys are hashed.
const FEW: usize = 32;
