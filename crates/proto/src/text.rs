//! Small readings of JSON text that both codecs and the HTTP headers need.

use std::borrow::Cow;

use polyport_wire::{Params, Raw};

/// The text of a JSON string; borrowed where it has no escapes.
pub(crate) fn string(json: &str) -> Option<Cow<'_, str>> {
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        serde_json::from_str::<String>(json).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}

/// `_meta.progressToken` where it is a string or a number; anything else is as if it were absent.
pub(crate) fn progress_token(params: &Params) -> Option<Raw> {
    let token = params.progress_token()?;
    matches!(token.as_bytes().first(), Some(b'"' | b'-' | b'0'..=b'9')).then(|| kept(params, token))
}

/// Above this a frame is not held for the sake of a part of it.
const LONG_FRAME: usize = 128 << 10;

/// A part of the parameters that outlives them: a slice, or a copy where the slice would hold a long frame.
pub(crate) fn kept(params: &Params, part: &str) -> Raw {
    let frame = params.frame_len();
    if frame > LONG_FRAME && part.len() < frame / 2 {
        Raw::trusted(part.to_owned())
    } else {
        params.slice(part)
    }
}
