//! The inside of JSON strings: where a run of plain text ends, and what its escapes mean. Whether the
//! escapes are well formed is the scanner's question; here they are known to be.

use std::borrow::Cow;

/// A prefix that needs no second look.
pub(crate) struct Run {
    pub(crate) len: usize,
    /// Whether all of it is ASCII; if not, it may not be UTF-8 either.
    pub(crate) ascii: bool,
}

/// The longest prefix without `"`, `\` and control characters.
///
/// Short strings are read eight bytes at a time, long ones in blocks that the compiler turns into
/// vector instructions.
pub(crate) fn clean_run(text: &[u8]) -> Run {
    let mut high = 0;
    let mut at = 0;
    while let Some(word) = text[at..].first_chunk() {
        let word = u64::from_le_bytes(*word);
        let stops = stops(word);
        if stops != 0 {
            let clean = stops.trailing_zeros() as usize / 8;
            high |= word & !(u64::MAX << (8 * clean));
            return Run {
                len: at + clean,
                ascii: high & HIGH == 0,
            };
        }
        high |= word;
        at += 8;
        if at == BLOCK {
            let (blocks, not_ascii) = clean_blocks(&text[at..]);
            at += blocks;
            high |= u64::from(not_ascii);
        }
    }
    while let Some(&byte) = text.get(at) {
        if is_stop(byte) {
            break;
        }
        high |= u64::from(byte);
        at += 1;
    }
    Run {
        len: at,
        ascii: high & HIGH == 0,
    }
}

/// The length of a string that is short, ASCII and without escapes, which most keys are; its opening
/// quote lies before `text`.
#[inline]
pub(crate) fn short_string(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    while at < SHORT {
        let word = u64::from_le_bytes(*text[at..].first_chunk()?);
        // What is beyond ASCII also stops, and is no quote.
        let stops = stops(word) | word & HIGH;
        if stops != 0 {
            at += stops.trailing_zeros() as usize / 8;
            return (text[at] == b'"').then_some(at);
        }
        at += 8;
    }
    None
}

/// Bytes in whole clean blocks at the head of `text`, and the union of those bytes.
fn clean_blocks(text: &[u8]) -> (usize, u8) {
    let mut high = 0;
    let mut at = 0;
    for block in text.chunks_exact(BLOCK) {
        let (mut stop, mut union) = (false, 0);
        for &byte in block {
            stop |= is_stop(byte);
            union |= byte;
        }
        if stop {
            break;
        }
        high |= union;
        at += BLOCK;
    }
    (at, high)
}

fn is_stop(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Marks the high bit of bytes that end a clean run. A borrow can mark a byte above the first true one,
/// never below, so the lowest mark is exact.
fn stops(word: u64) -> u64 {
    let control = word.wrapping_sub(LOW * 0x20) & !word;
    let quote = zeros(word ^ (LOW * b'"' as u64));
    let backslash = zeros(word ^ (LOW * b'\\' as u64));
    (control | quote | backslash) & HIGH
}

/// The text between two quotes, escapes resolved; `None` when a lone surrogate makes it no text.
pub(crate) fn decode(inner: &str) -> Option<Cow<'_, str>> {
    match decode_bytes(inner.as_bytes()) {
        Cow::Borrowed(_) => Some(Cow::Borrowed(inner)),
        Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
    }
}

/// Whether [`decode`] would succeed.
pub(crate) fn is_text(inner: &[u8]) -> bool {
    match decode_bytes(inner) {
        Cow::Borrowed(_) => true,
        Cow::Owned(bytes) => std::str::from_utf8(&bytes).is_ok(),
    }
}

/// Like [`decode`], but total: a lone surrogate becomes the three bytes that UTF-8 would give it if it
/// could, so that different strings stay different.
pub(crate) fn decode_bytes(inner: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = backslash(inner) else {
        return Cow::Borrowed(inner);
    };
    let mut out = Vec::with_capacity(inner.len());
    out.extend_from_slice(&inner[..first]);
    let mut rest = &inner[first..];
    while let [b'\\', escape, tail @ ..] = rest {
        rest = tail;
        match escape {
            b'b' => out.push(0x08),
            b'f' => out.push(0x0c),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'u' => rest = unicode(rest, &mut out),
            plain => out.push(*plain),
        }
        let next = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
        out.extend_from_slice(&rest[..next]);
        rest = &rest[next..];
    }
    Cow::Owned(out)
}

/// Where the first backslash is. Most strings are too short for a vector search to pay.
#[inline]
fn backslash(text: &[u8]) -> Option<usize> {
    let (words, tail) = text.as_chunks();
    if words.len() > SHORT / 8 {
        return memchr::memchr(b'\\', text);
    }
    for (i, word) in words.iter().enumerate() {
        let found = zeros(u64::from_le_bytes(*word) ^ (LOW * b'\\' as u64)) & HIGH;
        if found != 0 {
            return Some(8 * i + found.trailing_zeros() as usize / 8);
        }
    }
    let at = tail.iter().position(|&byte| byte == b'\\')?;
    Some(text.len() - tail.len() + at)
}

/// Writes the character whose four digits `rest` begins with, and its second half if there is one.
fn unicode<'a>(rest: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    let (first, tail) = unit(rest);
    if (0xd800..0xdc00).contains(&first)
        && let [b'\\', b'u', second @ ..] = tail
        && let (second @ 0xdc00..0xe000, tail) = unit(second)
    {
        push_code_point(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00), out);
        return tail;
    }
    push_code_point(first, out);
    tail
}

/// Four hexadecimal digits. Text that the scanner has passed always has them.
fn unit(rest: &[u8]) -> (u32, &[u8]) {
    let (digits, tail) = rest.split_at(rest.len().min(4));
    let value = |d: &u8| char::from(*d).to_digit(16).unwrap_or(0);
    (digits.iter().fold(0, |all, d| all << 4 | value(d)), tail)
}

/// UTF-8, without the hole that the standard leaves for surrogates.
fn push_code_point(c: u32, out: &mut Vec<u8>) {
    let tail = |shift: u32| 0x80 | (c >> shift & 0x3f) as u8;
    match c {
        0..0x80 => out.push(c as u8),
        0x80..0x800 => out.extend_from_slice(&[0xc0 | (c >> 6) as u8, tail(0)]),
        0x800..0x1_0000 => out.extend_from_slice(&[0xe0 | (c >> 12) as u8, tail(6), tail(0)]),
        _ => out.extend_from_slice(&[0xf0 | (c >> 18) as u8, tail(12), tail(6), tail(0)]),
    }
}

/// The high bits of the bytes that are zero, the lowest one for sure; other bits, too.
fn zeros(word: u64) -> u64 {
    word.wrapping_sub(LOW) & !word
}

const SHORT: usize = 32;
const BLOCK: usize = 64;
const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = LOW * 0x80;
