//! Owns finding out which kind of object a text holds before it is decoded. Does not decode it.

use polyport_wire::{Raw, splice};

/// The string under `name` at the top level of an object; `None` when the text is no object, the
/// member is absent or no string.
///
/// Kinds are told by a named member, never by trying one shape after the other: a guess takes the
/// wrong one silently.
pub(crate) fn word(raw: &Raw, name: &str) -> Option<String> {
    let text = splice::member(raw.as_str(), name)?;
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        serde_json::from_str(text).ok()
    } else {
        Some(inner.to_owned())
    }
}

/// Whether an object has a member called `name` at its top level.
pub(crate) fn has(raw: &Raw, name: &str) -> bool {
    splice::member(raw.as_str(), name).is_some()
}
