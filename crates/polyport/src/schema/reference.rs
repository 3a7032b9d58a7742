//! References within a schema: how their pointers are spelled, and what they point at.

use std::borrow::Cow;

use polyport_model::Object;
use polyport_wire::Raw;
use serde_json::Value;

/// What a reference within a schema refers to (`#/$defs/Place`); none: it leaves the schema, or leads nowhere.
pub fn referred<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(&decoded(reference.strip_prefix('#')?))
}

/// The same in a schema that is kept as its text: what it points at, as it is written.
pub fn pointed(root: &Raw, reference: &str) -> Option<Raw> {
    let pointer = decoded(reference.strip_prefix('#')?);
    let mut at = root.clone();
    let mut steps = pointer.split('/');
    if !steps.next()?.is_empty() {
        return None;
    }
    for step in steps {
        let step = step.replace("~1", "/").replace("~0", "~");
        at = match at.decode::<Vec<Raw>>() {
            Ok(elements) => elements.get(step.parse::<usize>().ok()?)?.clone(),
            Err(_) => at.decode::<Object>().ok()?.remove(&step)?,
        };
    }
    Some(at)
}

/// A fragment without its percent triplets.
pub(super) fn decoded(fragment: &str) -> Cow<'_, str> {
    if !fragment.contains('%') {
        return Cow::Borrowed(fragment);
    }
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let triplet = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        match triplet.filter(|_| *byte == b'%') {
            Some(value) => {
                bytes.push(value);
                rest = &after[2..];
            }
            None => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}
