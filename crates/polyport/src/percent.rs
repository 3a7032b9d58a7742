//! Percent-encoding undone, once (RFC 3986, 2.1): what stands for what. What an address means is not known here.

use std::borrow::Cow;

/// An octet of a text, as it stands there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Octet {
    /// As it is.
    Plain(u8),
    /// By a triplet, `%2F`.
    Escaped(u8),
    /// A `%` that begins no triplet.
    Broken,
}

/// The octets of a text, triplets as one.
pub fn octets(text: &str) -> impl Iterator<Item = Octet> {
    let mut left = text.as_bytes();
    std::iter::from_fn(move || {
        let (&first, rest) = left.split_first()?;
        left = rest;
        if first != b'%' {
            return Some(Octet::Plain(first));
        }
        let Some(escaped) = pair(rest) else {
            return Some(Octet::Broken);
        };
        left = &rest[2..];
        Some(Octet::Escaped(escaped))
    })
}

/// What the text stands for; none where it is broken.
///
/// ```
/// # use polyport::percent::decode;
/// assert_eq!(decode("caf%C3%A9").as_deref(), Some("café".as_bytes()));
/// assert_eq!(decode("100%"), None);
/// ```
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let octet = |octet| match octet {
        Octet::Plain(byte) | Octet::Escaped(byte) => Some(byte),
        Octet::Broken => None,
    };
    octets(text).map(octet).collect()
}

/// The same of what may be broken, which stands for itself then.
///
/// ```
/// # use polyport::percent::decode_broken;
/// assert_eq!(decode_broken("100% caf%C3%A9"), "100% café".as_bytes());
/// ```
pub fn decode_broken(text: &str) -> Vec<u8> {
    let octet = |octet| match octet {
        Octet::Plain(byte) | Octet::Escaped(byte) => byte,
        Octet::Broken => b'%',
    };
    octets(text).map(octet).collect()
}

/// The same as text.
pub fn decode_broken_text(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    Cow::Owned(String::from_utf8_lossy(&decode_broken(text)).into_owned())
}

/// The octet of two hexadecimal digits.
fn pair(digits: &[u8]) -> Option<u8> {
    let digit = |at: usize| char::from(*digits.get(at)?).to_digit(16);
    u8::try_from(digit(0)? * 16 + digit(1)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: S-PERCENT
    #[test]
    fn a_triplet_is_two_digits_and_all_else_is_broken() {
        for (text, want, is_sound) in [
            ("", "", true),
            ("a+b", "a+b", true),
            ("%41%7a%7A", "Azz", true),
            ("%c3%A9", "é", true),
            // Once.
            ("%2541", "%41", true),
            ("%", "%", false),
            ("%4", "%4", false),
            ("%zz%41", "%zzA", false),
            ("%%41", "%A", false),
            // Digits, and no number as Rust spells one.
            ("%+5", "%+5", false),
            ("%-1", "%-1", false),
            ("% 1", "% 1", false),
            ("%4é", "%4é", false),
        ] {
            assert_eq!(decode_broken(text), want.as_bytes(), "{text}");
            assert_eq!(decode_broken_text(text), want, "{text}");
            let sound = is_sound.then_some(want.as_bytes());
            assert_eq!(decode(text).as_deref(), sound, "{text}");
        }
        // What is no text stands for no character.
        assert_eq!(decode_broken_text("%ff"), "\u{fffd}");
        let escaped: Vec<Octet> = octets("/%2F%").collect();
        let want = [Octet::Plain(b'/'), Octet::Escaped(b'/'), Octet::Broken];
        assert_eq!(escaped, want);
    }
}
