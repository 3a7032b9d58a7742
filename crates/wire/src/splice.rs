//! Changing JSON text in place of decoding it. The texts given here are known to be JSON already, from
//! the scanner or because this program wrote them.

use std::borrow::Cow;
use std::ops::Range;

use crate::keys::Key;
use crate::scan::{Bad, Scanner, space};
use crate::{Limits, text};

/// Appends `object` with `members` (ready text such as `"a":1,"b":2`) put at its head.
///
/// Whether `object` has one of these keys already is for the caller to know.
pub fn stamp(object: &str, members: &str, out: &mut Vec<u8>) {
    debug_assert!(
        object.starts_with('{') && object.ends_with('}'),
        "no object: {object}"
    );
    let body = object.get(1..).unwrap_or_default();
    out.reserve(object.len() + members.len() + 1);
    out.push(b'{');
    out.extend_from_slice(members.as_bytes());
    if !members.is_empty() && !body.trim_start().starts_with('}') {
        out.push(b',');
    }
    out.extend_from_slice(body.as_bytes());
}

/// Appends `text` with some ranges exchanged. The edits are in order and do not overlap.
pub fn replace(text: &[u8], edits: &[(Range<usize>, &[u8])], out: &mut Vec<u8>) {
    debug_assert!(
        edits.is_sorted_by(|(a, _), (b, _)| a.end <= b.start),
        "edits out of order"
    );
    out.reserve(text.len() + edits.iter().map(|(_, new)| new.len()).sum::<usize>());
    let mut from = 0;
    for (range, new) in edits {
        out.extend_from_slice(&text[from..range.start]);
        out.extend_from_slice(new);
        from = range.end;
    }
    out.extend_from_slice(&text[from..]);
}

/// Where a part of a text, borrowed from it, stands in it.
///
/// # Panics
/// In debug builds, when it is no part of it.
pub fn place(whole: &str, part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).wrapping_sub(whole.as_ptr() as usize);
    debug_assert!(
        whole.get(start..start + part.len()) == Some(part),
        "no part: {part}"
    );
    start..start + part.len()
}

/// Does it span lines? Then it must be [`squeeze`]d before it is sent as one.
pub fn spans_lines(text: &[u8]) -> bool {
    memchr::memchr(b'\n', text).is_some()
}

/// Appends `text` as one line: white space that contains a line break is left out.
///
/// A string in JSON holds no raw line break, so every break is between tokens, and tokens that only
/// white space separates do not occur.
pub fn squeeze(text: &str, out: &mut Vec<u8>) {
    let start = out.len();
    let mut rest = text.as_bytes();
    out.reserve(rest.len());
    while let Some(end) = memchr::memchr2(b'\n', b'\r', rest) {
        out.extend_from_slice(&rest[..end]);
        let kept = out[start..].trim_ascii_end().len();
        out.truncate(start + kept);
        rest = rest[end..].trim_ascii_start();
    }
    out.extend_from_slice(rest);
}

/// The text of the value of a member of an object; of the first one of that key, after which nothing more is read.
pub fn member<'a>(object: &'a str, key: &str) -> Option<&'a str> {
    let mut found = None;
    walk(object, |name, value| {
        let is_it = name == key;
        if is_it {
            found = Some(value);
        }
        !is_it
    });
    found
}

/// Calls `on` with each member of an object: its key, escapes resolved, and the text of its value. A
/// key that is no text for its lone surrogates comes with U+FFFD in their place.
pub fn members<'a>(object: &'a str, mut on: impl FnMut(&str, &'a str)) {
    walk(object, |key, value| {
        on(key, value);
        true
    });
}

/// The same until `on` says that it has seen enough.
fn walk<'a>(object: &'a str, mut on: impl FnMut(&str, &'a str) -> bool) {
    // Known text needs no bounds; the depth only decides how it is walked.
    let limits = Limits {
        elements: usize::MAX,
        values: usize::MAX,
        ..Limits::default()
    };
    let mut scanner = Scanner::new(object.as_bytes(), &limits);
    let start = space(object.as_bytes(), 0);
    if !scanner.opens_object(start, 0) {
        return;
    }
    let mut goes_on = true;
    let walked = scanner.object(start, 0, |scanner, key: Key, start| {
        let end = scanner.value(start, 1)?;
        let spelling = &object[key.range()];
        let name = text::decode(spelling).unwrap_or_else(|| {
            Cow::Owned(
                String::from_utf8_lossy(&text::decode_bytes(spelling.as_bytes())).into_owned(),
            )
        });
        goes_on = on(&name, &object[start..end]);
        // What stops the scanner is not only what is wrong.
        if goes_on { Ok(end) } else { Err(Bad(end)) }
    });
    debug_assert!(walked.is_ok() || !goes_on, "not JSON: {object}");
}
