//! Cursors of lists: opaque to clients, self-contained for us (server/utilities/pagination).

use data_encoding::BASE64URL_NOPAD;

/// Longest cursor that is read: a place may be a path of many levels. A longer one cannot be ours.
const MAX: usize = 256 << 10;

/// Makes a cursor of a place: the part of a list, and where in it.
pub fn encode(part: usize, inner: &str) -> String {
    BASE64URL_NOPAD.encode(format!("1.{part}.{inner}").as_bytes())
}

/// The place of a cursor that [`encode`] made; none for any other text.
pub fn decode(cursor: &str) -> Option<(usize, String)> {
    if cursor.len() > MAX {
        return None;
    }
    let text = String::from_utf8(BASE64URL_NOPAD.decode(cursor.as_bytes()).ok()?).ok()?;
    let (part, inner) = text.strip_prefix("1.")?.split_once('.')?;
    let digits = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    Some((digits.then(|| part.parse().ok())??, inner.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let long = "x".repeat(100_000);
        for (part, inner) in [
            (0, ""),
            (3, "100"),
            (usize::MAX, "docs/a.b.md"),
            (1, "é\u{0}"),
            (1, long.as_str()),
        ] {
            assert_eq!(decode(&encode(part, inner)), Some((part, inner.to_owned())));
        }
        for bogus in ["", "zzz", "MQ", "1.2.3", "====", &"A".repeat(300_000)] {
            assert_eq!(decode(bogus), None, "{bogus:.10}");
        }
    }
}
