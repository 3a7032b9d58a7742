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

    /// Equal for equal spellings: the length and the last bytes, mixed.
    fn print(self, frame: &[u8]) -> u32 {
        let tail = frame[..self.end as usize]
            .last_chunk()
            .copied()
            .map_or(0, u64::from_be_bytes);
        let len = self.end - self.start;
        let own = if len < 8 {
            tail & ((1 << (8 * len)) - 1)
        } else {
            tail
        };
        (own.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32 ^ len
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

/// Compares every pair of keys: first by what fits a register, and the whole of those that agree there.
fn repeated_of_few(keys: &[Key], frame: &[u8]) -> Option<usize> {
    let mut prints = [0; FEW];
    for (n, key) in keys.iter().enumerate() {
        let print = key.print(frame);
        let candidates = prints[..n]
            .iter()
            .filter(|before| **before == print)
            .count();
        if candidates > 0
            && keys[..n]
                .iter()
                .any(|before| before.spelling(frame) == key.spelling(frame))
        {
            return Some(key.start());
        }
        prints[n] = print;
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
