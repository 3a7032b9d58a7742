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

/// A time as ISO 8601 has it, from milliseconds since 1970.
pub(crate) fn iso(ms: u64) -> String {
    let (days, rest) = (ms / 86_400_000, ms % 86_400_000);
    // Days since 0000-03-01, so that the leap day is the last of its year; 400 years are one cycle.
    let shifted = days + 719_468;
    let (cycle, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let (year, month) = (
        cycle * 400 + year,
        if month < 10 { month + 3 } else { month - 9 },
    );
    let year = year + u64::from(month <= 2);
    let (hours, minutes) = (rest / 3_600_000, rest / 60_000 % 60);
    let (seconds, ms) = (rest / 1_000 % 60, rest % 1_000);
    format!("{year:04}-{month:02}-{date:02}T{hours:02}:{minutes:02}:{seconds:02}.{ms:03}Z")
}

#[cfg(test)]
mod tests {
    use super::iso;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_164_800_000, "2024-02-29T00:00:00.000Z"),
            (1_785_578_399_999, "2026-08-01T09:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(iso(ms), text);
        }
    }
}
