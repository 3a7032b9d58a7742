//! How paths, sizes and times look to a model. Pure functions over text and numbers.

use std::{borrow::Cow, time::SystemTime};

/// Longest piece of a caller's text that is repeated to it.
const REPEATED: usize = 200;

/// Text of somebody else between quotes: on one line, without control characters, of bounded length.
pub(crate) fn quoted(text: &str) -> String {
    quoted_up_to(text, REPEATED)
}

/// The same of any length: for what is to be sent back as it is.
pub(crate) fn quoted_whole(text: &str) -> String {
    quoted_up_to(text, usize::MAX)
}

fn quoted_up_to(text: &str, most: usize) -> String {
    let mut out = String::from("\"");
    for (count, character) in text.chars().enumerate() {
        if count == most {
            out.push('…');
            break;
        }
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            plain if is_visible(plain) => out.push(plain),
            hidden => out.extend(hidden.escape_unicode()),
        }
    }
    out.push('"');
    out
}

/// The text itself if nothing in it hides or breaks the line, else between quotes.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_visible) {
        text.into()
    } else {
        quoted(text).into()
    }
}

/// False for characters that change how the text around them looks, or that cannot be seen at all. The two joiners are
/// left out, since names in several scripts need them.
pub(crate) fn is_visible(character: char) -> bool {
    !character.is_control()
        && !matches!(character,
            '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}')
}

/// A size as people read it: `0 B`, `999 B`, `1.2 kB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if bytes < 1_000 {
        return format!("{bytes} B");
    }
    let mut tenths = bytes / 100;
    let mut unit = 0;
    while tenths >= 10_000 && unit + 1 < UNITS.len() {
        tenths /= 1_000;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// `1 entry`, `2 entries`.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// A time in UTC as RFC 3339 writes it, to the second; nothing for times before the year 1970 or after 9999.
pub(crate) fn time(time: SystemTime) -> Option<String> {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days)?;
    Some(format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        rest / 3_600,
        rest / 60 % 60,
        rest % 60
    ))
}

/// The same to the nanosecond, where it is not a whole second.
pub(crate) fn time_exact(time: SystemTime) -> Option<String> {
    let whole = self::time(time)?;
    let since = time.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let seconds = whole.trim_end_matches('Z');
    Some(match since.subsec_nanos() {
        0 => whole,
        nanoseconds => format!("{seconds}.{nanoseconds:09}Z"),
    })
}

/// The same to the millisecond in a name that sorts by time.
pub(crate) fn stamp(time: SystemTime) -> Option<String> {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let whole = self::time(time)?.replace(['-', ':', 'Z'], "");
    Some(format!("{whole}.{:03}", since.subsec_millis()))
}

/// The Gregorian date of a day counted from 1970-01-01.
fn date(mut days: u64) -> Option<(u64, u64, u64)> {
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    for year in 1970..=9999 {
        let length = if leap(year) { 366 } else { 365 };
        if days >= length {
            days -= length;
            continue;
        }
        let months = [
            31,
            if leap(year) { 29 } else { 28 },
            31,
            30,
            31,
            30,
            31,
            31,
            30,
            31,
            30,
            31,
        ];
        for (month, length) in (1..).zip(months) {
            if days < length {
                return Some((year, month, days + 1));
            }
            days -= length;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_rfc_3339() {
        for (seconds, want) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_210_096, "2024-02-29T12:34:56Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(
                time(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).as_deref(),
                Some(want)
            );
        }
        assert_eq!(
            time(SystemTime::UNIX_EPOCH + Duration::from_secs(253_402_300_800)),
            None
        );
        assert_eq!(time(SystemTime::UNIX_EPOCH - Duration::from_secs(1)), None);
        assert_eq!(
            time_exact(SystemTime::UNIX_EPOCH + Duration::new(951_782_399, 5_000)).as_deref(),
            Some("2000-02-28T23:59:59.000005000Z")
        );
        let whole = SystemTime::UNIX_EPOCH + Duration::from_secs(951_782_399);
        assert_eq!(time_exact(whole), time(whole));
        assert_eq!(stamp(whole).as_deref(), Some("20000228T235959.000"));
    }

    #[test]
    fn sizes_are_short() {
        for (bytes, want) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 kB"),
            (999_999, "999.9 kB"),
            (1_000_000, "1.0 MB"),
            (u64::MAX, "18446.7 PB"),
        ] {
            assert_eq!(size(bytes), want);
        }
    }

    #[test]
    fn quotes_show_what_hides() {
        assert_eq!(quoted("a\nb\u{202e}\"c"), r#""a\u{a}b\u{202e}\"c""#);
        assert_eq!(quoted(&"é".repeat(500)).chars().count(), REPEATED + 3);
        assert_eq!(quoted_whole(&"é".repeat(500)).chars().count(), 502);
    }
}
